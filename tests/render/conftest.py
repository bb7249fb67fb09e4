"""The advice on every case, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.render.cases import CASES, TODAY
from whygpu.render.view import view_of

if TYPE_CHECKING:
    import whygpu
    from whygpu.render.view import View


@pytest.fixture(scope="session")
def advised(kb: whygpu.KnowledgeBase) -> dict[str, whygpu.Advice]:
    """By the evaluator, which answers as durable-rules does."""
    return {name: kb.advise(answers, engine="evaluator", today=TODAY) for name, answers in CASES.items()}


@pytest.fixture(scope="session")
def views(advised: dict[str, whygpu.Advice]) -> dict[str, View]:
    """The view of every case, as the command draws it."""
    return {name: view_of(advice, flips="loads") for name, advice in advised.items()}
