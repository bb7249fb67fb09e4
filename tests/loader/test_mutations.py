"""Whatever is done to a file, loading ends in a knowledge base or in problems that say where; never in a traceback."""

from __future__ import annotations

import random

import pytest

from tests.effort import takes_less
from tests.loader.mutate import mutate
from tests.loader.small import real_texts, small_texts
from tests.schema.validators import data_of, faults, kind_of
from whygpu.api import REGISTRY
from whygpu.errors import KnowledgeBaseError, Problem
from whygpu.knowledge.base import Knowledge
from whygpu.lint.registry import lint
from whygpu.lint.tests import outcome
from whygpu.loader.assemble import load_texts
from whygpu.schema.build import schema_of
from whygpu.yamldoc.spans import split_lines

pytestmark = pytest.mark.slow

LOOPS_EACH = 200


def _load(texts: dict[str, str]) -> Knowledge | tuple[Problem, ...]:
    try:
        return load_texts(texts, "kb", REGISTRY)
    except KnowledgeBaseError as error:
        return error.problems


def _misplaced(problem: Problem, texts: dict[str, str]) -> bool:
    lines = split_lines(texts.get(problem.location.file, ""))
    return problem.location.file not in texts or not 1 <= problem.location.line <= len(lines)


def _allow(knowledge: Knowledge, text: str, what: object) -> None:
    """What the loader takes, no schema refuses (what a model's mapping holds is read only when it is asked about)."""
    kind = kind_of(text)
    data = data_of(text) if kind is not None else None
    found = faults(schema_of(kind, knowledge), data) if kind is not None else []
    assert [item for item in found if "/answers/model" not in item] == [], what


def _try(seed: int, *, whole_files: bool) -> bool:
    """Damage one file; whether the rest could still be loaded."""
    generator = random.Random(seed)
    texts = small_texts()
    name = generator.choice(sorted(real_texts() if whole_files else texts))
    texts[name] = mutate((real_texts() if whole_files else texts)[name], generator)
    loaded: list[Knowledge | tuple[Problem, ...]] = []
    assert takes_less(lambda: loaded.append(_load(texts)), LOOPS_EACH), (seed, name)
    found = loaded[0]
    if isinstance(found, Knowledge):
        _allow(found, texts[name], (seed, name))
        if seed % 5 == 0:
            list(lint(found))
            for rule in found.rules:
                for test in rule.tests:
                    outcome(found, rule, test)
    else:
        assert found, (seed, name)
        bad = [str(problem) for problem in found if _misplaced(problem, texts)]
        assert not bad, (seed, name, bad)
    return isinstance(found, Knowledge)


@pytest.mark.parametrize("block", range(2))
def test_mutations_of_every_file_load_or_are_explained(block: int) -> None:
    """100 changes; both ends must occur, or nothing was tried."""
    loaded = sum(_try(seed, whole_files=False) for seed in range(block * 50, block * 50 + 50))
    assert 3 <= loaded <= 45


@pytest.mark.parametrize("block", range(2))
def test_many_mutations_load_or_are_explained(block: int) -> None:
    """60 changes, of the real files in their full length."""
    for seed in range(10_000 + block * 30, 10_000 + block * 30 + 30):
        _try(seed, whole_files=True)
