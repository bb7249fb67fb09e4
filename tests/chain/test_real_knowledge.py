"""Both engines on the knowledge base that comes with whygpu, for random answers."""

from __future__ import annotations

import random
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whygpu
from whygpu.errors import AnswerError

if TYPE_CHECKING:
    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.base import Knowledge
    from whygpu.language.names import NameSpec

TODAY = date(2026, 11, 21)


def random_answers(knowledge: Knowledge, draw: random.Random) -> dict[str, object]:
    """A model, a phase and a few more answers, within what the vocabulary allows."""
    found: dict[str, object] = {"model": draw.choice(sorted(knowledge.catalogue.models))}
    specs = {key: spec for key, spec in knowledge.name_by_answer.items() if key != "model"}
    keys = {"phase", *draw.sample(sorted(specs), draw.randint(0, 8))}
    return found | {key: value for key in sorted(keys) if (value := _value(specs[key], draw)) is not None}


def _value(spec: NameSpec, draw: random.Random) -> object:
    if spec.kind == "choice":
        return draw.choice(sorted(spec.values))
    if spec.kind == "flag":
        return draw.random() < 0.5
    if spec.kind == "number":
        low, high = spec.minimum or 0.0, min(spec.maximum or 1e6, 1e6)
        value = min(max(draw.choice((1.0, 2.0, 8.0, 100.0, 4096.0)) * draw.choice((1.0, low or 1.0)), low), high)
        return float(int(value)) if spec.integer else value
    return None


def _decided(found: Consultation) -> dict[str, object]:
    return {
        "fired": [rule.id for rule in found.session.fired],
        "for plans": {rule: np.flatnonzero(mask).tolist() for rule, mask in found.plans.fired.items()},
        "defeated": [
            *((rule.id, other) for rule, other in found.session.defeated),
            *((rule.id, other) for rule, other, _ in found.plans.defeated),
        ],
        "left": np.flatnonzero(found.plans.alive).tolist(),
        "unverified": np.flatnonzero(found.plans.unverified).tolist(),
        "concluded": found.session.origins,
    }


@pytest.mark.parametrize(
    ("seed", "answered"), [(0, 12), *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in (0, 60, 120, 180))]
)
def test_both_engines_decide_the_same(kb: whygpu.KnowledgeBase, seed: int, answered: int) -> None:
    draw = random.Random(seed)
    fired: set[str] = set()
    consultations = 0
    for _ in range(answered):
        answers = random_answers(kb.knowledge, draw)
        try:
            durable = kb.consult(answers, engine="durable", today=TODAY)
        except AnswerError:
            with pytest.raises(AnswerError):
                kb.consult(answers, engine="evaluator", today=TODAY)
            continue
        assert _decided(durable) == _decided(kb.consult(answers, engine="evaluator", today=TODAY)), answers
        fired |= {rule.id for rule in durable.session.fired} | set(durable.plans.fired)
        consultations += 1
    assert consultations > answered / 2
    assert len(fired) > min(answered / 60, 0.5) * len(kb.knowledge.rules) / 5
