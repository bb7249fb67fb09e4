"""Coverage: who cites each claim, which rule moves plans for it, which cases show it from both sides."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, cast

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.checks.calculation import CHECKS, Phase
from whygpu.errors import Problem
from whygpu.lifecycle.advice import LifecycleAdvice
from whygpu.lint.coverage import Coverage, _without, cover
from whygpu.lint.outcome import Outcome
from whygpu.lint.registry import lint
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import default_root, read_texts
from whygpu.yamldoc.document import plain_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whygpu.explain.advice import Advice
    from whygpu.knowledge.cases import Case
    from whygpu.knowledge.catalogue import Entry
    from whygpu.trace import Trace

pytestmark = pytest.mark.slow

_CLAIMS = """documents:
  wiki: {title: What our team found out}
claims:
- {id: wiki-01, kind: advice, about: [card], says: The H100 is not for development.}
- {id: wiki-02, kind: advice, about: [card], says: Try another card.}
- {id: wiki-03, kind: fact, says: Nobody says this.}
- {id: wiki-04, kind: advice, about: [operation], says: Restart at night.}
- {id: wiki-05, kind: advice, about: [card], says: Old cards are unreliable.}
- {id: wiki-06, kind: advice, about: [card], says: The T4 is quiet.}
tensions:
- {id: t91, between: [wiki-01, wiki-02], about: Neither settled nor shown.}
- {id: t92, between: [wiki-01, wiki-02], about: Settled without a case., settled_by: no-h100, how: So.}
- {id: t93, between: [wiki-01, wiki-02], about: Settled and shown., settled_by: [no-h100, age], how: So.}
- {id: t94, between: [wiki-04, wiki-06], about: A conflict.}
- {id: t95, between: [wiki-01, wiki-04], about: A conflict of others.}
"""
_RULES = """rules:
- id: no-h100
  title: No H100 in development
  when: [workload.criticality == 'development', gpu.family == 'H100']
  then: [exclude]
  because: x
  source: wiki-01
- id: only-talk
  title: Only talk
  when: [workload.phase == 'inference']
  then: [advise: talk]
  because: x
  source: [wiki-02, wiki-04]
- id: quiet
  title: The T4 is quiet
  when: [workload.phase == 'inference', gpu.family == 'T4']
  then: [prefer: ecosystem strong]
  because: x
  source: wiki-06
- id: loud
  title: The T4 is loud
  when: [workload.phase == 'inference', gpu.family == 'T4', workload.criticality == 'development']
  then: [avoid: ecosystem strong]
  because: x
  source: wiki-04
tables:
- id: age
  title: Age
  hit: collect
  when: [workload.phase == 'inference']
  columns: [gpu.released]
  then: [avoid]
  because: x
  rows:
  - {id: before-2019, if: ['< 2019'], then: reliability strong, source: wiki-05}
  - {id: before-2020, if: ['< 2020'], then: reliability strong, source: wiki-05}
"""
_CASES = """cases:
- id: in-development
  title: In development
  answers: {phase: inference, model: llama-3.1-8b, criticality: development, accelerators: [T4, H100, A100]}
  expect:
    rejected: {h100: no-h100}
    conflicts: [ecosystem]
  source: [wiki-01, wiki-04, wiki-05]
  tension: [t93, t94, t95]
- id: in-production
  title: In production
  answers: {phase: inference, model: llama-3.1-8b, criticality: production, accelerators: [T4, L4, H100]}
  expect:
    possible: {family: H100}
  source: [wiki-06]
  spares: [wiki-01]
"""


@cache
def _coverage(cases: str = _CASES) -> Coverage:
    texts = {**small_texts(), "wiki.yaml": _CLAIMS, "rules/wiki.yaml": _RULES, "cases/wiki.yaml": cases}
    return cover(KnowledgeBase(load_texts(texts, "kb", REGISTRY)))


def _of(name: str) -> tuple[list[str], list[tuple[str, str, str]], list[str]]:
    """Who cites a claim, what moves plans for it, and the codes of what is missing."""
    item = next(item for item in _coverage().claims if item.claim.id == name)
    cited = [f"{cite.kind} {cite.by} {cite.location.file}:{cite.location.line}" for cite in item.cited_by]
    movers = [(mover.rule, mover.case, str(mover.what)) for mover in item.movers]
    return cited, movers, [problem.code for problem in item.faults()]


def test_a_rule_that_rejects_a_card_moves_plans() -> None:
    """wiki-01 has its rule, a case where it applies and one where it does not: nothing is missing."""
    cited, movers, faults = _of("wiki-01")
    assert cited == ["rule no-h100 rules/wiki.yaml:7"]
    assert [(rule, case) for rule, case, _ in movers] == [("no-h100", "in-development")]
    assert movers[0][2] in ("recommendation", "order", "plans")
    assert faults == []


def test_advice_in_words_does_not_move_plans() -> None:
    assert _of("wiki-02") == (["rule only-talk rules/wiki.yaml:13"], [], ["unmoved-claim", *2 * ["one-sided-claim"]])
    assert _of("wiki-04")[1:] == ([], ["one-sided-claim"])  # about operation: words are enough


def test_an_uncited_claim() -> None:
    assert _of("wiki-03") == ([], [], ["uncited-claim"])
    assert "wiki-03" in _coverage().uncited
    assert "wiki-01" not in _coverage().uncited


def test_a_table_whose_rows_say_the_same_moves_plans_as_a_whole() -> None:
    """The T4 is of 2018, so both rows avoid it: without either it is avoided still, without both it is not."""
    cited, movers, _ = _of("wiki-05")
    assert cited == ["table age/before-2019 rules/wiki.yaml:35", "table age/before-2020 rules/wiki.yaml:36"]
    assert [rule for rule, _, _ in movers] == ["age"]


def test_the_rule_that_follows_the_claim_moves_plans_for_it() -> None:
    assert [rule for rule, _, _ in _of("wiki-06")[1]] == ["quiet"]


def test_tensions_are_settled_and_shown_or_shown_as_a_conflict() -> None:
    found = {item.tension.id: [problem.message for problem in item.faults()] for item in _coverage().tensions}
    assert found["t91"] == ["'t91' is neither settled nor shown: Neither settled nor shown."]
    assert found["t92"] == ["no case shows how 't92' is settled: Settled without a case."]
    assert found["t93"] == []
    assert found["t94"] == []
    assert found["t95"] == ["'t95' is neither settled nor shown: A conflict of others."]  # one side only is its own


def test_cases_on_the_wrong_side_are_doubted() -> None:
    swapped = _CASES.replace("source: [wiki-06]", "source: [wiki-01]").replace("spares: [wiki-01]", "spares: [wiki-06]")
    found = [str(problem) for problem in _coverage(swapped).doubts]
    assert found == [
        "cases/wiki.yaml:10:3: silent-claim: case 'in-production' shows 'wiki-01', and no rule that cites it fires: "
        "no-h100 (does it apply here?)",
        "cases/wiki.yaml:10:3: unspared-claim: case 'in-production' spares 'wiki-06', and every rule that cites it "
        "fires: quiet (does it apply here?)",
    ]
    assert all(problem.severity == "warning" for problem in _coverage(swapped).doubts)


@pytest.mark.parametrize("rule", ["no-h100", "quiet", "loud"])
@pytest.mark.parametrize("case", [0, 1])
def test_to_take_a_rule_out_is_to_delete_it_from_its_file(rule: str, case: int) -> None:
    """The quick way, without reading the files again, comes to the same outcome."""
    texts = {**small_texts(), "wiki.yaml": _CLAIMS.partition("tensions:")[0], "rules/wiki.yaml": _RULES}
    texts["cases/wiki.yaml"] = re.sub(r"    rejected:.*\n|  tension:.*\n", "", _CASES)
    whole = load_texts(texts, "kb", REGISTRY)
    texts["rules/wiki.yaml"] = re.sub(rf"- id: {rule}\n(  .*\n)+", "", _RULES)
    outcomes = [
        Outcome.of(KnowledgeBase(knowledge).consult(whole.cases[case].answers, engine="evaluator"))
        for knowledge in (_without(whole, {rule}), load_texts(texts, "kb", REGISTRY))
    ]
    assert outcomes[0] == outcomes[1]


def _traces(advice: Advice | LifecycleAdvice) -> Iterator[tuple[Phase, Trace]]:
    """Each trace and what its figures are of."""
    if isinstance(advice, LifecycleAdvice):
        yield "life", advice.trace
    for item in advice.phases if isinstance(advice, LifecycleAdvice) else (advice,):
        work = item.consultation.plans.work
        yield "training" if work is not None and work.setup.trains else "inference", item.trace


def _in_turn(cases: Iterable[Case], models: Mapping[str, Entry]) -> list[Case]:
    """The cases: those that answer what none before them does, lives, and each kind of model in turn."""
    order: list[tuple[int, Case]] = []
    answered: set[str] = set()
    before: Counter[object] = Counter()
    for case in cases:
        answers = cast("dict[str, object]", plain_data(case.answers))
        model = models.get(str(answers.get("model")))
        kind = None if model is None else model.data.get("task")
        before[kind] += 1
        first = "phases" in answers or not answers.keys() <= answered
        order.append((0 if first else before[kind], case))
        answered |= answers.keys()
    return [case for _, case in sorted(order, key=itemgetter(0))]


def test_every_check_has_a_formula_and_every_calculation_is_a_check() -> None:
    """The steps of the cases' traces until each was seen, and no name that no case computes."""
    root = default_root()
    kb = KnowledgeBase(load_texts(read_texts(root), str(root), REGISTRY))
    seen: dict[Phase, set[str]] = {"training": set(), "inference": set(), "life": set()}
    unseen = {"further_states"}  # states of requests at their average, beside one at its longest: no case asks for them
    for case in _in_turn(kb.knowledge.cases, kb.knowledge.catalogue.models):
        if all(CHECKS[phase] - names <= unseen for phase, names in seen.items()):
            break
        for phase, trace in _traces(kb.advise(case.answers, engine="evaluator")):
            for step in trace.steps:
                if step.kind == "check" and not step.title.endswith("is computed"):
                    name = re.sub(r"_\d+$", "", step.title)
                    assert name in CHECKS[phase]
                    assert step.claims, step.title
                    seen[phase].add(name)
    assert CHECKS["training"] == seen["training"]
    assert CHECKS["life"] == seen["life"]
    assert CHECKS["inference"] - seen["inference"] <= unseen


def test_a_check_without_a_formula_is_a_problem() -> None:
    texts = small_texts()
    texts["formulas.yaml"] = texts["formulas.yaml"].replace("of: [reused]", "of: [gradients]", 1)
    found = [problem for problem in lint(load_texts(texts, "kb", REGISTRY)) if problem.code == "no-formula"]
    assert [problem.message for problem in found] == ["no formula says what 'reused' is in training"]
    assert found[0].severity == "error"


def test_plain_check_points_out_what_nothing_cites() -> None:
    texts = {**small_texts(), "wiki.yaml": _CLAIMS.partition("tensions:")[0], "rules/wiki.yaml": _RULES}
    found: list[Problem] = [item for item in lint(load_texts(texts, "kb", REGISTRY)) if item.code == "uncited-claim"]
    assert [item.message for item in found if "wiki" in item.message] == [
        "nothing cites the claim 'wiki-03': Nobody says this."
    ]
    assert {item.severity for item in found} == {"warning"}
