"""Puts a view of an advice together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.explain.deciding import Deciding
from whygpu.explain.fixes import repairs
from whygpu.explain.flips import limit_flips, price_flips, search
from whygpu.render.view import lists
from whygpu.render.view.meters import meter_rows
from whygpu.render.view.model import Evidence, Repair, Sentence, Trouble, View
from whygpu.render.view.request import request
from whygpu.render.view.verdict import because, but, headline
from whygpu.render.view.words import Words
from whygpu.render.words import price_text, short_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.explain.advice import Advice
    from whygpu.explain.parts import Infeasible
    from whygpu.knowledge.rules import Rule

_CONFLICTS = 3
_PRICES = 4
"""Prices that are told, of those that change the recommendation."""
_RIVALS = 3
"""Plans after the recommendation that are looked at for a rule that alone keeps them from being it."""


def view_of(advice: Advice, *, flips: bool = False) -> View:
    """The view. ``flips`` searches every answer for what changes the recommendation; without it only prices and the
    limits that were answered are tried.
    """
    consultation = advice.consultation
    rows = advice.maker.rows
    heads = rows.heads
    deciding = Deciding(consultation, rows) if heads else None
    weights = deciding.weights(heads[1 : 1 + _RIVALS]) if deciding is not None else ()
    next_best = deciding.of(heads[1]) if deciding is not None and len(heads) > 1 else ()
    words = Words(consultation, (*weights, *next_best))
    plan = advice.recommendation
    shown = [pick.plan for pick in advice.shortlist]
    answers = () if not heads else search(consultation).found if flips else limit_flips(consultation)
    found = View(
        Sentence(request(consultation)),
        headline(advice),
        because(advice, words),
        but(advice, weights, words),
        () if plan is None else meter_rows(consultation, plan),
        lists.shortlist(advice),
        lists.reasons(advice.maker, weights, words) if heads else (),
        lists.flips(price_flips(consultation)[:_PRICES], answers, words),
        lists.assumed(advice, (item.rule for item in weights if item.decides)),
        lists.ruled_out(advice, words),
        None if heads else _trouble(advice, words),
        lists.disagreements(advice, words, shown),
        lists.items(advice, words),
        f"Knowledge base {advice.knowledge_version} ({advice.knowledge_hash}), {advice.engine} engine, prices as of "
        f"{consultation.today}.",
        {},
    )
    found.claims.update(lists.quoted(consultation.knowledge, _evidence(found)))
    return found


def _trouble(advice: Advice, words: Words) -> Trouble:
    """The rules in conflict, and at most three complete repairs."""
    consultation = advice.consultation
    rules = consultation.knowledge.rule_by_id
    infeasible = advice.infeasible
    fixed = tuple(
        Repair(words.change(item.changes), short_text(item.plan), price_text(item.plan))
        for item in repairs(consultation)
    )
    return Trouble(tuple(_conflict(infeasible, words, rules)), fixed)


def _conflict(infeasible: Infeasible | None, words: Words, rules: Mapping[str, Rule]) -> Iterator[Sentence]:
    """What the nearest plans need against what is allowed; of what is only bad, what speaks against the least bad."""
    if infeasible is None:
        return
    if infeasible.least_bad is not None:
        for name in infeasible.conflict:
            yield Sentence(words.because(rules[name], infeasible.least_bad.index), words.of_rule(rules[name]))
        return
    for item in infeasible.relaxations[:_CONFLICTS]:
        first = rules[item.constraint.split(" and ")[0]]
        yield Sentence(item.text, words.of_rule(first))


def _evidence(view: View) -> Iterator[Evidence]:
    yield from (item.evidence for item in (*view.because, *view.but))
    yield from (item.evidence for item in view.reasons)
    yield from (item.evidence for item in view.ruled_out)
    yield from (item.evidence for item in view.items)
    for item in view.disagreements:
        yield from (item.favour, item.against)
    if view.trouble is not None:
        yield from (item.evidence for item in view.trouble.conflict)
