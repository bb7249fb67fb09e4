"""Names that something hangs on are declared once, and an unknown one is an error that says what there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import pytest

import whygpu
from tests.chain.drive import chains_of
from tests.chain.programs import program
from tests.loader.small import small_texts
from whygpu.api import REGISTRY
from whygpu.chain.engines import EvaluatorChain
from whygpu.chain.names import ENGINES, EngineName, engine_named
from whygpu.checks.calculation import CHECKS, Phase
from whygpu.cli import main
from whygpu.commands.explain import FORMATS, Format
from whygpu.errors import AnswerError, KnowledgeBaseError
from whygpu.explain.flips import search
from whygpu.explain.rerun import rerun
from whygpu.knowledge.rules import STRENGTHS, Strength
from whygpu.language.names import Kind
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import default_root, read_texts
from whygpu.loader.vocabulary import KINDS
from whygpu.plans.columns import GPU_NAMES, PLAN_NAMES
from whygpu.plans.work import FUNCTIONS, NUMERIC_CHECKS, format_checks

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = {"model": "llama-3.1-8b", "phase": "inference", "concurrency": 8}


def test_each_registry_is_read_off_its_type() -> None:
    """So that a new name is one change, after which mypy names every match that lacks it."""
    assert get_args(EngineName) == ENGINES
    assert get_args(Strength) == STRENGTHS
    assert get_args(Format) == FORMATS
    assert get_args(Kind) == KINDS
    assert FUNCTIONS.keys() == NUMERIC_CHECKS.keys()


@pytest.mark.parametrize("name", ["Durable", "clips", ""])
def test_an_unknown_engine_is_refused_in_python(kb: whygpu.KnowledgeBase, name: str) -> None:
    for ask in (kb.advise, kb.estimate, kb.consult, kb.advise_lifecycle):
        answers = (
            {"phases": {"train": {}, "serve": {}}}
            if ask == kb.advise_lifecycle
            else {**ANSWERS, "accelerators": ["l4"]}
        )
        with pytest.raises(AnswerError) as caught:
            ask(answers, engine=name)  # type: ignore[arg-type]
        (problem,) = caught.value.problems
        assert problem.code == "unknown-engine"
        assert "durable" in (problem.help or "")


@pytest.mark.parametrize("command", ["explain", "estimate", "replay", "ui"])
def test_an_unknown_engine_is_refused_on_the_command_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = [str(tmp_path / "record.json")] if command == "replay" else []
    with pytest.raises(SystemExit) as caught:
        main([command, *more, "--engine", "clips"])
    assert caught.value.code == 2
    assert "clips" in capsys.readouterr().err


def test_an_unknown_engine_is_refused_where_the_page_takes_it_from() -> None:
    with pytest.raises(AnswerError) as caught:
        engine_named("evaluater", "WHYGPU_UI_ENGINE")
    assert "WHYGPU_UI_ENGINE: unknown-engine" in str(caught.value.problems[0])
    assert "evaluator" in str(caught.value.problems[0].help)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_runs_reports_itself(kb: whygpu.KnowledgeBase, engine: EngineName) -> None:
    """A consultation has the name of the chain that it ran on, not one that it was told."""
    consultation = kb.consult(ANSWERS, engine=engine)
    assert consultation.engine == engine == kb.chain(engine).engine


@pytest.mark.parametrize("engine", ["durable", pytest.param("evaluator", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_what_if_and_flips_say_the_engine_that_they_ran_on(
    kb: whygpu.KnowledgeBase, engine: EngineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run again on the evaluator, whatever the consultation ran on, and say so."""
    consultation = kb.consult({**ANSWERS, "accelerators": ["l4", "a100"]}, engine=engine)
    ran = set()

    enter = EvaluatorChain.__enter__

    def entered(chain: EvaluatorChain) -> EvaluatorChain:
        ran.add(chain.engine)
        return enter(chain)

    monkeypatch.setattr(EvaluatorChain, "__enter__", entered)
    again = rerun(consultation, {"concurrency": 64})
    assert {again.engine} == ran == {"evaluator"}
    found = search(consultation).found
    assert found
    assert {flip.engine for flip in found} == ran


def test_every_engine_is_compared_with_the_others() -> None:
    """The differential test is slow; whom it judges is not."""
    assert {chain.engine for chain in chains_of(program(1)).values()} == set(ENGINES)


def test_numeric_checks_that_need_no_model_are_the_same_ones(kb: whygpu.KnowledgeBase) -> None:
    assert format_checks(kb.knowledge).keys() == {
        name for name, check in NUMERIC_CHECKS.items() if check.of_catalogue is not None
    }


def test_a_strength_without_a_worth_is_an_error() -> None:
    """It vanished from the ranking before."""
    texts = small_texts()
    lines = texts["ranking.yaml"].split("\n")
    texts["ranking.yaml"] = "\n".join(line for line in lines if "strength: mild" not in line)
    assert texts["ranking.yaml"] != small_texts()["ranking.yaml"]
    with pytest.raises(KnowledgeBaseError) as caught:
        load_texts(texts, "kb", REGISTRY)
    assert any("mild" in str(problem) for problem in caught.value.problems)


def test_a_strength_without_a_weight_for_signs_is_an_error() -> None:
    """A new one counted as the plain figure says, which is as little as the weakest."""
    root = default_root()
    texts = dict(read_texts(root))
    found = texts["facts/measuring.yaml"]
    texts["facts/measuring.yaml"] = "\n".join(line for line in found.split("\n") if "{strength: normal}" not in line)
    assert texts["facts/measuring.yaml"] != found
    with pytest.raises(KnowledgeBaseError) as caught:
        load_texts(texts, str(root), REGISTRY, cases=False)
    (problem,) = caught.value.problems
    assert problem.message.startswith("'sign-weight' does not say what a normal sign counts")


def test_what_plans_give_has_a_name(kb: whygpu.KnowledgeBase) -> None:
    """A column without one is read by no rule, and nothing says so."""
    assert {*PLAN_NAMES, *GPU_NAMES} <= kb.knowledge.vocabulary.keys()


@pytest.mark.parametrize(
    ("phase", "answers"),
    [
        ("inference", ANSWERS),
        ("inference", {"task": "vision", "streams": 4}),
        ("inference", {"phase": "batch-inference", "model": "llama-3.1-8b", "dataset_samples": 1e6}),
        ("training", {"phase": "fine-tuning", "method": "lora", "model": "llama-3.1-8b", "dataset_tokens": 1e8}),
        ("training", {"phase": "training", "model": "resnet-50", "deployment": "workstation"}),
    ],
)
def test_every_figure_is_a_declared_check(kb: whygpu.KnowledgeBase, phase: Phase, answers: dict[str, Any]) -> None:
    """Of each case, tests/lint/test_coverage.py: here a few, so that a check that is forgotten fails in seconds."""
    steps = [step for step in kb.advise(answers, engine="evaluator").trace.steps if step.kind == "check"]
    figures = {re.sub(r"_\d+$", "", step.title) for step in steps if not step.title.endswith("is computed")}
    assert figures
    assert figures <= CHECKS[phase]
