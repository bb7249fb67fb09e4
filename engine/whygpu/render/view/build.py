"""Puts a view of an advice together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, assert_never

from whygpu.explain.deciding import Deciding
from whygpu.explain.flips import Flips, doubled, limit_flips, price_flips, search
from whygpu.explain.repairs import repairs
from whygpu.plans.slices import Slices
from whygpu.render.view import lists
from whygpu.render.view.meters import meter_rows
from whygpu.render.view.model import Evidence, Repair, Sentence, Trouble, View
from whygpu.render.view.request import request
from whygpu.render.view.rivals import why_not_cheaper
from whygpu.render.view.starting import start_section
from whygpu.render.view.verdict import because, but, headline, price
from whygpu.render.view.words import Words
from whygpu.render.words import short_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.advice import Advice
    from whygpu.explain.flips import PriceFlip
    from whygpu.explain.parts import Infeasible

_CONFLICTS = 3
_PRICES = 4
"""Prices that are told, of those that change the recommendation."""
_FAR = 4.0
"""Prices this many times more or less are no tipping points to watch for."""
_RIVALS = 3
"""Plans after the recommendation that are looked at for a rule that alone keeps them from being it."""


Search = Literal["limits", "loads", "all"]
"""What is tried for changing the recommendation, beside prices: limits that were answered, just missed; loads,
doubled, as well (a consultation each); or every answer, searched for the nearest value (some dozens).
"""


def view_of(advice: Advice, *, flips: Search = "limits") -> View:
    """The view."""
    consultation = advice.consultation
    rows = advice.maker.rows
    heads = rows.heads
    deciding = Deciding(consultation, rows) if heads else None
    weights = deciding.weights(heads[1 : 1 + _RIVALS]) if deciding is not None else ()
    words = Words(consultation, weights)
    plan = advice.recommendation
    tried = _answers(consultation, flips) if heads else Flips((), ())
    answers = tried.found
    found = View(
        Sentence(request(consultation)),
        headline(advice),
        () if deciding is None else (*because(advice, words, deciding), *why_not_cheaper(advice, deciding, words)),
        but(advice, weights, words, deciding),
        () if plan is None else meter_rows(consultation, plan),
        lists.shortlist(advice, deciding, words),
        lists.reasons(advice.maker, weights, words) if heads else (),
        lists.flips(_prices(consultation, _PRICES - min(len(answers), _PRICES // 2)), answers, words),
        tried.idle,
        lists.assumed(advice, (item.rule for item in weights if item.decides)),
        lists.ruled_out(advice, words),
        None if heads else _trouble(advice, words),
        lists.disagreements(advice, weights, words),
        lists.items(advice, words),
        start_section(advice),
        f"Knowledge base {advice.knowledge_version} ({advice.knowledge_hash}), {advice.engine} engine, asked as of "
        f"{consultation.today}.",
        {},
    )
    found.claims.update(lists.quoted(consultation.knowledge, _evidence(found)))
    return found


def _prices(consultation: Consultation, most: int) -> list[PriceFlip]:
    """The nearest tipping points of prices; those far away are nothing to watch for."""
    return [item for item in price_flips(consultation)[:most] if item.near < _FAR]


def _answers(consultation: Consultation, which: Search) -> Flips:
    """The tipping points of answers."""
    match which:
        case "limits":
            return Flips(limit_flips(consultation), ())
        case "loads":
            return Flips((*doubled(consultation), *limit_flips(consultation)), ())
        case "all":
            return search(consultation)
        case _:
            assert_never(which)


def _trouble(advice: Advice, words: Words) -> Trouble:
    """The rules in conflict, and at most three complete repairs."""
    consultation = advice.consultation
    infeasible = advice.infeasible
    fixed = tuple(
        Repair(words.change(item.changes), short_text(item.plan), price(item.plan), item.changes)
        for item in repairs(consultation)
    )
    conflict = () if infeasible is None else _conflict(advice, infeasible, words)
    found = (*_no_slices(consultation), *_no_way(consultation), *conflict)
    return Trouble(found, fixed)


def _no_slices(consultation: Consultation) -> Iterator[Sentence]:
    """That a training job was asked to be on so many of an accelerator as no slice has."""
    count, catalogue = consultation.plans.options.count, consultation.knowledge.catalogue
    if count is None or not consultation.plans.work.setup.trains:
        return
    for card in (catalogue.accelerators[name] for name in consultation.answers.accelerators or ()):
        slices = Slices.of(card)
        if slices is not None and not slices.has(count):
            yield Sentence(f"{count}x {card.name} cannot be rented: {slices.said()}, and a job takes one.")


def _no_way(consultation: Consultation) -> Iterator[Sentence]:
    """That no method that is left trains in a format that is left."""
    plans = consultation.plans
    if len(plans) or not plans.work.setup.trains:
        return
    methods, formats = plans.options.methods, [plans.work.catalogue.formats[name] for name in plans.options.formats]
    left = " and ".join(item.name for item in formats)
    if methods == ("qlora",) and not any(item.quantized for item in formats):
        model = plans.work.shape.name
        yield Sentence(f"QLoRA keeps the frozen weights in 4 or 8 bits, and for {model} only {left} is left.")
    if "qlora" not in methods and all(item.quantized for item in formats):
        yield Sentence(f"Only QLoRA trains beside weights in {left}.")


def _conflict(advice: Advice, infeasible: Infeasible, words: Words) -> Iterator[Sentence]:
    """What the nearest plans need against what is allowed, of those without a price only where none has one; of what is
    only bad, what speaks against the least bad: what speaks against others alone would be said of a plan that it is not
    true of.
    """
    plans, rules = advice.consultation.plans, advice.consultation.knowledge.rule_by_id
    if infeasible.least_bad is not None:
        row = infeasible.least_bad.index
        for name in infeasible.conflict:
            if plans.fired[name][row]:
                yield Sentence(words.because(rules[name], row), words.of_rule(rules[name]))
        return
    rows = {item.plan: advice.maker.rows.find(item.plan) for item in infeasible.relaxations}
    priced = {name for name, row in rows.items() if row is not None and math.isfinite(plans.costs.hourly[row])}
    told = [item for item in infeasible.relaxations if not priced or item.plan in priced]
    for item in told[:_CONFLICTS]:
        first = rules[item.constraint.split(" and ")[0]]
        yield Sentence(item.text, words.of_rule(first))


def _evidence(view: View) -> Iterator[Evidence]:
    yield from (item.evidence for item in (*view.because, *view.but))
    yield from (item.evidence for item in view.reasons)
    yield from (item.evidence for item in view.ruled_out)
    yield from (item.evidence for item in view.items)
    for item in view.disagreements:
        yield from item.evidence
    if view.trouble is not None:
        yield from (item.evidence for item in view.trouble.conflict)
