"""Advice, techniques and warnings: what rules say beyond the plan, each once, with every rule that gives it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import plain
from whygpu.chain.strata import used_names
from whygpu.consult.answering import holds
from whygpu.explain.fixes import first_fix
from whygpu.explain.meters import needs
from whygpu.explain.parts import Item
from whygpu.explain.rejections import miss, reasons
from whygpu.explain.templates import fill_template
from whygpu.knowledge.rules import Advise, Warn
from whygpu.language import tree as t
from whygpu.language.tree import names
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.consult.consultation import Consultation, SessionResult
    from whygpu.explain.plan_maker import PlanMaker
    from whygpu.knowledge.questions import Question, Unasked
    from whygpu.knowledge.rules import Rule
    from whygpu.language.names import NameSpec


def session_items(session: SessionResult, kind: type[Advise | Warn]) -> tuple[Item, ...]:
    """What the session rules that fired advise, or warn of."""
    found: list[Item] = []
    for rule in session.fired:
        for effect in rule.effects:
            if isinstance(effect, kind):
                text = fill_template(effect.text or rule.because, session.environment, session.knowledge)
                found.append(Item(effect.id, rule.topic, text, (rule.id,), rule.sources))
    return tuple(_merged(found))


def techniques(maker: PlanMaker) -> tuple[Item, ...]:
    """What the recommended plan uses."""
    return tuple(_merged(_of_the_first(maker, Advise)))


def _of_the_first(maker: PlanMaker, kind: type[Advise | Warn]) -> Iterator[Item]:
    """What rules say of the recommended plan."""
    environment, knowledge = maker.consultation.plans.environment, maker.consultation.knowledge
    for row in maker.rows.heads[:1]:
        for rule, effect in maker.said(row, kind):
            text = fill_template(effect.text or rule.because, environment, knowledge, row)
            yield Item(effect.id, rule.topic, text, (rule.id,), rule.sources)


def warnings(maker: PlanMaker) -> tuple[Item, ...]:
    """Warnings of rules, ignored answers, limits that nothing could be held against, and doubts about the model."""
    consultation = maker.consultation
    found = list(_merged((*session_items(consultation.session, Warn), *_of_the_first(maker, Warn))))
    found += _irrelevant(consultation)
    found += _unchecked(consultation, next(iter(maker.rows.heads), 0))
    found += _left_out(maker)
    found += _doubts(consultation)
    found += _measured(consultation)
    return tuple(found)


def _irrelevant(consultation: Consultation) -> Iterator[Item]:
    for question in consultation.applied.irrelevant:
        text = f"'{question.id}' does not apply {_where_not(consultation, question)}, and was ignored."
        yield Item(f"ignored-{question.id}", "answers", text, (), ())


def _where_not(consultation: Consultation, question: Question | Unasked) -> str:
    """The first condition of the question that does not hold, as what its names are."""
    environment = consultation.session.environment
    parts = question.when.parts if isinstance(question.when, t.All) else (question.when,)
    failed = next((part for part in parts if not holds(environment, part)), question.when)
    found = {item.name: plain(environment.value(item.name)) for item in names(failed) if item.name != question.name}
    vocabulary = consultation.knowledge.vocabulary
    told = [(vocabulary[name], value) for name, value in found.items() if isinstance(value, str)]
    answered = [(spec, value) for spec, value in told if spec.answer is not None]
    said = [_is(spec, value) for spec, value in answered or told]
    return f"where {' and '.join(said)}" if said else f"to {consultation.answers.given.get('phase', 'this work')}"


def _is(spec: NameSpec, value: str) -> str:
    """What a name is, as its answer; of what nobody answers, what the value means."""
    if spec.answer is None:
        attribute = spec.name.partition(".")[2].replace("_", " ")
        return spec.values.get(value) or f"the {spec.entity}'s {attribute} is {value}"
    return f"{spec.answer} is {value}"


def _unchecked(consultation: Consultation, best: int) -> Iterator[Item]:
    """Limits that no plan could be held against."""
    for rule in consultation.plans.unchecked:
        lacking = "; ".join(_lacking(consultation, rule, best))
        text = f"{rule.title}: no plan could be checked for it, so all are unverified. Unknown: {lacking}."
        yield Item(f"unchecked-{rule.id}", rule.topic, text, (rule.id,), rule.sources)


def _lacking(consultation: Consultation, rule: Rule, best: int) -> Iterator[str]:
    """What the names of plans that a rule asks for mean, of those that the best plan has no value for."""
    knowledge, environment = consultation.knowledge, consultation.plans.environment
    for name in sorted(used_names([rule.condition], knowledge.values)):
        spec = knowledge.vocabulary[name]
        if spec.scope == "plan" and plain(environment.at(name, best)) is None:
            yield spec.meaning


def _left_out(maker: PlanMaker) -> Iterator[Item]:
    """What is owned and yet not tried, or out."""
    consultation = maker.consultation
    out: list[Item] = []
    answers, names = consultation.answers, consultation.knowledge.catalogue.accelerators
    chosen = names.keys() if answers.accelerators is None else set(answers.accelerators)
    for name, _ in answers.owned:
        if not answers.allows_own:
            why = "'provider_classes' leaves out 'own'"
        elif name not in chosen or name in answers.exclude_accelerators:
            why = "'accelerators' or 'exclude_accelerators' leaves it out"
        else:
            out += _owned_out(maker, name)
            continue
        text = f"The {names[name].name} that you own was not considered: {why}."
        yield Item(f"owned-left-out-{name}", "answers", text, (), ())
    if len(out) > 1:
        texts = (*(item.text for item in out), "Cards of different kinds are not combined in one plan here.")
        out = [Item("owned-out", "answers", " ".join(texts), (), ())]
    yield from out


def _owned_out(maker: PlanMaker, name: str) -> Iterator[Item]:
    """Why what is owned is out, where something else is recommended instead: of the plan on it that misses least."""
    consultation, plan_set = maker.consultation, maker.consultation.plans.plan_set
    card = list(consultation.knowledge.catalogue.accelerators).index(name)
    rows = np.flatnonzero(plan_set.owned & (plan_set.card == card)) if maker.rows.heads else np.zeros(0, dtype=np.int64)
    if not rows.size or consultation.plans.alive[rows].any():
        return
    row = min(rows.tolist(), key=partial(_missing, maker))
    why = next(reasons(consultation, row), None)
    said = why.text if why else "no plan is left on it."
    text = f"The {consultation.knowledge.catalogue.accelerators[name].name} that you own is ruled out: {said}"
    missed = [need for need in needs(consultation, maker.at(row)) if need.status == "missed"]
    if missed and all(need.within_reach for need in missed):
        lows = ", ".join(show(need.best, need.unit) for need in missed)
        text += f" The range of the estimate reaches {lows}: measure it there before you spend money."
    fix = first_fix(maker, row, why.rule) if why else None
    if fix:
        changes = (f"{key} = {f'{value:g}' if isinstance(value, float) else value}" for key, value in fix.items())
        text += f" {', '.join(changes)} would allow it."
    yield Item(f"owned-out-{name}", "answers", text, (), ())


def _missing(maker: PlanMaker, row: int) -> tuple[float, ...]:
    """How far a plan is from being let pass: by how many rules reject it, by how much it misses what they ask for, and
    by what else it lacks.
    """
    rules = [rule for rule, mask in maker.rows.rejecting.items() if mask[row]]
    return len(rules), miss(maker.consultation, rules, row), *maker.rows.distance(row)


def _doubts(consultation: Consultation) -> Iterator[Item]:
    for number, text in enumerate(consultation.applied.doubts, start=1):
        yield Item(f"model-{number}", "model", f"The model: {text}.", (), ())
    assumed = consultation.plans.work.shape.assumed
    if assumed and not isinstance(consultation.answers.model, str):
        text = f"Derived or assumed for this model: {', '.join(assumed)}."
        if set(consultation.answers.model or ()) == {"parameters"}:
            usual = ", ".join(name.replace("_", " ") for name in assumed)
            text = f"Only the size of the model is known, and the usual {usual} are taken for it. Name it if you can."
        yield Item("model-shape", "model", text, (), ())


def _measured(consultation: Consultation) -> Iterator[Item]:
    """What measurements do to the estimates."""
    for number, text in enumerate(consultation.plans.work.measured, start=1):
        yield Item(f"measured-{number}", "measured", text, (), ())


def _merged(items: Iterable[Item]) -> Iterator[Item]:
    """Items of one id once, with all their rules and claims; the first text stands."""
    found: dict[str, Item] = {}
    for item in items:
        known = found.get(item.id)
        if known is not None:
            rules, claims = (*known.rules, *item.rules), (*known.claims, *item.claims)
            item = Item(known.id, known.topic, known.text, tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(claims)))  # noqa: PLW2901  the merged one replaces it
        found[item.id] = item
    yield from found.values()
