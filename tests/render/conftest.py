"""The advice on every case, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.render.cases import CASES, TODAY

if TYPE_CHECKING:
    import whygpu


@pytest.fixture(scope="session")
def advised(kb: whygpu.KnowledgeBase) -> dict[str, whygpu.Advice]:
    """By the evaluator, which answers as durable-rules does."""
    return {name: kb.advise(answers, engine="evaluator", today=TODAY) for name, answers in CASES.items()}
