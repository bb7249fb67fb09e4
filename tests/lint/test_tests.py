"""Tests beside rules: all three outcomes, on both engines, with an explanation of what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY
from whygpu.chain.durable import DurableEngine
from whygpu.errors import Problem
from whygpu.lint.tests import check_tests
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = """rules:
- id: try-it
  title: Try it
  when:
  - plan.format == 'int4'
  - not gpu.int8_tops > 100
  unless:
  - workload.deployment == 'edge'
  then: [exclude]
  because: x
  source: [runpod-25]
  tests:
  - {given: GIVEN, expect: EXPECT}
"""


def _problems(given: str, expect: str) -> list[Problem]:
    text = RULE.replace("GIVEN", given).replace("EXPECT", expect)
    knowledge = load_texts({**small_texts(), "rules/x.yaml": text}, "kb", REGISTRY)
    return list(check_tests(knowledge, [knowledge.rule_by_id["try-it"]]))


OUTCOMES = (
    ("{plan.format: int4, gpu.int8_tops: 50, workload.deployment: cloud}", "fires"),
    ("{plan.format: int4, gpu.int8_tops: absent, workload.deployment: cloud}", "fires"),
    ("{plan.format: int4, gpu.int8_tops: 150, workload.deployment: cloud}", "silent"),
    ("{plan.format: int4, gpu.int8_tops: 50, workload.deployment: edge}", "silent"),
    ("{plan.format: bf16}", "silent"),
    ("{plan.format: int4, gpu.int8_tops: 50}", "unknown"),
    ("{plan.format: int4, workload.deployment: cloud}", "unknown"),
    ("{}", "unknown"),
)


def test_outcomes() -> None:
    """What the facts come to passes, and the two other outcomes fail."""
    wanted, text = {}, ""
    for number, (given, outcome) in enumerate(OUTCOMES):
        for expect in ("fires", "silent", "unknown"):
            name = f"try-{number}-{expect}"
            rule = RULE.replace("try-it", name).replace("Try it", name).replace("GIVEN", given)
            text += rule.replace("EXPECT", expect).removeprefix("rules:\n" if text else "")
            wanted[name] = [] if expect == outcome else ["test-failed"]
    knowledge = load_texts({**small_texts(), "rules/x.yaml": text}, "kb", REGISTRY)
    assert wanted == {
        name: [problem.code for problem in check_tests(knowledge, [knowledge.rule_by_id[name]])] for name in wanted
    }


def test_a_failure_shows_each_condition() -> None:
    (problem,) = _problems("{plan.format: int4, gpu.int8_tops: 150}", "fires")
    assert problem.message == "rule 'try-it' is expected to fire, and stays silent"
    assert problem.help == (
        "plan.format == 'int4': true; not gpu.int8_tops > 100: false; unless workload.deployment == 'edge': unknown"
    )
    assert str(problem.location) == "rules/x.yaml:13:5"


SOFT = """rules:
- id: try-it
  title: Try it
  when: [gpu.ecc]
  then:
  - prefer: reliability
  - avoid: {criterion: cost, strength: strong}
  - advise: {id: watch, text: Watch it.}
  because: x
  source: [runpod-25]
  tests:
  - {given: {gpu.ecc: true}, expect: {fires: EFFECTS}}
"""


@pytest.mark.parametrize(
    ("effects", "differences"),
    [
        ("[prefer reliability normal, avoid cost strong]", None),
        ("[avoid cost strong, prefer  reliability, advise watch]", None),
        (
            "[avoid reliability, avoid cost strong]",
            "expected: avoid reliability normal; found: prefer reliability normal",
        ),
        ("[prefer reliability, avoid cost]", "expected: avoid cost normal; found: avoid cost strong"),
        ("[prefer memory, avoid cost strong]", "expected: prefer memory normal; found: prefer reliability normal"),
        ("prefer reliability", "found: avoid cost strong"),
        ("[advise watch]", "found: prefer reliability normal; found: avoid cost strong"),
        ("[prefer reliability, avoid cost strong, warn watch]", "expected: warn watch"),
        ("[prefer reliability, avoid cost strong, advise wait]", "expected: advise wait"),
    ],
)
def test_effects_named_are_those_of_the_rule(effects: str, differences: str | None) -> None:
    """All that is named is there, and every verdict is named."""
    knowledge = load_texts({**small_texts(), "rules/x.yaml": SOFT.replace("EFFECTS", effects)}, "kb", REGISTRY)
    found = list(check_tests(knowledge, [knowledge.rule_by_id["try-it"]]))
    assert [problem.help for problem in found] == ([differences] if differences else [])
    for problem in found:
        assert problem.message == "rule 'try-it' fires as expected, but not to the effect expected"
        assert (problem.code, str(problem.location)) == ("test-failed", "rules/x.yaml:12:5")


@pytest.mark.parametrize(
    ("effects", "differences"),
    [
        ("[avoid cost over plan.count * 2 from 1 to 4]", None),
        (
            "[avoid cost over plan.count * 2 from 4 to 1]",
            "expected: avoid cost normal over plan.count * 2 from 4 to 1; found: ",
        ),
        (
            "[avoid cost over plan.count from 1 to 4]",
            "expected: avoid cost normal over plan.count from 1 to 4; found: ",
        ),
        ("[avoid cost]", "expected: avoid cost normal; found: avoid cost normal over plan.count * 2 from 1 to 4"),
    ],
)
def test_what_a_verdict_grows_with_is_named(effects: str, differences: str | None) -> None:
    graded = "avoid: {criterion: cost, over: plan.count * 2, from: 1, to: 4}"
    text = SOFT.replace("  - prefer: reliability\n", "").replace("avoid: {criterion: cost, strength: strong}", graded)
    knowledge = load_texts({**small_texts(), "rules/x.yaml": text.replace("EFFECTS", effects)}, "kb", REGISTRY)
    helps = [problem.help or "" for problem in check_tests(knowledge, [knowledge.rule_by_id["try-it"]])]
    assert len(helps) == (differences is not None)
    assert all(text.startswith(differences or "") for text in helps)


@pytest.mark.parametrize(
    ("name", "then", "effects"),
    [
        ("gpu.ecc", "exclude", "[exclude]"),
        ("gpu.ecc", "require: gpu.tdp_w  <= 75", "[require gpu.tdp_w <= 75]"),
        ("workload.trains", "consider: {format: [q8_0, q4_k_m]}", "[consider format q8_0, consider format q4_k_m]"),
        ("workload.trains", "conclude: {workload.size_class: small}", "[conclude workload.size_class small]"),
        ("workload.trains", "conclude: {workload.latency_goal: false}", "[conclude workload.latency_goal false]"),
        ("workload.trains", "conclude: {workload.usual_hours: 500}", "[conclude workload.usual_hours 500]"),
        ("workload.trains", "warn: beware", "[warn beware]"),
    ],
)
def test_effects_of_every_kind_can_be_named(name: str, then: str, effects: str) -> None:
    head, _, rest = SOFT.replace("gpu.ecc]", f"{name}]").partition("  - prefer")
    tail = rest[rest.index("  because:") :].replace("gpu.ecc: true", f"{name}: true, gpu.tdp_w: 100")
    for named, count in ((effects, 0), ("[advise other]", 1)):
        text = f"{head}  - {then}\n{tail}".replace("EFFECTS", named)
        knowledge = load_texts({**small_texts(), "rules/x.yaml": text}, "kb", REGISTRY)
        assert len(list(check_tests(knowledge, [knowledge.rule_by_id["try-it"]]))) == count


def test_durable_rules_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that tells of nothing is noticed, although the evaluator is right.

    What fires still fires: the library crashes where a session in which nothing fired is deleted.
    """
    drain = DurableEngine.drain

    def say_nothing(engine: DurableEngine, state: int) -> Iterator[tuple[str, str]]:
        return iter([item for item in drain(engine, state) if "boot" in item[0]])

    monkeypatch.setattr(DurableEngine, "drain", say_nothing)
    (problem,) = _problems("{plan.format: int4, gpu.int8_tops: 50, workload.deployment: cloud}", "fires")
    assert problem.code == "engines-disagree"
