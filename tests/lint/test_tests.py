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

pytestmark = pytest.mark.slow

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


NAMED: tuple[tuple[str, str | None], ...] = (
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
)
GROWN: tuple[tuple[str, str | None], ...] = (
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
)
KINDS = (
    ("gpu.ecc", "exclude", "[exclude]"),
    ("gpu.ecc", "require: gpu.tdp_w  <= 75", "[require gpu.tdp_w <= 75]"),
    ("workload.trains", "consider: {format: [q8_0, q4_k_m]}", "[consider format q8_0, consider format q4_k_m]"),
    ("workload.trains", "conclude: {workload.size_class: small}", "[conclude workload.size_class small]"),
    ("workload.trains", "conclude: {workload.latency_goal: false}", "[conclude workload.latency_goal false]"),
    ("workload.trains", "conclude: {workload.usual_hours: 500}", "[conclude workload.usual_hours 500]"),
    ("workload.trains", "warn: beware", "[warn beware]"),
)


def _checked(*rules: str) -> list[list[Problem]]:
    """What is found about each rule, all of them in one knowledge base and each in a file of its own."""
    files = {
        f"rules/x{number}.yaml": rule.replace("try-it", f"try-{number}").replace("Try it", f"Try {number}")
        for number, rule in enumerate(rules)
    }
    knowledge = load_texts({**small_texts(), **files}, "kb", REGISTRY)
    return [list(check_tests(knowledge, [knowledge.rule_by_id[f"try-{number}"]])) for number in range(len(rules))]


def test_effects_named_are_those_of_the_rule() -> None:
    """All that is named is there, and every verdict is named."""
    for number, found in enumerate(_checked(*(SOFT.replace("EFFECTS", effects) for effects, _ in NAMED))):
        differences = NAMED[number][1]
        assert [problem.help for problem in found] == ([differences] if differences else [])
        for problem in found:
            assert problem.message == f"rule 'try-{number}' fires as expected, but not to the effect expected"
            assert (problem.code, str(problem.location)) == ("test-failed", f"rules/x{number}.yaml:12:5")


def test_what_a_verdict_grows_with_is_named() -> None:
    graded = "avoid: {criterion: cost, over: plan.count * 2, from: 1, to: 4}"
    text = SOFT.replace("  - prefer: reliability\n", "").replace("avoid: {criterion: cost, strength: strong}", graded)
    found = _checked(*(text.replace("EFFECTS", effects) for effects, _ in GROWN))
    for problems, (_, differences) in zip(found, GROWN, strict=True):
        assert len(problems) == (differences is not None)
        assert all((problem.help or "").startswith(differences or "") for problem in problems)


def test_effects_of_every_kind_can_be_named() -> None:
    texts = []
    for name, then, effects in KINDS:
        head, _, rest = SOFT.replace("gpu.ecc]", f"{name}]").partition("  - prefer")
        tail = rest[rest.index("  because:") :].replace("gpu.ecc: true", f"{name}: true, gpu.tdp_w: 100")
        texts += [f"{head}  - {then}\n{tail}".replace("EFFECTS", named) for named in (effects, "[advise other]")]
    assert [len(found) for found in _checked(*texts)] == [0, 1] * len(KINDS)


@pytest.mark.durable
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
