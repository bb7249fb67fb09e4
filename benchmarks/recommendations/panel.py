"""Answers held against labels: what an adviser would accept, what would embarrass one, and the price to expect.

A label is a row of YAML: ``answers``, ``acceptable`` and ``unacceptable`` (lists of patterns), ``why``, and
``usd_per_hour`` or ``usd_total`` as a range. A pattern names any of ``family`` and ``class`` (one, or a list of which
one is meant), ``count`` ([least, most]), ``count_min``, ``nodes_min``, ``owned`` and ``nothing`` (the right answer is
that nothing will do), and matches what has all of them. What is listed as acceptable is never an embarrassment,
whatever its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

import whygpu
from whygpu.explain.advice import Advice
from whygpu.explain.plan import Plan
from whygpu.knowledge.catalogue import Catalogue

ANSWERED = ("recommended", "tied")
"""Status of an advice that says "take this"; any other says that nothing will do."""
NEEDED_KEYS = {"title", "answers", "acceptable", "why"}
LABEL_KEYS = NEEDED_KEYS | {"id", "unacceptable", "usd_per_hour", "usd_total"}
PATTERN_KEYS = {"family", "class", "count", "count_min", "nodes_min", "owned", "nothing"}
Price = Literal["below", "as expected", "above", "unknown"]


class LabelError(Exception):
    """What is wrong with the labels of a file: every problem, one a line."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One plan of an answer, as far as a label can speak of it; money is what the plan compares by (rent or owning)."""

    accelerator: str
    family: str
    kind: str
    count: int
    nodes: int
    format: str
    owned: bool
    usd_per_hour: float | None
    usd_total: float | None

    def __str__(self) -> str:
        """As a row of a table: "2x h100-sxm fp8 $3.98/h"."""
        price = "no price" if self.usd_per_hour is None else f"${self.usd_per_hour:.2f}/h"
        total = "" if self.usd_total is None else f" ${self.usd_total:,.0f}"
        nodes = f" over {self.nodes} nodes" if self.nodes > 1 else ""
        owned = " (owned)" if self.owned else ""
        return f"{self.count}x {self.accelerator}{owned} {self.format}{nodes} {price}{total}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a label says of choices; None, and no family or class: it does not say."""

    families: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    least: float = 1
    most: float | None = None
    nodes_min: int = 1
    owned: bool | None = None
    nothing: bool = False

    def matches(self, choice: Choice | None) -> bool:
        """Whether the choice (None: nothing will do) is of this kind."""
        if choice is None or self.nothing:
            return choice is None and self.nothing
        return (
            (not self.families or choice.family in self.families)
            and (not self.kinds or choice.kind in self.kinds)
            and self.least <= choice.count
            and (self.most is None or choice.count <= self.most)
            and self.nodes_min <= choice.nodes
            and self.owned in {None, choice.owned}
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A workload, and what engineers who saw no answer say of it."""

    id: str
    title: str
    answers: Mapping[str, Any]
    acceptable: tuple[Pattern, ...]
    unacceptable: tuple[Pattern, ...]
    usd_per_hour: tuple[float, float] | None
    usd_total: tuple[float, float] | None
    why: str

    def accepts(self, choice: Choice | None) -> bool:
        """Whether it is a first recommendation that one would defend."""
        return any(pattern.matches(choice) for pattern in self.acceptable)

    def rejects(self, choice: Choice | None) -> bool:
        """Whether it would be an embarrassment."""
        return not self.accepts(choice) and any(pattern.matches(choice) for pattern in self.unacceptable)

    def price(self, choice: Choice | None) -> Price | None:
        """How its price compares with the one expected; None where no price is expected."""
        expected = self.usd_per_hour or self.usd_total
        if choice is None or expected is None:
            return None
        paid = choice.usd_per_hour if self.usd_per_hour else choice.usd_total
        if paid is None:
            return "unknown"
        return "below" if paid < expected[0] else "above" if paid > expected[1] else "as expected"


@dataclass(frozen=True, slots=True)
class Answer:
    """What was advised: plans in order, and those of the shortlist (empty where the advice has none)."""

    status: str
    plans: tuple[Choice, ...]
    shortlist: tuple[Choice, ...]

    @property
    def first(self) -> Choice | None:
        """The recommendation; None where nothing will do."""
        return self.plans[0] if self.plans and self.status in ANSWERED else None


@dataclass(frozen=True, slots=True)
class Judged:
    """One workload: whether the first answer is acceptable, one of the first three, or of the shortlist."""

    label: Label
    answer: Answer
    acceptable: bool
    among_three: bool
    among_shortlist: bool | None
    """None: the advice has no shortlist."""
    embarrassing: bool
    price: Price | None


def judge(label: Label, answer: Answer) -> Judged:
    """The answer held against the label."""
    first = label.accepts(answer.first)
    listed = any(label.accepts(choice) for choice in answer.shortlist)
    three = answer.first is not None and any(label.accepts(choice) for choice in answer.plans[:3])
    return Judged(
        label,
        answer,
        first,
        first or three,
        (first or listed) if answer.shortlist else None,
        label.rejects(answer.first),
        label.price(answer.first),
    )


def read(path: Path) -> tuple[Label, ...]:
    """The labels of a file (a list, or one under ``workloads``); raises LabelError with every problem, and OSError."""
    problems: list[str] = []
    data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    labels = tuple(_label(row, problems.append) for row in (data["workloads"] if isinstance(data, dict) else data))
    ids = [label.id for label in labels]
    problems += [f"{name}: used twice" for name in sorted({name for name in ids if ids.count(name) > 1})]
    if problems:
        raise LabelError("\n".join(f"{path}: {problem}" for problem in problems))
    return labels


def _label(row: Mapping[str, Any], report: Callable[[str], None]) -> Label:
    name = str(row.get("id", "a row without id"))
    for missing in sorted(NEEDED_KEYS - row.keys()):
        report(f"{name}: no '{missing}'")
    for unknown in sorted(row.keys() - LABEL_KEYS):
        report(f"{name}: unknown key '{unknown}'")

    def patterns(key: str) -> tuple[Pattern, ...]:
        return tuple(_pattern(entry, lambda text: report(f"{name}: {key}: {text}")) for entry in row.get(key, ()))

    def span(key: str) -> tuple[float, float] | None:
        return _range(row[key], lambda text: report(f"{name}: {key}: {text}")) if key in row else None

    return Label(
        name,
        str(row.get("title", "")),
        row.get("answers", {}),
        patterns("acceptable"),
        patterns("unacceptable"),
        span("usd_per_hour"),
        span("usd_total"),
        str(row.get("why", "")),
    )


def _pattern(entry: Mapping[str, Any], report: Callable[[str], None]) -> Pattern:
    for unknown in sorted(entry.keys() - PATTERN_KEYS):
        report(f"unknown key '{unknown}' in {dict(entry)}")
    least, most = _range(entry["count"], report) if "count" in entry else (entry.get("count_min", 1), None)
    return Pattern(
        _names(entry.get("family")),
        _names(entry.get("class")),
        least,
        most,
        entry.get("nodes_min", 1),
        entry.get("owned"),
        entry.get("nothing", False),
    )


def _range(value: Any, report: Callable[[str], None]) -> tuple[float, float]:
    """The two ends of a range in a label."""
    match value:
        case [int() | float() as low, int() | float() as high] if low <= high:
            return low, high
    report(f"{value} is no [least, most]")
    return 0, 0


def _names(value: str | Sequence[str] | None) -> frozenset[str]:
    return frozenset(() if value is None else (value,) if isinstance(value, str) else value)


def unknown_hardware(labels: Iterable[Label], catalogue: Catalogue) -> list[str]:
    """Families and classes in labels that the catalogue lacks: such a pattern never matches."""
    families = {card.family for card in catalogue.accelerators.values()}
    kinds = {card.text("class") or "" for card in catalogue.accelerators.values()}
    return [
        f"{label.id}: no {what} '{name}' in the catalogue"
        for label in labels
        for pattern in (*label.acceptable, *label.unacceptable)
        for what, names, known in (("family", pattern.families, families), ("class", pattern.kinds, kinds))
        for name in sorted(names - known)
    ]


def answer_of(kb: whygpu.KnowledgeBase, answers: Mapping[str, Any]) -> Answer:
    """What is advised on the answers; raises AnswerError."""
    advice: Advice = kb.advise(answers, engine="evaluator")
    catalogue = kb.knowledge.catalogue
    by_id = {plan.id: plan for best in advice.plans for plan in (best, *best.variants)}
    roles: Sequence[Mapping[str, Any]] = advice.to_dict().get("shortlist") or ()
    named = [_id(role["plan"]) for role in roles]
    return Answer(
        advice.status,
        tuple(choice(plan, catalogue) for plan in advice.plans[:3]),
        tuple(choice(by_id[name], catalogue) for name in named if name in by_id),
    )


def _id(plan: str | Mapping[str, Any]) -> str:
    """A plan of the shortlist by its id, whether it is named or shown in full."""
    return plan if isinstance(plan, str) else str(plan["id"])


def choice(plan: Plan, catalogue: Catalogue) -> Choice:
    """A plan, as far as a label can speak of it."""
    money = plan.cost.compared if plan.cost is not None else None
    return Choice(
        plan.accelerator.id,
        plan.accelerator.family,
        catalogue.accelerators[plan.accelerator.id].text("class") or "",
        plan.count,
        plan.nodes,
        plan.format,
        plan.owned,
        money.usd_per_hour if money is not None else None,
        money.usd_total if money is not None else None,
    )


def rows(judged: Iterable[Judged]) -> str:
    """Each workload with the first three plans and the verdict on them."""
    lines = []
    for one in judged:
        verdict = "ok" if one.acceptable else "EMBARRASSING" if one.embarrassing else "not acceptable"
        later = "" if one.acceptable else " (among three)" if one.among_three else ""
        price = f", price {one.price}" if one.price else ""
        lines.append(f"{one.label.id}: {verdict}{later}{price}: {one.label.title}")
        lines += [f"    {plan}" for plan in one.answer.plans] or [f"    {one.answer.status}"]
        if one.answer.first is None and one.answer.plans:
            lines.append(f"    status {one.answer.status}")
        known = {str(plan) for plan in one.answer.plans}
        lines += [f"    shortlist: {plan}" for plan in one.answer.shortlist if str(plan) not in known]
    return "\n".join(lines)


def scores(judged: Sequence[Judged]) -> list[tuple[str, tuple[int, int]]]:
    """Each score as how many of how many."""
    total = len(judged)
    listed = [one.among_shortlist for one in judged if one.among_shortlist is not None]
    priced = [one.price for one in judged if one.price is not None]
    prices: tuple[Price, ...] = ("as expected", "below", "above", "unknown")
    return [
        ("first acceptable", (sum(one.acceptable for one in judged), total)),
        ("acceptable among first three", (sum(one.among_three for one in judged), total)),
        *([("acceptable in the shortlist", (sum(listed), len(listed)))] if listed else []),
        ("first embarrassing", (sum(one.embarrassing for one in judged), total)),
        *((f"price {price}", (priced.count(price), len(priced))) for price in prices),
    ]
