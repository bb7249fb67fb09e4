"""Plans that somebody asks about beside those that are found anyway: a card that the answers leave out, another count
or format.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.plans.enumerate import enumerate_plans
from whygpu.plans.existing import plans_with_owned
from whygpu.plans.explicit import explicit_plans
from whygpu.plans.plan_set import PlanSet, Speeds
from whygpu.plans.ways import Ways

if TYPE_CHECKING:
    from whygpu.chain.engines import Mask
    from whygpu.plans.plan_set import Options, Targets
    from whygpu.plans.work import Work


@dataclass(frozen=True, slots=True)
class Asked:
    """Cards (rows of the catalogue), how many of each and in which format; None where nothing is said of it. A planner:
    the plans that there are anyway come first, in the same order, unless they are to be looked at ``alone``.
    """

    cards: tuple[int, ...]
    count: int | None = None
    format: str | None = None
    alone: bool = False

    def __call__(self, work: Work, allowed: Mask, options: Options, targets: Targets) -> PlanSet:
        """The usual plans, and those that are asked for."""
        none = np.zeros_like(allowed)
        base = plans_with_owned(work, none if self.alone else allowed, options, targets)
        only = none.copy()
        only[list(self.cards)] = True
        wanted = replace(options, owned=(), count=self.count)
        if self.format is not None:
            wanted = replace(wanted, formats=(self.format,))
        extra = enumerate_plans(work, only, wanted, targets)
        rest = only.copy()
        rest[extra.card] = False
        if rest.any():
            setup = work.setup
            if self.format is not None:
                setup = replace(setup, format=work.catalogue.formats[self.format])
            named = replace(wanted, count=self.count or 1)
            extra = joined(extra, explicit_plans(replace(work, setup=setup), rest, named, targets))
        return joined(base, extra)


def joined(one: PlanSet, other: PlanSet) -> PlanSet:
    """The plans of both fields; those of the second come after."""
    figures: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    for name in dict.fromkeys((*one.speeds.figures, *other.speeds.figures)):
        parts = [plan_set.speeds.figures.get(name, np.full(len(plan_set), np.nan)) for plan_set in (one, other)]
        figures[name] = np.concatenate(parts)
    return PlanSet(
        one.work,
        one.machines,
        one.cards,
        Ways([*one.configurations, *other.configurations]),
        np.concatenate([one.card, other.card]),
        np.concatenate([one.configuration, other.configuration + len(one.configurations)]),
        np.concatenate([one.fits, other.fits]),
        np.concatenate([one.owned, other.owned]),
        Speeds(figures),
    )
