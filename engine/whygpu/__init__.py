"""whygpu: which hardware for this work, and why."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whygpu.version import __version__ as __version__

if TYPE_CHECKING:
    from pathlib import Path

    from whygpu.api import KnowledgeBase
    from whygpu.errors import (
        AnswerError,
        EngineError,
        EngineUnavailableError,
        InputError,
        KnowledgeBaseError,
        Problem,
        WhygpuError,
    )
    from whygpu.explain.advice import Advice
    from whygpu.explain.plan import Plan
    from whygpu.lifecycle.advice import LifecycleAdvice

__all__ = [
    "Advice",
    "AnswerError",
    "EngineError",
    "EngineUnavailableError",
    "InputError",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "LifecycleAdvice",
    "Plan",
    "Problem",
    "WhygpuError",
    "load",
]

_ELSEWHERE = {
    "Advice": "explain.advice",
    "KnowledgeBase": "api",
    "LifecycleAdvice": "lifecycle.advice",
    "Plan": "explain.plan",
}
"""Where a name is defined; all others in ``errors``."""


def load(path: str | Path | None = None) -> KnowledgeBase:
    """Load a knowledge base from a folder, by default the one that comes with whygpu; raises KnowledgeBaseError."""
    from whygpu import api  # noqa: PLC0415  a command that ends in its help, or is interrupted, needs no numpy

    return api.load(path)


def __getattr__(name: str) -> Any:
    """Import what is asked for, and only then."""
    if name not in __all__:
        raise AttributeError(f"module 'whygpu' has no attribute '{name}'")
    return getattr(import_module(f"whygpu.{_ELSEWHERE.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    """The names that are offered."""
    return [*__all__, "__version__"]
