"""Answers within a sentence: "serve Llama 3.1 8B on Azure for $500 a month".

What is read is what stands there in so many words: what the work is (`heard` in questions.yaml), and phrases that are
answers. What is left is told, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.errors import Location, Problem
from whygpu.intake.phrases import NUMBER, READ, WORD, is_size, read_phrases, runs_of_words
from whygpu.intake.typed import MAX_ENTRY
from whygpu.kept import kept
from whygpu.quantity import parse_number, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Catalogue
    from whygpu.knowledge.questions import Heard

_LEFT = re.compile(r"[$€£]?\d\S*(?:\s+[A-Za-z]+)?|(?<=\s)(?!I\b)[A-Z]\w*(?:[ -][A-Z0-9]\w*)*")
"""What is told where it is not read: an amount with the word behind it, and a name."""
_SERVICE, _JOB = "inference", "batch-inference"
_LANGUAGE = "language"
_OF_A_SIZE = frozenset({_LANGUAGE, "embedding"})
"""Tasks of models that are told by their size."""
_RATES = frozenset({"requests_per_second", "concurrency", "streams"})
_DATA = frozenset({"dataset_tokens", "dataset_samples", "dataset_hours"})
_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_COUNTED = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_ONE = re.compile(r"\b((?:in|within|under|than|most)\s+)(?:an?|one)(?=\s+(?:hour|day|week|month)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is read of a sentence, answers by name, and the rest of it."""

    answers: dict[str, Any]
    rest: str

    @property
    def left(self) -> tuple[str, ...]:
        """What of the rest is an amount or a name."""
        return tuple(" ".join(item[0].split()) for item in _LEFT.finditer(self.rest))

    def may_name_a_model(self, catalogue: Catalogue) -> bool:
        """Whether a word of the rest looks like a name: letters and digits, a capital, or models are so called; or is a
        size, of which several are left.
        """
        pieces = [item[0].strip(".") for item in WORD.finditer(self.rest)]
        words = [piece for piece in pieces if parse_number(piece) is None]
        if any(is_size(piece, 0, len(piece)) for piece in filter(None, pieces)):
            return True
        mixed = (any(map(str.isdigit, word)) for word in words)
        capital = (word[not at :] != word[not at :].lower() and word != "I" for at, word in enumerate(words))
        return any(mixed) or any(capital) or any(catalogue.find_models(word) for word in words)


def read_sentence(text: str, knowledge: Knowledge) -> Sentence | None:
    """What a sentence says of one kind of work ("serve a 7B chatbot on Azure"); None where it may be about several, or
    tells neither a model nor what it is to do. Without a model the usual one is taken, unless a word that is not read
    may name one.
    """
    text = _in_digits(text[:MAX_ENTRY])
    about = _about(text, knowledge)
    if about is None:
        return None
    phase, said = about.phase or _SERVICE, _read(text, about.phase or _SERVICE, about, knowledge)
    if about.phase is None and not said.answers.keys() & _RATES:
        job = _read(text, _JOB, about, knowledge)
        if job.answers.keys() & _DATA:  # a data set is worked through once
            phase, said = _JOB, job
    model = said.answers.get("model")
    if "dataset_hours" in said.answers and about.task != "speech" and model is None:
        return None  # sound is heard by a model of speech
    if model is None and said.may_name_a_model(knowledge.catalogue):
        return None
    if isinstance(model, str):  # a preset has a task of its own
        return Sentence({"phase": phase, **said.answers}, said.rest)
    adapted = about.phase not in (None, _SERVICE, _JOB)
    task = about.task or (_LANGUAGE if adapted or (model is not None and about.heard) else None)
    if task is None or (model is not None and task not in _OF_A_SIZE):
        return None
    return Sentence({"phase": phase, "task": task, **said.answers}, said.rest)


def _in_digits(text: str) -> str:
    """ "Two cards" and "within a month" as people count them."""
    counted = _COUNTED.sub(lambda found: str(_WORDS.index(found[0].lower()) + 2), text)
    return _ONE.sub(r"\g<1>1", counted)


def partly_read(said: Sentence, knowledge: Knowledge, how: str) -> Problem:
    """What of a sentence counts, and what does not; ``how`` the rest may be answered."""
    names = "; ".join(f"{name.replace('_', ' ')} {_in_words(value)}" for name, value in said.answers.items())
    left = not_read(said, knowledge, how)
    message = f"Of what you wrote this counts: {names}" + (f". {left.message}" if left is not None else "")
    return Problem("partly-read", message, Location("sentence"), how if left is None else left.help, severity="warning")


def not_read(said: Sentence, knowledge: Knowledge, how: str) -> Problem | None:
    """What of a sentence does not count, or what it lacks to count for much; ``how`` it may be answered."""
    told = [*_left(said, knowledge, how), *_length(said.answers, knowledge)]
    if not told:
        return None
    message, help_text = ". ".join(text for text, _ in told), "; ".join(text for _, text in told)
    return Problem("partly-read", message, Location("sentence"), help_text, severity="warning")


def _left(said: Sentence, knowledge: Knowledge, how: str) -> Iterator[tuple[str, str]]:
    """Amounts and names that were not read, and what to write instead."""
    if said.left:
        keys = (key for piece in said.left for key in (piece.split()[-1].lower(), piece[0]))
        misnamed = (knowledge.misnamed.get(key) for key in keys)
        hint = next((item.note for item in misnamed if item is not None), None)
        yield f"Not read: {', '.join(said.left)}", hint or how


def _length(answers: dict[str, Any], knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """That nobody said how long each of the texts is: a sentence is a hundredth of what is assumed."""
    model, samples = answers.get("model"), answers.get("dataset_samples")
    task = answers.get("task") or (_task_of(model, knowledge.catalogue) if isinstance(model, str) else None)
    name = "context_tokens" if answers["phase"] == _JOB else "sequence_tokens"
    if samples is not None and task in _OF_A_SIZE and not {name, "dataset_tokens"} & answers.keys():
        whole = " with its answer" if name == "context_tokens" and task == _LANGUAGE else ""
        message = f"Not said: how long each of the {show(samples)} is, which decides how long it takes"
        yield message, f"give {name}, the tokens of one{whole}"


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return f"of {show(value['parameters'])} parameters"
    return ", ".join(value) if isinstance(value, list) else show(value) if isinstance(value, (int, float)) else value


def not_sized(text: str, knowledge: Knowledge) -> str:
    """What to say instead, where words tell of work that no sentence can say; else nothing."""
    heard = (item.note for item in knowledge.heard if item.note and _tells(item).search(text[:MAX_ENTRY]))
    return next(heard, "")


@dataclass(frozen=True, slots=True)
class _About:
    """What words tell of the work; ``heard``: whether any do."""

    phase: str | None
    task: str | None
    heard: bool


def _about(text: str, knowledge: Knowledge) -> _About | None:
    """None where it is about several kinds of work, or about one that no sentence can say. Numbers are passed over:
    "classify 20k images".
    """
    words = " ".join(re.sub(NUMBER, "", text).split())
    found = [item for item in knowledge.heard if _tells(item).search(words)]
    phases = {item.phase for item in found if item.phase} or {item.usually for item in found if item.usually}
    tasks = {item.task for item in found if item.task}
    if len(phases) > 1 or len(tasks) > 1 or any(item.note for item in found):
        return None
    return _About(next(iter(phases), None), next(iter(tasks), None), bool(found))


def _read(text: str, phase: str, about: _About, knowledge: Knowledge) -> Sentence:
    """With what a task lets words mean, which may be that of the model; the words about the work are read, too."""
    answers, rest = read_phrases(text, phase, about.task, knowledge)
    model = answers.get("model")
    task = _task_of(model, knowledge.catalogue) if isinstance(model, str) else about.task or (model and _LANGUAGE)
    if task != about.task:
        answers, rest = read_phrases(text, phase, task, knowledge)
    for item in knowledge.heard:
        rest = _tells(item).sub(READ, rest)
    return Sentence(answers, rest)


def _task_of(model: str, catalogue: Catalogue) -> str | None:
    """What a model is made for, where all that are so called are made for the same."""
    tasks = {catalogue.models[name].data.get("task") for name in catalogue.find_models(model)}
    return tasks.pop() if len(tasks) == 1 else None


@kept(256)
def _tells(heard: Heard) -> re.Pattern[str]:
    """Finds one of the words, or one that begins so where a star ends it; after ^ where the text begins."""
    each = (
        (r"\A\s*" if word.startswith("^") else r"(?<![\w-])")
        + r"\s+".join(map(re.escape, word.strip("^*").split()))
        + (r"\w*" if word.endswith("*") else r"(?!\w)")
        for word in heard.words
    )
    return re.compile("|".join(each), re.IGNORECASE)


def closed_within(text: str, catalogue: Catalogue) -> str:
    """What to answer in place of something that the text names and that is no model to be had; else nothing."""
    notes = (catalogue.stood_in_for(text[slice(*place)]) for place in runs_of_words(text[:MAX_ENTRY]))
    return next(filter(None, notes), "")
