"""The programs on a device that is not there: what is timed, what is written, and who reads it."""

from __future__ import annotations

import csv
import importlib.util
import io
import time
from datetime import date
from pathlib import Path

import pytest
import yaml

import whygpu
from tests.conftest import Command
from tests.measuring.fake import SECONDS, FakeDevice
from whygpu.commands.measure import estimates_of
from whygpu.measured.read import read_measurement
from whygpu.measured.share import COLUMNS, csv_text
from whygpu.measured.write import measurement_text, plain
from whygpu.measuring.compare import against_catalogue
from whygpu.measuring.programs import Asked, Results, measurement_of, run
from whygpu.measuring.timing import MOST, time_of
from whygpu.render.measuring import results_text
from whygpu.render.style import Style

DAY = date(2026, 11, 22)


def results(device: FakeDevice, asked: Asked | None = None) -> Results:
    """What the programs give on a device."""
    return run(device, asked or Asked(), device.clock, lambda name, done: None)


def test_times_are_of_work_that_is_done_and_warm() -> None:
    """The primer's listing times what was only started, and cold (primer-12)."""
    device = FakeDevice(slow=50)
    found = time_of(device.inference(100), device.synchronize, device.clock, 10)
    assert (found.median_s, found.low_s, found.high_s) == pytest.approx((0.5, 0.5, 0.5))
    assert found.samples == 20


def test_what_is_fast_is_run_often_in_a_sample() -> None:
    device = FakeDevice()
    found = time_of(device.copy(1), device.synchronize, device.clock, 100)
    assert found.samples == MOST
    assert found.runs == 5 * MOST  # of 10 ms, for samples of 50
    assert found.median_s == pytest.approx(0.01)


def test_what_is_slow_is_run_twice_and_warmed_up_once() -> None:
    device = FakeDevice()
    found = time_of(device.inference(10_000), device.synchronize, device.clock, 10)
    assert found.samples == 2
    assert device.runs == {"inference": 3}


def test_the_programs_are_the_primers() -> None:
    """100 images a pass (primer-12); an epoch of 10,000, one by one (primer-13)."""
    found = results(FakeDevice())
    assert found.per_s("inference") == pytest.approx(100 / SECONDS["inference"])
    assert found.epoch_s == pytest.approx(10_000 * SECONDS["training"])
    assert found.product_tflops == pytest.approx(2 * 8192**3 / 0.1 / 1e12)
    assert found.copy_gb_s == pytest.approx(2 * 2**30 / 0.01 / 1e9)
    assert found.memory_gib == {"inference": 2.5, "training": 2.5, "pipeline": 2.5, "product": 2.5} | {
        "copy": 2.5,
        "move": 2.5,
    }


def test_a_subset_of_the_images_is_exactly_that() -> None:
    device = FakeDevice()
    found = results(device, Asked(("training",), images=640))
    assert found.timings["training"].runs == 640
    assert list(found.timings) == ["training"]


def test_a_cpu_has_nothing_to_move() -> None:
    found = results(FakeDevice("cpu", "a processor", None, "fp32"))
    assert "move" not in found.timings
    assert not found.memory_gib


def test_the_file_reads_as_it_was_written(kb: whygpu.KnowledgeBase) -> None:
    written = measurement_of(results(FakeDevice()), kb.knowledge, "h100-sxm", "1", DAY)
    again = read_measurement(measurement_text(written), "mine.yaml", kb.knowledge)
    assert plain(again) == plain(written)
    assert not again.questions
    assert again.number("step_ms") == pytest.approx(20)
    assert again.points[0].requests_per_s == pytest.approx(200)


def test_estimates_take_the_file(kb: whygpu.KnowledgeBase) -> None:
    """Each phase by the program that is of it."""
    found = measurement_of(results(FakeDevice()), kb.knowledge, "h100-sxm", "1", DAY)
    served = {"phase": "inference", "model": "resnet-18", "format": "tf32", "batch_size": 100}
    served |= {"runtime": "transformers", "accelerators": ["h100-sxm"], "measured": plain(found)}
    rate = kb.estimate(served, engine="evaluator").speed["requests_per_s"]
    assert rate is not None
    assert rate.likely == pytest.approx(200)
    trained = {"phase": "training", "model": "resnet-18", "format": "tf32", "batch_size": 1, "method": "full"}
    trained |= {"optimizer": "sgd-momentum", "training_precision": "fp32", "accelerators": ["h100-sxm"]}
    pace = kb.estimate({**trained, "measured": plain(found)}, engine="evaluator").speed["samples_per_s"]
    assert pace is not None
    assert pace.likely == pytest.approx(50)
    said = " ".join(estimates_of(kb, found))
    assert "Requests answered a second: 200 requests/s measured" in said
    assert "Training samples a second" in said


def test_it_is_held_against_the_catalogue(kb: whygpu.KnowledgeBase) -> None:
    found = results(FakeDevice())
    product, copy = against_catalogue(found, "h100-sxm", kb.knowledge)
    card = kb.knowledge.catalogue.accelerators["h100-sxm"]
    assert (product.says, copy.says) == ("tf32_tflops", "bandwidth_gb_s")
    assert copy.share == pytest.approx((found.copy_gb_s or 0) / (card.number("bandwidth_gb_s") or 1))
    text = results_text(found, [product, copy], [], "h100-sxm", Style(False))
    assert "an epoch of 10,000 images" in text
    assert "that the catalogue says (tf32_tflops)" in text
    unknown = results_text(found, [], [], None, Style(False))
    assert "--accelerator ID says it" in unknown


def test_a_measurement_is_shared_as_rows_with_their_source(kb: whygpu.KnowledgeBase) -> None:
    found = measurement_of(results(FakeDevice()), kb.knowledge, "h100-sxm", "1", DAY)
    rows = list(csv.DictReader(io.StringIO(csv_text(found, kb.knowledge))))
    assert tuple(rows[0]) == COLUMNS
    (step,) = [row for row in rows if row["figure"] == "step_ms"]
    assert (step["value"], step["unit"], step["load"], step["accelerator"]) == ("20", "ms", "batch=1", "h100-sxm")
    assert all(row["source"] and row["date"] == "2026-11-22" for row in rows)


def test_what_is_asked_wrongly_is_refused(run: Command, tmp_path: Path) -> None:
    for arguments, word in (
        (["inferense"], "did you mean 'inference'?"),
        (["--images", "0"], "not between 1 and 10,000"),
        (["--seconds", "0.1"], "--seconds"),
        (["share"], "takes one measurement file"),
        (["--out", str(tmp_path)], str(tmp_path)),
    ):
        found = run("measure", *arguments)
        assert found.returncode == 2, arguments
        assert word in found.stderr


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed here")
def test_without_pytorch_it_says_how_to_install_it(run: Command, tmp_path: Path) -> None:
    found = run("measure", "--out", str(tmp_path / "x.yaml"))
    assert found.returncode == 2
    assert "pip install 'whygpu[measure]'" in found.stderr
    assert not (tmp_path / "x.yaml").exists()


@pytest.mark.slow  # imports PyTorch, and computes
def test_the_real_programs_run_on_a_cpu(kb: whygpu.KnowledgeBase) -> None:
    """Small, so that it takes seconds: that they run, and that the numbers go together."""
    if not all(map(importlib.util.find_spec, ("torch", "torchvision"))):
        pytest.skip("PyTorch or torchvision is not installed: the programs were not run")
    from whygpu.measuring.torch_backend import load  # noqa: PLC0415  an extra

    asked = Asked(("inference", "training", "pipeline", "product", "copy"), batch=2, images=2, seconds=1)
    found = run(load("cpu", "fp32"), asked, time.perf_counter, lambda name, done: None)
    assert found.timings["training"].runs == 2
    assert all(timing.median_s > 0 for timing in found.timings.values())
    text = measurement_text(measurement_of(found, kb.knowledge, None, "1", DAY))
    assert yaml.safe_load(text)["setup"]["model"] == "resnet-18"
