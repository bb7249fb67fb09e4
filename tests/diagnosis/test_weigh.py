"""Signs add up: one more for a cause never puts it lower, one more against it never higher."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whygpu
from whygpu.diagnosis.weigh import leader, ranked, standing, sums, weights
from whygpu.knowledge.rules import STRENGTHS, Rule, Sign

CAUSES = ("a", "b", "c", "d")
WORTH = {"mild": 1.0, "normal": 2.0, "strong": 4.0}
SIGNS = st.builds(Sign, cause=st.sampled_from(CAUSES), strength=st.sampled_from(STRENGTHS), favourable=st.booleans())


@pytest.fixture(scope="module")
def rule(kb: whygpu.KnowledgeBase) -> Rule:
    return next(rule for rule in kb.knowledge.rules if rule.diagnoses)


def place(rule: Rule, signs: list[Sign], cause: str) -> int:
    return ranked(CAUSES, sums([replace(rule, effects=tuple(signs))], WORTH)).index(cause)


@given(signs=st.lists(SIGNS, max_size=12), more=SIGNS)
def test_one_more_sign(rule: Rule, signs: list[Sign], more: Sign) -> None:
    before, after = place(rule, signs, more.cause), place(rule, [*signs, more], more.cause)
    assert after <= before if more.favourable else after >= before


@given(signs=st.lists(SIGNS, max_size=12), data=st.data())
def test_the_order_of_signs_does_not_matter(rule: Rule, signs: list[Sign], data: st.DataObject) -> None:
    other = data.draw(st.permutations(signs))
    assert sums([replace(rule, effects=tuple(signs))], WORTH) == sums([replace(rule, effects=tuple(other))], WORTH)


def test_strengths_count_more_and_more(kb: whygpu.KnowledgeBase) -> None:
    found = weights(kb.knowledge)
    assert found == WORTH
    assert [found[strength] for strength in STRENGTHS] == sorted(found.values())


def test_who_leads() -> None:
    assert leader({}) is None
    assert leader({"a": -1.0}) is None
    assert leader({"a": 1.0, "b": 0.0}) == "a"
    assert leader({"a": 2.0, "b": 2.0}) is None


def test_how_a_cause_stands() -> None:
    found = {"a": 4.0, "b": 2.0, "c": 1.0, "d": -1.0}
    assert [standing(cause, found, WORTH) for cause in "abcde"] == ["likely", "possible", "weak", "unlikely", "no sign"]
