"""What keeps another plan from being the recommendation, in the rules' own titles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.knowledge.preferences import POWER, SPEED
from whygpu.quantity import show, side_by_side
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
_DEARER = 1.5
"""Times the price of the recommendation from which a plan is told to cost more."""
_IN_FIGURES = {SPEED: "it is slower", POWER: "it draws more power"}


@dataclass(frozen=True, slots=True)
class Hold:
    """By one criterion, how many times worse a plan is than the recommendation, and the rule that says so."""

    times: float
    otherwise: str
    """What is said where no rule does."""
    against: Rule | None = None
    """What speaks against the plan."""
    lacking: Rule | None = None
    """What speaks for the recommendation alone, where nothing speaks against the plan."""
    figures: str = ""
    """What is said after ``otherwise`` where there is room."""
    criterion: str = ""
    """By which the plan is that much worse; none for what is money."""


def rival_of(advice: Advice) -> Plan | None:
    """The plan that the recommendation is compared with: the next that anybody would take, which is none on a copy of
    what is owned, none without a price where that is owned, nor one that counts as so many times more as the shortlist
    leaves out.
    """
    best = advice.recommendation
    if best is None:
        return None
    consultation = advice.consultation
    owned = {card for card, _ in consultation.answers.owned}
    most = consultation.knowledge.preferences.shortlist_at_most

    def sensible(plan: Plan) -> bool:
        if plan.accelerator.id in owned and not plan.owned:
            return False
        if best.counted is None or plan.counted is None:
            return not best.owned
        return plan.counted.value <= most * best.counted.value

    return next(filter(sensible, advice.alternatives), None)


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
            apart = deciding.apart(best.index, plan.index, criterion)
            against = next((item.rule for item in apart if not item.favourable), None)
            lacking = apart[0].rule if apart and against is None else None
            yield Hold(
                times, _IN_FIGURES.get(criterion, f"rated lower on {criterion}"), against, lacking, "", criterion
            )
    if handling_tells(best, plan):
        costs = side_by_side(money_with_handling(plan), money_with_handling(best))
        yield Hold(money(plan) / money(best), f"{handling_of(plan)} costs more", figures=f", {costs} with it")


def handling_of(plan: Plan) -> str:
    """What is added to the price of a plan before plans are compared, in words."""
    return (
        "the time to set it up and look after it"
        if plan.counted is not None and plan.counted.unit == "USD"
        else "its handling"
    )


def money(plan: Plan) -> float:
    """What a plan costs with its handling: what it counts as without what rules are worth; not a number without it."""
    if plan.counted is None:
        return math.nan
    return plan.counted.value / math.prod(item.worth for item in plan.counted.factors)


def money_with_handling(plan: Plan) -> str:
    """The same in words; the price where nothing is counted."""
    return money_text(plan) if plan.counted is None else show(money(plan), plan.counted.unit)


def with_handling(plan: Plan, best: Plan) -> str:
    """What both cost with what is added to their prices, in a sentence."""
    costs = side_by_side(money_with_handling(plan), money_with_handling(best))
    return f"With {handling_of(plan)}, it costs {costs}."


def handling_tells(best: Plan, plan: Plan) -> bool:
    """Whether a plan costs less than the recommendation, and with the handling more."""
    return cheaper(plan, best) and money(plan) >= _SAYS_NOTHING * money(best)


def cheaper(plan: Plan, best: Plan) -> bool:
    """Whether a plan's price, compared as the ranking compares it, is below the recommendation's."""
    prices = [None if one.cost is None else one.cost.objective for one in (plan, best)]
    return prices[0] is not None and prices[1] is not None and prices[0] < prices[1]


def against(best: Plan, plan: Plan, deciding: Deciding) -> str:
    """The weightiest reason in a few words, a rule's first; nothing where only its price keeps it back."""
    found = held_back(best, plan, deciding)
    rule = next((item.against.title for item in found if item.against is not None), None)
    return rule or (found[0].otherwise.capitalize() if found else "")


def against_in_full(best: Plan, plan: Plan, deciding: Deciding, words: Words) -> str:
    """The weightiest reason as its rule says it of the plan; where no rule does, and it costs clearly more, that."""
    found = held_back(best, plan, deciding)
    rule = next((item.against for item in found if item.against is not None), None)
    if rule is not None:
        return words.because(rule, None if rule.scope == "session" else plan.index)
    prices = [None if one.cost is None else one.cost.objective for one in (plan, best)]
    if prices[0] and prices[1] and prices[0] >= _DEARER * prices[1]:
        return f"It costs {prices[0] / prices[1]:.1f} times as much."
    if not found:
        return ""
    lacking = found[0].lacking
    if lacking is not None:
        said = words.because(lacking, None if lacking.scope == "session" else best.index)
        return f"What speaks for {best.label} alone: {said}"
    return f"{(found[0].otherwise + found[0].figures).capitalize()}."


def told(item: Hold, best: Plan) -> str:
    """What speaks against a plan, or for the recommendation alone."""
    if item.against is None and item.lacking is not None:
        return f"For {best.label} only: {item.lacking.title}"
    return f"Against it: {item.otherwise + item.figures if item.against is None else item.against.title}"


def cheapest_of(advice: Advice) -> Plan | None:
    """The cheapest plan of the shortlist, where it costs less than the recommendation."""
    best = advice.recommendation
    plan = next((pick.plan for pick in advice.shortlist if pick.role == "cheapest"), None)
    return plan if best is not None and plan is not None and cheaper(plan, best) else None


def why_not_cheaper(advice: Advice, deciding: Deciding, words: Words) -> Iterator[Sentence]:
    """Why the cheapest plan of the shortlist is not the recommendation, where another one is."""
    best, plan = advice.recommendation, cheapest_of(advice)
    found = () if best is None or plan is None else held_back(best, plan, deciding)
    if best is None or plan is None or not found or money_text(plan) == money_text(best):
        return
    said = [
        told(item, best) + (f" ({item.times:.2f}x on {item.criterion})." if item.criterion else ".")
        for item in found[:_TOLD]
    ]
    rule = next((item.against or item.lacking for item in found if item.against or item.lacking), None)
    text = f"{short_text(plan)} costs less, {money_text(plan)}, but ranks lower. {' '.join(said)}"
    yield Sentence(text, Evidence() if rule is None else words.of_rule(rule))
