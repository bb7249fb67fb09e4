"""Coefficients without what one source taught, and errors on families as if never seen."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from benchmarks.accuracy import gate, unseen
from benchmarks.accuracy.__main__ import ROOT, compare
from benchmarks.accuracy.rows import Compared, DataMissingError, Measurements
from benchmarks.accuracy.subjects import Subjects
from benchmarks.accuracy.unseen import SOURCES, without

import whygpu
from tests.checks.conftest import FACTS, Facts, read


def test_only_what_rests_on_the_source_alone_is_taken_out() -> None:
    facts = Facts()
    left, taken, _ = without(facts.coefficients, SOURCES["ft-gpt"])
    words = {"runtime": "fastertransformer"}
    assert facts.coefficients.pick("gap-s-per-layer", words) != facts.coefficients.pick("gap-s-per-layer", {})
    assert left.pick("gap-s-per-layer", words) == left.pick("gap-s-per-layer", {})
    assert left.pick("gap-s-per-layer", {}) == facts.coefficients.pick("gap-s-per-layer", {})
    # another source than the guide, the code, says how the ends are copied
    assert left.pick("copied-ends", words) == facts.coefficients.pick("copied-ends", words)
    assert taken > 0
    assert left.table("shape-by-parameters") == facts.coefficients.table("shape-by-parameters")


def test_every_family_is_cited_by_a_known_reference() -> None:
    known = {entry["id"] for entry in read(FACTS / "references" / "coefficients.yaml")["references"]}
    assert {source for sources in SOURCES.values() for source in sources} <= known


def kept(median: float) -> dict[str, gate.Figures]:
    return {"decode speed": gate.Figures(10, median, 3 * median, 0.8)}


def test_a_median_worse_by_a_tenth_is_found() -> None:
    assert gate.worse(kept(0.12), kept(0.10)) == ["decode speed: the median error is 12.0%, and was 10.0%"]
    assert gate.worse({}, kept(0.10)) == ["decode speed: no longer compared"]
    assert not gate.worse(kept(0.109), kept(0.10))
    assert not gate.worse(kept(0.05), kept(0.10))


def test_figures_are_kept_and_read_again(tmp_path: Path) -> None:
    gate.write(kept(0.1), tmp_path / "unseen.yaml")
    assert gate.read(tmp_path / "unseen.yaml") == kept(0.1)


@pytest.mark.slow
def test_no_median_on_unseen_families_got_worse_by_a_tenth() -> None:
    directory = Path(os.environ.get("WHYGPU_MEASUREMENTS", ROOT.parent / "shared" / "calibration"))
    try:
        measurements = Measurements.read(directory)
    except DataMissingError as missing:
        pytest.skip(f"{missing}; WHYGPU_MEASUREMENTS names another directory")
    subjects = Subjects(whygpu.load().knowledge.catalogue)
    compared = [outcome for outcome in compare(measurements, subjects) if isinstance(outcome, Compared)]
    found = unseen.leave_out(compared, subjects, partial(compare, measurements))
    assert gate.worse(gate.figures(found), gate.read()) == []
