"""The interview in a terminal: choices, defaults, why, back, answer now, resume, Ctrl-C."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cli.signals import as_on_a_terminal
from tests.effort import PATIENCE
from whygpu.commands.ask import Stop, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whygpu import KnowledgeBase

pytestmark = pytest.mark.slow


def _typed(*lines: str) -> Callable[[str], str]:
    """What a person types; at its end they leave."""
    left: Iterator[str] = iter(lines)

    def read(_: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return read


def test_choices_and_names_are_answers(kb: KnowledgeBase) -> None:
    said: list[str] = []
    found = ask(kb, {}, None, _typed("inference", "Qwen/Qwen3-8B", "done"), said.append)
    assert found == {"phase": "inference", "model": "qwen3-8b"}
    text = "".join(said)
    assert "[inference] most hardware questions are about serving a model" in text
    assert "So far: " in text


@pytest.mark.parametrize("now", ["done", "Answer now"])
def test_a_choice_has_a_number_and_enter_takes_the_default(now: str, kb: KnowledgeBase) -> None:
    assert ask(kb, {}, None, _typed("2", "", now), lambda _: None) == {"phase": "fine-tuning"}


@pytest.mark.parametrize(("typed", "model"), [("", None), ("1", "llama-3.1-8b"), ("2", "qwen3-0.6b"), ("7B", 7e9)])
def test_the_most_downloaded_models_are_choices(typed: str, model: object, kb: KnowledgeBase) -> None:
    said: list[str] = []
    found = ask(kb, {"phase": "inference", "task": "language"}, None, _typed(typed, "done"), said.append)
    assert found.get("model") == ({"parameters": model} if isinstance(model, float) else model)
    text = "".join(said)
    assert "1. Llama 3.1 8B: 7.3M downloads a month" in text
    assert "2. Qwen3 0.6B: 18.6M downloads a month" in text
    assert "[llama-3.1-8b]" in text
    assert "gpt2" not in text.lower()


def test_a_number_that_no_choice_has_is_no_model(kb: KnowledgeBase) -> None:
    said: list[str] = []
    assert ask(kb, {"phase": "inference"}, None, _typed("7", "done"), said.append) == {"phase": "inference"}
    assert "no model here is called '7'" in "".join(said)


def test_a_question_mark_says_why(kb: KnowledgeBase) -> None:
    said: list[str] = []
    ask(kb, {"phase": "inference", "model": "llama-3.1-8b"}, None, _typed("", "?", "done"), said.append)
    text = "".join(said)
    assert "Why this is asked" in text
    assert "for it:" in text
    assert "changes it" in text


def test_once_the_work_is_known_one_chooses_what_is_asked(kb: KnowledgeBase) -> None:
    said: list[str] = []
    work = {"phase": "inference", "model": "llama-3.1-8b"}
    questions = kb.interview(work).choosable
    number = 1 + next(at for at, item in enumerate(questions) if item.id == "budget_per_hour")
    assert ask(kb, work, None, _typed("99", str(number), "0.5"), said.append) == {**work, "budget_per_hour": "0.5"}
    text = "".join(said)
    assert f"Type numbers from 1 to {len(questions)}." in text
    assert text.count("Which of these can you answer?") == 1
    asked = text.split("one after another")[1]
    assert asked.index(questions[number - 1].ask) < asked.index("No remaining question would change it.")


@pytest.mark.parametrize(("typed", "left"), [("", "asked"), ("done", "over"), ("back", "asked")])
def test_who_chooses_nothing_is_asked_one_after_another(typed: str, left: str, kb: KnowledgeBase) -> None:
    said: list[str] = []
    work = {"phase": "inference", "model": "llama-3.1-8b"}
    first = kb.next_question(work)
    assert first is not None
    assert ask(kb, work, None, _typed(typed, "done"), said.append) == work
    assert (f"\n{first.question.ask}" in "".join(said)) == (left == "asked")


def test_the_list_is_offered_once_and_not_to_those_who_go_on(kb: KnowledgeBase) -> None:
    said: list[str] = []
    begun = {"phase": "inference", "model": "llama-3.1-8b", "context_tokens": 8000}
    ask(kb, begun, None, _typed("done"), said.append)
    assert "Which of these" not in "".join(said)
    ask(kb, begun, None, _typed("list", "", "list", "done"), said.append)
    assert "".join(said).count("Which of these") == 2


def test_what_is_not_chosen_opens_no_topic(kb: KnowledgeBase) -> None:
    """The topic of what was left out last went on, before what decides more often."""
    said: list[str] = []
    work = {"phase": "inference", "model": "llama-3.1-8b"}
    questions = kb.interview(work).choosable
    chosen = ("concurrency", "budget_per_hour")
    numbers = " ".join(str(number) for number, item in enumerate(questions, 1) if item.id in chosen)
    ask(kb, work, None, _typed(numbers, "done"), said.append)
    first, last = (next(item.ask for item in questions if item.id == key) for key in chosen)
    asked = "".join(said).split("one after another")[1]
    assert first in asked
    assert last not in asked


def test_the_work_is_not_a_matter_of_choice(kb: KnowledgeBase) -> None:
    said: list[str] = []
    assert ask(kb, {}, None, _typed("list", "inference", "list", "done"), said.append) == {"phase": "inference"}
    assert "".join(said).count("What the work is comes first.") == 2


def test_what_cannot_be_used_is_said_and_asked_again(kb: KnowledgeBase) -> None:
    said: list[str] = []
    assert ask(kb, {}, None, _typed("cooking", "inference", "done"), said.append) == {"phase": "inference"}
    assert "cooking" in "".join(said)


def test_back_takes_the_last_answer_back(kb: KnowledgeBase) -> None:
    said: list[str] = []
    found = ask(kb, {}, None, _typed("back", "training", "back", "inference", "done"), said.append)
    assert found == {"phase": "inference"}
    assert "This is the first question." in "".join(said)


def test_answers_are_saved_at_each_step(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    with pytest.raises(Stop):
        ask(kb, {}, path, _typed("inference"), lambda _: None)
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == {"phase": "inference"}


def _command(*options: str) -> list[str]:
    return [sys.executable, "-c", "from whygpu.entry import kb_explain; raise SystemExit(kb_explain())", *options]


def test_an_interview_ends_in_the_answer(run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    command = ("explain", "--ask", "--save", str(path), "--engine", "evaluator")
    done = run(*command, stdin="inference\n7B\ndone\n")
    assert done.returncode == 0, done.stderr
    assert "\nTAKE " in done.stdout
    again = run(*command, stdin="done\n")
    assert again.returncode == 0, again.stderr
    assert "What is the hardware for?" not in again.stdout
    left = run(*command)
    assert left.returncode == 130
    assert "Stopped." in left.stderr
    assert "Traceback" not in left.stderr


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals here")
def test_on_a_terminal_the_bare_command_asks_and_ctrl_c_is_clean() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        _command(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=as_on_a_terminal,  # noqa: PLW1509  there are no threads here
    ) as process:
        os.close(theirs)
        text = _until(ours, "What is the hardware for?")
        process.send_signal(2)
        text += _until(ours, "Stopped.")
        assert process.wait(PATIENCE) == 130
    os.close(ours)
    assert "Traceback" not in text


def _until(handle: int, words: str) -> str:
    text = ""
    while words not in text:
        text += os.read(handle, 4096).decode()
    return text
