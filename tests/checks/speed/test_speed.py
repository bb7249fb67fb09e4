"""Speed, against published figures and its own limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.speed.closed_loop import never_longer_s
from tests.checks.strategies import FACTS, works
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup, pcie_bytes_s
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.inference import InferenceWork

RTX_4090 = Device.of(1.008e12, 165e12, kinds=CardKind("ada", "consumer", memory="gddr6x"))
A100 = Device.of(
    2.039e12,
    312e12,
    link_bytes_s=3e11,
    link_cards=8,
    kinds=CardKind("ampere", "data-centre", link="nvlink", memory="hbm2e"),
)
HOPPER = CardKind("hopper", "data-centre", link="nvlink", memory="hbm3")
H20 = Device.of(4.0e12, 148e12, link_bytes_s=4.5e11, link_cards=8, kinds=HOPPER)
H20_FP8 = Device.of(4.0e12, 296e12, link_bytes_s=4.5e11, link_cards=8, kinds=HOPPER)


@pytest.mark.parametrize(
    ("model", "number_format", "device", "runtime", "tokens_per_s"),
    [
        # XiongjieDai/GPU-Benchmarks-on-LLM-Inference@aa72e0e, text generation with llama.cpp of May 2024, whose flash
        # attention was off, and which captured no graphs
        ("llama-3-8b", "q4_k_m", RTX_4090, "llama.cpp", 127.74),
        ("llama-3-8b", "fp16", RTX_4090, "llama.cpp", 54.34),
        ("llama-3-70b", "q4_k_m", A100, "llama.cpp", 24.33),
        # QwenLM/Qwen3@7a2f61f, SGLang on an H20
        ("qwen3-8b", "bf16", H20, "sglang", 81.73),
        ("qwen3-14b", "fp8", H20_FP8, "sglang", 97.11),
    ],
)
def test_decoding_one_request(
    facts: Facts, model: str, number_format: str, device: Device, runtime: str, tokens_per_s: float
) -> None:
    attention = "eager" if runtime == "llama.cpp" else "flash"
    setup = Setup(
        facts.formats[number_format], context_tokens=1024, output_tokens=1000, runtime=runtime, attention=attention
    )
    done = speed.estimate(facts.shape(model), setup, ParallelLayout(), device, facts.coefficients)
    assert done.token_ms is not None
    assert 1e3 / done.token_ms.at(0).likely == pytest.approx(tokens_per_s, rel=0.2)


def test_training_a_small_gpt_on_eight_a100(facts: Facts) -> None:
    # Dao-AILab/flash-attention training/README.md: GPT3-1.3B at 169,000 tokens a second on 8 A100 80GB
    shape = facts.shape(
        {
            "kind": "decoder",
            "gated_ffn": False,
            "parameters": 1_315_000_000,
            "layers": 24,
            "hidden_size": 2048,
            "heads": 32,
            "vocab_size": 50257,
            "ffn_size": 8192,
        }
    )
    setup = Setup(facts.formats["bf16"], phase="training", batch_size=16, sequence_tokens=2048)
    done = speed.estimate(shape, setup, ParallelLayout(data=8), A100, facts.coefficients)
    assert done.train_tokens_per_s is not None
    assert done.train_tokens_per_s.at(0).likely == pytest.approx(169_000, rel=0.2)


def test_many_plans_are_computed_as_one_each(facts: Facts) -> None:
    shape, setup = facts.shape("llama-3.1-8b"), Setup(facts.formats["bf16"], concurrency=8)
    device = Device.of(
        [1e12, 2e12, 3e12],
        [1e14, 2e14, 9e14],
        link_bytes_s=2e11,
        kinds=[CardKind(word) for word in ("ada", "ampere", "hopper")],
    )
    layouts = [ParallelLayout(tensor=1), ParallelLayout(tensor=2), ParallelLayout(tensor=4, data=2)]
    together = speed.estimate(shape, setup, layouts, device, facts.coefficients)
    for index, layout in enumerate(layouts):
        alone = Device.of(
            device.bandwidth_bytes_s[index],
            device.flops_s[index],
            link_bytes_s=2e11,
            kinds=device.kinds[device.kind[index]],
        )
        single = speed.estimate(shape, setup, layout, alone, facts.coefficients)
        for name in ("ttft_ms", "token_ms", "tokens_per_s", "requests_per_s"):
            one, many = getattr(single, name).at(0), getattr(together, name).at(index)
            assert (one.low, one.likely, one.high) == pytest.approx((many.low, many.likely, many.high), rel=1e-12)


def test_an_unknown_rate_is_nan_and_what_does_not_apply_is_none(facts: Facts) -> None:
    done = speed.estimate(
        facts.shape("llama-3.1-8b"),
        Setup(facts.formats["bf16"]),
        ParallelLayout(),
        Device.of([float("nan"), 1e12], 1e14),
        facts.coefficients,
    )
    assert done.token_ms is not None
    assert np.isnan(done.token_ms.likely[0])
    assert done.token_ms.likely[1] > 0
    assert done.train_hours is done.frames_per_s is done.train_tokens_per_s is None


def test_hours_of_a_training_run(facts: Facts) -> None:
    setup = Setup(facts.formats["bf16"], phase="training", dataset_tokens=3.6e9, epochs=2)
    done = speed.estimate(facts.shape("llama-3.2-1b"), setup, ParallelLayout(), A100, facts.coefficients)
    assert done.train_hours is not None
    assert done.train_tokens_per_s is not None
    assert done.train_hours.at(0).likely == pytest.approx(2e6 / done.train_tokens_per_s.at(0).likely)


def test_splits_and_cards_of_different_number_are_refused(facts: Facts) -> None:
    with pytest.raises(ValueError, match="2 splits for 3 plans"):
        speed.estimate(
            facts.shape("gpt2"),
            Setup(facts.formats["fp16"]),
            [ParallelLayout(), ParallelLayout()],
            Device.of([1e12] * 3, 1e14),
            facts.coefficients,
        )
    with pytest.raises(ValueError, match="differ in length"):
        Device.of([1e12, 2e12], [1e14, 1e14, 1e14])


def test_a_pcie_slot(facts: Facts) -> None:
    assert pcie_bytes_s(4, 16) == pytest.approx(31.5e9, rel=0.01)  # PCI-SIG: 31.5 GB/s each way


@given(works(), st.floats(1e10, 1e13), st.floats(1e12, 1e16), st.floats(1, 10))
def test_a_faster_card_is_never_slower(
    work: tuple[ModelShape, Setup, ParallelLayout], bandwidth: float, flops: float, factor: float
) -> None:
    shape, setup, layout = work
    device = Device.of([bandwidth, bandwidth * factor], [flops, flops * factor], link_bytes_s=1e11)
    done = speed.estimate(shape, setup, layout, device, FACTS.coefficients)
    for name in speed.FIGURES:
        band = getattr(done, name)
        if band is None:
            continue
        assert np.all(band.low <= band.likely * (1 + 1e-9))
        assert np.all(band.likely <= band.high * (1 + 1e-9))
        pairs = [band.likely]
        if name == "ttft_ms" and isinstance(done.work, InferenceWork):
            pairs = list(never_longer_s(done.work))
        for slow, fast in pairs:
            if not np.isfinite(slow):
                continue
            assert fast <= slow * (1 + 1e-9) if name.endswith(("_ms", "_hours")) else slow <= fast * (1 + 1e-9)
