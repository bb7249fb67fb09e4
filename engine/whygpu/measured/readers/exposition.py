"""The text format that Prometheus scrapes (https://prometheus.io/docs/instrumenting/exposition_formats/).

Samples by name, and histograms with their quantiles as ``histogram_quantile`` gives them: by straight lines between
the bounds of buckets, with the highest finite bound for what lies above it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SAMPLE = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?[0-9]+)?\s*\Z")
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
MOST_LINE = 4_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts up to each bound, the last of them all. ``total``: the sum of what was observed, where it is said."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    total: float | None = None

    @property
    def count(self) -> float:
        """How many were observed."""
        return self.counts[-1]

    @property
    def mean(self) -> float | None:
        """The mean of what was observed; None where nothing was or its sum is not said."""
        return None if self.total is None or not self.count else self.total / self.count

    def quantile(self, share: float) -> float | None:
        """The value that ``share`` of the observations do not exceed; None where too few are above it to tell."""
        if self.count * (1 - share) < 1:
            return None
        wanted, below, before = share * self.count, 0.0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=True):
            if count >= wanted:
                if not math.isfinite(bound):
                    return below
                return below + (bound - below) * (wanted - before) / (count - before) if count > before else bound
            below, before = bound, count
        return below


def samples(text: str) -> Iterator[Sample]:
    """Every sample that can be read; comments, lines of another form and values that are no number are passed over."""
    for line in text.splitlines():
        match = None if line.startswith("#") or len(line) > MOST_LINE else _SAMPLE.match(line.strip())
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if math.isfinite(value):
            yield Sample(match[1], dict(_LABEL.findall(match[2] or "")), value)


class Snapshot:
    """The samples of one scrape."""

    def __init__(self, text: str) -> None:
        """Read the text once."""
        self._by_name: dict[str, list[Sample]] = {}
        for sample in samples(text):
            self._by_name.setdefault(sample.name, []).append(sample)

    def __contains__(self, name: str) -> bool:
        """Whether there is a sample of that name."""
        return name in self._by_name

    def values(self, *names: str) -> list[float]:
        """The values of the first of these names that there is."""
        return next(([item.value for item in self._by_name[name]] for name in names if name in self._by_name), [])

    def sum(self, *names: str) -> float | None:
        """Their sum; None where there is none."""
        found = self.values(*names)
        return sum(found) if found else None

    def by(self, label: str, name: str) -> dict[str, list[float]]:
        """The values of a name by one of its labels."""
        found: dict[str, list[float]] = {}
        for sample in self._by_name.get(name, ()):
            found.setdefault(sample.labels.get(label, ""), []).append(sample.value)
        return found

    def label(self, label: str) -> str | None:
        """The first value of a label."""
        every = (sample.labels.get(label) for items in self._by_name.values() for sample in items)
        return next((value for value in every if value), None)

    def histogram(self, *names: str) -> Histogram | None:
        """The histogram of the first of these names, all its series together; None where its last bucket is missing."""
        name = next((name for name in names if f"{name}_bucket" in self), None)
        if name is None:
            return None
        counts: dict[float, float] = {}
        for text, values in self.by("le", f"{name}_bucket").items():
            try:
                counts[float(text)] = sum(values)
            except ValueError:
                return None
        bounds = tuple(sorted(counts))
        found = tuple(counts[bound] for bound in bounds)
        if not bounds or math.isfinite(bounds[-1]) or any(later < earlier for earlier, later in pairwise(found)):
            return None
        return Histogram(bounds, found, self.sum(f"{name}_sum"))

    def is_cut(self, *names: str) -> bool:
        """Whether there is a histogram of one of these names that cannot be read."""
        return any(f"{name}_bucket" in self for name in names) and self.histogram(*names) is None
