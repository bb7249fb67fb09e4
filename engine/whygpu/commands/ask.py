"""``kb-explain --ask``: the questions that matter, one after another, in a terminal."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rerun import choice
from whygpu.files import write_whole
from whygpu.intake.typed import typed_model
from whygpu.render.screen import Screen
from whygpu.render.style import Style, plain_markdown
from whygpu.render.view.asking import AskView, ask_view, why_asked
from whygpu.render.words import price_text, short_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whygpu.api import KnowledgeBase
    from whygpu.explain.interview import Interview, NextQuestion

HELP = (
    "Enter takes what is in brackets; ? says more and why it is asked; list lets you choose what is asked; back; "
    "done answers now; Ctrl-C stops"
)
_DONE = ("done", "d", "answer now")


class Stop(Exception):  # noqa: N818  no error: whoever is asked has had enough
    """The person who is asked left."""


@dataclass(slots=True)
class _Asked:
    """What was said so far, None where a question was left to what is assumed, and the way back."""

    said: dict[str, Any]
    before: list[dict[str, Any]] = field(default_factory=list)

    @property
    def answers(self) -> dict[str, Any]:
        return {key: value for key, value in self.said.items() if value is not None}

    def say(self, question: str, value: Any) -> None:
        self.before.append(self.said)
        rest = {key: old for key, old in self.said.items() if key != question}
        self.said = {**rest, question: value}  # what was said last comes last

    def leave(self, questions: Iterable[str]) -> None:
        self.before.append(self.said)
        self.said = {**dict.fromkeys(questions), **self.said}  # the topic of what was said last goes on

    def back(self) -> bool:
        if not self.before:
            return False
        self.said = self.before.pop()
        return True


def ask(
    knowledge: KnowledgeBase,
    answers: dict[str, Any],
    save: Path | None = None,
    read: Callable[[str], str] = input,
    write: Callable[[str], object] = sys.stdout.write,
) -> dict[str, Any]:
    """Ask until nothing can change the recommendation, or nothing more is wanted; returns the answers.

    After each answer they are written to ``save``, where that is given. Raises Stop where the person leaves, and
    AnswerError where the answers given at first cannot be used.
    """
    return _Session(knowledge, answers, save, read, write).run()


class _Session:
    def __init__(
        self,
        knowledge: KnowledgeBase,
        answers: dict[str, Any],
        save: Path | None,
        read: Callable[[str], str],
        write: Callable[[str], object],
    ) -> None:
        self._kb, self._save, self._read, self._write = knowledge, save, read, write
        self._now = _Asked(dict(answers))
        self._offered = False
        """Whether the list to choose from was shown."""
        self._style = Style.of(sys.stdout)

    def run(self) -> dict[str, Any]:
        self._say(f"Only what can still change the recommendation is asked. {HELP}.")
        while True:
            interview = self._interview()
            asked = interview.next()
            self._so_far(interview)
            if asked is None:
                stands = choice(interview.consultation) is not None
                self._say(
                    f"No remaining question would {'change it' if stands else 'allow a plan, as far as was tried'}."
                )
                return self._now.answers
            choose = interview.choosable and not (interview.begun or self._offered)
            if not (self._choose(interview) if choose else self._one(interview, asked)):
                return self._now.answers

    def _interview(self) -> Interview:
        return self._kb.interview(self._now.said)

    def _so_far(self, interview: Interview) -> None:
        if not self._now.answers:
            return
        plan = PlanMaker(interview.consultation).best()
        said = "no plan fits these answers" if plan is None else f"{short_text(plan)}, {price_text(plan)}"
        self._say(self._style.faint(f"So far: {said}"))

    def _one(self, interview: Interview, asked: NextQuestion) -> bool:
        """Ask one question until it has an answer; False where no more are wanted."""
        view = ask_view(self._kb.knowledge, asked.question, asked, interview)
        self._show(view)
        while True:
            text = self._typed()
            word = text.lower()
            if word == "?":
                self._explain(view, interview, asked)
            elif word in _DONE:
                return False
            elif word in ("back", "b"):
                if self._now.back():
                    return True
                self._say("This is the first question.")
            elif word in ("list", "l"):
                if interview.choosable:
                    return self._choose(interview)
                self._say("What the work is comes first.")
            elif self._take(view, asked, text):
                return True

    def _typed(self) -> str:
        try:
            return self._read("> ").strip()
        except (EOFError, KeyboardInterrupt):
            raise Stop from None

    def _choose(self, interview: Interview) -> bool:
        """Leave to what is assumed all questions but those that are chosen; False where no more are wanted."""
        self._offered = True
        questions = interview.choosable
        self._say("")
        self._say(self._style.strong("Which of these can you answer? Only they are asked then."))
        for number, item in enumerate(questions, 1):
            self._say(f"  {number}. {item.ask}")
        self._say("  their numbers, such as 1 3; Enter asks all, one after another")
        while text := self._typed().lower():
            if text in _DONE:
                return False
            if text in ("back", "b"):
                self._now.back()
                return True
            chosen = {int(word) for word in re.findall(r"\d+", text)}
            if chosen and max(chosen) <= len(questions) and min(chosen) >= 1:
                self._now.leave(item.id for number, item in enumerate(questions, 1) if number not in chosen)
                break
            self._say(f"Type numbers from 1 to {len(questions)}.")
        return True

    def _show(self, view: AskView) -> None:
        self._say("")
        self._say(self._style.strong(view.ask) + self._style.faint(f"  ({view.topic})"))
        for number, item in enumerate(view.choices if not view.unit else (), 1):
            meaning = f": {plain_markdown(item.meaning)}" if item.meaning else ""
            self._say(f"  {number}. {item.label}{meaning}")
        if view.stake:
            self._say(self._style.faint(f"  {view.stake}"))
        held = f"[{view.assumed}] {view.because}" if view.assumed else "[nothing is assumed]"
        typed = "or a name, the Hub's org/name, a size such as 7B" if view.id == "model" else view.unit
        self._say("  " + ", ".join(filter(None, (held, typed))))

    def _explain(self, view: AskView, interview: Interview, asked: NextQuestion) -> None:
        if view.help:
            self._say(plain_markdown(view.help))
        effects = interview.effects(asked.question)
        self._write(Screen(self._style).sections([why_asked(self._kb.knowledge, asked, effects)]))

    def _take(self, view: AskView, asked: NextQuestion, text: str) -> bool:
        """Whether the text is an answer; what is wrong with it is said."""
        if not text:
            self._now.say(asked.id, None)
            return True
        try:
            value = self._value(view, asked, text)
            self._kb.consult({**self._now.answers, asked.id: value}, engine="evaluator")
        except AnswerError as error:
            for item in error.problems:
                self._say(f"{item.message}{f' ({item.help})' if item.help else ''}")
            return False
        self._now.say(asked.id, value)
        if self._save is not None:
            write_answers(self._save, self._now.answers)
        return True

    def _value(self, view: AskView, asked: NextQuestion, text: str) -> Any:
        if view.choices and not view.unit and text.isdigit() and 1 <= int(text) <= len(view.choices):
            return view.choices[int(text) - 1].value
        if asked.id == "model":
            return typed_model(text, self._kb.knowledge.catalogue)
        if view.choices and not view.unit:
            return next((item.value for item in view.choices if text.lower() == item.label.lower()), text)
        return text

    def _say(self, text: str) -> None:
        self._write(f"{text}\n")


def write_answers(path: Path, answers: dict[str, Any]) -> None:
    """Write answers as YAML, atomically; raises AnswerError."""
    import yaml  # noqa: PLC0415

    write_whole(path, yaml.safe_dump(answers, sort_keys=False, allow_unicode=True))
