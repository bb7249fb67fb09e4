"""What stands in a sentence beside the work itself: an amount beside the words of its unit (`said` in questions.yaml),
the one model that is named, cards, a provider, a region.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from whygpu.intake.typed import size_of
from whygpu.kept import kept
from whygpu.knowledge.catalogue import fold
from whygpu.quantity import parse_number

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Catalogue
    from whygpu.knowledge.questions import Said

NUMBER = r"\d[\d,]*(?:\.\d+)?\s*(?:(?:thousand|million|billion|trillion|[kmbt])\b)?"
_TIMES = re.compile(r"(?:(\d{1,6})(?:\s*[x×*]\s*|\s+(?:used\s+)?)|an?\s+)?(\S.*)", re.IGNORECASE | re.DOTALL)
"""How many of what: "2x RTX 3090", "2 used 3090s"."""
_SEVERAL = re.compile(r"\ds\Z", re.IGNORECASE)
"""The end of "8 H100s", and of "an L40S"."""
_OWNED = re.compile(r"\b(?:my|our|own|have|got)\s+(?:own\s+)?\Z", re.IGNORECASE)
"""What stands before cards that are there already."""
_ON = re.compile(r"\b(?:on|with|using)\s+(?:(?:an?|the|my|our|one)\s+)?\Z", re.IGNORECASE)
"""What stands before a kind of cards ("on a Jetson")."""
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
_MODEL = re.compile(r"\b(?:with|using|serve|host|deploy|run|tune|train|pretrain)\s+(?:an?\s+)?\Z", re.IGNORECASE)
"""What stands before a model that is named by one word."""
_OF = re.compile(r"\b(?:of|for)\s+(?:an?\s+)?\Z", re.IGNORECASE)
"""What may: "inference of BERT", and no "step of code"."""
_OF_A_MODEL = re.compile(r"[\s-]+(?:[a-z]+\s+)?(?:model|llm|parameter|transformer)", re.IGNORECASE)
"""What stands behind its size."""
WORD = re.compile(r"[^\s,;:!?()\"']+")
_MOST_WORDS = 100
"""Words that are read."""
_NO_NOUN = "of in on at by to for from with and or the an? per each every users? gpus? tokens? hours? days?"
_BETWEEN = rf"(?:(?!(?:{_NO_NOUN.replace(' ', '|')})\b)[a-z-]+\s+){{0,2}}"
"""What may stand between an amount and its noun."""
_LONGEST = 6
"""Words of a name."""
READ = " ; "
"""What takes the place of words that are read, so that those around it are not read together."""


def read_phrases(text: str, phase: str, task: str | None, knowledge: Knowledge) -> tuple[dict[str, Any], str]:
    """Answers by name, of work of a phase and task, and the text without what is read."""
    answers: dict[str, Any] = {}
    for said in knowledge.said:
        given = ((said.phases, phase), (said.tasks, task), (said.deployments, answers.get("deployment")))
        if all(not meant or word in meant for meant, word in given):
            text = _said(text, said, answers, knowledge)
    for read in (_model, _cards, _places):
        text = read(text, answers, knowledge.catalogue)
    return answers, text


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
    each = _EACH.search(before) is not None
    if _NOT.search(before) or (said.each and not each) or (said.answer.startswith("dataset_") and each):
        return False
    return said.value is None or not (_EITHER.search(before) or re.match(r"\s+or\b", text[found.end() :]))


@kept(256)
def _pattern(said: Said) -> re.Pattern[str]:
    before = rf"{_any_of(said.after)}\s*" if said.after else ""
    words = rf"(?P<words>{_any_of(said.words)})(?!\w)" if said.words else ""
    if said.value is None:
        between = _BETWEEN if said.loose else ""
        words = rf"({NUMBER})[\s-]*{between}{words}{_RATE}" if words else rf"({NUMBER})(?![\w.,]*\w){_RATE}"
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
    words = list(WORD.finditer(text))[:_MOST_WORDS]
    for length in range(_LONGEST, 0, -1):
        yield [(words[at].start(), words[at + length - 1].end()) for at in range(len(words) - length + 1)]


def runs_of_words(text: str) -> Iterator[tuple[int, int]]:
    """The same, one after the other."""
    return chain.from_iterable(_windows(text))


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + READ + text[end:]


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
    before, written = text[:start], text[start:end] != text[start:end].lower()
    named = _MODEL.search(before) is not None or (written and _OF.search(before) is not None)
    alone = named and not re.match(r"\s*\d", text[end:])  # no part of "Llama 99B"
    return catalogue.find_models(text[start:end]) if alone or " " in text[start:end] else ()


def _sized(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    """The text without the only size, where no word that begins models' names is before it: in billions, or in millions
    where it is said to be a model's ("20M documents").
    """
    *_, words = _windows(text)
    sizes = [at for at, place in enumerate(words) if is_size(text, *place)]
    if len(sizes) != 1 or (sizes[0] and catalogue.find_models(text[slice(*words[sizes[0] - 1])])):
        return text
    start, end = words[sizes[0]]
    answers["model"] = {"parameters": size_of(text[start:end])}
    return _without(text, start, end)


def is_size(text: str, start: int, end: int) -> bool:
    """Whether a word is the size of a model: in billions, or in millions where a model is said behind it."""
    of_a_model = text[end - 1] in "bB" or (text[end - 1] in "mM" and _OF_A_MODEL.match(text[end:]))
    return bool(of_a_model) and size_of(text[start:end]) is not None


def _cards(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    """Cards are owned where the sentence says whose they are; else no others are wanted. Of both kinds none is read."""
    found: list[tuple[str, int, bool]] = []
    rest = text
    while (card := _card(rest, catalogue)) is not None:
        start, end, name, count = card
        one_kind = not catalogue.find_accelerators(name)  # which of them is there is not known
        before = rest[:start]
        joined = bool(found) and found[-1][2] and re.search(rf"(?:{_OR[1:]})\Z", before) is not None
        owned = joined or (_OWNED.search(before) is not None and not one_kind)
        if _NOT.search(before):
            return text
        found.append((name, count, owned))
        rest = _without(rest, start, end)
    if not found or len({owned for *_, owned in found}) > 1:
        return text
    if found[0][2]:
        answers["owned"] = ", ".join(f"{count}x {name}" if count else name for name, count, _ in found)
    else:
        answers["accelerators"] = [name for name, *_ in found]
        if len(found) == 1 and found[0][1]:
            answers["count"] = found[0][1]
    return rest


def _card(text: str, catalogue: Catalogue) -> tuple[int, int, str, int] | None:
    """Where the first card with the longest name is, or kind of cards, its name, and how many; 0 where no number says
    it. What has no digits ("a Jetson") is one where it stands behind "on".
    """
    for start, end in runs_of_words(text):
        match = _TIMES.fullmatch(text[start:end].rstrip("."))
        if match is None:
            continue
        name = match[2]
        if _SEVERAL.search(name) and not catalogue.find_accelerators(name):
            name = name[:-1]
        named = bool(catalogue.find_accelerators(name))
        if not any(map(str.isdigit, name)):
            named = named or bool(catalogue.accelerators_of_kind(name))
            named = named and _ON.search(text[:start]) is not None
        if named:
            return start, end, name, int(match[1] or 0)
    return None


def _places(text: str, answers: dict[str, Any], catalogue: Catalogue) -> str:
    for start, end in runs_of_words(text):
        piece, before = text[start:end].rstrip("."), text[:start]
        for answer, where, find in (("providers", _AT, catalogue.provider), ("regions", _IN, catalogue.region)):
            named = find(piece) if where.search(before) and not _NOT.search(before) else None
            if named is not None:
                answers[answer] = [*answers.get(answer, ()), named]
                return _places(_without(text, start, end), answers, catalogue)
    return text
