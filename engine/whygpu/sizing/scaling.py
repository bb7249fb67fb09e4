"""How throughput grows with accelerators: a law of diminishing returns, fitted to what was measured.

Gunther's Universal Scalability Law (1993; Gunther 2007, Guerrilla Capacity Planning, doi
10.1007/978-3-540-31010-5): X(n) = n X(1) / (1 + a (n - 1) + b n (n - 1)). ``contention`` a is what all wait for,
``coherency`` b what each exchanges with each; with b = 0 it is Amdahl's law (1967, doi 10.1145/1465482.1465560).
Within a machine and across machines the law is fitted apart, for the links differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_FOR_COHERENCY = 4
"""Rows that two coefficients are fitted to; fewer give one, by Amdahl."""


@dataclass(frozen=True, slots=True)
class Law:
    """``contention`` and ``coherency`` of the law, and how many rows they were ``fitted`` to: 0 where assumed."""

    contention: float
    coherency: float
    fitted: int

    def efficiency(self, count: float) -> float:
        """Throughput of each of ``count`` over that of one alone: at most 1."""
        return 1 / (1 + self.contention * (count - 1) + self.coherency * count * (count - 1))


def fit_law(rows: Sequence[tuple[float, float]]) -> Law | None:
    """The law nearest to rows of (count, efficiency against one); None without a row of more than one.

    Least squares on 1 / efficiency - 1, which is linear in both coefficients, neither below zero: what seems more than
    proportional counts as proportional.
    """
    more = [(count, 1 / efficiency - 1) for count, efficiency in rows if count > 1 and efficiency > 0]
    if not more:
        return None
    lost = np.array([item[1] for item in more])
    alone = np.array([item[0] - 1 for item in more])
    each = np.array([item[0] * (item[0] - 1) for item in more])
    amdahl = max(float(alone @ lost / (alone @ alone)), 0.0)
    if len(more) + 1 < FEWEST_FOR_COHERENCY:
        return Law(amdahl, 0.0, len(more))
    found, *_ = np.linalg.lstsq(np.stack([alone, each], axis=1), lost, rcond=None)
    contention, coherency = (float(value) for value in found)
    if contention < 0:
        return Law(0.0, max(float(each @ lost / (each @ each)), 0.0), len(more))
    return Law(amdahl, 0.0, len(more)) if coherency < 0 else Law(contention, coherency, len(more))


@dataclass(frozen=True, slots=True)
class Scales:
    """Efficiency within a machine of ``per_node`` accelerators, and of machines among each other."""

    within: Law
    across: Law
    per_node: int

    def efficiency(self, count: int) -> float:
        """Throughput of each of ``count`` accelerators over that of one alone: at most 1.

        Machines that are full, as many as it takes.
        """
        nodes = -(-count // self.per_node)
        return self.within.efficiency(min(count, self.per_node)) * self.across.efficiency(nodes)
