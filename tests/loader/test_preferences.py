"""Reading ranking.yaml: what is written is what counts; what is wrong with it is in data/ranking-*.txt."""

from __future__ import annotations

import re

import pytest

from tests.effort import one_in
from tests.loader.small import small_texts
from whygpu.api import REGISTRY
from whygpu.errors import KnowledgeBaseError
from whygpu.knowledge.preferences import ROLES, Preferences
from whygpu.knowledge.rules import STRENGTHS
from whygpu.loader.assemble import load_texts

pytestmark = pytest.mark.slow

RANKING = """ranking:
  worths:
  - {strength: mild, worth: 1.1, because: "A little."}
  - {strength: normal, worth: 1.5, because: "Half as much again.", source: [runpod-32]}
  - {strength: strong, worth: 3, because: "Much."}
  money: {because: "Money counts."}
  handling: {usd_per_hour: 0.5, hours_per_job: 2, because: "Somebody looks after it."}
  tied_within: 0.2
  no_answer: {criteria: [latency, cost], together: 2, because: "Nobody would take it."}
  speeds:
  - {figure: token_ms, limit: token_latency_ms, twice: 1.2, enough: 5, usual: 50, loose: 500, because: "Pleasant."}
  priorities:
  - {priority: cost, all_factors: 0.5, criterion: reliability, criterion_power: 2, because: "Money first."}
  - {priority: latency, twice_the_speed: 3, because: "Speed first."}
  roles:
  - {role: recommended, because: "Has the lowest adjusted price."}
  - {role: cheapest, within: 0.3, because: "Costs least."}
"""


def read(text: str) -> Preferences:
    return load_texts({**small_texts(), "ranking.yaml": text}, "kb", REGISTRY).preferences


def test_what_is_written_is_what_counts() -> None:
    found = read(RANKING)
    assert [found.worth(strength) for strength in STRENGTHS] == [1.1, 1.5, 3.0]
    assert found.worths["normal"].sources == ("runpod-32",)
    assert (found.priced_handling.usd_per_hour, found.priced_handling.hours_per_job, found.tied_within) == (0.5, 2, 0.2)
    assert (found.no_answer.criteria, found.no_answer.together) == (("latency", "cost"), 2)
    (speed,) = found.speeds
    assert (speed.figure, speed.limit, speed.twice, speed.enough, speed.usual, speed.loose) == (
        "token_ms",
        "token_latency_ms",
        1.2,
        5,
        50,
        500,
    )
    cost, latency = found.priorities["cost"], found.priorities["latency"]
    assert (cost.all_factors, cost.criterion, cost.criterion_power, cost.twice_the_speed) == (
        0.5,
        "reliability",
        2,
        None,
    )
    assert (latency.all_factors, latency.criterion_power, latency.twice_the_speed) == (1, 1, 3)
    assert [(role.id, role.within) for role in found.roles] == [("recommended", 0), ("cheapest", 0.3)]


def test_the_order_in_which_worths_are_listed_does_not_matter() -> None:
    lines = RANKING.splitlines(keepends=True)
    assert read("".join([*lines[:2], lines[4], lines[3], lines[2], *lines[5:]])).worth("strong") == 3


def test_without_the_file_nothing_is_preferred() -> None:
    texts = small_texts()
    del texts["ranking.yaml"]
    found = load_texts(texts, "kb", REGISTRY).preferences
    assert (found.worth("strong"), found.speeds, found.roles) == (1, (), ())


def test_the_knowledge_base_prices_whatever_can_be_put_first_and_every_role() -> None:
    knowledge = load_texts(small_texts(), "kb", REGISTRY)
    assert set(knowledge.preferences.priorities) == set(knowledge.vocabulary["workload.priority"].values)
    assert [role.id for role in knowledge.preferences.roles] == list(ROLES)


@pytest.mark.parametrize("worth", ["0.5", "-3", "much", "[2]", "true"])
def test_a_bad_worth_is_one_problem(worth: str) -> None:
    """Not another one that says that the strength has no worth."""
    with pytest.raises(KnowledgeBaseError) as caught:
        read(RANKING.replace("worth: 1.5", f"worth: {worth}"))
    (problem,) = caught.value.problems
    assert (problem.location.line, problem.location.column) == (4, 31)


@pytest.mark.parametrize("together", [1, 3])
def test_as_many_criteria_as_there_are_go_together(together: int) -> None:
    with pytest.raises(KnowledgeBaseError) as caught:
        read(RANKING.replace("together: 2", f"together: {together}"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.location.line) == ("out-of-range", 9)


@pytest.mark.parametrize(
    "section", one_in(4, ["worths", "money", "handling", "tied_within", "speeds", "priorities", "roles"])
)
def test_a_section_that_is_left_out_is_one_problem(section: str) -> None:
    with pytest.raises(KnowledgeBaseError) as caught:
        read(re.sub(rf"(?m)^  {section}:.*\n(  - .*\n)*", "", RANKING))
    assert [problem.message for problem in caught.value.problems] == [f"'ranking' has no '{section}'"]
