"""Figures over compared rows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.rows import Compared, FitSeen


@dataclass(frozen=True, slots=True)
class Score:
    """Absolute relative errors of some rows, and how their ranges do; shares of one."""

    rows: int
    median: float
    ninetieth: float
    bias: float
    inside: float
    half_width: float


def score(rows: Sequence[Compared]) -> Score:
    """Raises ValueError without rows."""
    errors = [row.error for row in rows]
    return Score(
        len(rows),
        statistics.median(map(abs, errors)),
        ninetieth([abs(error) for error in errors]),
        statistics.median(errors),
        sum(row.inside for row in rows) / len(rows),
        statistics.fmean(row.half_width for row in rows),
    )


def ninetieth(values: Iterable[float]) -> float:
    """The least value that 90% do not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(0.9 * len(ordered)) - 1]


@dataclass(frozen=True, slots=True)
class PeerScore:
    """Another tool over the rows it has a rule for, and whygpu over the same ones."""

    name: str
    rows: int
    median: float
    ninetieth: float
    ours_median: float
    ours_ninetieth: float


def peer_score(rows: Sequence[Compared], name: str) -> PeerScore | None:
    """None where the tool has no rule for any of the rows."""
    shared = [row for row in rows if name in row.peers]
    if not shared:
        return None
    theirs = [abs(row.peers[name] / row.measured - 1) for row in shared]
    ours = [abs(row.error) for row in shared]
    return PeerScore(
        name, len(shared), statistics.median(theirs), ninetieth(theirs), statistics.median(ours), ninetieth(ours)
    )


@dataclass(frozen=True, slots=True)
class FitScore:
    """Verdicts that agree with what was seen."""

    rows: int
    right: int
    wrong: tuple[str, ...]


def fit_score(seen: Iterable[FitSeen]) -> FitScore:
    """Over the rows that could be judged."""
    judged = [row for row in seen if row.held is not None]
    wrong = tuple(
        f"{row.id} (said to be tight)" if row.held.tight else row.id
        for row in judged
        if row.held is not None and row.held.fits != row.ran
    )
    return FitScore(len(judged), len(judged) - len(wrong), wrong)


def named_card_score(rows: Iterable[Compared]) -> FitScore:
    """Rows measured on a named card: each of them did fit."""
    judged = [row for row in rows if row.held is not None]
    wrong = tuple(row.id for row in judged if row.held is not None and not row.held.fits)
    return FitScore(len(judged), len(judged) - len(wrong), wrong)
