"""The verdict: what to take, how sure that is, what decides it, and what speaks against it."""

from __future__ import annotations

import math
from itertools import takewhile
from typing import TYPE_CHECKING

from whygpu.chain.environment import plain
from whygpu.explain.meters import Need, needs
from whygpu.explain.shortlist import costs_less
from whygpu.knowledge.preferences import POWER, SPEED
from whygpu.quantity import show, show_range
from whygpu.render.view.meters import label_of
from whygpu.render.view.model import Confidence, Headline, Sentence
from whygpu.render.view.rivals import (
    cheapest_of,
    handling_of,
    handling_tells,
    held_back,
    money_with_handling,
    rival_of,
    told,
    with_handling,
)
from whygpu.render.words import (
    is_bought,
    method_text,
    money_text,
    month_text,
    price_text,
    short_text,
    spread_text,
    work_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.advice import Advice
    from whygpu.explain.deciding import Deciding, Weight
    from whygpu.explain.plan import Buying, Plan
    from whygpu.render.view.words import Words

_AGE = frozenset({"plan.price_age_days", "plan.price_fresh_days"})
"""How old a price is, and how old one may be that passes as today's."""
_CLEARLY_LESS = 0.9
"""The share of a price from which another is told beside it."""
_SAME = 0.02
"""Factors within this share of each other are alike."""


def headline(advice: Advice) -> Headline:
    """What to take, or that there is nothing to take."""
    plan = advice.recommendation
    if plan is None:
        least_bad = None if advice.infeasible is None else advice.infeasible.least_bad
        if least_bad is None:
            return Headline("No plan satisfies every constraint.", "", None, "")
        return Headline(
            "No sensible plan within these limits.",
            "",
            None,
            f"The least bad: {short_text(least_bad)}, {price_text(least_bad)}.",
        )
    confidence, why = _confidence(advice, plan)
    text = f"{plan.label}{spread_text(plan)} in {plan.format.upper()}{method_text(plan)}"
    return Headline(f"TAKE {text}", price(plan) + _rented_from(advice, plan), confidence, why)


def _rented_from(advice: Advice, plan: Plan) -> str:
    """Whose price it is, where it is a rent, and who asks clearly less."""
    cost, providers = plan.cost, advice.consultation.knowledge.catalogue.providers
    if cost is None or cost.basis != "renting":
        return ""
    least = cost.least
    if least is None or least.usd_per_hour > _CLEARLY_LESS * cost.usd_per_hour:
        return f" ({providers[cost.provider].name})"
    less = f"from {show(least.usd_per_hour, 'USD')} at {providers[least.provider].name}"
    return f" ({providers[cost.provider].name}; {less})"


def _bought(plan: Plan, buying: Buying) -> str:
    """What the price of buying is for."""
    missing = f" {buying.count} more" if buying.count < plan.count else ""
    if buying.count > plan.count:
        missing = f" {buying.count} (whole boards)"
    memory = f"{show(buying.usd_memory, 'USD')} of memory for the model included" if buying.usd_memory else ""
    machine = "machine included" if buying.machine else "for the existing machine"
    if buying.machine and memory:
        machine, memory = f"machine and {memory}", ""
    return f"to buy{missing}, {', '.join(filter(None, (machine, memory)))}"


def price(plan: Plan) -> str:
    """An hour, and the job, or of what has no end the month."""
    cost = plan.cost
    if cost is None:
        return "no price known"
    part = cost.compared
    job = None if part.usd_total is None else f"{show(part.usd_total, 'USD')} for the job"
    month = f"{show(part.usd_per_month, 'USD')} a month"
    if cost.basis == "buying" and cost.buying is not None:
        estimated = " (estimated)" if cost.estimated else ""
        bought = f"{show(cost.buying.usd_purchase, 'USD')} {_bought(plan, cost.buying)}{estimated}"
        return bought if cost.held else f"{bought}, {job or f'{month} including power'}"
    trains = plan.method is not None
    return ", ".join(filter(None, (f"{price_text(plan)}{_idle(plan)}", job or ("" if trains else month))))


def _idle(plan: Plan) -> str:
    """The machines that the rent is for, where the plan leaves a part of them idle; else empty."""
    cost = plan.cost
    if cost is None or cost.basis != "renting" or cost.machines is None or cost.machine_accelerators is None:
        return ""
    if plan.count >= cost.machines * cost.machine_accelerators:
        return ""
    machines = "a machine" if cost.machines == 1 else f"{cost.machines} machines"
    return f" for {machines} of {cost.machine_accelerators}, of which it uses {plan.count}"


def _confidence(advice: Advice, plan: Plan) -> tuple[Confidence, str]:
    consultation = advice.consultation
    rough = [*_rough(plan, needs(consultation, plan), measured(consultation, plan)), *_doubtful(consultation, plan)]
    close = list(_close(advice, plan))
    if rough:
        return "rough estimate", "; ".join([*rough, *close])
    return ("close call", "; ".join(close)) if close else ("sure", "")


def measured(consultation: Consultation, plan: Plan) -> bool:
    """Whether a measurement covers the plan's kind of work, stack and card; its speeds' ranges are wider where not."""
    return consultation.plans.plan_set.estimate(plan.index).work.columns.measured(0)


def _rough(plan: Plan, found: Sequence[Need], seen: bool) -> Iterator[str]:
    if plan.unverified:
        yield "a limit could not be checked, because a figure is unknown"
    if not seen:
        yield "no measurement covers this kind of model, card and stack"
    for need in found:
        if need.status == "at risk":
            ends = show_range(need.got.low, need.got.high, need.unit)
            yield f"{label_of(need, plan)} may be {ends}, and the limit is {show(need.limit, need.unit)}"
    if plan.cost is None:
        yield "no price is known"
    elif plan.cost.estimated:
        yield "its price is estimated"


def _doubtful(consultation: Consultation, plan: Plan) -> Iterator[str]:
    """What the figures rest on that nobody vouches for: a model that nobody named or that is known in part, as by its
    size, a price of long ago.
    """
    plans = consultation.plans
    if any(item.question.id == "model" for item in consultation.applied.assumed):
        yield f"no model was named, and {plans.work.shape.name} stands for it"
    if plans.work.shape.assumed:
        yield "figures of the model are guessed"
    if plan.cost is None or plan.cost.basis != "renting" or not consultation.knowledge.vocabulary.keys() >= _AGE:
        return
    age, fresh = (plain(plans.environment.at(name, plan.index)) for name in sorted(_AGE))
    if isinstance(age, float) and isinstance(fresh, float) and age > fresh:
        yield f"its price is {show(age, 'days')} old"


def _close(advice: Advice, plan: Plan) -> Iterator[str]:
    within = advice.consultation.knowledge.preferences.close_within
    tied = [f"{other.label} ({money_text(other)})" for other in takewhile(lambda x: x.rank == 1, advice.alternatives)]
    if tied:
        yield f"as good overall: {', '.join(tied[:3])}"
        return
    other = rival_of(advice)
    if other is None:
        return
    if plan.counted is None or other.counted is None or other.unverified != plan.unverified:
        return
    share = other.counted.value / plan.counted.value - 1
    if share <= within:
        yield f"{short_text(other)} counts only {share:.0%} more"


def because(advice: Advice, words: Words, deciding: Deciding) -> tuple[Sentence, ...]:
    """What decides it against the next plan, with both figures."""
    plan = advice.recommendation
    if plan is None:
        return ()
    if not advice.alternatives:
        asked = advice.consultation.answers.accelerators
        if asked is not None and len(asked) == 1:
            return (Sentence("It is the accelerator that was asked for, and the best of the plans on it."),)
        return (Sentence("Every other accelerator is ruled out."),)
    other = rival_of(advice)
    if other is None:
        reason = words.weightiest(plan.index)
        if reason is None:
            return (Sentence("No other plan comes near it."),)
        return (Sentence(words.text(reason), words.evidence(reason)),)
    if plan.counted is None or other.counted is None:
        return (Sentence(f"It is the best of those with a price: none is known for {short_text(other)}."),)
    found = sorted(_contributions(plan, other), key=lambda item: -item[1])
    criterion, share = found[0] if found else ("money", 0.0)
    mine, theirs = (show(one.value, one.unit) for one in (plan.counted, other.counted))
    counts = f"with all reasons weighed, it counts as {mine} and the other as {theirs}"
    if (criterion == "money" or share <= 0) and plan.cost is None:
        return (Sentence(f"No price is known for it or for {short_text(other)}, the next best; {counts}."),)
    if criterion == "money" or share <= 0:
        one, two, with_handling = _moneys(plan, other)
        it = f"With {handling_of(plan)}, it costs" if with_handling else "It costs"
        if one == two:
            return (Sentence(f"{it} {one}, as {short_text(other)}, the next best, does{_alike(found)}."),)
        usd, _, of = two.partition(" ")
        other_price = usd if one.endswith(f" {of}") else two  # what both are for is said once
        return (Sentence(f"{it} {one} against {other_price} for {short_text(other)}, the next best{_alike(found)}."),)
    if criterion == SPEED:
        return (Sentence(f"It is faster than {short_text(other)}, the next best: {_speed(plan, other)}; {counts}."),)
    if criterion == POWER:
        return (Sentence(f"It draws less power than {short_text(other)}, the next best; {counts}."),)
    weight = next(iter(deciding.apart(plan.index, other.index, criterion)), None)
    if weight is None:
        return (Sentence(f"It is better on {criterion} than {short_text(other)}, the next best; {counts}."),)
    said = words.text(weight)
    who = "" if weight.favourable else f"Against {short_text(other)}, the next best: "
    after = f" With all reasons weighed, {short_text(plan)} counts as {mine} and {short_text(other)} as {theirs}."
    return (Sentence(f"{who}{said}{after}", words.evidence(weight)),)


def _moneys(plan: Plan, other: Plan) -> tuple[str, str, bool]:
    """What both cost, by the price, or with the handling where that turns the order around; whether it does. Where one
    of them is bought and the other is not, both by the month.
    """
    mine, theirs = _compared(plan), _compared(other)
    if mine is None or theirs is None or mine <= theirs:
        timed = all(one.cost is not None and money_text(one) == price_text(one) for one in (plan, other))
        text = month_text if timed and is_bought(plan) != is_bought(other) else money_text
        return text(plan), text(other), False
    return money_with_handling(plan), money_with_handling(other), True


def _compared(plan: Plan) -> float | None:
    """What ``money_text`` says, as the ranking compares it: USD for the job, a unit of work or an hour."""
    cost = plan.cost
    if cost is None or work_text(plan) or cost.held:
        return None if cost is None else cost.objective
    return cost.compared.usd_per_hour if cost.compared.usd_total is None else cost.compared.usd_total


def _alike(found: Sequence[tuple[str, float]]) -> str:
    """What else tells the two apart, where it is little or nothing."""
    rest = [criterion for criterion, share in found if criterion != "money" and abs(share) > _SAME]
    return "; no rule tells them apart" if not rest else ""


def _contributions(plan: Plan, other: Plan) -> Iterator[tuple[str, float]]:
    """How far each criterion, and money, put the other behind, as logarithms: they sum to the distance."""
    if plan.counted is None or other.counted is None:
        return
    mine, theirs = (
        {item.criterion: item.worth for item in one.counted.factors} for one in (plan, other) if one.counted
    )
    total = math.log(other.counted.value / plan.counted.value) if plan.counted.value > 0 < other.counted.value else 0.0
    for criterion in dict.fromkeys((*mine, *theirs)):
        share = math.log(theirs.get(criterion, 1.0) / mine.get(criterion, 1.0))
        total -= share
        yield criterion, share
    yield "money", total


def _speed(plan: Plan, other: Plan) -> str:
    for name, unit, what in (
        ("train_hours", "hours", ""),
        ("token_ms", "ms", " a token"),
        ("ttft_ms", "ms", " an answer"),
    ):
        one, two = plan.speed.get(name), other.speed.get(name)
        if one is not None and two is not None:
            mine, theirs = (show(figure, unit, (one.likely, two.likely)) for figure in (one.likely, two.likely))
            return f"{mine} against {theirs}{what}"
    return "by its figures"


def but(
    advice: Advice, weights: Sequence[Weight], words: Words, deciding: Deciding | None = None
) -> tuple[Sentence, ...]:
    """What speaks against it: that it misses what was asked for, or else the weightiest rule; and a warning where
    nothing but its price speaks for it.
    """
    plan = advice.recommendation
    if plan is None:
        return ()
    found: list[Sentence] = []
    against = [item for item in weights if item.row == plan.index and not item.favourable]
    missed = {need.rule.id for need in needs(advice.consultation, plan) if need.status == "missed"}
    for item in sorted(against, key=lambda item: (item.rule.id not in missed, -item.worth))[:1]:
        found.append(Sentence(words.text(item), words.evidence(item)))
    if not any(item.row == plan.index and item.favourable for item in weights) and advice.alternatives:
        found.append(Sentence("Only its price is in its favour: look at the shortlist before you decide."))
    if not found:
        found += _given_up(advice, plan, deciding)
    return tuple(found)


def _given_up(advice: Advice, plan: Plan, deciding: Deciding | None) -> Iterator[Sentence]:
    """What another plan of the shortlist has more of, where no rule speaks against the recommendation; of one that
    costs less, what keeps it back. The card of the cheapest is told of in the reasons, with its price.
    """
    cheapest = cheapest_of(advice)
    for pick in advice.shortlist:
        if pick.role not in ("fastest", "room-to-grow", "easiest-to-get"):
            continue
        gained, cheaper = pick.gains.split("; ") if pick.gains else [], costs_less(pick.plan, plan)
        if cheaper and cheapest is not None and pick.plan.accelerator.id == cheapest.accelerator.id:
            continue
        after = ""
        if cheaper and handling_tells(plan, pick.plan):
            gained, cheaper = gained[1:], False
            after = f" {with_handling(pick.plan, plan)}"
        elif cheaper and deciding is not None:
            after = "".join(f" {told(item, plan)}." for item in held_back(plan, pick.plan, deciding)[:1])
        if gained:
            what = "cost less" if cheaper else "be easier to get" if pick.easier else "give more"
            yield Sentence(f"{short_text(pick.plan)} would {what}: {gained[0]}.{after}")
            return
