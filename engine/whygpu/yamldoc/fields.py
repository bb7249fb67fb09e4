"""Reads the fields of a mapping by name and type; what is missing, wrong or unknown becomes a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import Problem, did_you_mean
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.forms import DATE, ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.yamldoc.forms import Form


def problem(problems: list[Problem], node: Node, code: str, message: str, help_text: str | None = None) -> None:
    """Add a problem at ``node``, with the line it stands on."""
    problems.append(Problem(code, message, node.location, help_text, node.document.line(node.line) or None))


def kind_of(node: Node) -> str:
    """Name what a node is, in a reader's words."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return f"the flag {node.text}"
    if isinstance(node.value, int | float):
        return f"the number {node.text}"
    return f"the text '{node.text[:40]}'"


def unknown_key(problems: list[Problem], node: Mapping, key: str, what: str, known: Iterable[str]) -> None:
    """Add a problem at a key of ``what`` that nothing knows."""
    problem(problems, node.keys[key], "unknown-key", f"{what} has no field '{key}'", _hint_key(node, key, known))


def _hint_key(node: Mapping, key: str, known: Iterable[str]) -> str:
    """How to fix it."""
    value = node.items[key]
    if " " in key and isinstance(value, Scalar) and not value.text:  # {because: this, and that}
        return "inside { } a text with a comma in it needs quotes"
    names = sorted(set(known))
    return did_you_mean(key, names) or f"known here: {', '.join(names)}"


class Fields:
    """The fields of one mapping; call ``done`` at the end so that unknown ones are reported."""

    def __init__(self, node: Mapping, what: str, problems: list[Problem], form: Form | None = None) -> None:
        """``what`` names the thing being read, for messages: "rule 'quantize'"; ``form``: which fields it has, which
        of them are needed and which words they take. Without one any name may be asked for.
        """
        self.node = node
        self.what = what
        self.problems = problems
        self._form = form
        self._asked: list[str] = []

    @classmethod
    def of(cls, node: Node, what: str, problems: list[Problem], form: Form | None = None) -> Fields | None:
        """Read ``node`` as a mapping; None, with a problem, where it is something else."""
        if isinstance(node, Mapping):
            return cls(node, what, problems, form)
        problem(problems, node, "wrong-type", f"{what} must be a mapping of names to values, not {kind_of(node)}")
        return None

    def __contains__(self, key: str) -> bool:
        """Whether ``key`` is given (and not null)."""
        return self._given(key) is not None

    def _given(self, key: str) -> Node | None:
        node = self.node.items.get(key)
        return None if isinstance(node, Scalar) and node.value is None else node

    def keys(self) -> Iterable[str]:
        """Every key given, in order."""
        return self.node.items.keys()

    def get(self, key: str, *, required: bool = False) -> Node | None:
        """Return the value node of ``key``; None where it is missing or null.

        ``required`` here and below: whether it must be there for what else is given; the form knows what always must.
        """
        self._asked.append(key)
        node = self._given(key)
        if node is None and (required or (self._form is not None and self._form[key].needed)):
            problem(self.problems, self.node, "missing-key", f"{self.what} has no '{key}'", f"add '{key}: ...'")
        return node

    def text(self, key: str, *, required: bool = False) -> str | None:
        """A text (a number or flag written there is refused)."""
        node = self.get(key, required=required)
        return None if node is None else self._text(node, key)

    def _text(self, node: Node, key: str) -> str | None:
        if isinstance(node, Scalar) and isinstance(node.value, str) and (text := node.value.strip()):
            return text
        problem(
            self.problems,
            node,
            "wrong-type",
            f"'{key}' of {self.what} must be a text, not {kind_of(node)}",
            f'write "{node.text}" in quotes' if isinstance(node, Scalar) and node.value is not None else None,
        )
        return None

    def identifier(self, key: str = "id") -> str | None:
        """A required id: lower-case letters, digits, '.', '_' and '-'."""
        node = self.get(key, required=True)
        if node is None:
            return None
        if isinstance(node, Scalar) and ID.match(node.text):
            return node.text
        problem(
            self.problems,
            node,
            "bad-id",
            f"'{key}' of {self.what} must be an id, not {kind_of(node)}",
            "use lower-case letters, digits, '.', '_' and '-'",
        )
        return None

    def number(self, key: str, *, required: bool = False) -> float | None:
        """A finite number."""
        node = self.get(key, required=required)
        if node is None:
            return None
        if isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return float(node.value)
        problem(self.problems, node, "wrong-type", f"'{key}' of {self.what} must be a number, not {kind_of(node)}")
        return None

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        node = self.get(key)
        if node is None:
            return default
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        problem(self.problems, node, "wrong-type", f"'{key}' of {self.what} must be true or false, not {kind_of(node)}")
        return default

    def date(self, key: str, *, required: bool = False) -> str | None:
        """A date, YYYY-MM-DD."""
        node = self.get(key, required=required)
        if node is None:
            return None
        if isinstance(node, Scalar) and DATE.match(node.text):
            return node.text
        problem(self.problems, node, "bad-date", f"'{key}' of {self.what} must be a date", "write it as 2026-11-21")
        return None

    def _words(self, key: str, allowed: Iterable[str] | None) -> list[str]:
        if allowed is not None:
            return list(allowed)
        return [] if self._form is None else list(self._form[key].words)

    def choice(self, key: str, allowed: Iterable[str] | None = None, *, required: bool = False) -> str | None:
        """One of ``allowed``, by default of the words that the form has."""
        node = self.get(key, required=required)
        if node is None:
            return None
        names = self._words(key, allowed)
        if isinstance(node, Scalar) and node.text in names:
            return node.text
        near = did_you_mean(node.text, names) if isinstance(node, Scalar) else None
        problem(
            self.problems,
            node,
            "bad-choice",
            f"'{key}' of {self.what} must be one of {', '.join(names)}, not {kind_of(node)}",
            near,
        )
        return None

    def choices(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of the form's words, or a single one; where it is required, an empty list is not enough."""
        names = self._words(key, None)
        nodes = self.text_nodes(key, required=required)
        if required and not nodes and isinstance(self.node.items.get(key), Sequence):
            message = f"'{key}' of {self.what} is an empty list"
            problem(self.problems, self.node.items[key], "bad-choice", message, f"one or more of {', '.join(names)}")
        for node in nodes:
            if node.text.strip() not in names:
                message = f"'{key}' of {self.what} must be of {', '.join(names)}, not {kind_of(node)}"
                problem(self.problems, node, "bad-choice", message, did_you_mean(node.text, names))
        return tuple(node.text.strip() for node in nodes)

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of texts; a single text counts as a list of one."""
        return tuple(node.text.strip() for node in self.text_nodes(key, required=required))

    def text_nodes(self, key: str, *, required: bool = False) -> list[Scalar]:
        """The same with their places."""
        node = self.get(key, required=required)
        if node is None:
            return []
        items = node.items if isinstance(node, Sequence) else [node]
        return [item for item in items if self._text(item, key) is not None and isinstance(item, Scalar)]

    def items(self, key: str, *, required: bool = False) -> list[Node]:
        """The items of a list."""
        node = self.get(key, required=required)
        if node is None:
            return []
        if isinstance(node, Sequence):
            return list(node.items)
        problem(self.problems, node, "wrong-type", f"'{key}' of {self.what} must be a list, not {kind_of(node)}")
        return []

    def mappings(self, key: str, what: str, *, required: bool = False) -> Iterator[Fields]:
        """The items of a list that are mappings, each as Fields."""
        form = None if self._form is None else self._form[key].form
        for item in self.items(key, required=required):
            fields = Fields.of(item, what, self.problems, form)
            if fields is not None:
                yield fields

    def inside(self, key: str, what: str) -> Fields | None:
        """The fields of the mapping that ``key`` is; None, with a problem, where it is something else or missing."""
        node = self.get(key)
        form = None if self._form is None else self._form[key].form
        return None if node is None else Fields.of(node, what, self.problems, form)

    def done(self) -> None:
        """Report every key that nobody asked for."""
        for key in self.node.keys:
            if key not in self._asked:
                unknown_key(self.problems, self.node, key, self.what, self._asked)
