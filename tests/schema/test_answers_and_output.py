"""The schemas of what goes in and out: answers of the examples and cases, and everything the commands write of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, get_args

import pytest

import whygpu
from tests.schema.validators import MODELINE, ROOT, data_of, faults, schema
from whygpu.answers import check
from whygpu.api import REGISTRY
from whygpu.chain.names import EngineName
from whygpu.errors import AnswerError
from whygpu.explain.json_form import plan_dict
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import default_root, read_texts
from whygpu.render.decision import record
from whygpu.render.output import json_text, sections_dict
from whygpu.render.problems import problems_data
from whygpu.render.view import questions, view_of
from whygpu.yamldoc.document import parse, plain_data

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def _read(path: Path) -> dict[str, object]:
    data = data_of(path.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def written(data: object) -> object:
    """What a reader of the JSON has."""
    found: object = json.loads(json_text(data))
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_answers_of_an_example_hold_to_their_schema(kb: whygpu.KnowledgeBase, path: Path) -> None:
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    assert (path.parent / first.removeprefix(MODELINE)).resolve() == ROOT / "kb" / "schemas" / "answers.schema.json"
    assert faults(schema("answers", kb.knowledge), _read(path)) == []


def test_the_answers_of_every_case_hold_to_their_schema(kb: whygpu.KnowledgeBase) -> None:
    cases = load_texts(read_texts(default_root()), "kb", REGISTRY).cases
    assert len(cases) > 400
    made = schema("answers", kb.knowledge)
    assert [(case.id, found) for case in cases if (found := faults(made, plain_data(case.answers)))] == []


ACCEPTED = (
    "{context_tokens: 32k, latency_ms: 200 ms, resolution: 1920x1080, budget_total: '$2,500'}",
    "{format: BF16, phase: Fine Tuning, gradient_checkpointing: on}",
    "{format: null, owned: {accelerator: rtx-3090, count: 2}, providers: aws}",
    "{providers: [Amazon], regions: Europe}",
    "{model: {parameters: 8B, layers: 32, kind: decoder}}",
    "{phases: {train: {method: lora}, serve: null}, service_months: 12}",
)
REFUSED = (
    "{context_token: 32000}",
    "{context_tokens: many}",
    "{concurrency: -1}",
    "{phase: infrence}",
    "{price_kinds: [cheap]}",
    "{owned: [{accelerator: l4, count: 0}]}",
    "{owned: [{accelerator: l4}]}",
    "{phase: [training]}",
)


@pytest.mark.parametrize("text", ACCEPTED)
def test_answers_that_are_accepted(kb: whygpu.KnowledgeBase, text: str) -> None:
    data = data_of(text)
    assert faults(schema("answers", kb.knowledge), data) == []
    node = parse(text, "x", [])
    assert node is not None
    if "phases" not in text:
        check(node, kb.knowledge)


@pytest.mark.parametrize("text", REFUSED)
def test_answers_that_are_refused(kb: whygpu.KnowledgeBase, text: str) -> None:
    assert faults(schema("answers", kb.knowledge), data_of(text))
    node = parse(text, "x", [])
    assert node is not None
    with pytest.raises(AnswerError):
        check(node, kb.knowledge)


@pytest.mark.parametrize("engine", get_args(EngineName))
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_written_of_an_example_holds_to_its_schema(
    kb: whygpu.KnowledgeBase, path: Path, engine: EngineName
) -> None:
    advice = kb.advise(_read(path), engine=engine)
    assert faults(_one_of_output(kb, "phases" in advice.to_dict()), written(advice.to_dict())) == []
    if isinstance(advice, whygpu.Advice):
        assert faults(schema("record", kb.knowledge), written(record(advice, view_of(advice)))) == []


def _one_of_output(kb: whygpu.KnowledgeBase, lifecycle: bool) -> object:
    """The alternative of the output's schema that is meant, so that a fault is told of it alone."""
    whole = schema("output", kb.knowledge)
    wanted = "#/$defs/Lifecycle" if lifecycle else "#/$defs/Advice"
    assert {"$ref": wanted} in whole["anyOf"]
    return {"$ref": wanted, "$defs": whole["$defs"]}


def test_other_output_holds_to_its_schema(kb: whygpu.KnowledgeBase) -> None:
    """A plan of estimate, answers to questions, bad input, and an answer without a plan."""
    answers = {"model": "llama-3.1-8b", "phase": "inference"}
    plan = kb.estimate({**answers, "accelerators": ["l4"]}, engine="evaluator")
    assert faults(schema("plan", kb.knowledge), written(plan_dict(plan))) == []
    advice = kb.advise(answers, engine="evaluator")
    sections = [*questions.why_not_sections(advice, "t4", advice.why_not("t4")), questions.assumed_section(advice)]
    data = written(sections_dict(sections, advice.engine))
    assert faults(schema("output", kb.knowledge), data) == []
    with pytest.raises(AnswerError) as caught:
        kb.check({"phaze": 1})
    assert faults(schema("error", kb.knowledge), written({"error": problems_data(caught.value.problems)})) == []
    nothing = kb.advise({**answers, "accelerators": ["l4"], "budget_per_hour": 0.0001}, engine="evaluator")
    assert nothing.status == "infeasible"
    assert faults(_one_of_output(kb, False), written(nothing.to_dict())) == []


def test_an_answer_that_is_changed_is_refused(kb: whygpu.KnowledgeBase) -> None:
    """A key less, one more, and another type: the schema is no rubber stamp."""
    data = written(kb.advise({"model": "llama-3.1-8b", "phase": "inference"}, engine="evaluator").to_dict())
    assert isinstance(data, dict)
    made = _one_of_output(kb, False)
    for spoilt in (
        {key: value for key, value in data.items() if key != "status"},
        {**data, "more": 1},
        {**data, "recommendation": {**data["recommendation"], "count": "two"}},
        {**data, "recommendation": {**data["recommendation"], "memory": {}}},
        {**data, "status": "maybe"},
    ):
        assert faults(made, spoilt)
