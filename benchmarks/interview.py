"""How many questions random users answer, and how long each takes: ``python benchmarks/interview.py``.

A user has an answer to about half of the questions that apply, and leaves the others to what is assumed; with
``--leaves-to-rules`` all leave those that usually are left to the rules, as the number format. Counted are the
questions until the recommendation is the one that all answers give, and stays it: in the knowledge base's order, and in
that of the interview, and in the interview of one who first chooses from the list of questions those that they have an
answer to (the list counts as one). Times are those of the processor.

``--decides`` prints what kb/questions.yaml has as ``decides``: of the users with an answer, the share whose
recommended hardware it changes, where all are asked in the knowledge base's order.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import whygpu
from whygpu.errors import AnswerError
from whygpu.explain.interview import Interview, Memory, left_to_rules
from whygpu.explain.rerun import choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whygpu import KnowledgeBase
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.rows import Identity

PHASES = ("inference", "inference", "fine-tuning", "training", "batch-inference")
KNOWS = 0.5
"""The share of questions that a user has an answer to."""
USUAL = {
    "latency_ms": (200, 5_000),
    "token_latency_ms": (20, 200),
    "requests_per_second": (0.2, 50),
    "budget_per_hour": (0.5, 60),
    "budget_total": (100, 50_000),
    "deadline_hours": (8, 500),
    "dataset_tokens": (1e7, 1e10),
    "dataset_samples": (1e4, 1e6),
    "max_count": (1, 64),
    "max_nodes": (1, 8),
    "resolution": (640, 1_280),
}
"""Numbers that users may have where nothing is assumed."""


class User:
    """Someone with a secret answer to each question, made up when it is first needed."""

    def __init__(self, kb: KnowledgeBase, seed: int, *, leaves: bool = False) -> None:
        """The same seed is the same user; ``leaves``: leaves to the rules what usually is left to them."""
        self._kb, self._seed, self._leaves = kb, seed, leaves
        draw = random.Random(seed)
        catalogue = kb.knowledge.catalogue.models
        language = [key for key, item in catalogue.items() if item.data.get("task") in ("language", "vision")]
        self.work = {"phase": draw.choice(PHASES), "model": draw.choice(language)}

    def answer(self, key: str, consultation: Consultation) -> Any:
        """The user's answer; None where the user has none."""
        if key in self.work:
            return self.work[key]
        draw = random.Random(f"{self._seed} {key}")
        if draw.random() > KNOWS or key == "task":
            return None
        questions = (item for item in consultation.applied.applicable if item.id == key)
        if self._leaves and any(left_to_rules(consultation, item) for item in questions):
            return None
        spec = self._kb.knowledge.name_by_answer[key]
        if spec.kind == "choice":
            return draw.choice(spec.words)
        if spec.kind == "flag":
            return draw.random() < 0.5
        usual = self._usual(key, consultation)
        if spec.kind != "number" or usual is None:
            return None
        value = usual[0] * (usual[1] / usual[0]) ** draw.random()
        return max(round(value), 1) if spec.integer or value > 10 else round(value, 2)

    def _usual(self, key: str, consultation: Consultation) -> tuple[float, float] | None:
        assumed = next((item.value for item in consultation.applied.assumed if item.question.id == key), None)
        if isinstance(assumed, float) and assumed > 0:
            return assumed / 8, assumed * 8
        return USUAL.get(key)


def in_file_order(kb: KnowledgeBase, user: User) -> tuple[dict[str, Any], dict[str, Identity | None]]:
    """All answers, and by question what is recommended after it."""
    answers: dict[str, Any] = {}
    found: dict[str, Identity | None] = {}
    key: str | None = None
    while True:
        consultation = kb.consult(answers, engine="evaluator")
        if key is not None:
            found[key] = choice(consultation)
        key = next((item.id for item in consultation.applied.applicable if item.id not in found), None)
        if key is None:
            return answers, found
        _take(kb, answers, key, user.answer(key, consultation))


def in_interview(
    kb: KnowledgeBase, user: User, memory: Memory, *, chooses: bool = False
) -> tuple[list[object], list[float]]:
    """What is recommended after each question, and the milliseconds that it took to find each."""
    answers: dict[str, Any] = {}
    said: list[str] = []
    found: list[object] = []
    taken: list[float] = []
    while True:
        consultation = kb.consult(answers, engine="evaluator")
        if taken:
            found.append(choice(consultation))
        begun = time.process_time()
        interview = Interview(kb.knowledge, consultation.answers, memory, said=said, consultation=consultation)
        asked = interview.next()
        taken.append(1000 * (time.process_time() - begun))
        if asked is None:
            return found, taken
        if chooses and asked.telling is not None:  # the work is known
            chooses = False
            said[:0] = [item.id for item in interview.choosable if user.answer(item.id, consultation) is None]
            continue
        said.append(asked.id)
        _take(kb, answers, asked.id, user.answer(asked.id, consultation))


def _take(kb: KnowledgeBase, answers: dict[str, Any], key: str, value: Any) -> bool:
    if value is None:
        return False
    try:
        kb.consult({**answers, key: value}, engine="evaluator")
    except AnswerError:
        return False
    answers[key] = value
    return True


def until_settled(found: Sequence[object], final: object) -> int:
    """Questions until the recommendation is ``final`` and stays it."""
    last = max((number for number, item in enumerate(found, 1) if item != final), default=0)
    return last + 1


def measure(kb: KnowledgeBase, users: int, seed: int, *, leaves: bool) -> Mapping[str, Any]:
    """The counts and times over random users."""
    memory, file, ours, ends, taken, same = Memory(), [], [], [], [], 0
    for number in range(users):
        user = User(kb, seed + number, leaves=leaves)
        before = list(in_file_order(kb, user)[1].values())
        after, times = in_interview(kb, user, memory)
        picked = in_interview(kb, user, memory, chooses=True)[0]
        taken += times
        file.append(until_settled(before, before[-1]))
        if after[-1] == before[-1]:
            same += 1
            ours.append((until_settled(after, after[-1]), until_settled(picked, after[-1]), file[-1]))
        ends.append((len(after), len(picked), len(before)))
    taken.sort()
    return {
        "same recommendation": f"{same} of {users}",
        **{f"until it is the final one, {way}": statistics.mean(found) for way, found in _by_way(ours)},
        **{f"until the end, {way}": statistics.mean(found) for way, found in _by_way(ends)},
        "median ms": statistics.median(taken),
        "95th percentile ms": taken[int(0.95 * len(taken))],
    }


def _by_way(counts: list[tuple[int, int, int]]) -> Iterator[tuple[str, tuple[int, ...]]]:
    return zip(("interview", "questions chosen first", "file order"), zip(*counts, strict=True), strict=True)


def hardware(found: Identity | None) -> tuple[str, int] | None:
    """The card and how many: a number format that was asked for is no news to who asked."""
    return None if found is None else found[:2]


def decides(kb: KnowledgeBase, users: int, seed: int, *, leaves: bool) -> Mapping[str, Any]:
    """By question, the share of users with an answer whose hardware it changed, and how many these were."""
    answered: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    nothing = choice(kb.consult({}, engine="evaluator"))
    for number in range(users):
        answers, found = in_file_order(kb, User(kb, seed + number, leaves=leaves))
        before = (nothing, *found.values())
        answered.update(answers.keys())
        changed.update(
            key
            for key, old in zip(found, before, strict=False)
            if key in answers and hardware(found[key]) != hardware(old)
        )
    return {key: f"{changed[key] / count:.2f} of {count}" for key, count in answered.items()}


def main() -> None:
    """Print one row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--leaves-to-rules", action="store_true")
    parser.add_argument("--decides", action="store_true")
    options = parser.parse_args()
    work = decides if options.decides else measure
    found = work(whygpu.load(), options.users, options.seed, leaves=options.leaves_to_rules)
    for name, value in found.items():
        print(f"| {name} | {value if isinstance(value, str) else f'{value:.1f}'} |")


if __name__ == "__main__":
    main()
