"""What one search finds serves others of the same work: plans come out as they are found anew, number by number."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.effort import one_in
from whygpu.checks.coefficients import Coefficients
from whygpu.errors import AnswerError
from whygpu.kept import forget
from whygpu.plans.growth import Growth, _of_pairs
from whygpu.plans.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whygpu import KnowledgeBase
    from whygpu.plans.plan_set import PlanSet

pytestmark = pytest.mark.slow

PHASES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "inference": {
        "latency_ms": (300, 5000),
        "token_latency_ms": (25, 900),
        "deployment": ("on-prem", "workstation"),
        "requests_per_second": (2, 40),
        "concurrency": (4, 64),
        "power_watts": (1500, 6000),
    },
    "batch-inference": {
        "dataset_tokens": (1e7, 1e10),
        "deadline_hours": (2, 200),
        "deployment": ("on-prem", "edge"),
        "max_count": (4, 16),
    },
    "training": {
        "dataset_tokens": (1e7, 1e10),
        "epochs": (1, 7),
        "deadline_hours": (5, 400),
        "deployment": ("on-prem", "workstation"),
        "batch_size": (1, 8),
        "power_watts": (3000, 20000),
    },
}
MODELS = ("llama-3.1-8b", "mistral-7b-v0.1", "llama-3.1-70b", "deepseek-v3", "bge-m3", "vit-l-16", "falcon-180b")


def _plans(kb: KnowledgeBase, answers: dict[str, Any]) -> PlanSet | None:
    try:
        return kb.consult(answers, engine="evaluator").plans.plan_set
    except AnswerError:
        return None


def _same(one: PlanSet, other: PlanSet) -> bool:
    columns = ("card", "configuration", "fits", "owned")
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
        and list(one.configurations) == list(other.configurations)
        and one.speeds.figures.keys() == other.speeds.figures.keys()
        and all(
            np.array_equal(one.speeds.figures[name], other.speeds.figures[name], equal_nan=True)
            for name in one.speeds.figures
        )
    )


@pytest.mark.parametrize("seed", one_in(6, range(12)))
def test_plans_after_others_are_those_found_anew(kb: KnowledgeBase, seed: int) -> None:
    draw = random.Random(seed)
    phase = draw.choice(list(PHASES))
    some = {key: draw.choice(values) for key, values in PHASES[phase].items() if draw.random() < 0.3}
    work = {"phase": phase, "model": draw.choice(MODELS), **some}
    forget()
    _plans(kb, work)
    changed = [{**work, key: value} for key, values in PHASES[phase].items() for value in values]
    after = [_plans(kb, answers) for answers in changed]
    for answers, found in zip(changed, after, strict=True):
        forget()
        anew = _plans(kb, answers)
        assert (found is None) == (anew is None), answers
        assert found is None or anew is None or _same(found, anew), answers


def _watched(monkeypatch: pytest.MonkeyPatch, of: type[Any], name: str, call: Callable[..., None]) -> None:
    """Have ``call`` called with the same beside a method."""
    method = getattr(of, name)

    def watched(*given: Any) -> Any:
        call(*given)
        return method(*given)

    monkeypatch.setattr(of, name, watched)


@pytest.mark.parametrize(
    ("work", "change", "done"),
    [
        ({"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": 1e9}, {"epochs": 3}, {"grown"}),
        ({"phase": "inference", "model": "llama-3.1-8b"}, {"latency_ms": 500}, {"grown"}),
        ({"phase": "inference", "model": "llama-3.1-8b"}, {"deployment": "on-prem", "runtime": "vllm"}, {"grown"}),
        ({"phase": "training", "model": "vit-l-16"}, {"deadline_hours": 20}, set()),
        ({"phase": "inference", "model": "llama-3.1-8b"}, {"context_tokens": 9000}, {"searched", "grown"}),
    ],
    ids=["more to do", "an earlier answer", "boards are bought whole", "no size to hurry", "another size"],
)
def test_no_more_is_found_anew_than_differs(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, work: dict[str, Any], change: dict[str, Any], done: set[str]
) -> None:
    forget()
    _plans(kb, {**work, **({"runtime": "vllm"} if "runtime" in change else {})})
    found: set[str] = set()
    _watched(monkeypatch, Search, "run", lambda *_: found.add("searched"))
    _watched(monkeypatch, Growth, "run", lambda *_: found.add("grown"))
    _plans(kb, {**work, **change})
    assert found == done


def test_a_job_of_a_known_size_is_grown_to_its_deadline(kb: KnowledgeBase) -> None:
    work = {"phase": "training", "model": "vit-l-16", "dataset_samples": 1e7}
    slow, fast = (_plans(kb, {**work, "deadline_hours": hours}) for hours in (2000, 20))
    assert slow is not None
    assert fast is not None
    assert fast.counts.max() > slow.counts.max()


def test_a_batch_is_sized_once_for_all_numbers_of_micro_batches(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget()
    sized: list[Any] = []
    _watched(monkeypatch, Search, "held_batches", lambda _, *batches: sized.append(batches))
    plans = _plans(kb, {"phase": "training", "model": "llama-3.1-405b", "dataset_tokens": 1e11})
    assert plans is not None
    micro_batches = {way.setup.gradient_accumulation / way.layout.pipeline for way in plans.configurations}
    assert len(micro_batches) > 1
    assert sized
    assert all(number == max(layout.pipeline, 1) for _, layout, _, number, _ in sized)


def test_what_many_plans_ask_is_looked_up_once() -> None:
    asked: list[tuple[int, int]] = []

    def way(number: int, count: int) -> int:
        asked.append((number, count))
        return 10 * number + count

    assert _of_pairs(way, np.array([1, 2, 1, 1]), np.array([3, 3, 3, 4])).tolist() == [13, 23, 13, 14]
    assert asked == [(1, 3), (2, 3), (1, 4)]
    assert not _of_pairs(way, np.array([], dtype=int), np.array([], dtype=int)).size


def test_a_coefficient_is_picked_once_for_each_word_in_whatever_company() -> None:
    figures = {"low": 1, "likely": 2, "high": 3, "unit": "", "meaning": "", "source": ["x"]}
    narrow = {"when": {"format": "fp8"}, "low": 4, "likely": 5, "high": 6, "source": ["x"]}
    coefficients, cards, asked = Coefficients.of([{"id": "rate", **figures, "by": [narrow]}]), ("a", "b"), []

    def contexts(base: Mapping[str, str]) -> list[Mapping[str, str]]:
        asked.append(base["format"])
        return [{**base, "card": card} for card in cards]

    def rows(*formats: str) -> list[Any]:
        bases = [{"format": name} for name in formats]
        found: list[Any] = coefficients.rows("rate", bases, cards, contexts).tolist()
        return found

    plain, eight = [[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]
    assert rows("bf16") == plain
    assert rows("bf16", "fp16") == plain
    assert rows("bf16", "fp8", "bf16") == [[each * 2 for each in table] for table in (plain, eight, plain)]
    asked.clear()
    assert rows("fp8", "fp16") == [[each * 2 for each in table] for table in (eight, plain)]
    assert len(asked) == 1  # for how many kinds of cards there are, and to pick nothing


@pytest.mark.parametrize("most", [1, 3])
def test_sizes_that_are_forgotten_are_found_again(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A search goes on with numbers that it was given before what is kept of them was full."""
    work = {"phase": "training", "model": "qwen2.5-14b", "dataset_tokens": 1e9, "deadline_hours": 100}
    forget()
    usual = kb.consult(work, engine="evaluator").plans
    monkeypatch.setattr("whygpu.plans.search._MOST_KEPT", most)
    forget()
    found = kb.consult(work, engine="evaluator").plans
    forget()
    np.testing.assert_array_equal(found.ranking.counted.values, usual.ranking.counted.values)
    assert found.ranking.order == usual.ranking.order
