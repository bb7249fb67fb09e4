"""The wizard asks the evaluator, which no rule can crash, and says what the command line says by durable-rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.effort import one_in
from whygpu_ui import knowledge as served

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

ANSWERS: tuple[dict[str, Any], ...] = (
    {},
    {"phase": "inference", "model": "llama-3.1-70b", "concurrency": 16},
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora"},
    {"phase": "inference", "model": "llama-3.1-70b", "budget_per_hour": 0.01},
)


@pytest.mark.parametrize("answers", one_in(4, ANSWERS, map(str, ANSWERS)))
def test_both_engines_say_the_same(kb: KnowledgeBase, answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for engine in ("", "durable"):
        monkeypatch.setenv(served.ENGINE_VARIABLE, engine)
        served._find.clear()
        advice = served.find(kb, answers).advice
        assert advice is not None
        found.append(advice.to_dict())
    served._find.clear()
    assert [data.pop("engine") for data in found] == ["evaluator", "durable"]
    assert found[0] == found[1]


def test_only_so_many_findings_are_kept(kb: KnowledgeBase) -> None:
    served._find.clear()
    first = served.find(kb, {"phase": "inference", "concurrency": 1})
    assert served.find(kb, {"phase": "inference", "concurrency": 1}) is first
    for number in range(2, served.MOST_KEPT + 2):
        served.find(kb, {"phase": "inference", "concurrency": number})
    assert served.find(kb, {"phase": "inference", "concurrency": 1}) is not first
    served._find.clear()
