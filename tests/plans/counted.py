"""Small fields of plans to count: their money, their verdicts, and the prices of preferences."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from whygpu.knowledge.preferences import Preferences, PriorityWorth, SpeedWorth, Worth
from whygpu.plans.counting import Counted, Money, count
from whygpu.plans.tally import VerdictTally, tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.knowledge.rules import Verdict

MILD, NORMAL, STRONG = 1.25, 2.0, 4.0
WORTHS = MappingProxyType(
    {name: Worth(name, worth, "", ()) for name, worth in (("mild", MILD), ("normal", NORMAL), ("strong", STRONG))}
)
TOKENS = SpeedWorth(
    "token_ms", "token_latency_ms", twice=2.0, usual=40.0, enough=10.0, loose=1000.0, because="", sources=()
)


def priority(name: str, **changes: float | str | None) -> PriorityWorth:
    """A row of the table of priorities that changes these things and nothing else."""
    neutral: dict[str, float | str | None] = {
        "all_factors": 1.0,
        "criterion": None,
        "criterion_power": 1.0,
        "twice_the_speed": None,
        "half_the_power": None,
    }
    return PriorityWorth(name, because="", sources=(), **{**neutral, **changes})  # type: ignore[arg-type]


def preferences(*rows: PriorityWorth, speeds: tuple[SpeedWorth, ...] = ()) -> Preferences:
    """The worths above, with these priorities and speeds."""
    return Preferences(worths=WORTHS, speeds=speeds, priorities={row.priority: row for row in rows}, tied_within=0.1)


def only(*plans: int, of: int = 3) -> Mask:
    """The mask of these plans."""
    mask = np.zeros(of, dtype=np.bool_)
    mask[list(plans)] = True
    return mask


def tallied(*verdicts: tuple[Verdict, Mask], figure: NDArray[np.float64] | None = None, of: int = 3) -> VerdictTally:
    """The verdicts by the worths above; ``figure`` is what each graded one grows with."""
    known = np.full(of, np.nan) if figure is None else figure
    return tally(verdicts, of, lambda strength: WORTHS[strength].worth, lambda _: known)


def dollars(*values: float, handling: float = 0.0, job_hours: Iterable[float] = ()) -> Money:
    """Plans of these hourly prices: of a service, or of jobs that take so long, hours beside them included."""
    hourly, hours = np.array(values), np.array(tuple(job_hours) or (1.0,) * len(values))
    handled = np.full(len(values), handling)
    return Money((hourly + handled) * hours, "USD" if tuple(job_hours) else "USD/hour", hours, handled)


def counted(
    money: Money,
    found: VerdictTally,
    prices: Preferences,
    first: str | None = None,
    *,
    speeds: Mapping[str, NDArray[np.float64]] = MappingProxyType({}),
    watts: NDArray[np.float64] | None = None,
    limits: Mapping[str, float] = MappingProxyType({}),
    alive: Mask | None = None,
) -> Counted:
    """What the plans count as; nothing is known of their speed or power unless it is said."""
    size = len(money.values)
    drawn = np.full(size, np.nan) if watts is None else watts
    left = np.ones(size, dtype=np.bool_) if alive is None else alive
    return count(money, found, speeds, drawn, left, prices, first, limits)
