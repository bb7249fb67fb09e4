"""The facts the checks rest on: every one loads, and every source is a reference or a claim."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.checks.conftest import FACTS, Facts, read
from whygpu import intake
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import ParallelLayout, Setup


def sources(node: Any) -> set[str]:
    """Every source named anywhere in plain data."""
    if isinstance(node, list):
        return {found for item in node for found in sources(item)}
    if not isinstance(node, dict):
        return set()
    own = node.get("source", [])
    found = {own} if isinstance(own, str) else set(own)
    return found | {source for key, item in node.items() if key != "source" for source in sources(item)}


@pytest.fixture(scope="module")
def references() -> set[str]:
    """References of the facts, and the documents' claims."""
    found = {row["id"] for path in (FACTS / "references").glob("*.yaml") for row in read(path)["references"]}
    return found | {row["id"] for row in read(FACTS.parent / "sources.yaml")["claims"]}


@pytest.mark.parametrize(
    "path",
    sorted([*FACTS.glob("models/*.yaml"), FACTS / "formats.yaml", FACTS / "coefficients.yaml"]),
    ids=lambda path: str(path.name),
)
def test_every_source_is_a_reference(path: Any, references: set[str]) -> None:
    named = sources(yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
    assert named
    assert named <= references


def test_every_preset_is_a_shape_without_problems(facts: Facts) -> None:
    assert len(facts.models) >= 80
    for name in facts.models:
        shape, problems = intake.read(name, facts.models, facts.coefficients)
        assert shape is not None, (name, problems)
        assert not problems, name
        assert shape.source, name
        assert sum(part.parameters for part in shape.parts) == shape.parameters, name
        estimate = memory.estimate(shape, Setup(facts.formats["fp16"]), ParallelLayout(), facts.coefficients)
        assert 0 < estimate.low <= estimate.total <= estimate.high, name


def test_aliases_name_one_preset_each(facts: Facts) -> None:
    seen: dict[str, str] = {}
    for name, entry in facts.models.items():
        for alias in [name, *entry.get("aliases", [])]:
            assert seen.setdefault(alias.lower(), name) == name, alias


def test_a_range_widens_no_formula_without_need(facts: Facts) -> None:
    for name in facts.coefficients:
        for figure in [facts.coefficients.pick(name, {}), *(case.figure for case in facts.coefficients.cases(name))]:
            assert figure.source, name
            assert figure.meaning, name
