"""What is wrong with a description of a model, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from whygpu.checks.model_shape import ModelShape


@dataclass(frozen=True, slots=True)
class IntakeProblem:
    """One problem: `path` is the key it stands at (dotted, empty for the whole), `help` how to fix it.

    A `severity` of warning leaves the shape usable.
    """

    path: str
    message: str
    help: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        text = f"{self.path}: {self.message}" if self.path else self.message
        return f"{text} ({self.help})" if self.help else text


IntakeResult: TypeAlias = tuple[ModelShape | None, list[IntakeProblem]]
"""The shape, or None where an error stands in the way, and all problems."""


def has_errors(problems: list[IntakeProblem]) -> bool:
    """Whether any problem is more than a warning."""
    return any(problem.severity == "error" for problem in problems)
