"""Models that take a whole image at once, against published times."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.vision import VisionWork

T4 = Device.of(320e9, 65e12, kinds=CardKind("turing", "data-centre", memory="gddr6"))


def fixed_s(facts: Facts, runtime: str) -> float:
    setup = Setup(facts.formats["fp16"], runtime=runtime, batch_size=1)
    work = speed.estimate(facts.shape("yolo11n"), setup, ParallelLayout(), T4, facts.coefficients).work
    assert isinstance(work, VisionWork)
    return float(work.fixed_s[0, 0])


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
    setup = Setup(facts.formats["fp16"], phase="training", runtime="compiled")
    picked = facts.coefficients.pick("vision-step-s", setup.context(facts.shape("yolo11n")))
    assert picked.likely > 4e-3


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


@pytest.mark.parametrize(("phase", "held_back"), [("inference", True), ("batch-inference", False)])
def test_one_text_a_request_may_keep_the_server_busy(facts: Facts, phase: str, held_back: bool) -> None:
    """vllm-project/vllm#23000: 415 requests a second, 2.4 times as many tokens with 16 texts in each."""
    device = Device.of(3.35e12, 9.89e14, kinds=CardKind("hopper", "data-centre", memory="hbm3"))
    setup = Setup(facts.formats["bf16"], phase=phase, runtime="vllm", context_tokens=64, concurrency=250)
    done = speed.estimate(facts.shape("all-minilm-l6-v2"), setup, ParallelLayout(), device, facts.coefficients)
    assert done.requests_per_s is not None
    found = done.requests_per_s.at(0)
    assert found.likely > 4 * 415
    assert (found.low < 2 * 415) == held_back


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
