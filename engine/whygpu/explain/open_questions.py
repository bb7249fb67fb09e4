"""What was not answered: what was assumed instead, and what waits for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.strata import used_names
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.consult.answering import assumption_of
from whygpu.consult.names import LIFE_KEYS
from whygpu.explain.parts import Assumed, OpenQuestion
from whygpu.explain.templates import fill_template
from whygpu.kept import kept
from whygpu.language.tree import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.questions import Question
    from whygpu.knowledge.rules import Rule


def assumed(consultation: Consultation) -> tuple[Assumed, ...]:
    """Values taken for what was not answered."""
    environment, knowledge = consultation.session.environment, consultation.knowledge
    return tuple(
        Assumed(item.question.name, item.question.id, item.value, fill_template(item.because, environment, knowledge))
        for item in consultation.applied.assumed
    )


def filled(consultation: Consultation) -> set[str]:
    """Answers of which each plan has as much as its cards hold: what is assumed of them is where filling begins."""
    plans = consultation.plans
    found = {"batch_size"} if plans.options.fills else set()
    if plans.options.at_once is not None:
        found.add("concurrency" if plans.work.shape.kind in TOKEN_KINDS else "batch_size")
    return found


def settled(consultation: Consultation, question: Question) -> bool:
    """Whether the model that was given answers it: a choice that it makes, as of its task. Amounts that are taken from
    it, as twenty tokens per parameter, are only usual.
    """
    if consultation.answers.model is None or question.id in consultation.answers.given:
        return False
    if consultation.knowledge.vocabulary[question.name].kind != "choice":
        return False
    used = assumption_of(consultation.session.environment, question)
    return used is not None and any(name.name.startswith("model.") for name in names(used.value))


def waiting(knowledge: Knowledge, name: str) -> tuple[Rule, ...]:
    """The rules that read a name, directly or through derived values; those that reject plans first."""
    return tuple(sorted(_reads(knowledge).get(name, ()), key=lambda rule: (not rule.rejects, rule.id)))


@kept(4)
def _reads(knowledge: Knowledge) -> Mapping[str, tuple[Rule, ...]]:
    found: dict[str, list[Rule]] = {}
    for rule in knowledge.advising:
        for name in used_names([rule.condition, *rule.grades], knowledge.values):
            found.setdefault(name, []).append(rule)
    return {name: tuple(rules) for name, rules in found.items()}


def open_questions(consultation: Consultation) -> Iterator[OpenQuestion]:
    """Questions that apply and were not answered: some rule or limit waits for them."""
    knowledge = consultation.knowledge
    known_keys = {item.question.id for item in consultation.applied.assumed}
    for question in consultation.applied.applicable:
        if question.id in consultation.answers.locations or not question.name:
            continue
        reading = waiting(knowledge, question.name)
        readers = [rule.id for rule in reading]
        listed = ", ".join(readers[:3]) + (f" and {len(readers) - 3} more" if len(readers) > 3 else "")
        known = question.id in known_keys
        verb = "a value is assumed; it is read by" if known else "it is needed by"
        why = f"{verb} {listed}" if readers else "the plans are sized with it" if known else "no rule reads it"
        if question.id in LIFE_KEYS and all(rule.only_says for rule in reading):
            readers, known, why = [], False, "the cost of the lifecycle depends on it"
        yield OpenQuestion(question.id, why, bool(readers) or known)
