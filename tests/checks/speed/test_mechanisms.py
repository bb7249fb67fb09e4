"""What moves a speed: power, overlap, traffic, links, images; and how uncertain coefficients make one range."""

from __future__ import annotations

from math import exp, hypot, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.strategies import FACTS, works
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Band, Columns
from whygpu.checks.speed.inference import InferenceWork, overlapped, prompt_flops, read_bytes, score_flops

RTX_4090 = Device.of(1.008e12, 165.2e12, power_w=450, kinds=CardKind("ada", "consumer", memory="gddr6x"))
RTX_A6000 = Device.of(7.68e11, 154.8e12, power_w=300, kinds=CardKind("ampere", "workstation", memory="gddr6"))


def inference(facts: Facts, model: str, setup: Setup, device: Device, stages: int = 1) -> InferenceWork:
    work = speed.estimate(facts.shape(model), setup, ParallelLayout(pipeline=stages), device, facts.coefficients).work
    assert isinstance(work, InferenceWork)
    return work


def test_independent_coefficients_add_in_quadrature() -> None:
    # JCGM 100:2008, 5.1.2: uncorrelated inputs combine by the root of the sum of squares
    rows = np.array([[10.0], [20.0], [5.0], [10 * exp(1)], [10 / exp(1)]])  # two coefficients: a factor 2, a factor e
    band = Band.of(rows)
    both = exp(sqrt(log(2) ** 2 + 1))
    assert (band.low[0], band.likely[0], band.high[0]) == pytest.approx((10 / both, 10, 10 * both))


def test_a_coefficient_that_moves_nothing_widens_nothing() -> None:
    assert Band.of(np.array([[10.0], [10.0], [10.0], [12.0], [9.0]])).at(0) == Band.of(
        np.array([[10.0], [12.0], [9.0]])
    ).at(0)


@given(works(), st.integers(0, 2))
def test_ranges_asked_for_later_are_those_asked_for_at_once(
    work: tuple[ModelShape, Setup, ParallelLayout], index: int
) -> None:
    shape, setup, layout = work
    kinds = [CardKind("turing", "data-centre"), CardKind("ada", "consumer"), CardKind("hopper", "data-centre")]
    device = Device.of([3e11, 1e12, 3e12], [65e12, 165e12, 989e12], power_w=[70, 450, 700], kinds=kinds)
    now = speed.estimate(shape, setup, layout, device, FACTS.coefficients)
    later = speed.estimate(shape, setup, layout, device, FACTS.coefficients, ranges=False)
    columns = later.work.columns
    for asked, location in ((columns, index), (columns.one(index), 0)):
        ranged = speed.ranged_estimate_of(asked)
        for name in speed.FIGURES:
            whole, band = getattr(now, name), getattr(ranged, name)
            if whole is not None:
                wanted, found = whole.at(index), band.at(location)
                assert (found.low, found.likely, found.high) == pytest.approx(
                    (wanted.low, wanted.likely, wanted.high), rel=1e-9, nan_ok=True
                )


@pytest.mark.parametrize(
    ("kind", "tflops", "watts", "reached"),
    [
        # zzc0721/torch-performance-test-data@0785868 database.md, largest FP16 or BF16 matrix product
        (CardKind("ada", "data-centre", memory="gddr6"), 362, 350, 269),  # L40S
        (CardKind("ampere", "workstation", memory="gddr6"), 154.8, 300, 123),  # RTX A6000
        (CardKind("volta", "data-centre", memory="hbm2"), 130, 250, 89),  # V100S
        # chsasank/device-benchmarks@02b8262 README.md
        (CardKind("ampere", "data-centre", memory="gddr6"), 125, 150, 56),  # A10
        # stas00/ml-engineering@744d01e, maximum achievable matmul FLOPS
        (CardKind("ampere", "data-centre", memory="hbm2e"), 312, 300, 252.9),  # A100 PCIe
    ],
)
def test_a_power_limit_holds_the_rate_down(
    facts: Facts, kind: CardKind, tflops: float, watts: float, reached: float
) -> None:
    device = Device.of(1e12, tflops * 1e12, power_w=watts, kinds=kind)
    setup = Setup(facts.formats["fp16"])
    share = Columns.of(facts.shape("llama-3.1-8b"), setup, ParallelLayout(), device, facts.coefficients).power_share()
    assert share[0, 0] * tflops == pytest.approx(reached, rel=0.1)


def test_a_t4_without_a_fan_is_held_down_by_its_heat(facts: Facts) -> None:
    """42 of 65 TFLOPS while it is cool (zzc0721/torch-performance-test-data), 24 in time (NVIDIA's forum, 264462)."""
    device = Device.of(320e9, 65e12, power_w=70, kinds=CardKind("turing", "data-centre", memory="gddr6"))
    setup = Setup(facts.formats["fp16"])
    columns = Columns.of(facts.shape("llama-3.1-8b"), setup, ParallelLayout(), device, facts.coefficients)
    worst, best = (columns.uncertain(("joules-per-operation",)).power_share()[row, 0] * 65 for row in (1, 2))
    assert worst == pytest.approx(24, rel=0.1)
    assert best == pytest.approx(42, rel=0.1)


@pytest.mark.parametrize("device", [RTX_4090, Device.of(1e12, 1e15), Device.of(1e12, 1e15, kinds=CardKind("cdna3"))])
def test_power_that_is_ample_or_not_known_limits_nothing(facts: Facts, device: Device) -> None:
    setup = Setup(facts.formats["fp16"])
    columns = Columns.of(facts.shape("llama-3.1-8b"), setup, ParallelLayout(), device, facts.coefficients)
    assert columns.power_share()[0, 0] == 1


@given(st.floats(1e-6, 10), st.floats(1e-6, 10))
def test_overlap_is_the_longer_far_from_the_ridge_and_more_at_it(read: float, compute: float) -> None:
    found = float(overlapped(np.array([read]), np.array([compute]))[0])
    longer, shorter = max(read, compute), min(read, compute)
    assert longer <= found <= longer + shorter
    assert found == pytest.approx(hypot(read, compute))
    if shorter < longer / 10:
        assert found == pytest.approx(longer, rel=0.01)


def test_attention_runs_in_16_bits_whatever_the_weights(facts: Facts) -> None:
    setup = Setup(facts.formats["fp8"], context_tokens=32768, output_tokens=1, runtime="sglang")
    hopper = CardKind("hopper", "data-centre", memory="hbm3")
    slow, fast = (
        inference(facts, "qwen3-8b", setup, Device.of(4e12, 296e12, half_flops_s=half, kinds=hopper))
        for half in (148e12, 290e12)  # both below the rate in FP8, which the card multiplies as it is
    )
    scores = score_flops(facts.shape("qwen3-8b"), 32767)
    share = fast.columns.more_is_better("prefill-mfu")[0, 0]
    more = slow.prefill.compute_s[0, 0] - fast.prefill.compute_s[0, 0]
    assert more == pytest.approx(scores / share * (1 / 148e12 - 1 / 290e12))
    read = 4 * 32 * 128 * 36 * (32768 - 0.5)  # of each layer's 32 queries and outputs of 128, at 32,767 and a half
    reached = fast.columns.more_is_better("decode-mfu")[0, 0]
    further = slow.decode.compute_s[0, 0] - fast.decode.compute_s[0, 0]
    assert further == pytest.approx(read / reached * (1 / 148e12 - 1 / 290e12))


@pytest.mark.parametrize(
    ("model", "number_format", "device", "tokens_per_s"),
    [
        # XiongjieDai/GPU-Benchmarks-on-LLM-Inference@aa72e0e, prompt evaluation with llama.cpp
        ("llama-3-8b", "fp16", RTX_4090, 9056),
        ("llama-3-8b", "q4_k_m", RTX_4090, 6899),
        ("llama-3-8b", "fp16", RTX_A6000, 4315),
        ("llama-3-8b", "q4_k_m", RTX_A6000, 3622),
        ("llama-3-70b", "q4_k_m", RTX_A6000, 467),
    ],
)
def test_prompts_that_are_unpacked_and_moved_between_kernels(
    facts: Facts, model: str, number_format: str, device: Device, tokens_per_s: float
) -> None:
    setup = Setup(
        facts.formats[number_format], context_tokens=1025, output_tokens=1, attention="eager", runtime="llama.cpp"
    )
    band = speed.estimate(facts.shape(model), setup, ParallelLayout(), device, facts.coefficients).ttft_ms
    assert band is not None
    assert 1024e3 / band.at(0).likely == pytest.approx(tokens_per_s, rel=0.3)


@pytest.mark.parametrize(
    ("number_format", "tokens_per_s"),
    [("q4_0", 10_359), ("q4_k_m", 12_394)],  # ggml-org/llama.cpp, pull requests 7676 (2024) and 24127 (2026; Q4_K_S)
)
def test_prompts_whose_weights_are_multiplied_as_integers(
    facts: Facts, number_format: str, tokens_per_s: float
) -> None:
    setup = Setup(facts.formats[number_format], context_tokens=513, output_tokens=1, runtime="llama.cpp")
    band = speed.estimate(facts.shape("llama-3-8b"), setup, ParallelLayout(), RTX_4090, facts.coefficients).ttft_ms
    assert band is not None
    assert 512e3 / band.at(0).likely == pytest.approx(tokens_per_s, rel=0.25)


def test_each_chunk_of_a_prompt_reads_the_weights(facts: Facts) -> None:
    # llama.cpp, tools/server/README.md: --ubatch-size is 512; each micro-batch is a pass over all layers
    def read_s(model: str, tokens: int) -> float:
        setup = Setup(facts.formats["q8_0"], context_tokens=tokens + 1, output_tokens=1, runtime="llama.cpp")
        return float(inference(facts, model, setup, RTX_A6000).prefill.read_s[0, 0])

    assert read_s("llama-3.1-8b", 8192) == pytest.approx(16 * read_s("llama-3.1-8b", 512))
    assert read_s("qwen3-30b-a3b", 8192) == pytest.approx(16 * read_s("qwen3-30b-a3b", 512))
    assert read_s("llama-3.1-8b", 513) == pytest.approx(2 * read_s("llama-3.1-8b", 512))


def test_no_step_reads_the_tables_of_each_layer_or_the_tower_for_images(facts: Facts) -> None:
    """Gemma 4 E2B looks up a row of a table of 262,144 tokens for each of its 35 layers (google/gemma-4-E2B, config:
    hidden_size_per_layer_input 256): 2.3B of its 5.1B parameters, and the model card calls 2.3B effective.
    """
    fixed, routed = read_bytes(facts.shape("gemma-4-e2b"), facts.formats["bf16"])
    assert routed == 0
    assert fixed / 2 == pytest.approx(2.3e9, rel=0.01)
    fixed, _ = read_bytes(facts.shape("qwen2.5-vl-7b"), facts.formats["bf16"])
    assert fixed / 2 == pytest.approx(7.0706e9, rel=0.001)  # Qwen2.5 7B (7.6156B) but for its token table of 0.545B


@pytest.mark.parametrize(("model", "tokens_per_s"), [("tinyllama-1.1b", 762), ("llama-3.2-3b", 335)])
def test_steps_are_captured_in_graphs(facts: Facts, model: str, tokens_per_s: float) -> None:
    """geerlingguy/ai-benchmarks@889cc67: llama.cpp on an RTX 4090."""
    setup = Setup(facts.formats["q4_k_m"], context_tokens=640, output_tokens=512, runtime="llama.cpp")
    step = inference(facts, model, setup, RTX_4090).decode.token_s[0, 0]
    assert 1 / step == pytest.approx(tokens_per_s, rel=0.15)


def test_layers_that_keep_a_state_have_kernels_of_their_own(facts: Facts) -> None:
    """Three of four layers of Qwen3.5 9B (Qwen/Qwen3.5-9B, config: full_attention_interval 4, 32 layers)."""
    setup = Setup(facts.formats["q4_k_m"], runtime="llama.cpp")
    done = inference(facts, "qwen3.5-9b", setup, RTX_4090)
    each, state = (done.columns.less_is_better(name)[0, 0] for name in ("gap-s-per-layer", "state-layer-s"))
    assert state > 0
    assert done.overheads.gap_s[0, 0] == pytest.approx(32 * each + 24 * state)


@pytest.mark.parametrize(
    ("model", "layers"),
    [
        ("llama-3.2-1b", 16 * (2 * 2048**2 + 2 * 2048 * 512 + 3 * 2048 * 8192)),  # its head is the token table
        ("llama-3-8b", 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336)),  # it has one of its own
    ],
)
def test_the_head_scores_the_last_token_of_a_prompt_alone(facts: Facts, model: str, layers: float) -> None:
    """By the sizes of config.json, meta-llama; transformers, generate: logits_to_keep."""
    shape = facts.shape(model)
    assert prompt_flops(shape, 1024) == pytest.approx(2 * (1024 * layers + 128_256 * shape.hidden_size), rel=1e-3)


def test_flash_attention_writes_no_scores(facts: Facts) -> None:
    # arXiv:2205.14135, 3.1: the N x N matrices of scores are written by standard attention alone
    def moved_s(attention: str) -> float:
        setup = Setup(
            facts.formats["fp16"], context_tokens=32769, output_tokens=1, attention=attention, runtime="llama.cpp"
        )
        return float(inference(facts, "llama-3.1-8b", setup, RTX_A6000).prefill.moved_s[0, 0])

    heads, hidden, ffn, tokens = 32, 4096, 14336, 32768
    assert moved_s("eager") / moved_s("flash") == pytest.approx(1 + heads * tokens / (ffn + 3 * hidden))


def test_handing_on_from_card_to_card_costs_time(facts: Facts) -> None:
    # the same tables: 127.7 tokens a second on one RTX 4090, 117.6 over four, 116.1 over eight
    setup = Setup(facts.formats["q4_k_m"], context_tokens=1024, output_tokens=1000, runtime="llama.cpp")
    one, four = (inference(facts, "llama-3-8b", setup, RTX_4090, cards).decode.token_s[0, 0] for cards in (1, 4))
    assert one / four == pytest.approx(117.6 / 127.7, rel=0.05)


def test_a_ring_over_machines_has_a_lane_through_each_adapter(facts: Facts) -> None:
    # NCCL tests, doc/PERFORMANCE.md: what bounds an all-reduce is the hardware of a machine, here eight adapters
    setup = Setup(facts.formats["bf16"])
    node = Device.of(2e12, 312e12, link_bytes_s=3e11, link_cards=8, network_bytes_s=2.5e10, kinds=CardKind("ampere"))

    def path(tensor: int, data: int, cards_per_node: int) -> tuple[float, float]:
        layout = ParallelLayout(tensor=tensor, data=data, nodes=tensor * data // cards_per_node)
        wire = Columns.of(facts.shape("llama-3.1-70b"), setup, layout, node, facts.coefficients).wire()
        share = facts.coefficients.pick("bus-share", {}).likely
        return float(wire.tensor_bytes_s[0, 0]) / share, float(wire.data_bytes_s[0, 0]) / share

    assert path(16, 1, 8)[0] == pytest.approx(8 * 2.5e10)
    assert path(1, 16, 8)[1] == pytest.approx(8 * 2.5e10)
    assert path(8, 2, 8) == pytest.approx((3e11, 2.5e10))  # each rank has one partner on the other machine


def test_a_link_that_joins_machines_is_taken_between_them(facts: Facts) -> None:
    """Of 72 GB200 in a rack, four to a machine, or of a pod of TPUs; the network begins beyond."""
    setup, share = Setup(facts.formats["bf16"]), facts.coefficients.pick("bus-share", {}).likely
    rack = Device.of(8e12, 2.5e15, link_bytes_s=9e11, link_cards=72, network_bytes_s=1e10, kinds=CardKind("blackwell"))

    def paths(tensor: int, data: int) -> tuple[float, ...]:
        layout = ParallelLayout(tensor=tensor, data=data, nodes=tensor * data // 4)
        wire = Columns.of(facts.shape("llama-3.1-70b"), setup, layout, rack, facts.coefficients).wire()
        found = wire.tensor_bytes_s, wire.data_bytes_s, wire.card_bytes_s
        return tuple(float(row[0, 0]) / share for row in found)

    assert paths(8, 9) == pytest.approx((9e11, 9e11, 9e11))
    assert paths(8, 18) == pytest.approx((9e11, 9 * 1e10, 1e10))  # nine ranks of a rack have a partner in the other


@pytest.mark.parametrize(
    ("pixels", "milliseconds"),
    [(640, 0.6), (1280, 2.1)],  # ultralytics/yolov5 README: YOLOv5n and YOLOv5n6, V100, batches of 32, per image
)
def test_images_cost_time_whatever_the_model(facts: Facts, pixels: int, milliseconds: float) -> None:
    nano = {"kind": "detector", "parameters": 1_900_000, "image_size": 640, "flops_per_sample": 4.5e9}
    v100 = Device.of(9e11, 125e12, power_w=300, kinds=CardKind("volta", "data-centre", memory="hbm2"))
    setup = Setup(facts.formats["fp16"], batch_size=32, pixels=pixels)
    band = speed.estimate(facts.shape(nano), setup, ParallelLayout(), v100, facts.coefficients).ttft_ms
    assert band is not None
    assert band.at(0).likely / 32 == pytest.approx(milliseconds, rel=0.25)


def test_the_first_token_comes_of_the_prompt(facts: Facts) -> None:
    # NVIDIA/FasterTransformer@df4a753 gpt_guide.md: GPT-20B's 8 tokens after a prompt of 20 take 8 passes, not 9
    setup = Setup(facts.formats["fp16"], context_tokens=21, output_tokens=1, concurrency=1, runtime="fastertransformer")
    done = speed.estimate(facts.shape("llama-3.1-8b"), setup, ParallelLayout(), RTX_A6000, facts.coefficients)
    work = done.work
    assert isinstance(work, InferenceWork)
    assert done.tokens_per_s is not None
    assert done.tokens_per_s.at(0).likely == pytest.approx(1 / work.prefill.total_s[0, 0])
