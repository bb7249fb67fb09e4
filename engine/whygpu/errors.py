"""Everything whygpu raises, and the problem records that it collects before it does.

WhygpuError
├── InputError                  somebody's input is wrong: carries every problem, exit status 2
│   ├── KnowledgeBaseError      a file of the knowledge base
│   └── AnswerError             answers, a model description, a command line
└── EngineError                 durable-rules refused something the loader should have refused
    └── EngineUnavailableError  durable-rules is not installed
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where something stands: a file, or the name of another input, with 1-based line and column (0: the whole)."""

    file: str
    line: int = 0
    column: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        """``file:line:column``, leaving out what is not known."""
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, where, and how to fix it."""

    code: str
    message: str
    location: Location
    help: str | None = None
    snippet: str | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        """``file:line:col: code: message``, and the help after it."""
        text = f"{self.location}: {self.code}: {self.message}"
        return f"{text} ({self.help})" if self.help else text


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return a help text naming the nearest of ``known``, or None where nothing is near.

    Names that begin with the same part ("sdxl" of "sdxl-base") come before those that only look alike.
    """
    names = {name.lower(): name for name in known}
    text = word.lower()[:200]
    head = re.split(r"[^a-z0-9]", text, maxsplit=1)[0]
    alike = [name for name in names if name.startswith(head)] if len(head) > 2 else []
    near = get_close_matches(text, alike, n=2) or get_close_matches(text, names, n=2)
    if not near:
        return None
    return "did you mean " + " or ".join(f"'{names[name]}'" for name in near) + "?"


class WhygpuError(Exception):
    """Base of everything whygpu raises on purpose."""


class InputError(WhygpuError):
    """Input that cannot be used; ``problems`` lists all that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep ``problems`` (never empty) and use them as the message."""
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class KnowledgeBaseError(InputError):
    """The knowledge base cannot be loaded."""


class AnswerError(InputError):
    """Answers cannot be used."""


class EngineError(WhygpuError):
    """The rule engine failed on something that the loader let through."""


class EngineUnavailableError(EngineError):
    """The durable-rules engine is not installed; the evaluator runs without it."""
