"""A question as typed rows: what is asked, its choices, what is assumed, and why it is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from whygpu.explain.figures import show_plain
from whygpu.knowledge.models import downloads_text, offered, sized_name
from whygpu.render.view.model import Evidence, Grid, Line, Section
from whygpu.render.words import price_text, short_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.explain.interview import AnswerEffect, Interview, NextQuestion
    from whygpu.explain.plan import Plan
    from whygpu.explain.trials import Value
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.questions import Question
    from whygpu.language.names import NameSpec

_RULES = 4
_FLAGS = {True: "yes", False: "no"}
_MOST_PRESETS = 5
_NEAR = 0.2
"""Of the answer that is at stake: a preset this close to it is no other choice."""
_MOST_SIDES = 3
_THOUSANDS = 1e7
"""What may be as many as this is written with a k or an M: nobody has thousands of hours or of passes."""
_MOST_CHOICES = 12
MODELS_SHOWN = 6
"""Models offered side by side, before the list of all."""


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """An answer that can be chosen."""

    value: Value
    label: str
    meaning: str
    assumed: bool


@dataclass(frozen=True, slots=True)
class AskView:
    """A question, ready to be drawn."""

    id: str
    topic: str
    ask: str
    help: str
    unit: str
    """How a number may be written; empty for a choice."""
    choices: tuple[ChoiceRow, ...]
    """Of a number or a model: usual ones, in order."""
    free: bool
    """Whether what is not among the choices may be an answer, too."""
    assumed: str
    """The value that holds without an answer; empty where nothing is assumed."""
    because: str
    stake: str
    """An answer that changes the recommendation, and to what; empty where none is known."""


def ask_view(knowledge: Knowledge, question: Question, asked: NextQuestion | None, interview: Interview) -> AskView:
    """The view of a question; ``asked``: why, where the interview asks it now."""
    spec = knowledge.vocabulary[question.name]
    item = next((one for one in interview.consultation.applied.assumed if one.question.id == question.id), None)
    now = None if item is None else item.value
    witness = None if asked is None else asked.witness
    return AskView(
        question.id,
        question.topic,
        question.ask,
        question.help or "",
        _unit(spec),
        tuple(_choices(knowledge, question, now, interview, None if asked is None else asked.telling)),
        spec.kind in ("number", "text"),
        "" if now is None else show_plain(now, spec.unit, spec.name),
        "" if item is None else interview.because(item.because),
        "" if witness is None else stake(knowledge, question, witness),
    )


def _unit(spec: NameSpec) -> str:
    if spec.kind != "number":
        return ""
    if spec.unit == "pixels":
        return "width and height such as 1920x1080, or the side of a square"
    counted = (spec.minimum or 0) >= 1 and (spec.maximum or math.inf) >= _THOUSANDS
    written = "32k and 8B are understood" if counted else ""
    return "; ".join(filter(None, (f"in {spec.unit}" if spec.unit else "", written))) or "as a number"


def _choices(
    knowledge: Knowledge, question: Question, now: Value | None, interview: Interview, telling: Value | None
) -> Iterator[ChoiceRow]:
    spec = knowledge.vocabulary[question.name]
    match spec.kind:
        case "choice":
            words = spec.words if now != spec.unanswered or now is None else tuple(spec.values)
            options = interview.consultation.plans.options
            if len(words) > _MOST_CHOICES:  # of all formats, those that suit the work
                shown = (now, telling, *options.formats)
                words = tuple(word for word in words if word in shown)
            for word in words:
                says = spec.values[word]
                yield ChoiceRow(word, word, "" if _plain(says) == _plain(word) else says, word == now)
        case "flag":
            for value, word in _FLAGS.items():
                yield ChoiceRow(value, word, "", value == now)
        case "number" if spec.unit != "pixels":
            tried = [value for value in interview.worth_trying(question) if isinstance(value, float)]
            few = set(tried[: _MOST_PRESETS - 1])
            if now is None and not spec.integer:  # tried beside figures of plans: nobody has 0.0991
                few = {float(f"{value:.1g}") for value in few}
            held = {value for value in (now, telling) if isinstance(value, float)}
            few = {value for value in few if all(abs(value - other) > _NEAR * other for other in held)}
            for number in sorted(few | held):
                yield ChoiceRow(number, show_plain(number, spec.unit, spec.name), "", number == now)
        case "number":
            sides = interview.worth_trying(question)[:_MOST_SIDES]
            yield from (ChoiceRow(value, str(value), "", False) for value in sides)
        case "text" if question.id == "model":
            yield from model_rows(knowledge, str(interview.consultation.session.answered("task")), now)
        case "text":
            return
        case _:
            assert_never(spec.kind)


def _plain(text: str) -> str:
    """A text without what one may leave out of a name: "awq-int4" says no less than "AWQ INT4"."""
    return "".join(filter(str.isalnum, text.casefold()))


def model_rows(knowledge: Knowledge, task: str, assumed: Value | None) -> Iterator[ChoiceRow]:
    """The first models to choose from for a task."""
    models = knowledge.catalogue.models
    for name in offered(models, task, str(assumed))[:MODELS_SHOWN]:
        yield ChoiceRow(name, sized_name(models[name]), downloads_text(models[name]), name == assumed)


def stake(knowledge: Knowledge, question: Question, effect: AnswerEffect) -> str:
    """What an answer would change, in a sentence."""
    spec = knowledge.vocabulary[question.name]
    return f"With {show_plain(effect.value, spec.unit, spec.name)}: {_then(effect.plan)}."


def _then(plan: Plan | None) -> str:
    return "no plan would be left" if plan is None else f"{short_text(plan)}, {price_text(plan)}"


def why_asked(knowledge: Knowledge, asked: NextQuestion, effects: Sequence[AnswerEffect]) -> Section:
    """Why a question is asked: the rules and plans that wait for it, and what each answer would do."""
    spec = knowledge.vocabulary[asked.question.name]
    lines: list[Line] = []
    if asked.contenders:
        lines.append(Line(f"In front so far: {', '.join(asked.contenders)}."))
    if asked.rules:
        count = len(asked.rules)
        lines.append(Line(f"{count} {'rule waits' if count == 1 else 'rules wait'} for it:"))
        lines += [
            Line(rule.title, 1, "", Evidence(rule.id, f"{rule.location.file}:{rule.location.line}", rule.sources[:1]))
            for rule in asked.rules[:_RULES]
        ]
        if count > _RULES:
            lines.append(Line(f"and {count - _RULES} more", 1))
    rows = tuple(
        (show_plain(item.value, spec.unit, spec.name), _then(item.plan), "changes it" if item.changes else "the same")
        for item in _in_order(effects)
    )
    return Section("Why this is asked", tuple(lines), Grid(("answer", "then", "effect"), rows) if rows else None)


def _in_order(effects: Sequence[AnswerEffect]) -> Sequence[AnswerEffect]:
    numbers = all(isinstance(item.value, float) for item in effects)
    return sorted(effects, key=lambda item: float(item.value)) if numbers else effects
