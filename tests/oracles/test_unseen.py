"""Coefficients without what one source taught."""

from __future__ import annotations

from benchmarks.accuracy.unseen import SOURCES, without

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
