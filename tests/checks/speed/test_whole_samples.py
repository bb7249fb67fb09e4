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
