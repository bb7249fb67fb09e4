"""whygpu: which hardware for this work, and why."""

from whygpu.advice import Advice, Plan
from whygpu.api import KnowledgeBase, load
from whygpu.errors import (
    AnswerError,
    EngineError,
    EngineUnavailableError,
    InputError,
    KnowledgeBaseError,
    Problem,
    WhygpuError,
)
from whygpu.life import LifeAdvice

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "AnswerError",
    "EngineError",
    "EngineUnavailableError",
    "InputError",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "LifeAdvice",
    "Plan",
    "Problem",
    "WhygpuError",
    "load",
]
