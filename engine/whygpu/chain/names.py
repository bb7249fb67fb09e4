"""The engines by name: the one list, which the command line reads without importing any of them."""

from __future__ import annotations

from typing import Literal, Never, NoReturn, get_args

from whygpu.errors import AnswerError, Location, Problem, did_you_mean

EngineName = Literal["durable", "evaluator"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


def engine_named(name: str, location: str = "engine") -> EngineName:
    """The engine of that name; raises AnswerError, at ``location``, where there is none."""
    for known in ENGINES:
        if known == name:
            return known
    help_text = did_you_mean(name, ENGINES) or f"one of {', '.join(ENGINES)}"
    raise AnswerError(
        [Problem("unknown-engine", f"there is no engine '{str(name)[:40]}'", Location(location), help_text)]
    )


def unknown_engine(name: Never) -> NoReturn:
    """Behind the last case of a match over engines: mypy holds that none is left, and callers without mypy are told."""
    engine_named(name)
    raise AssertionError(name)
