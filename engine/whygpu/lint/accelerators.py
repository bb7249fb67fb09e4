"""Looks for figures of accelerators that their neighbours make implausible, and for names that lead to two cards.

What counts as too far from the neighbours is a fact too (``plausible-...`` in kb/facts/plausibility.yaml); a knowledge
base without it is not looked at. A figure that says ``because`` has been judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from whygpu.knowledge.catalogue import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from whygpu.checks.coefficients import Coefficient
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Accelerator, Catalogue
    from whygpu.lint.finding import Finding

TENSOR_RATES = ("tf32_tflops", "fp16_tflops", "bf16_tflops", "fp8_tflops", "fp4_tflops", "int8_tops", "int4_tops")


@dataclass(frozen=True, slots=True)
class _Measure:
    """A figure, what it is divided by to be comparable, and which cards are its neighbours."""

    figure: str
    base: Callable[[Accelerator], float | None]
    base_name: str
    group: Callable[[Accelerator], Hashable]


def _fp32(card: Accelerator) -> float | None:
    return card.number("fp32_tflops")


def _one(_: Accelerator) -> float | None:
    return 1.0


def _silicon(card: Accelerator) -> Hashable:
    return card.vendor, card.text("generation"), card.number("compute_capability"), card.text("class")


def _memory_kind(card: Accelerator) -> Hashable:
    word = re.match(r"[a-z]*\d*", card.text("memory_type") or "")
    return card.vendor, card.text("class"), word.group() if word else ""


def _link_kind(card: Accelerator) -> Hashable:
    return card.vendor, card.text("generation"), card.number("compute_capability"), card.text("link")


_RATES = tuple(_Measure(name, _fp32, "its FP32 rate", _silicon) for name in TENSOR_RATES)
_BANDWIDTHS = (_Measure("bandwidth_gb_s", _fp32, "its FP32 rate", _memory_kind),)
_LINKS = (_Measure("link_gb_s", _one, "", _link_kind),)


def high_rates(knowledge: Knowledge) -> Iterator[Finding]:
    """Rates that are too high beside those of neighbours: sparse ones printed as dense."""
    hint = "enter the dense rate, with FP32 accumulation; where it is right, say why with 'because:'"
    yield from _above(knowledge, "plausible-rate-ratio", _RATES, hint)


def high_bandwidths(knowledge: Knowledge) -> Iterator[Finding]:
    """Memory bandwidths too high beside those of neighbours: Gbit/s for GB/s."""
    hint = "enter decimal GB/s, not Gbit/s; where it is right, say why with 'because:'"
    yield from _above(knowledge, "plausible-bandwidth-ratio", _BANDWIDTHS, hint)


def high_links(knowledge: Knowledge) -> Iterator[Finding]:
    """Link bandwidths too high beside those of neighbours."""
    hint = "enter GB/s of one card, both ways together, not Gbit/s; where it is right, say why with 'because:'"
    yield from _above(knowledge, "plausible-link-ratio", _LINKS, hint)


def odd_memory(knowledge: Knowledge) -> Iterator[Finding]:
    """Usable memory that is more than marketed, far less, or the marketed decimal GB turned into MiB."""
    band = _coefficient(knowledge.catalogue, "plausible-usable-share")
    for card in knowledge.catalogue.accelerators.values():
        usable, marketed = card.number("usable_mib"), card.number("marketing_gb")
        if band is None or usable is None or not marketed:
            continue
        figure = card.figures["usable_mib"]
        share = usable / 1024.0 / marketed
        if figure.because is not None:
            continue
        said = f"'usable_mib' of accelerator '{card.id}' is {usable:,.0f}, "
        if share > band.high:
            yield (
                figure.location,
                said + f"{share:.3g} times the marketed {marketed:g} GB",
                "enter what the driver reports in MiB (2^20 bytes), and the marketed size in 'marketing_gb'",
            )
        elif share < band.low and figure.estimate is None:
            yield (
                figure.location,
                said + f"only {share:.3g} of the marketed {marketed:g} GB",
                "enter what the driver reports in MiB; where it is right, say why with 'because:' or 'estimate:'",
            )
        elif abs(usable - marketed * 1e9 / 2**20) < 1.0:
            yield (
                figure.location,
                said + f"which is {marketed:g} decimal GB turned into MiB, not a reading",
                "a card has about as many GiB as its marketed GB: enter what the driver reports",
            )


def shared_aliases(knowledge: Knowledge) -> Iterator[Finding]:
    """Names that cards of different families claim; sizes and forms of one family may share theirs."""
    claimed: dict[str, Accelerator] = {}
    for card in knowledge.catalogue.accelerators.values():
        for text in dict.fromkeys((card.id, card.name, card.family, *card.aliases)):
            other = claimed.setdefault(fold(text), card)
            if other.family != card.family:
                yield (
                    card.location,
                    f"'{text}' names accelerator '{card.id}' ({card.family}) and '{other.id}' ({other.family})",
                    "an alias may lead to several cards of one family only: drop it from one of them",
                )


def _coefficient(catalogue: Catalogue, name: str) -> Coefficient | None:
    return catalogue.coefficients.pick(name, {}) if name in catalogue.coefficients else None


def _above(knowledge: Knowledge, limit: str, measures: tuple[_Measure, ...], hint: str) -> Iterator[Finding]:
    band = _coefficient(knowledge.catalogue, limit)
    if band is None:
        return
    seen: set[tuple[str, str]] = set()
    for measure in measures:
        for card, value, usual, others in _outstanding(knowledge.catalogue, measure, band.high):
            key = (card.id, measure.figure)
            if key in seen or card.figures[measure.figure].because is not None:
                continue
            seen.add(key)
            by = f" times {measure.base_name}" if measure.base_name else ""
            yield (
                card.figures[measure.figure].location,
                f"'{measure.figure}' of accelerator '{card.id}' is {value:.3g}{by}; "
                f"of its neighbours ({_named(others)}) it is {usual:.3g}",
                hint,
            )


def _outstanding(
    catalogue: Catalogue, measure: _Measure, high: float
) -> Iterator[tuple[Accelerator, float, float, list[Accelerator]]]:
    """Cards whose comparable figure is over ``high`` times the median of the others of their group."""
    groups: dict[Hashable, list[tuple[Accelerator, float]]] = {}
    for card in catalogue.accelerators.values():
        value, base = card.number(measure.figure), measure.base(card)
        if value is not None and base:
            groups.setdefault(measure.group(card), []).append((card, value / base))
    for members in groups.values():
        for card, value in members:
            others = [(other, ratio) for other, ratio in members if other is not card]
            if others and value > high * (usual := median(ratio for _, ratio in others)):
                yield card, value, usual, [other for other, _ in others]


def _named(cards: list[Accelerator]) -> str:
    shown = ", ".join(card.id for card in cards[:3])
    return shown if len(cards) <= 3 else f"{shown} and {len(cards) - 3} more"
