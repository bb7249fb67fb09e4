"""The plan rules: hard ones reject plans, then values over the plans left are settled, and soft ones judge them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import unknown_of
from whygpu.chain.strata import used_names
from whygpu.knowledge.rules import Conclude
from whygpu.language import values as v
from whygpu.plans.columns import OBJECTIVE
from whygpu.plans.costs import comparable

if TYPE_CHECKING:
    from whygpu.chain.engines import Chain, Mask
    from whygpu.chain.environment import PlanEnvironment
    from whygpu.consult.consultation import SessionResult
    from whygpu.knowledge.questions import DerivedValue
    from whygpu.knowledge.rules import Rule
    from whygpu.knowledge.strata import Stratum
    from whygpu.language.names import Kind
    from whygpu.plans.costs import Costs
    from whygpu.plans.plan_set import PlanSet


class Judging:
    """Fires the plan rules of one consultation; what they decide so far stands in its attributes."""

    def __init__(self, session: SessionResult, environment: PlanEnvironment, chain: Chain) -> None:
        """Every plan is left, and nothing has fired."""
        self._session, self._environment, self._chain = session, environment, chain
        self._knowledge = session.knowledge
        self._session_rules = {rule.id for rule in session.fired}
        self.alive: Mask = np.ones(environment.size, dtype=np.bool_)
        self.unverified: Mask = np.zeros(environment.size, dtype=np.bool_)
        self.fired: dict[str, Mask] = {}
        self.defeated: list[tuple[Rule, str, Mask]] = []
        self.unchecked: list[Rule] = []

    def reject(self) -> None:
        """Fire the hard rules, and take the plans out that they reject."""
        for stratum in self._knowledge.strata.hard:
            self._fire(stratum)
            self._reject(stratum)

    def compare(self, costs: Costs, plan_set: PlanSet) -> Costs:
        """Settle what the plans that are left compare by."""
        compared = comparable(costs, plan_set, self.alive)
        self._environment.set(OBJECTIVE, v.column(compared.objective))
        return compared

    def aggregate(self) -> None:
        """Settle the values over the plans that are left."""
        for value in self._knowledge.strata.aggregates:
            self._aggregate(value)

    def prefer(self) -> None:
        """Fire the soft rules on the plans that are left."""
        for stratum in self._knowledge.strata.soft:
            self._fire(stratum)

    def _fire(self, stratum: Stratum) -> None:
        found = self._chain.fired_plans(stratum, self._environment, self.alive)
        for rule in stratum.rules:
            mask = found.get(rule.id)
            if mask is None:
                continue
            for other in self._knowledge.overriders.get(rule.id, ()):
                defeat = mask if other in self._session_rules else mask & self.fired.get(other, np.False_)
                if defeat.any():
                    self.defeated.append((rule, other, defeat))
                    mask = mask & ~defeat
            if mask.any():
                self.fired[rule.id] = mask
        for name in stratum.settles:
            self._settle(name)

    def _settle(self, name: str) -> None:
        """A concluded plan name as a column: where rules agree, their value; where they clash, unknown."""
        concluders, size = self._knowledge.concluders.get(name, ()), self._environment.size
        said: dict[float | bool | str, Mask] = {}
        for rule in concluders:
            mask = self.fired.get(rule.id)
            for effect in rule.effects:
                if mask is not None and isinstance(effect, Conclude) and effect.name == name:
                    said[effect.value] = said.get(effect.value, np.zeros(size, dtype=np.bool_)) | mask
        count = np.sum([*said.values(), np.zeros(size, dtype=np.bool_)], axis=0)
        spec = self._knowledge.vocabulary[name]
        if spec.otherwise is not None:
            open_ = np.zeros(size, dtype=np.bool_)
            for rule in concluders:
                truth = self._environment.evaluator.truth(rule.condition)
                open_ = open_ | ~(truth.true | truth.false | open_)
            rest = (count == 0) & ~open_
            said[spec.otherwise] = said.get(spec.otherwise, np.zeros(size, dtype=np.bool_)) | rest
        one = {value: mask & (count <= 1) for value, mask in said.items()}
        self._environment.set(name, _column_of(spec.kind, one, size))

    def _reject(self, stratum: Stratum) -> None:
        """Take rejected plans out; those a hard rule cannot judge for want of a figure stay, unverified."""
        for rule in stratum.rules:
            if not rule.rejects:
                continue
            mask = self.fired.get(rule.id)
            if mask is not None:
                self.alive = self.alive & ~mask
            truth = self._environment.evaluator.truth(rule.condition)
            known = truth.true | truth.false
            if known is True or np.all(known):
                continue
            if not self._asked(rule):  # nobody stated that limit
                continue
            open_ = np.broadcast_to(known ^ True, (self._environment.size,))
            self.unverified = self.unverified | open_
            if open_.all():
                self.unchecked.append(rule)

    def _asked(self, rule: Rule) -> bool:
        """Whether a rule that cannot judge a plan lacks figures of the plan, not an answer."""
        names = used_names([rule.condition], self._knowledge.values)
        known = self._session.environment.value
        return all(
            known(name) != unknown_of(spec)
            for name in names
            if (spec := self._knowledge.vocabulary[name]).scope == "session"
        )

    def _aggregate(self, value: DerivedValue) -> None:
        alive, evaluator = self.alive, self._environment.evaluator
        if value.where is not None:
            alive = alive & evaluator.truth(value.where).true
        found = evaluator.value(value.expression)
        if isinstance(found, v.Truth):
            count = float(np.sum(np.broadcast_to(found.true, alive.shape) & alive))
            self._environment.set(value.name, v.number(count))
        elif isinstance(found, v.Number):
            known = alive & (found.low == found.high) & found.present & np.isfinite(found.low)
            if known.any():
                pick = np.min if value.aggregate == "min" else np.max
                extreme = float(pick(np.broadcast_to(found.low, alive.shape)[known]))
                self._environment.set(value.name, v.number(extreme))


def _column_of(kind: Kind, said: dict[float | bool | str, Mask], size: int) -> v.Value:
    none = np.zeros(size, dtype=np.bool_)
    match kind:
        case "flag":
            return v.Truth(said.get(True, none), said.get(False, none))
        case "number":
            numbers = np.full(size, np.nan)
            for value, mask in said.items():
                numbers[mask] = value
            return v.column(numbers)
        case "choice" | "text":
            words = np.full(size, "", dtype=f"<U{max((len(str(value)) for value in said), default=1)}")
            for value, mask in said.items():
                words[mask] = str(value)
            return v.Word(words)
