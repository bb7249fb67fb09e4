"""Models that take a whole image at once, against published times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.vision import VisionWork, moved_bytes

if TYPE_CHECKING:
    from whygpu.checks.calculation import Range

T4 = Device.of(320e9, 65e12, kinds=CardKind("turing", "data-centre", memory="gddr6"))


def fixed_s(facts: Facts, runtime: str) -> float:
    """Seconds of a pass that the card's speed does not shorten."""
    setup = Setup(facts.formats["fp16"], runtime=runtime, batch_size=1)
    work = speed.estimate(facts.shape("yolo11n"), setup, ParallelLayout(), T4, facts.coefficients).work
    assert isinstance(work, VisionWork)
    return float(work.host_s[0, 0] + work.fixed_s[0, 0])


def test_an_engine_built_beforehand_waits_for_no_python(facts: Facts) -> None:
    """Ultralytics' YOLO11 at 640 pixels on a T4 with TensorRT 10: 1.5 ms (n), and 1.1 ms the smallest classifier."""
    assert fixed_s(facts, "compiled") < 1.1e-3
    assert fixed_s(facts, "compiled") == fixed_s(facts, "tensorrt")
    assert fixed_s(facts, "transformers") > 4e-3


@pytest.mark.parametrize(("model", "published_s"), [("yolo11n", 1.5e-3), ("yolo11s", 2.5e-3), ("yolo11m", 4.7e-3)])
def test_a_detector_on_a_t4(facts: Facts, model: str, published_s: float) -> None:
    setup = Setup(facts.formats["fp16"], runtime="compiled", batch_size=1)
    work = speed.estimate(facts.shape(model), setup, ParallelLayout(), T4, facts.coefficients).work
    assert isinstance(work, VisionWork)
    assert float(work.batch_s[0, 0]) == pytest.approx(published_s, rel=0.4)


def test_training_compiled_still_starts_from_python(facts: Facts) -> None:
    shape = facts.shape("yolo11n")
    setup = Setup(facts.formats["fp16"], phase="training", runtime="compiled")
    picked = facts.coefficients.pick("forward-operator-s", setup.context(shape))
    assert picked.likely * shape.forward_operators > 4e-3


def steps_a_second(facts: Facts, device: Device) -> float:
    setup = Setup(facts.formats["fp16"], runtime="transformers", batch_size=1)
    work = speed.estimate(facts.shape("stable-diffusion-xl"), setup, ParallelLayout(), device, facts.coefficients).work
    assert isinstance(work, VisionWork)
    return float(work.steps / work.batch_s[0, 0])


def test_sdxl_on_a_radeon(facts: Facts) -> None:
    """RX 9070 XT at 1,024 pixels: 1.03 steps a second (Comfy-Org/ComfyUI#7332), 1.91 tuned (ROCm/ROCm#4443)."""
    card = Device.of(644.6e9, 194.6e12, kinds=CardKind("rdna4", "consumer", memory="gddr6", software="rocm"))
    assert 1.03 < steps_a_second(facts, card) < 1.3 * 1.91


def test_an_mi300x_makes_images_no_faster_than_its_best_product(facts: Facts) -> None:
    """668 of 1,307 TFLOPS on an MI300X and 795 of 989 on an H100 (stas00/ml-engineering, mamf)."""
    mi300x = Device.of(5.3e12, 1.307e15, kinds=CardKind("cdna3", "data-centre", memory="hbm3", software="rocm"))
    h100 = Device.of(3.35e12, 9.89e14, kinds=CardKind("hopper", "data-centre", memory="hbm3"))
    assert steps_a_second(facts, mi300x) < 1.05 * steps_a_second(facts, h100)


def texts_a_second(facts: Facts, phase: str) -> Range:
    device = Device.of(3.35e12, 9.89e14, kinds=CardKind("hopper", "data-centre", memory="hbm3"))
    setup = Setup(facts.formats["bf16"], phase=phase, runtime="vllm", context_tokens=64, concurrency=250)
    done = speed.estimate(facts.shape("all-minilm-l6-v2"), setup, ParallelLayout(), device, facts.coefficients)
    assert done.requests_per_s is not None
    return done.requests_per_s.at(0)


def test_one_text_a_request_may_keep_the_server_busy(facts: Facts) -> None:
    """vllm-project/vllm#23000: 415 requests a second, 2.4 times as many tokens with 16 texts in each."""
    found = texts_a_second(facts, "inference")
    assert found.low < 2 * 415
    assert found.likely > 4 * 415


def test_short_texts_of_a_job_wait_for_the_tokenizer(facts: Facts) -> None:
    """Snowflake on an H200: 1.6 million tokens a second in texts of 50 are 16 times what vLLM did as it was."""
    found = texts_a_second(facts, "batch-inference")
    assert 0.5 < found.likely / (1.6e6 / 50 / 16) < 2
    assert found.high > 0.9 * 1.6e6 / 50


@pytest.mark.parametrize(
    ("model", "task", "covered"),
    [
        ("qwen3-8b", "language", True),
        ("chatterbox", "speech", False),
        ("orpheus-3b", "", False),
        ("qwen2.5-vl-3b", "", False),
        ("qwen2.5-vl-3b", "language", True),
    ],
)
def test_a_part_that_is_not_counted_makes_it_a_rough_estimate(
    facts: Facts, model: str, task: str, covered: bool
) -> None:
    """Of 40 minutes of speech Chatterbox's tokens take 13 s and the sound 61 (randombk/chatterbox-vllm)."""
    device = Device.of(3.35e12, 9.89e14, kinds=CardKind("hopper", "data-centre", memory="hbm3"))
    setup = Setup(facts.formats["bf16"], runtime="vllm", context_tokens=1024, task=task)
    done = speed.estimate(facts.shape(model), setup, ParallelLayout(), device, facts.coefficients)
    assert done.work.columns.measured(0) == covered


A100 = Device.of(
    2.039e12,
    19.5e12,
    half_flops_s=312e12,
    tf32_flops_s=156e12,
    kinds=CardKind("ampere", "data-centre", memory="hbm2e"),
)
V100 = Device.of(
    0.9e12, 15.7e12, half_flops_s=125e12, power_w=300, kinds=CardKind("volta", "data-centre", memory="hbm2")
)


def images_a_second(facts: Facts, model: str, batch: int, device: Device, **setup: object) -> float:
    fields = {"runtime": "transformers", "batch_size": batch, **setup}
    asked = Setup(facts.formats["fp32"], **fields)  # type: ignore[arg-type]
    found = speed.estimate(facts.shape(model), asked, ParallelLayout(), device, facts.coefficients).samples_per_s
    assert found is not None
    return found.at(0).likely


@pytest.mark.parametrize(
    ("model", "pixels", "batch", "device", "published"),
    [
        ("efficientnet-b4", 380, 256, A100, 702),
        ("efficientnet-b0", 224, 256, A100, 5154),
        ("efficientnet-b0", 224, 256, V100, 2968),
        ("resnet-50", 224, 256, V100, 1261),
        ("resnet-50", 224, 8, V100, 709),  # the host takes as long for one image as for eight
        ("resnet-50", 224, 1, V100, 96),
    ],
)
def test_convolutions_in_fp32(
    facts: Facts, model: str, pixels: int, batch: int, device: Device, published: float
) -> None:
    """NVIDIA's tables of PyTorch (DeepLearningExamples@729963d: EfficientNet, ResNet-50 v1.5), in TF32 on an A100."""
    found = images_a_second(facts, model, batch, device, pixels=pixels)
    assert published / 1.7 < found < published * 1.7


def test_convolutions_take_tf32_unasked_and_products_do_not(facts: Facts) -> None:
    """torch.backends.cudnn.allow_tf32 is on by default, torch.backends.cuda.matmul.allow_tf32 off; TensorRT's is on."""

    def work(model: str, runtime: str) -> VisionWork:
        setup = Setup(facts.formats["fp32"], runtime=runtime, batch_size=64)
        done = speed.estimate(facts.shape(model), setup, ParallelLayout(), A100, facts.coefficients).work
        assert isinstance(done, VisionWork)
        return done

    rates = {
        (model, runtime): float(work(model, runtime).columns.flops_s()[0])
        for model in ("resnet-50", "vit-b-16")
        for runtime in ("transformers", "tensorrt")
    }
    assert rates["vit-b-16", "transformers"] == 19.5e12
    assert set(rates.values()) == {19.5e12, 156e12}
    assert min(rates["resnet-50", "transformers"], rates["vit-b-16", "tensorrt"]) == 156e12


def test_training_in_fp32_on_an_a100(facts: Facts) -> None:
    """ResNet-50 in TF32: 938 images a second in channels first (DeepLearningExamples@729963d), 1,066 (Lambda)."""
    training = {"phase": "training", "training_precision": "fp32", "optimizer": "sgd-momentum"}
    assert 700 < images_a_second(facts, "resnet-50", 256, A100, **training) < 1450


def test_what_eager_kernels_move_is_the_models_own(facts: Facts) -> None:
    """ResNet-50 moves 237 MB an image between its convolutions in FP32: norms 89, ReLU 77, sums 66, pooling 5."""
    setup = Setup(facts.formats["fp32"], runtime="transformers", batch_size=2)
    done = speed.estimate(facts.shape("resnet-50"), setup, ParallelLayout(), A100, facts.coefficients).work
    assert isinstance(done, VisionWork)
    assert moved_bytes(done.columns)[0, 0] == pytest.approx(2 * (89 + 77 + 66 + 5) * 1e6, rel=0.01)


def test_an_a10s_power_is_counted_once(facts: Facts) -> None:
    """55 of 125 TFLOPS by the best product at 150 W (chsasank/device-benchmarks): no less by what others reach."""
    a10 = Device.of(600e9, 125e12, power_w=150, kinds=CardKind("ampere", "data-centre", memory="gddr6"))
    setup = Setup(facts.formats["fp16"], runtime="transformers", batch_size=64)
    done = speed.estimate(facts.shape("vit-b-16"), setup, ParallelLayout(), a10, facts.coefficients).work
    assert isinstance(done, VisionWork)
    assert float(done.share[0, 0]) == pytest.approx(55 / 125 * 0.76, rel=0.15)


ORIN_NANO_SUPER = Device.of(
    102.4e9,
    2.1e12,
    half_flops_s=16.75e12,
    tf32_flops_s=8.4e12,
    kinds=CardKind("ampere", "edge", memory="lpddr5"),
)


@pytest.mark.parametrize(
    ("model", "plain", "fp32", "fp16"),
    [("yolo11n", 21.3, 7.6, 4.91), ("yolo11m", 33.0, 28.21, 13.99), ("yolo11x", 81.0, 67.32, 32.94)],
)
def test_yolo_on_a_board(facts: Facts, model: str, plain: float, fp32: float, fp16: float) -> None:
    """Ultralytics on an Orin Nano Super (docs/en/guides/nvidia-jetson.md at 01007503): plain PyTorch, where the host
    takes as long for the smallest as for one twice as large, and TensorRT, whose FP32 is TF32.
    """
    half = replace(ORIN_NANO_SUPER, flops_s=ORIN_NANO_SUPER.half_flops_s)
    for form, runtime, device, published in (
        ("fp32", "transformers", ORIN_NANO_SUPER, plain),
        ("fp32", "tensorrt", ORIN_NANO_SUPER, fp32),
        ("fp16", "tensorrt", half, fp16),
    ):
        setup = Setup(facts.formats[form], runtime=runtime, batch_size=1)
        work = speed.estimate(facts.shape(model), setup, ParallelLayout(), device, facts.coefficients).work
        assert isinstance(work, VisionWork)
        assert float(work.batch_s[0, 0]) * 1e3 == pytest.approx(published, rel=0.2), (form, runtime)
