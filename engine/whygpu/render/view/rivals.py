"""What keeps another plan from being the recommendation, in the rules' own titles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.knowledge.preferences import POWER, SPEED
from whygpu.render.view.model import Evidence, Sentence
from whygpu.render.words import money_text, short_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.explain.advice import Advice
    from whygpu.explain.deciding import Deciding
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.rules import Rule
    from whygpu.render.view.words import Words

_SAYS_NOTHING = 1.02
"""Factors within this many times of each other are alike."""
_TOLD = 2
_IN_FIGURES = {SPEED: "it is slower", POWER: "it draws more power"}


@dataclass(frozen=True, slots=True)
class Hold:
    """By one criterion, how many times worse a plan is than the recommendation, and the rule that says so."""

    times: float
    against: Rule | None
    """What speaks against the plan."""
    lacking: Rule | None
    """What speaks for the recommendation alone, where nothing speaks against the plan."""
    otherwise: str
    """What is said where no rule does."""


def held_back(best: Plan, plan: Plan, deciding: Deciding) -> tuple[Hold, ...]:
    """What keeps a plan from being the recommendation, beside its price; the weightiest first."""
    return tuple(sorted(_held_back(best, plan, deciding), key=lambda item: -item.times))


def _held_back(best: Plan, plan: Plan, deciding: Deciding) -> Iterator[Hold]:
    if best.counted is None or plan.counted is None:
        return
    mine, theirs = ({item.criterion: item.worth for item in each.factors} for each in (plan.counted, best.counted))
    for criterion in dict.fromkeys((*mine, *theirs)):
        times = mine.get(criterion, 1.0) / theirs.get(criterion, 1.0)
        if times >= _SAYS_NOTHING:
            against = deciding.strongest(plan.index, criterion, favourable=False)
            lacking = deciding.strongest(best.index, criterion, favourable=True) if against is None else None
            yield Hold(times, against, lacking, _IN_FIGURES.get(criterion, f"rated lower on {criterion}"))


def clause(best: Plan, plan: Plan, deciding: Deciding) -> str:
    """The weightiest reason in a few words, a rule against it first; nothing where only its price keeps it back."""
    found = held_back(best, plan, deciding)
    against = next((item.against.title for item in found if item.against is not None), None)
    return against or (found[0].otherwise if found else "")


def told(item: Hold, best: Plan) -> str:
    """What speaks against a plan, or for the recommendation alone."""
    if item.against is None and item.lacking is not None:
        return f"For {best.label} only: {item.lacking.title}"
    return f"Against it: {item.otherwise if item.against is None else item.against.title}"


def cheapest_of(advice: Advice) -> Plan | None:
    """The cheapest plan of the shortlist, where it costs less than the recommendation."""
    best = advice.recommendation
    plan = next((pick.plan for pick in advice.shortlist if pick.role == "cheapest"), None)
    if best is None or plan is None or plan.cost is None or best.cost is None:
        return None
    return plan if (plan.cost.objective or 0) < (best.cost.objective or 0) else None


def why_not_cheaper(advice: Advice, deciding: Deciding, words: Words) -> Iterator[Sentence]:
    """Why the cheapest plan of the shortlist is not the recommendation, where another one is."""
    best, plan = advice.recommendation, cheapest_of(advice)
    found = () if best is None or plan is None else held_back(best, plan, deciding)
    if best is None or plan is None or not found:
        return
    said = [f"{told(item, best)} ({item.times:.2f}x)." for item in found[:_TOLD]]
    rule = next((item.against or item.lacking for item in found if item.against or item.lacking), None)
    text = f"{short_text(plan)} costs less, {money_text(plan)}, but ranks lower. {' '.join(said)}"
    yield Sentence(text, Evidence() if rule is None else words.of_rule(rule))
