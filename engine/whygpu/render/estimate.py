"""An estimate as text: the verdict, every figure with its formula and the numbers put in, and what else would fit."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

from whygpu.explain.figures import show_plain
from whygpu.quantity import GIB, MIB, show, show_ends, show_range
from whygpu.render.style import Style, plain_markdown
from whygpu.render.words import buying_text, cost_text, experts_text, sharding_text, tensor_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.checks.calculation import Calculation, Term
    from whygpu.explain.estimate import Estimate, Limit
    from whygpu.explain.plan import Plan

_SIZES = {
    "concurrency": "requests at once",
    "context_tokens": "tokens of context",
    "batch_size": "samples per accelerator and step",
    "sequence_tokens": "tokens a sample",
}
_MOOT = ("max_count", "max_nodes", "count")
"""Answers that an estimate of a given count has no use for."""
_VERDICTS = {
    "fits": "it fits",
    "tight": "it fits, but only just: the high end of the estimate does not",
    "no": "it does not fit",
}


def estimate_text(estimate: Estimate, style: Style | None = None, width: int | None = None) -> str:
    """The whole estimate; ``width`` in characters, the terminal's by default, at most 110."""
    return _Text(estimate, style or Style(False), width or min(shutil.get_terminal_size((100, 24)).columns, 110)).text()


class _Text:
    def __init__(self, estimate: Estimate, style: Style, width: int) -> None:
        self._of, self._plan, self._style, self._width = estimate, estimate.plan, style, width

    def text(self) -> str:
        sections = [self._verdict(), self._memory(), self._limits(), self._speed(), self._cost(), self._rest()]
        return self._style.safe("\n\n".join("\n".join(lines) for lines in map(list, sections) if lines) + "\n")

    def _wrap(self, text: str, indent: str = "  ", first: str | None = None) -> Iterator[str]:
        yield from textwrap.wrap(
            plain_markdown(" ".join(text.split())),
            self._width,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )

    def _verdict(self) -> Iterator[str]:
        plan, memory = self._plan, self._plan.memory
        paint = {"fits": self._style.good, "tight": self._style.doubtful}.get(memory.verdict, self._style.bad)
        verdict = self._fit() if memory.usable_gib is not None else "its usable memory is not known"
        yield self._style.strong(f"{self._of.model} on {plan.label} in {plan.format.upper()}: ") + paint(verdict) + "."
        configurations = [part for part in (_spread(plan), self._checkpointing()) if part]
        if configurations:
            yield f"Run as {', '.join(configurations)}."
        usable = "" if memory.usable_gib is None else f" of the {show(memory.usable_gib, 'GiB')} usable"
        yield (
            f"Needs {show(memory.total_gib, 'GiB')}{usable} per accelerator, "
            f"{show_range(memory.low_gib, memory.high_gib, 'GiB')}."
        )
        kept = self._of.reserved
        if kept is not None:
            yield from self._wrap(
                f"Uses {show(kept.taken_gib, 'GiB')}: {kept.runtime} takes that much when it starts, whatever the "
                f"model needs, which leaves {show(kept.cache_gib, 'GiB')} for the cache, enough for "
                f"{show(float(kept.requests))} requests of full context at once.",
                "  ",
                "",
            )

    def _fit(self) -> str:
        """Whether it fits; where only fewer requests do than are asked for, how many."""
        verdict = self._plan.memory.verdict
        held = next((limit for limit in self._of.limits if limit.size == "concurrency"), None)
        if verdict != "no" or held is None or not 0 < held.value < held.now:
            return _VERDICTS[verdict]
        return f"of {show(float(held.now))} requests at once it admits {show(float(held.value))}, and the rest queue"

    def _checkpointing(self) -> str:
        return {"full": "full gradient checkpointing", "selective": "selective checkpointing"}.get(
            self._of.checkpointing or "", ""
        )

    def _memory(self) -> Iterator[str]:
        yield self._style.strong("Memory per accelerator")
        yield from self._calculations(self._of.memory)

    def _calculations(self, calculations: Iterable[Calculation]) -> Iterator[str]:
        for item in calculations:
            value = _amount(item.value, item.unit)
            note = f" ({item.note})" if item.note and item.name != "total" else ""
            first = f"{item.name.replace('_', ' ')} {value} = {item.formula}{note}{_cited(item.sources)}"
            yield from self._wrap(first, "      ", "  ")
            if item.name == "total":
                continue
            for term in item.terms:
                yield from (self._style.faint(line) for line in self._wrap(_term(term), "        ", "      "))

    def _limits(self) -> Iterator[str]:
        if not self._of.limits:
            return
        yield self._style.strong("What would still fit, all else unchanged")
        for limit in self._of.limits:
            yield f"  {_limit(limit)}"

    def _speed(self) -> Iterator[str]:
        if not self._of.speed:
            yield self._style.faint("Speed: unknown, because a figure of this accelerator is unknown.")
            return
        yield self._style.strong("Speed")
        for item in self._of.speed:
            band = self._plan.speed.get(item.name)
            spread = "" if band is None else f" ({show_ends(band.low, band.high, item.unit, item.value)})"
            first = f"{item.name} {_amount(item.value, item.unit)}{spread} = {item.formula}{_cited(item.sources)}"
            yield from self._wrap(first, "      ", "  ")
            for term in item.terms:
                yield from (self._style.faint(line) for line in self._wrap(_term(term), "        ", "      "))

    def _cost(self) -> Iterator[str]:
        cost = self._plan.cost
        if cost is None:
            yield f"Cost: no price known: {self._plan.unpriced}."
            return
        each = cost.usd_per_million_tokens
        tokens = "" if each is None else f" {show(each, 'USD')} per million tokens."
        if cost.price_kind != "purchase":
            yield from self._wrap(f"Cost: {cost_text(cost)}.{tokens}", "  ", "")
        if cost.buying is not None:
            text = buying_text(cost)
            yield from self._wrap(f"{text[:1].upper()}{text[1:]}.", "  ", "")
        yield from self._calculations(self._of.cost)

    def _rest(self) -> Iterator[str]:
        for reason in self._of.against:
            yield from self._wrap(f"A recommendation would leave it out: {reason.text} ({reason.rule})", "    ", "  - ")
        for item in self._of.warnings:
            yield from self._wrap(item.text, "    ", "  - ")
        for taken in self._of.assumed:
            if taken.answer in _MOOT:
                continue
            value = show_plain(taken.value, None, taken.name)
            yield from self._wrap(f"assumed {taken.answer} = {value}: {taken.because}", "    ", "  - ")


def _spread(plan: Plan) -> str:
    way = plan.parallelism
    parts = [
        f"{way.data} {'data-parallel ranks' if plan.method else 'replicas'}" if way.data > 1 else "",
        tensor_text(way) if way.tensor > 1 else "",
        f"{way.pipeline} pipeline stages" if way.pipeline > 1 else "",
        experts_text(way),
        sharding_text(way) if way.sharding != "none" else "",
        f"{plan.nodes} machines" if plan.nodes > 1 else "",
    ]
    return ", ".join(part for part in parts if part)


def _amount(value: float, unit: str) -> str:
    """Bytes as GiB where there are enough of them."""
    if unit == "bytes" and abs(value) >= 2**20:
        return show(value / GIB, "GiB") if abs(value) >= 0.01 * GIB else show(value / MIB, "MiB")
    return f"{value:g} bytes" if unit == "bytes" else show(value, unit)


def _term(term: Term) -> str:
    meaning = f": {term.meaning}" if term.meaning else ""
    return f"{term.name} = {_amount(term.value, term.unit)}{meaning}{_cited(term.source)}"


def _cited(sources: tuple[str, ...]) -> str:
    return f" [{', '.join(sources)}]" if sources else ""


def _limit(limit: Limit) -> str:
    words = _SIZES[limit.size]
    if not limit.value:
        return f"{limit.size}: not even 1 ({words}; asked: {limit.now:,})"
    return f"{limit.size}: up to {limit.value:,} {words} (asked: {limit.now:,})"
