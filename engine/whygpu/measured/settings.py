"""Figures and parts of the setup that are given one by one, as ``key=value``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whygpu.answers import apply_settings, node_of
from whygpu.errors import AnswerError, Problem
from whygpu.measured.measurement import PREFIX, SETUP, VERSION
from whygpu.measured.read import figure_hint, figure_names, measurement_of, replace_items
from whygpu.yamldoc.document import Document, Mapping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement
    from whygpu.yamldoc.document import Node

NAME = "--set"


def of_settings(settings: Iterable[str], knowledge: Knowledge) -> Measurement:
    """A measurement of ``key=value`` settings, where a key is a figure or an answer of the setup.

    Raises AnswerError with every problem.
    """
    given = apply_settings(None, settings)
    root = given if isinstance(given, Mapping) else Mapping({}, {}, Document(NAME, ""), 0, 0)
    inner = root.items.get(PREFIX.rstrip("."))  # measured.step_ms=400
    if isinstance(inner, Mapping):
        items = {key: node for key, node in root.items.items() if node is not inner}
        root = replace(root, items=items | inner.items, keys=root.keys | inner.keys)
    figures, setup = figure_names(knowledge), {*knowledge.name_by_answer, *SETUP}
    parts: dict[str, Node] = {
        "measurement": node_of(VERSION, NAME),
        "figures": replace_items(root, {key: node for key, node in root.items.items() if key in figures}),
        "setup": replace_items(
            root, {key: node for key, node in root.items.items() if key in setup and key not in figures}
        ),
    }
    known = [*figures, *setup]
    unknown = [_unknown(key, node, known, knowledge) for key, node in root.items.items() if key not in known]
    found, problems = None, unknown
    try:
        found = measurement_of(replace(root, items=parts, keys={}), NAME, knowledge)
    except AnswerError as error:
        problems = [*unknown, *error.problems]
    if found is None or problems:
        raise AnswerError(problems)
    return found


def _unknown(key: str, node: Node, known: Iterable[str], knowledge: Knowledge) -> Problem:
    message = f"'{key[:60]}' is no figure of a measurement and no answer about its setup"
    return Problem("unknown-figure", message, node.location, figure_hint(key, known, knowledge))
