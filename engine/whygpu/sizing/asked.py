"""What a sizing is asked: measurements taken together, answers that override theirs, and answers of sizing itself."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from whygpu.answers import Answers, as_node, check, node_of, read_number
from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.measured.answers import check_answers
from whygpu.measured.measurement import Measurement, Setup
from whygpu.measured.read import measurement_of
from whygpu.sizing.names import ANSWERED, PREFIX
from whygpu.yamldoc.document import Mapping, Node, Scalar
from whygpu.yamldoc.fields import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as ReadOnly

    from whygpu.knowledge.base import Knowledge

Of = Literal["training", "inference"]
MEASURED = "measured"
"""The answer that holds measured figures."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A sizing's input: ``own`` are answers of sizing itself, by name without ``sizing.``."""

    of: Of
    answers: Answers
    own: ReadOnly[str, float]
    measured: Measurement


def ask(of: Of, measured: Iterable[Measurement], given: ReadOnly[str, object] | Node, knowledge: Knowledge) -> Asked:
    """Put together what is measured and answered; raises AnswerError with every problem of either."""
    node = as_node(given)
    if not isinstance(node, Mapping):
        message = f"answers must be a mapping of keys to values, not {kind_of(node)}"
        raise AnswerError([Problem("wrong-type", message, node.location)])
    problems: list[Problem] = []
    own = _own(of, node, knowledge, problems)
    known = [*measured]
    if isinstance(figures := node.items.get(MEASURED), Mapping):
        known.append(_figures(figures, knowledge, problems))
    elif figures is not None:
        problems.append(Problem("wrong-type", "'measured' holds figures by name", figures.location, "measured.step_ms"))
    taken = together(known, knowledge, problems)
    items = {key: item for key, item in node.items.items() if key not in (*ANSWERED[of], MEASURED)}
    rest = replace(node, items=items, keys={key: node.keys[key] for key in items})
    try:
        answers = check_answers(_with_setup(of, rest, taken.setup), knowledge)
        taken = replace(taken, setup=replace(taken.setup, answers=answers))  # batch_size may be answered, too
    except AnswerError as error:
        problems += [_hinted(item, of) for item in error.problems]
    if problems:
        raise AnswerError(problems)
    return Asked(of, answers, MappingProxyType(own), taken)


def _hinted(item: Problem, of: Of) -> Problem:
    """An unknown answer may be meant as one of sizing's."""
    if item.code != "unknown-key":
        return item
    word = item.message.partition("'")[2].partition("'")[0]
    return replace(item, help=did_you_mean(word, ANSWERED[of]) or item.help)


def _own(of: Of, node: Mapping, knowledge: Knowledge, problems: list[Problem]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key in ANSWERED[of]:
        item = node.items.get(key)
        if item is None or (isinstance(item, Scalar) and item.value is None):
            continue
        if not isinstance(item, Scalar):
            problems.append(Problem("wrong-type", f"'{key}' must be one value, not {kind_of(item)}", item.location))
            continue
        value = read_number(key, item, knowledge.vocabulary[PREFIX + key], problems)
        if value is not None:
            found[key] = value
    return found


def _figures(node: Mapping, knowledge: Knowledge, problems: list[Problem]) -> Measurement:
    """Figures among the answers, checked like those of a file."""
    whole = node_of({"measurement": 1}, "measured")
    assert isinstance(whole, Mapping)
    key = Scalar("figures", "figures", node.document, 0, 0)
    file = replace(whole, items={**whole.items, "figures": node}, keys={**whole.keys, "figures": key})
    try:
        return measurement_of(file, "the answers", knowledge)
    except AnswerError as error:
        problems += error.problems
        return measurement_of(whole, "the answers", knowledge)


def _with_setup(of: Of, node: Mapping, setup: Setup) -> Node:
    """The answers over those of the setup; what is sized says the phase, where nobody else does."""
    given: dict[str, Any] = {"phase": of, **setup.answers.given}
    given.pop("count", None)  # how many were measured limits nothing
    base = node_of({key: value for key, value in given.items() if key not in node.items}, "setup")
    assert isinstance(base, Mapping)
    return replace(node, items={**base.items, **node.items}, keys={**base.keys, **node.keys})


def together(found: list[Measurement], knowledge: Knowledge, problems: list[Problem]) -> Measurement:
    """Several measurements as one: their points and rows side by side. What contradicts is a problem, by name."""
    if not found:
        return measurement_of(node_of({"measurement": 1}, "nothing"), "nothing", knowledge)
    first, *others = found
    for other in others:
        first = _joined(first, other, knowledge, problems)
    return first


def _joined(one: Measurement, other: Measurement, knowledge: Knowledge, problems: list[Problem]) -> Measurement:
    for name in sorted(one.figures.keys() & other.figures.keys()):
        if one.figures[name] != other.figures[name]:
            message = f"'{name}' is {one.figures[name]} in {one.name} and {other.figures[name]} in {other.name}"
            place = other.locations.get(name, Location(other.name))
            problems.append(Problem("contradiction", message, place, "leave one of them out"))
    setup = _one_setup(one, other, knowledge, problems)
    return replace(
        one,
        name=f"{one.name}, {other.name}",
        setup=setup,
        tool=one.tool or other.tool,
        date=one.date or other.date,
        source=one.source or other.source,
        figures=MappingProxyType({**one.figures, **other.figures}),
        points=(*one.points, *other.points),
        scaling=(*one.scaling, *other.scaling),
        locations=MappingProxyType({**one.locations, **other.locations}),
        questions=(*one.questions, *other.questions),
    )


def _one_setup(one: Measurement, other: Measurement, knowledge: Knowledge, problems: list[Problem]) -> Setup:
    """What both say was measured; each must say the same of what both speak of."""
    values: dict[str, Any] = {}
    for item in fields(Setup):
        if item.name == "answers":
            continue
        first, second = getattr(one.setup, item.name), getattr(other.setup, item.name)
        if first is not None and second is not None and first != second:
            problems.append(_unlike(one, other, item.name.replace("model_name", "model"), first, second))
        values[item.name] = second if first is None else first
    return Setup(_one_set_of_answers(one, other, knowledge, problems), **values)


def _one_set_of_answers(one: Measurement, other: Measurement, knowledge: Knowledge, problems: list[Problem]) -> Answers:
    """The answers of both setups, which must be the same where both have them."""
    first, second = one.setup.answers, other.setup.answers
    told = {item.name.replace("model_name", "model") for item in fields(Setup)}
    for key in sorted((first.given.keys() & second.given.keys()) - told):
        values = [item.values.get(key, item.given[key]) for item in (first, second)]
        if values[0] != values[1]:
            problems.append(_unlike(one, other, key, *values))
    return check(node_of({**second.given, **first.given}, "setup"), knowledge)


def _unlike(one: Measurement, other: Measurement, what: str, first: object, second: object) -> Problem:
    message = f"{one.name} is of {what} {first}, {other.name} of {second}"
    hint = "size each by itself: a load test is of one replica of one model"
    return Problem("contradiction", message, Location(other.name), hint)
