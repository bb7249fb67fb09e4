"""How each row of a batch is answered: a record that can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whygpu.answers import MEASURED
from whygpu.errors import AnswerError, EngineError, InputError, Location, Problem
from whygpu.render.output import json_text
from whygpu.render.problems import problems_data
from whygpu.yamldoc.document import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import date

    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.commands.row import Row
    from whygpu.yamldoc.document import Node

WHOLE = "answers"
"""What answers are called as a whole, where they have no name."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to do with each row."""

    answer: Callable[[KnowledgeBase, Node, EngineName | None, Detail], dict[str, Any]]
    """A function of a module, so that its name can be sent."""
    key: str
    """What its result stands under."""
    engine: EngineName | None
    kb: str | None
    knowledge_hash: str
    common: Node | None
    """What the command line lays over every row."""
    detail: Detail

    def load(self) -> KnowledgeBase:
        """The knowledge base; raises InputError where it cannot be had, or is another one by now."""
        import whygpu  # noqa: PLC0415  --help needs no numpy

        knowledge = whygpu.load(self.kb)
        if knowledge.knowledge.hash != self.knowledge_hash:
            message = "the knowledge base has changed since the batch began"
            raise AnswerError([Problem("changed", message, Location(self.kb or "--batch"), "run it again")])
        return knowledge

    def known(self) -> Known | None:
        """Where a process keeps results for equal rows; None where they are too long to keep."""
        return None if self.detail.is_long else Known()

    def line(self, row: Row, knowledge: KnowledgeBase, known: Known | None = None) -> str:
        """The result of one row as a line of JSON: the answer, or what is wrong, whatever that is.

        ``known``: results of rows before it, where equal answers are to be answered once.
        """
        try:
            given = None if known is None else row.given
            text = None if known is None or given is None else known.get(given)
            if text is None:
                node = row.node()
                if isinstance(self.common, Mapping) and isinstance(node, Mapping):
                    node = _laid_over(node, self.common)
                text = json_text(self.answer(knowledge, node, self.engine, self.detail))
                if known is not None and given is not None:
                    known.keep(given, text)
            return f'{{"id": {json_text(row.id)}, "{self.key}": {text}}}'
        except InputError as error:
            return _error(row, [_placed(problem, row.name) for problem in error.problems])
        except EngineError as error:
            return failed(row, "engine", str(error))
        except Exception as error:  # noqa: BLE001  one row must not take the others with it
            return failed(row, "internal", f"an error of whygpu itself: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class Detail:
    """The day a row is asked on (None: today), and how much of an advice it gets."""

    today: date | None = None
    only: str | None = None
    """Of a lifecycle, this phase."""
    every: bool = False
    trace: bool = False

    @property
    def is_long(self) -> bool:
        """Whether each result takes much memory."""
        return self.every or self.trace


class Known:
    """The last results, by the answers that they are the results of."""

    def __init__(self, most: int = 256) -> None:
        """``most``: how many are kept."""
        self._most = most
        self._found: dict[str, str] = {}

    def get(self, given: str) -> str | None:
        """The result of the same answers; None where it is not kept."""
        return self._found.get(given)

    def keep(self, given: str, text: str) -> None:
        """Keep a result; the oldest one gives way."""
        if len(self._found) >= self._most:
            del self._found[next(iter(self._found))]
        self._found[given] = text


def failed(row: Row, code: str, message: str) -> str:
    """The line of a row that could not be answered."""
    return _error(row, [Problem(code, message[:2000], Location(row.name))])


def _error(row: Row, problems: Iterable[Problem]) -> str:
    return json_text({"id": row.id, "error": problems_data(problems)})


def _placed(problem: Problem, name: str) -> Problem:
    """The problem where the row stands: what is found in answers as a whole, or in the command line, names none."""
    file = problem.location.file
    if file == name or file.startswith(f"{name}:"):
        return problem
    return replace(problem, location=replace(problem.location, file=name if file == WHOLE else f"{name}: {file}"))


def _laid_over(node: Any, common: Any) -> Any:
    """The row with the command line's settings over it, mappings merged."""
    items = dict(node.items)
    for key, value in common.items.items():
        below = items.get(key)
        if key == MEASURED and isinstance(value, Sequence):
            own = below.items if isinstance(below, Sequence) else [below] if _said(below) else []
            items[key] = replace(value, items=[*own, *value.items])  # what --measured names beside the row's own
            continue
        merge = key != "model" and isinstance(below, Mapping) and isinstance(value, Mapping)
        items[key] = _laid_over(below, value) if merge else value
    return Mapping(items, node.keys | common.keys, node.document, node.line, node.column)


def _said(node: Any) -> bool:
    return node is not None and not (isinstance(node, Scalar) and node.value is None)
