"""The plans of a consultation by their rows: what each is called, which of them lead, and in what order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from whygpu.plans.ways import NEEDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.parts import Status

_SHOWN = 12
Identity = tuple[str, int, str, str | None]
"""What makes a plan the same choice: accelerator, count, format and method."""


class Rows:
    """The rows of one consultation's plans; what each question asks for is found once."""

    def __init__(self, consultation: Consultation) -> None:
        """Nothing is found yet."""
        self._consultation, self._plans = consultation, consultation.plans
        self._plan_set = consultation.plans.plan_set

    @cached_property
    def ids(self) -> list[str]:
        """An id for every plan: accelerator, count, format, and what else tells it from the others."""
        known: list[str] | None = self._plan_set.known.get("ids")
        if known is None:
            known = self._plan_set.known["ids"] = self._ids()
        return known

    def _ids(self) -> list[str]:
        found: list[str] = []
        seen: dict[str, int] = {}
        plan_set = self._plan_set
        cards = [card.id for card in plan_set.cards.accelerators]
        given = self._plans.work.setup.kv_format
        configurations = [
            f"-x{configuration.layout.cards}-{configuration.setup.format.id}"
            + (f"-kv-{cache.id}" if (cache := configuration.setup.kv_format) not in (None, given) else "")
            + (f"-{configuration.setup.method}" if configuration.setup.trains else "")
            for configuration in plan_set.configurations
        ]
        columns = (plan_set.card.tolist(), plan_set.configuration.tolist(), plan_set.owned.tolist())
        for card, configuration, owned in zip(*columns, strict=True):
            name = cards[card] + configurations[configuration] + ("-owned" if owned else "")
            seen[name] = seen.get(name, 0) + 1
            found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
        return found

    @property
    def groups(self) -> list[list[int]]:
        """The rows of the plans that may be recommended, an accelerator (or one that is owned) each, by rank."""
        return [] if self._plans.objections else self.ranked

    @cached_property
    def ranked(self) -> list[list[int]]:
        """The rows of the plans left, an accelerator (or one that is owned) each, in order of rank."""
        found: dict[int, list[int]] = {}
        kinds = self._kinds.tolist()
        for row in self._plans.ranking.order:
            found.setdefault(kinds[row], []).append(row)
        return list(found.values())

    @cached_property
    def _kinds(self) -> NDArray[np.int64]:
        """A number for each plan: its accelerator's, another where that is owned."""
        return 2 * self._plan_set.card + self._plan_set.owned

    @property
    def heads(self) -> list[int]:
        """The best plan of each accelerator, in order of rank."""
        return [rows[0] for rows in self.groups]

    @property
    def shown(self) -> list[int]:
        """Those of them that the trace tells in full; of the others it holds what rejected them."""
        return [rows[0] for rows in self.groups[:_SHOWN]]

    @property
    def first(self) -> list[int]:
        """Those of them that share the first rank."""
        return [row for row in self.heads if self.equal(row, self.heads[0])]

    @property
    def status(self) -> Status:
        """Whether there is a recommendation, and whether it has equals."""
        heads = [rows[0] for rows in self.groups[:2]]
        if not heads:
            return "infeasible"
        return "tied" if len(heads) > 1 and self.equal(*heads) else "recommended"

    def equal(self, one: int, other: int) -> bool:
        """Whether two plans count as the same, or nearly."""
        unverified = self._plans.unverified
        return self._plans.ranking.tied(one, other) and bool(unverified[one]) == bool(unverified[other])

    def behind(self, row: int) -> str | None:
        """The first comparison that a plan which is left loses to the recommendation, with both figures."""
        if not self.groups:
            return None
        best = self.groups[0][0]
        if self._plans.unverified[row] and not self._plans.unverified[best]:
            return "unverified"
        return self._plans.ranking.behind(row, best)

    def find(self, plan_id: str) -> int | None:
        """The row of a plan by its id; None where there is none."""
        return self.ids.index(plan_id) if plan_id in self.ids else None

    def alike_rows(self, identity: Identity) -> Mask:
        """The plans that are this choice."""
        card, count, form, method = identity
        plan_set = self._plan_set
        ways = [
            (item.layout.cards, item.setup.format.id, item.setup.method if item.setup.trains else None)
            == (count, form, method)
            for item in plan_set.configurations
        ]
        cards = [item.id == card for item in plan_set.cards.accelerators]
        alike: Mask = np.array(ways, dtype=np.bool_)[plan_set.configuration] & np.array(cards)[plan_set.card]
        return alike

    def row_like(self, identity: Identity) -> int | None:
        """The first plan that is this choice; None where there is none."""
        return next(iter(np.flatnonzero(self.alike_rows(identity)).tolist()), None) if len(self._plan_set) else None

    def of_card(self, card: str, count: int) -> Iterator[int]:
        """The plans on so many of a card, in any format."""
        return (row for row in range(len(self._plan_set)) if self.identity(row)[:2] == (card, count))

    def identity(self, row: int) -> Identity:
        """What makes a plan the same choice."""
        item = self._plan_set.candidate(row)
        method = item.setup.method if item.setup.trains else None
        return item.accelerator.id, item.layout.cards, item.setup.format.id, method

    def alike(self, one: int, other: int) -> bool:
        """Whether two plans are the same choice."""
        return self.identity(one) == self.identity(other)

    def distance(self, row: int) -> tuple[float, ...]:
        """How far a plan is from being recommended: by rank where it is left, else by the rules that reject it, then
        by the memory that it lacks, by its accelerators and by what each of them needs.
        """
        position = self._positions.get(row)
        if position is not None:
            return 0, float(position)
        return tuple(float(key[row]) for key in self._rejected_by)

    @cached_property
    def _rejected_by(self) -> tuple[NDArray[np.float64], ...]:
        """Of every plan the numbers that it is compared by where it is rejected, the most telling first."""
        against = np.sum([np.zeros(len(self._plan_set)), *self.rejecting.values()], axis=0)
        need, cards = self._plan_set.each(NEEDS["total"]), self._plan_set.counts
        lacking = np.maximum(need / self._plan_set.cards.usable_bytes[self._plan_set.card], 1)
        return against, lacking, cards, need

    @cached_property
    def _positions(self) -> Mapping[int, int]:
        """The plans that are left, each with its position."""
        return {row: position for position, row in enumerate(self._plans.ranking.order)}

    @cached_property
    def rejecting(self) -> Mapping[str, Mask]:
        """The rules that reject plans, and which."""
        rules = self._consultation.knowledge.rule_by_id
        return {rule: mask for rule, mask in self._plans.fired.items() if rules[rule].rejects}

    @cached_property
    def nearest_rejected(self) -> list[int]:
        """Of each accelerator without a plan left the one that is nearest to being recommended."""
        kinds = self._kinds
        left = set(kinds[self._plans.alive].tolist())
        nearest: dict[int, int] = {}
        for row in np.lexsort(self._rejected_by[::-1]).tolist():
            nearest.setdefault(int(kinds[row]), row)
        # what is owned first: it was asked for
        return [nearest[kind] for kind in sorted(nearest, key=lambda kind: (-(kind % 2), kind)) if kind not in left]
