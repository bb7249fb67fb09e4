"""What documents recommend for a described work, beside what whygpu says of the same work.

Of every row: is a recommended accelerator first, or among the first three, of all in the catalogue and of those alone
that the row's document names; is a recommended accelerator sized as the document does (where it names a count); does
what is recommended come before what is advised against. Documents differ (a vendor names its own cards, an example is
no minimum), so this is a mirror, not a target.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError

import whygpu
from whygpu.errors import AnswerError

FILES = ("expert_recommendations.yaml", "expert_recommendations_2026_11.yaml")
AT_LEAST = re.compile(r">=\s*(\d+)\s*GB")
MEMORY_ALONE = re.compile(r"(?:(?:consumer )?GPU with )?(\d+)\s*GB")
FORMATS = {"fp16": "fp16", "fp16/bf16": "bf16", "bf16": "bf16", "fp8": "fp8", "int8": "int8", "mxfp4": "mxfp4"}
PICTURES = re.compile(r"\b(?:image|video|FLUX|SD[X3]?L?|Stable Diffusion)", re.IGNORECASE)
COUNTED_CARDS = 8
"""A count is compared where the row names at most this many cards: "24 GB" alone says little of a count."""


@dataclass(frozen=True, slots=True)
class Location:
    """Whether a recommended accelerator is first, or of the first three."""

    first: bool
    three: bool


@dataclass(frozen=True, slots=True)
class Count:
    """A recommended accelerator, the document's least and most count, and whygpu's (None: it finds no way)."""

    accelerator: str
    least: int
    most: int
    says: int | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One row."""

    id: str
    family: str
    free: Location
    own: Location | None
    """Among the cards that the document names; None where it names none that the row recommends."""
    counts: tuple[Count, ...]
    order: bool | None
    """Whether what is recommended comes before what is advised against; None: not asked."""
    says: str


class NotComparableError(Exception):
    """Why a row cannot be put as a question."""


def answers_of(row: Mapping[str, Any], subjects: Subjects) -> dict[str, Any]:
    """The row's work as answers. Raises NotComparableError where it describes none."""
    method = str(row.get("method", "")).lower()
    phase = str(row["phase"]).split("+")[0]
    tunes = "lora" in method or method in ("full", "grpo")
    answers: dict[str, Any] = {"phase": "fine-tuning" if tunes else phase}
    if method == "grpo":
        answers |= {"algorithm": "grpo", "method": "full"}
    if "lora" in method:
        answers["method"] = "qlora" if "qlora" in method else "lora"
    answers["model"] = _model(row, subjects)
    if isinstance(answers["model"], dict) and PICTURES.search(f"{row['workload']} {row.get('model', '')}"):
        answers["task"] = "image-generation"
    precision = str(row.get("precision", "")).split(" ")[0].lower()
    if phase == "inference" and precision in FORMATS:
        answers["format"] = FORMATS[precision]
    batch = [int(number) for number in re.findall(r"\d+", str(row.get("concurrency", "")))]
    if batch:
        answers["concurrency"] = round(math.sqrt(batch[0] * batch[-1]))
    if "context" in row:
        answers["context_tokens" if phase == "inference" else "sequence_tokens"] = row["context"]
    for need, priority in (("throughput_need", "throughput"), ("latency_need", "latency")):
        if need in row:
            answers["priority"] = priority
    return answers


def _model(row: Mapping[str, Any], subjects: Subjects) -> str | dict[str, int]:
    if "model" in row:
        try:
            return subjects.preset(str(row["model"]))
        except UnknownSubjectError:
            pass  # its size will do
    if "params_b" in row:
        figures = [float(number) for number in re.findall(r"[\d.]+", str(row["params_b"]))]
        model = {"parameters": round(math.prod(figures) ** (1 / len(figures)) * 1e9)}
        if "active_b" in row:
            model["active_parameters"] = round(row["active_b"] * 1e9)
        return model
    raise NotComparableError("no model and no size is named")


def cards_of(text: str, subjects: Subjects) -> frozenset[str]:
    """The accelerators a recommendation names. Raises NotComparableError."""
    catalogue = subjects.catalogue
    least, exact = AT_LEAST.search(text), MEMORY_ALONE.fullmatch(text)
    sizes = {name: card.number("marketing_gb") or 0 for name, card in catalogue.accelerators.items()}
    if least:
        return frozenset(name for name, size in sizes.items() if size >= float(least[1]))
    if exact:
        return frozenset(name for name, size in sizes.items() if size == float(exact[1]))
    bare = text.removesuffix("-class")
    whole = catalogue.find_accelerators(bare)
    if whole:
        return frozenset(whole)
    try:
        return frozenset({subjects.card(bare).id})
    except UnknownSubjectError as unknown:
        raise NotComparableError(str(unknown)) from unknown


def named_by(rows: Iterable[Mapping[str, Any]], subjects: Subjects) -> dict[str, frozenset[str]]:
    """By family of rows (one document each), every card that it recommends or advises against by name."""
    named: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for option in (*row["recommended_any_of"], *row.get("advised_against", ())):
            text = str(option["gpu"])
            if AT_LEAST.search(text) or MEMORY_ALONE.fullmatch(text):
                continue
            try:
                named[row["family"]] |= cards_of(text, subjects)
            except NotComparableError:
                continue  # "Apple GPU" names no card
    return {family: frozenset(cards) for family, cards in named.items()}


def compare(row: Mapping[str, Any], own: frozenset[str], kb: whygpu.KnowledgeBase, subjects: Subjects) -> Compared:
    """What whygpu says beside the row; ``own``: the cards its document names. Raises NotComparableError."""
    answers = answers_of(row, subjects)
    named = [(cards_of(str(option["gpu"]), subjects), option) for option in row["recommended_any_of"]]
    right = frozenset().union(*(cards for cards, _ in named))
    plans = _plans(kb, answers)
    counts: list[Count] = []
    for cards, option in named:
        if "n" not in option or len(cards) > COUNTED_CARDS:
            continue
        sized = _plans(kb, {**answers, "accelerators": sorted(cards)})
        found = sized[0].count if sized else None
        counts.append(Count(option["gpu"], option["n"], option.get("n_max", option["n"]), found))
    says = ", ".join(f"{plan.count}x {plan.accelerator.id} {plan.format}" for plan in plans[:3]) or "no plan"
    return Compared(
        row["id"],
        row["family"],
        _place(plans, right),
        _place(_plans(kb, {**answers, "accelerators": sorted(own)}), right) if own & right else None,
        tuple(counts),
        _order(row, answers, right, kb, subjects),
        says,
    )


def _plans(kb: whygpu.KnowledgeBase, answers: Mapping[str, Any]) -> Sequence[whygpu.Plan]:
    try:
        plans: Sequence[whygpu.Plan] = kb.advise(answers, engine="evaluator").plans
    except AnswerError as error:
        raise NotComparableError("; ".join(problem.message for problem in error.problems)) from error
    return plans


def _place(plans: Sequence[whygpu.Plan], right: frozenset[str]) -> Location:
    found = [plan.accelerator.id in right for plan in plans[:3]]
    return Location(any(found[:1]), any(found))


def _order(
    row: Mapping[str, Any],
    answers: Mapping[str, Any],
    right: frozenset[str],
    kb: whygpu.KnowledgeBase,
    subjects: Subjects,
) -> bool | None:
    try:
        against = [cards_of(str(option["gpu"]), subjects) for option in row.get("advised_against", ())]
    except NotComparableError:
        return None
    worse = frozenset().union(*against) - right
    if not worse:
        return None
    return _place(_plans(kb, {**answers, "accelerators": sorted(right | worse)}), right).first


def compare_all(
    rows: Sequence[Mapping[str, Any]], kb: whygpu.KnowledgeBase
) -> tuple[list[Compared], list[tuple[str, str]]]:
    """All rows of the files, and those left out with the reason."""
    subjects = Subjects(kb.knowledge.catalogue)
    own = named_by(rows, subjects)
    done: list[Compared] = []
    left: list[tuple[str, str]] = []
    for row in rows:
        try:
            done.append(compare(row, own.get(row["family"], frozenset()), kb, subjects))
        except NotComparableError as unlike:
            left.append((row["id"], str(unlike)))
    return done, left


def rows_text(done: Iterable[Compared], left: Iterable[tuple[str, str]]) -> str:
    """Each row on a line."""
    lines = []
    for one in done:
        counts = "; ".join(f"{count.accelerator} {count.least}-{count.most} says {count.says}" for count in one.counts)
        lines.append(
            f"{one.id} {one.family:20} first {one.free.first} three {one.free.three} own {one.own} order {one.order}"
            f" | {counts} | {one.says}"
        )
    return "\n".join([*lines, *(f"{name} left out: {reason}" for name, reason in left)])


def table(done: Sequence[Compared]) -> list[list[str]]:
    """A heading, then counts by document and over all."""
    groups: dict[str, list[Compared]] = defaultdict(list)
    for one in done:
        groups[one.family].append(one)
    lines = [
        ["document", "rows", "first", "first three", "own cards: first", "three", "same count", "within 2x", "order"]
    ]
    for name, rows in [*sorted(groups.items()), ("all", list(done))]:
        counts = [count for one in rows for count in one.counts]
        same = sum(count.says is not None and count.least <= count.says <= count.most for count in counts)
        near = sum(count.says is not None and count.least / 2 <= count.says <= count.most * 2 for count in counts)
        own = [one.own for one in rows if one.own is not None]
        orders = [one.order for one in rows if one.order is not None]
        lines.append(
            [
                name,
                str(len(rows)),
                str(sum(one.free.first for one in rows)),
                str(sum(one.free.three for one in rows)),
                f"{sum(place.first for place in own)} of {len(own)}",
                str(sum(place.three for place in own)),
                f"{same} of {len(counts)}",
                str(near),
                f"{sum(orders)} of {len(orders)}",
            ]
        )
    return lines
