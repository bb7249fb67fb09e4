"""Every figure in a sentence is one of the record: a fact, a term of a calculation, an answer, or a plan's figure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from whygpu.checks.calculation import Range
from whygpu.explain.json_form import plan_dict
from whygpu.explain.shortlist import answer_ms
from whygpu.quantity import show
from whygpu.render.view.meters import span

if TYPE_CHECKING:
    from collections.abc import Iterator

    import whygpu
    from whygpu.render.view import View

NAMES = ("chat", "watch-cameras", "train-7b", "latency-first", "bought")
OWN_NAMES = ("our 7B",)
"""What models that are described in an answer are called there."""
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_UNITS = (None, "GiB", "ms", "s", "USD", "USD/hour", "hours", "share")


def _numbers(text: str) -> set[str]:
    return {found.rstrip(",") for found in _NUMBER.findall(text)}


def _known(kb: whygpu.KnowledgeBase, advice: whygpu.Advice) -> set[str]:
    """Every number of the record as it is written, in any of the usual units."""
    plans = [pick.plan for pick in advice.shortlist]
    values = [fact.value for fact in advice.trace.facts]
    values += [term.value for step in advice.trace.steps for term in step.terms]
    values += [side for step in advice.trace.steps for item in step.conditions for side in (item.left, item.right)]
    values += [value for plan in plans for value in _leaves(plan_dict(plan))]
    whole = (answer_ms(plan, advice.consultation.plans.work.setup.output_tokens) for plan in plans)
    values += [None if value is None else value / 1000 for value in whole]
    found = {number for value in values if isinstance(value, float | int) for number in _shown(float(value))}
    free = (1 - plan.memory.total_gib / plan.memory.usable_gib for plan in plans if plan.memory.usable_gib)
    found |= {f"{100 * share:.0f}" for share in free}
    rules = kb.knowledge.rule_by_id
    found |= {number for step in advice.trace.steps if step.rule for number in _numbers(rules[step.rule].because.text)}
    return found | {f"{one / other:.2f}" for one in _factors(plans) for other in _factors(plans)}


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list | tuple):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def _factors(plans: list[Any]) -> set[float]:
    return {1.0} | {item.worth for plan in plans if plan.counted for item in plan.counted.factors}


def _shown(value: float) -> set[str]:
    """By itself, and beside another time that is far longer."""
    beside = ((), (20 * value,))
    return {number for unit in _UNITS for others in beside for number in _numbers(show(value, unit, others))}


def _unnamed(kb: whygpu.KnowledgeBase, text: str) -> str:
    """The text without names that hold numbers, and without counts of cards."""
    cards = kb.knowledge.catalogue.accelerators.values()
    models = (str(model.data.get("name")) for model in kb.knowledge.catalogue.models.values())
    names = [*(card.name for card in cards), *models, *OWN_NAMES, *(rule.title for rule in kb.knowledge.rules)]
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return text


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_in_a_sentence_is_in_the_record(
    kb: whygpu.KnowledgeBase, advised: dict[str, whygpu.Advice], views: dict[str, View], name: str
) -> None:
    view, known = views[name], _known(kb, advised[name])
    reasons = (row.text for row in view.reasons if row.about is None)
    said = {
        number
        for text in (*(item.text for item in (*view.because, *view.but)), *reasons)
        for number in _numbers(_unnamed(kb, text))
    }
    assert said
    assert not said - known


def test_a_figure_of_nobody_would_be_found(kb: whygpu.KnowledgeBase, advised: dict[str, whygpu.Advice]) -> None:
    """Else the test above could not fail."""
    assert not _numbers("It needs 13.37 GiB of 7,654.") & _known(kb, advised["chat"])


def test_the_ends_of_a_time_stand_in_its_unit() -> None:
    assert span(Range(35_838, 52_100, 79_162), "ms") == "35.8 to 79.2"
    assert span(Range(275, 375, 525), "ms") == "275 to 525"
    assert span(Range(1, 1, 1), "ms") == ""
