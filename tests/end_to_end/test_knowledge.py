"""The knowledge base as it ships: examples on both engines, edits that change answers, the README's printed output."""

from __future__ import annotations

import re
import shutil
from datetime import date
from pathlib import Path

import pytest

import whygpu
from tests.effort import one_in
from whygpu.answers import read_text
from whygpu.chain.durable import DurableEngine
from whygpu.consult.driver import consult
from whygpu.explain.advice import Advice
from whygpu.lint.tests import check_tests
from whygpu.render.screen import Screen
from whygpu.render.view import view_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
TODAY = date(2026, 11, 21)


def test_there_are_four_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("path", one_in(3, EXAMPLES, [path.stem for path in EXAMPLES]))
def test_each_example_is_answered_alike_by_both_engines(kb: whygpu.KnowledgeBase, path: Path) -> None:
    node = read_text(path.read_text(encoding="utf-8"), path.name)
    durable = kb.advise(node, engine="durable", today=TODAY).to_dict()
    evaluator = kb.advise(node, engine="evaluator", today=TODAY).to_dict()
    phases = [found.get("phases", [found]) for found in (durable, evaluator)]  # a lifecycle has two
    for one, other in zip(*phases, strict=True):
        assert one.pop("engine") != other.pop("engine")
        assert one["recommendation"] is not None
    assert {**durable, "engine": None} == {**evaluator, "engine": None}


def test_the_rules_own_tests_pass(kb: whygpu.KnowledgeBase) -> None:
    assert [str(problem) for problem in check_tests(kb.knowledge)] == []


@pytest.mark.parametrize(
    ("model", "task"),
    [("stable-diffusion-xl", "image-generation"), ("whisper-large-v3", "speech"), ("yolo11m", "vision")],
)
def test_what_a_model_is_made_for_is_assumed_of_the_work(kb: whygpu.KnowledgeBase, model: str, task: str) -> None:
    assumed = {item.answer: item.value for item in kb.advise({"model": model}).assumed}
    assert assumed["task"] == task


def test_a_changed_threshold_in_one_file_changes_the_answer(kb: whygpu.KnowledgeBase, tmp_path: Path) -> None:
    copy = tmp_path / "kb"
    shutil.copytree(ROOT / "kb", copy)
    path = copy / "rules" / "right-sizing.yaml"
    before = path.read_text(encoding="utf-8")
    after = before.replace("workload.concurrency < 64", "workload.concurrency < 1")
    assert after != before
    path.write_text(after, encoding="utf-8")
    answers = {"phase": "inference", "model": "llama-3.2-1b", "provider_classes": ["hyperscaler"]}
    original, edited = kb.advise(answers, today=TODAY), whygpu.load(copy).advise(answers, today=TODAY)
    assert original.recommendation is not None
    assert edited.recommendation is not None
    assert original.recommendation.accelerator.family in ("T4", "L4")  # runpod-21
    criteria = {verdict.criterion for verdict in edited.recommendation.verdicts if verdict.favourable}
    assert "right-size" not in criteria
    assert original.knowledge_hash != edited.knowledge_hash


def test_dropped_rules_change_what_durable_rules_answers(kb: whygpu.KnowledgeBase) -> None:
    answers = kb.check({"phase": "inference", "model": "llama-3.1-70b", "quantization": "allowed"})
    whole = Advice(consult(kb.knowledge, answers, DurableEngine(kb.knowledge).chain(), TODAY))
    without = DurableEngine(
        kb.knowledge, without=frozenset({"consider-quantized-serving", "consider-four-bit-serving", "consider-nvfp4"})
    )
    less = Advice(consult(kb.knowledge, answers, without.chain(), TODAY))
    formats = [{plan.format for head in advice.plans for plan in (head, *head.variants)} for advice in (whole, less)]
    assert {"int8", "awq-int4"} <= formats[0]
    assert formats[1] <= {"bf16", "fp16"}


def test_an_a100_is_absent_fp8_and_a_t4_runs_fp16(kb: whygpu.KnowledgeBase) -> None:
    """NVIDIA's A100 and T4 data sheets: no FP8 on the one, no BF16 on the other."""
    advice = kb.advise({"phase": "inference", "model": "llama-3.1-8b", "accelerators": ["A100", "T4"]}, today=TODAY)
    plans = [plan for head in advice.plans for plan in (head, *head.variants)]
    assert plans
    fp8 = [plan for plan in plans if plan.accelerator.family == "A100" and plan.format == "fp8"]
    unpacked = "fp8-is-unpacked"  # vLLM runs it as weights of 8 bits and arithmetic of 16
    assert all(unpacked in {rule for verdict in plan.verdicts for rule in verdict.rules} for plan in fp8)
    assert not [plan for plan in plans if plan.accelerator.family == "T4" and plan.format == "bf16"]
    assert [plan for plan in plans if plan.accelerator.family == "T4" and plan.format == "fp16"]


def test_a_7b_model_runs_on_8_gb_at_4_bits_and_not_at_16(kb: whygpu.KnowledgeBase) -> None:
    """runpod-26."""
    answers = {
        "phase": "inference",
        "model": "llama-2-7b",
        "context_tokens": 1024,
        "accelerators": ["RTX 3070"],
        "count": 1,
    }
    assert kb.advise({**answers, "format": "awq-int4"}, today=TODAY).status == "recommended"
    assert kb.advise({**answers, "format": "fp16"}, today=TODAY).status == "infeasible"


@pytest.mark.durable
def test_the_readme_prints_true_output(kb: whygpu.KnowledgeBase) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    match = re.search(r"<!-- output of kb-explain (\S+) -->\n```text\n(.*?)```", text, re.DOTALL)
    assert match is not None
    node = read_text((ROOT / match.group(1)).read_text(encoding="utf-8"), match.group(1))
    printed = Screen(width=100).render(view_of(kb.advise(node, today=TODAY)))
    assert _steady(match.group(2)) == _steady(printed)


def _steady(text: str) -> str:
    """All but the knowledge base's hash, which every edit changes."""
    return re.sub(r"\([0-9a-f]{16}\)", "(hash)", text)


def test_the_readme_lists_every_answer_key_in_docs(kb: whygpu.KnowledgeBase) -> None:
    text = (ROOT / "docs" / "reference" / "answers.md").read_text(encoding="utf-8")
    missing = [key for key in kb.knowledge.name_by_answer if f"`{key}`" not in text]
    assert missing == []


def test_docs_list_every_choice_of_an_answer(kb: whygpu.KnowledgeBase) -> None:
    text = (ROOT / "docs" / "reference" / "answers.md").read_text(encoding="utf-8")
    few = {key: spec.values for key, spec in kb.knowledge.name_by_answer.items() if 0 < len(spec.values) < 20}
    assert len(few) > 10
    for key, words in few.items():
        row = re.search(rf"^\| `{key}` \| ([^|]*) \|", text, re.MULTILINE)
        assert row is not None, key
        assert [word for word in words if f"`{word}`" not in row.group(1)] == [], key
