"""Answers about a lifecycle, ``phases: {train: ..., serve: ...}``: two sets of answers that share the other keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from whygpu.answers import Answers, in_order
from whygpu.consult.driver import inapplicable
from whygpu.errors import AnswerError, Problem, did_you_mean
from whygpu.measured.answers import check_answers
from whygpu.yamldoc.document import Mapping, Node, Scalar, plain_data
from whygpu.yamldoc.fields import kind_of, problem

if TYPE_CHECKING:
    from collections.abc import Mapping as ReadOnly

    from whygpu.knowledge.base import Knowledge

KEY = "phases"
Part = Literal["train", "serve"]
PARTS: tuple[Part, Part] = ("train", "serve")
_PHASES = {"train": ("training", "fine-tuning"), "serve": ("inference", "batch-inference")}


@dataclass(frozen=True, slots=True)
class LifecycleAnswers:
    """Checked answers of both phases. In each stand its own and, of the shared ones, those that apply to it."""

    train: Answers
    serve: Answers
    given: ReadOnly[str, Any]
    """The answers as they were given, for the record."""


def is_lifecycle(node: Node) -> bool:
    """Whether the answers are about a lifecycle."""
    return isinstance(node, Mapping) and KEY in node.items


def check_lifecycle(node: Node, knowledge: Knowledge) -> LifecycleAnswers:
    """Check the answers about a lifecycle; raises AnswerError with every problem."""
    problems: list[Problem] = []
    if not isinstance(node, Mapping) or not is_lifecycle(node):
        problem(problems, node, "missing-key", f"there is no '{KEY}'", "for example phases: {train: {}, serve: {}}")
        raise AnswerError(problems)
    parts = _parts(node, problems)
    shared = {key: value for key, value in node.items.items() if key != KEY and not _is_nothing(value)}
    if shared.pop("phase", None) is not None:
        message = "'phase' names one phase, and 'phases' has two"
        problem(problems, node.keys["phase"], "clash", message, "say it inside 'train' or 'serve', or leave it out")
    found: dict[str, Answers] = {}
    for part, own in parts.items():
        try:
            found[part] = replace(check_answers(_merged(node, shared, own), knowledge), life=part)
        except AnswerError as error:
            problems += error.problems
            continue
        phase = found[part].values.get("phase")
        if phase is not None and phase not in _PHASES[part]:
            allowed = " or ".join(_PHASES[part])
            problem(
                problems, own.items["phase"], "wrong-phase", f"'{part}' cannot be {phase}", f"write phase: {allowed}"
            )
    if problems:
        raise AnswerError(list(dict.fromkeys(problems)))  # what is wrong with a shared answer, both have found
    kept = _applying(node, shared, parts, found, knowledge)
    given = in_order(plain_data(node))
    return LifecycleAnswers(kept["train"], kept["serve"], MappingProxyType(given if isinstance(given, dict) else {}))


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _parts(node: Mapping, problems: list[Problem]) -> dict[Part, Mapping]:
    """The answers of each phase alone."""
    inner = node.items[KEY]
    if not isinstance(inner, Mapping):
        message = f"'{KEY}' must be a mapping of train and serve to their answers, not {kind_of(inner)}"
        problem(problems, inner, "wrong-type", message, "for example phases: {train: {method: lora}, serve: {}}")
        return {}
    for key, where in inner.keys.items():
        if key not in PARTS:
            near = did_you_mean(key, PARTS) or f"a lifecycle has {' and '.join(PARTS)}"
            problem(problems, where, "unknown-key", f"there is no phase '{key}' in a lifecycle", near)
    found: dict[Part, Mapping] = {}
    for part in PARTS:
        own = inner.items.get(part)
        if own is None:
            message = f"'{KEY}' has no '{part}'"
            problem(
                problems, inner, "missing-key", message, f"add '{part}: {{}}', or ask about one phase: leave it out"
            )
        elif isinstance(own, Mapping):
            found[part] = own
        elif _is_nothing(own):
            found[part] = Mapping({}, {}, own.document, own.line, own.column)
        else:
            message = f"'{part}' must be a mapping of keys to values, not {kind_of(own)}"
            problem(problems, own, "wrong-type", message, f"write '{part}: {{}}' where there is nothing to answer")
    return found


def _merged(node: Mapping, shared: dict[str, Node], own: Mapping) -> Mapping:
    """One phase's answers: its own merged over the shared ones."""
    keys = {key: where for key, where in node.keys.items() if key in shared}
    return Mapping({**shared, **own.items}, keys | own.keys, node.document, node.line, node.column)


def _applying(
    node: Mapping, shared: dict[str, Node], parts: dict[Part, Mapping], found: dict[str, Answers], knowledge: Knowledge
) -> dict[str, Answers]:
    """Each phase's answers without the shared ones that do not apply to it.

    Raises AnswerError for a shared answer that neither phase reads, since it does not apply or is given anew. What a
    phase gives itself stays: where it does not apply the advice warns of it, as with a single phase.
    """
    idle = {
        part: {key for key in inapplicable(knowledge, found[part]) if key in shared and key not in own.items}
        for part, own in parts.items()
    }
    problems: list[Problem] = []
    for key in shared:
        if any(key not in own.items and key not in idle[part] for part, own in parts.items()):
            continue
        anew = [part for part, own in parts.items() if key in own.items]
        code, message = "applies-to-neither", f"'{key}' applies to neither phase"
        if anew:
            code, message = "clash", f"'{key}' is also given in {' and '.join(anew)}, and not read here"
        problem(problems, node.keys[key], code, message, "remove it")
    if problems:
        raise AnswerError(problems)
    kept: dict[str, Answers] = {}
    for part, own in parts.items():
        applying = {key: value for key, value in shared.items() if key not in idle[part]}
        kept[part] = replace(check_answers(_merged(node, applying, own), knowledge), life=part)
    return kept
