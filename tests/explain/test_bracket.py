"""The search for the nearest number that changes something, on functions whose answer is known."""

from __future__ import annotations

import math

import pytest

import whygpu
from whygpu.explain.bracket import LADDER, Tried, nearest

START = 100.0


def _search(
    kb: whygpu.KnowledgeBase, key: str, at: float, *, led: bool, start: float = START
) -> tuple[tuple[float, float] | None, int]:
    """Where something changes beyond ``at``, and how many numbers were tried; ``led``: the lead falls evenly."""
    up, tries = at > start, []

    def attempt(number: float) -> Tried:
        tries.append(number)
        changes = number >= at if up else number <= at
        return Tried(changes, math.log(at / number) * (1 if up else -1) if led else None)

    lead = abs(math.log(at / start)) if led else None
    return nearest(start, lead, kb.knowledge.name_by_answer[key], attempt, up=up), len(tries)


@pytest.mark.parametrize("led", [True, False])
@pytest.mark.parametrize("at", [101.0, 130.0, 350.0, 1500.0, 99.5, 71.0, 8.0])
def test_the_change_lies_between_the_two(kb: whygpu.KnowledgeBase, at: float, led: bool) -> None:
    found, _ = _search(kb, "token_latency_ms", at, led=led)
    assert found is not None
    same, other = found
    assert min(same, other) <= at <= max(same, other)
    assert max(found) / min(found) < (1.05 if led else 1.1)


def test_a_lead_finds_it_in_fewer_tries(kb: whygpu.KnowledgeBase) -> None:
    assert _search(kb, "token_latency_ms", 350.0, led=True)[1] < _search(kb, "token_latency_ms", 350.0, led=False)[1]


def test_small_whole_numbers_are_found_exactly(kb: whygpu.KnowledgeBase) -> None:
    for at in (9.0, 11.0, 13.0, 19.0, 5.0, 7.0):
        found, _ = _search(kb, "concurrency", at, led=False, start=8.0)
        assert found == ((at - 1, at) if at > 8 else (at + 1, at))


def test_what_changes_too_far_away_is_not_found(kb: whygpu.KnowledgeBase) -> None:
    found, tries = _search(kb, "token_latency_ms", START * LADDER[-1] * 1.5, led=True)
    assert found is None
    assert tries == len(LADDER)
