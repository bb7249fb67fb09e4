"""Answers within a sentence: "serve Llama 3.1 8B on Azure for $500 a month".

What is read is what stands there in so many words: usual work (`works` in questions.yaml), an amount beside the words
of its unit (`said`), cards, a provider, a region, and the one model that is named. What is left is told, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from whygpu.errors import Location, Problem
from whygpu.intake.typed import MAX_ENTRY, size_of
from whygpu.kept import kept
from whygpu.knowledge.catalogue import fold
from whygpu.quantity import parse_number, show

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Catalogue
    from whygpu.knowledge.questions import Said, Work

_NUMBER = r"\d[\d,]*(?:\.\d+)?\s*(?:(?:thousand|million|billion|trillion|[kmbt])\b)?"
_TIMES = re.compile(r"(?:(\d{1,6})(?:\s*[x×*]\s*|\s+)|an?\s+)?(\S.*)", re.IGNORECASE | re.DOTALL)
_OWNED = re.compile(r"\b(?:my|our|own|have|got)\s+(?:own\s+)?\Z", re.IGNORECASE)
"""What stands before cards that are there already."""
_OR = r"|;\s*(?:,|or|and)\s+"
"""What joins one more to those that are read."""
_AT = re.compile(rf"(?:\b(?:on|at|in|from|with|using|by)\s+{_OR})\Z", re.IGNORECASE)
"""What stands before who rents out."""
_IN = re.compile(rf"(?:\bin\s+(?:the\s+)?{_OR}(?:the\s+)?)\Z", re.IGNORECASE)
"""What stands before where."""
_NOT = re.compile(
    r"\b(?:not|no|non|without|except|excluding|never|instead\s+of|rather\s+than|away|\w+n['\u2019]?t|repla\w+|mov\w+|"
    r"migrat\w+|switch\w*)\s+(?:[a-z]+\s+){0,3}\Z",
    re.IGNORECASE,
)
"""What stands before what is not so, or is to be no more."""
_EITHER = re.compile(r"\bor\s+(?:an?\s+)?\Z", re.IGNORECASE)
_EACH = re.compile(r"(?:;|(?<!corpu)s|length)\s+of\s+\Z", re.IGNORECASE)
"""What stands before the size of one of many: "10k samples of 2,048 tokens"."""
_RATE = r"(?!\s*/|\s+(?:per|an?|each|every|long|sequence|context)\b)"
"""What follows what is no amount by itself: "20 hours of audio a day"."""
_MODEL = re.compile(r"\b(?:with|using|serve|host|run|tune|train|pretrain)\s+(?:an?\s+)?\Z", re.IGNORECASE)
"""What stands before a model that is named by one word."""
_OF_A_MODEL = re.compile(r"[\s-]+(?:[a-z]+\s+)?(?:model|llm|parameter|transformer)", re.IGNORECASE)
"""What stands behind its size."""
_WORD = re.compile(r"[^\s,;:!?()\"']+")
_AMOUNT = re.compile(r"[$€£]?\d\S*(?:\s+[A-Za-z]+)?")
_MOST_WORDS = 100
"""Words that are read."""
_JOB = "batch-inference"
_RATES = frozenset({"requests_per_second", "concurrency", "streams"})
_DATA = frozenset({"dataset_tokens", "dataset_samples", "dataset_hours"})
_LONGEST = 6
"""Words of a name."""
_READ = " ; "
"""What takes the place of words that are read, so that those around it are not read together."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is read of a sentence, answers by name, and the rest of it."""

    answers: dict[str, Any]
    rest: str

    @property
    def amounts(self) -> tuple[str, ...]:
        """What of the rest is an amount, with the word behind it."""
        return tuple(" ".join(item[0].split()) for item in _AMOUNT.finditer(self.rest))

    def may_name_a_model(self, catalogue: Catalogue) -> bool:
        """Whether a word of the rest looks like a name: letters and digits, a capital, or models are so called."""
        words = [word for item in _WORD.finditer(self.rest) if parse_number(word := item[0].strip(".")) is None]
        mixed = (any(map(str.isdigit, word)) for word in words)
        capital = (word[not at :] != word[not at :].lower() and word != "I" for at, word in enumerate(words))
        return any(mixed) or any(capital) or any(catalogue.find_models(word) for word in words)


def read_sentence(text: str, knowledge: Knowledge) -> Sentence | None:
    """What a sentence says of one kind of work ("serve a 7B chatbot on Azure"); None where it may be about several, or
    says nothing else. Without a model the usual one is taken, unless a word that is not read may name one.
    """
    text = text[:MAX_ENTRY]
    work = _work(text, knowledge)
    if work is None:
        return None
    phase, said = work.phase, read_phase(text, work.phase, knowledge)
    if phase == "inference" and not _is_first(work, knowledge) and not said.answers.keys() & _RATES:
        job = read_phase(text, _JOB, knowledge)
        if job.answers.keys() & _DATA:  # a data set is worked through once
            phase, said = _JOB, job
    if "dataset_hours" in said.answers and work.task != "speech" and "model" not in said.answers:
        return None  # sound is heard by a model of speech
    if not said.answers or ("model" not in said.answers and said.may_name_a_model(knowledge.catalogue)):
        return None
    task = {} if isinstance(said.answers.get("model"), str) else {"task": work.task}  # a preset has a task of its own
    return Sentence({"phase": phase, **task, **said.answers}, said.rest)


def partly_read(said: Sentence, knowledge: Knowledge, how: str) -> Problem:
    """What of a sentence counts, and what does not; ``how`` the rest may be answered."""
    names = "; ".join(f"{name.replace('_', ' ')} {_in_words(value)}" for name, value in said.answers.items())
    left = f". Not read: {', '.join(said.amounts)}" if said.amounts else ""
    misnamed = (knowledge.misnamed.get(piece.split()[-1].lower()) for piece in said.amounts)
    hint = next((item.note for item in misnamed if item is not None), None) or how
    message = f"Of what you wrote this counts: {names}{left}"
    return Problem("partly-read", message, Location("sentence"), hint, severity="warning")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return f"of {show(value['parameters'])} parameters"
    return ", ".join(value) if isinstance(value, list) else show(value) if isinstance(value, (int, float)) else value


def read_phase(text: str, phase: str, knowledge: Knowledge) -> Sentence:
    """Everything but the work itself, which is in ``phase``. A model is read where exactly one is named."""
    answers: dict[str, Any] = {}
    for said in knowledge.said:
        if not said.phases or phase in said.phases:
            text = _said(text, said, answers, knowledge)
    for read in (_model, _cards, _places):
        text = read(text, answers, knowledge.catalogue)
    return Sentence(answers, text)


def _work(text: str, knowledge: Knowledge) -> Work | None:
    """The one kind of work that it is about: by words that are no part of an amount ("on 20k images") before all."""
    bare = text
    for said in knowledge.said:
        bare = bare if said.value is not None else _pattern(said).sub(_READ, bare)
    for words in (bare, text):
        named = [work for work in knowledge.works if _begins(words, work.words)]
        also = [work for work in knowledge.works if work not in named and _begins(words, work.also)]
        if len(named) > 1 and len({work.phase for work in named}) == 1:
            named = [work for work in named if not _is_first(work, knowledge)]
        if named or also:
            alone = len(named or also) == 1 and len({work.task for work in (*named, *also)}) == 1
            return (named or also)[0] if alone else None
    return None


def _is_first(work: Work, knowledge: Knowledge) -> bool:
    """Whether it is the first of its phase, which its words mean where no other of the phase is named: serving."""
    return work is next(other for other in knowledge.works if other.phase == work.phase)


def _begins(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words is in the text, or one that begins so where a star ends it."""
    each = "|".join(re.escape(word.rstrip("*")) + ("" if word.endswith("*") else r"(?!\w)") for word in words)
    return bool(words) and re.search(rf"(?<![\w-])(?:{each})", text, re.IGNORECASE) is not None


def _said(text: str, said: Said, answers: dict[str, Any], knowledge: Knowledge) -> str:
    """The text without what is read of it."""
    if said.answer in answers:
        return text
    found = [item for item in _pattern(said).finditer(text) if _is_so(text, item, said)]
    values = list(filter(None, dict.fromkeys(_value(item, said, knowledge) for item in found)))
    if len(values) != 1:  # two amounts for one answer: which?
        return text
    answers[said.answer] = values[0]
    for item in reversed(found):
        text = _without(text, *item.span())
    return text


def _is_so(text: str, found: re.Match[str], said: Said) -> bool:
    """Whether it is said to be so, of the whole, and as no alternative."""
    before = text[: found.start()]
    if _NOT.search(before) or (said.answer.startswith("dataset_") and _EACH.search(before)):
        return False
    return said.value is None or not (_EITHER.search(before) or re.match(r"\s+or\b", text[found.end() :]))


@kept(256)
def _pattern(said: Said) -> re.Pattern[str]:
    before = rf"{_any_of(said.after)}\s*" if said.after else ""
    words = rf"(?P<words>{_any_of(said.words)})(?!\w)" if said.words else ""
    if said.value is None:
        words = rf"({_NUMBER})[\s-]*{words}{_RATE}" if words else rf"({_NUMBER})(?![\w.,]*\w){_RATE}"
    return re.compile(rf"(?<![\w.$€£]){before}{words}", re.IGNORECASE)


def _any_of(words: tuple[str, ...]) -> str:
    """The longest first, with any space between words."""
    each = (r"\s+".join(map(re.escape, word.split())) for word in sorted(words, key=len, reverse=True))
    return f"(?:{'|'.join(each)})"


def _value(found: re.Match[str], said: Said, knowledge: Knowledge) -> Any:
    """With its unit where the answer is read with it ("3 days"), and otherwise the number alone."""
    if said.value is not None:
        return said.value
    spec = knowledge.name_by_answer[said.answer]
    number = found[1].strip()
    for text in (f"{number} {found.groupdict().get('words') or ''}".strip(), number):
        value = parse_number(text, spec.unit)
        if value is not None:
            return int(value) if value.is_integer() else value
    return None


def _windows(text: str) -> Iterator[list[tuple[int, int]]]:
    """Begin and end of runs of words, all of a length together, the longest first."""
    words = list(_WORD.finditer(text))[:_MOST_WORDS]
    for length in range(_LONGEST, 0, -1):
        yield [(words[at].start(), words[at + length - 1].end()) for at in range(len(words) - length + 1)]


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """The same, one after the other."""
    return chain.from_iterable(_windows(text))


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + _READ + text[end:]


def _model(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    """The one model that is named: in full, in short, or by its size in billions. A name of several ("Llama 70B") is
    left to be asked about, and of several names none is read.
    """
    for windows in _windows(text):
        ids = {place: catalogue.model_names.get(fold(text[slice(*place)])) for place in windows}
        named = {found: place for place, found in ids.items() if found}
        if named:
            (found, place), *others = named.items()
            if others:
                return text
            answers["model"] = found[0] if len(found) == 1 else text[slice(*place)]
            return _without(text, *place)
    return _shortened(text, answers, catalogue) or _sized(text, answers, catalogue)


def _shortened(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    """The text without a part of a model's name, of two words or behind one that models stand behind; else nothing."""
    for windows in _windows(text):
        found = {place: ids for place in windows if (ids := _short_for(text, place, catalogue))}
        if len(set(found.values())) > 1:
            return ""
        for (start, end), ids in found.items():
            answers["model"] = ids[0] if len(ids) == 1 else text[start:end]
            return _without(text, start, end)
    return ""


def _short_for(text: str, place: tuple[int, int], catalogue: Catalogue) -> tuple[str, ...]:
    start, end = place
    alone = _MODEL.search(text[:start]) and not re.match(r"\s*\d", text[end:])  # no part of "Llama 99B"
    return catalogue.find_models(text[start:end]) if alone or " " in text[start:end] else ()


def _sized(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    """The text without the only size, where no word that begins models' names is before it: in billions, or in millions
    where it is said to be a model's ("20M documents").
    """
    *_, words = _windows(text)
    sizes = [at for at, place in enumerate(words) if _is_size(text, *place)]
    if len(sizes) != 1 or (sizes[0] and catalogue.find_models(text[slice(*words[sizes[0] - 1])])):
        return text
    start, end = words[sizes[0]]
    answers["model"] = {"parameters": size_of(text[start:end])}
    return _without(text, start, end)


def _is_size(text: str, start: int, end: int) -> bool:
    of_a_model = text[end - 1] in "bB" or (text[end - 1] in "mM" and _OF_A_MODEL.match(text[end:]))
    return bool(of_a_model) and size_of(text[start:end]) is not None


def _cards(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    """Cards are owned where the sentence says whose they are; else no others are wanted. Of both kinds none is read."""
    found: list[tuple[str, str, int, bool]] = []
    rest = text
    while (card := _card(rest, catalogue)) is not None:
        start, end, name, count = card
        before = rest[:start]
        joined = bool(found) and found[-1][3] and re.search(rf"(?:{_OR[1:]})\Z", before) is not None
        owned = joined or _OWNED.search(before) is not None
        if _NOT.search(before):
            return text
        found.append((rest[start:end].rstrip("."), name, count, owned))
        rest = _without(rest, start, end)
    if not found or len({owned for *_, owned in found}) > 1:
        return text
    if found[0][3]:
        answers["owned"] = ", ".join(piece for piece, *_ in found)
    else:
        answers["accelerators"] = [name for _, name, *_ in found]
        if len(found) == 1 and found[0][2]:
            answers["count"] = found[0][2]
    return rest


def _card(text: str, catalogue: Catalogue) -> tuple[int, int, str, int] | None:
    """Where the first card with the longest name is, its name, and how many; 0 where no number says it."""
    for start, end in _runs(text):
        match = _TIMES.fullmatch(text[start:end].rstrip("."))
        if match is not None and any(map(str.isdigit, match[2])) and catalogue.find_accelerators(match[2]):
            return start, end, match[2], int(match[1] or 0)
    return None


def _places(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    for start, end in _runs(text):
        piece, before = text[start:end].rstrip("."), text[:start]
        for answer, where, find in (("providers", _AT, catalogue.provider), ("regions", _IN, catalogue.region)):
            named = find(piece) if where.search(before) and not _NOT.search(before) else None
            if named is not None:
                answers[answer] = [*answers.get(answer, ()), named]
                return _places(_without(text, start, end), answers, catalogue)
    return text


def closed_within(text: str, catalogue: Catalogue) -> str:
    """What to answer in place of something that the text names and that is no model to be had; else nothing."""
    notes = (catalogue.stood_in_for(text[slice(*place)]) for place in _runs(text[:MAX_ENTRY]))
    return next(filter(None, notes), "")
