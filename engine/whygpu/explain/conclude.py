"""Makes the advice of a consultation: ranked plans, rejections with their reasons, items with citations."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import plain
from whygpu.chain.strata import used_names
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.speed.estimate import FIGURES
from whygpu.consult.driver import fill_template
from whygpu.explain.advice import (
    AcceleratorName,
    Advice,
    Assumed,
    Comparison,
    Conflict,
    Counted,
    Factor,
    Infeasible,
    Item,
    Memory,
    OpenQuestion,
    Parallelism,
    Pick,
    Plan,
    Plans,
    PlanVerdict,
    Reason,
    Rejection,
    Relaxation,
    Status,
)
from whygpu.explain.compare import fast_or_cheap, owned_or_rented
from whygpu.explain.conditions import Judge
from whygpu.explain.costs import CostSheet
from whygpu.explain.record import Recorder
from whygpu.explain.shortlist import gains, roles_of
from whygpu.knowledge.rules import STRENGTHS, Advise, Rule, Verdict, Warn
from whygpu.lifecycle.answers import LIFE_KEYS
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.calculation import Calculation, Range
    from whygpu.consult.driver import Consultation
    from whygpu.knowledge.questions import Profile
    from whygpu.plans.plan_set import Candidate
    from whygpu.trace import Trace


def conclude(consultation: Consultation) -> Advice:
    """The advice of a consultation; its parts are made when they are first asked for."""
    conclusion = Conclusion(consultation)
    knowledge = consultation.knowledge
    answers = consultation.answers.given
    return Advice(knowledge.version, knowledge.hash, consultation.engine, conclusion.status(), answers, conclusion)


class Conclusion:
    """Makes the parts of an advice."""

    def __init__(self, consultation: Consultation) -> None:
        """Nothing is made yet."""
        self.consultation = self._c = consultation
        self._knowledge = consultation.knowledge
        self._rules = self._knowledge.rule_by_id

    @cached_property
    def _ids(self) -> list[str]:
        """An id for every plan: accelerator, count, format, and what else tells it from the others."""
        plan_set = self._c.plan_set
        found: list[str] = []
        seen: dict[str, int] = {}
        if plan_set is None:
            return found
        cards = [card.id for card in plan_set.cards.accelerators]
        configurations = [
            f"-x{configuration.layout.cards}-{configuration.setup.format.id}"
            + (f"-{configuration.setup.method}" if configuration.setup.trains else "")
            for configuration in plan_set.configurations
        ]
        for card, configuration, owned in zip(
            plan_set.card.tolist(), plan_set.configuration.tolist(), plan_set.owned.tolist(), strict=True
        ):
            name = cards[card] + configurations[configuration] + ("-owned" if owned else "")
            seen[name] = seen.get(name, 0) + 1
            found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
        return found

    @property
    def groups(self) -> list[list[int]]:
        """The rows of the plans that may be recommended, an accelerator (or one that is owned) each, by rank."""
        return [] if self._c.objections else self._ranked

    @cached_property
    def _ranked(self) -> list[list[int]]:
        """The rows of the plans left, an accelerator (or one that is owned) each, in order of rank."""
        found: dict[int, list[int]] = {}
        if self._c.ranking is not None:
            kinds = self._kinds.tolist()
            for index in self._c.ranking.order:
                found.setdefault(kinds[index], []).append(index)
        return list(found.values())

    @cached_property
    def _kinds(self) -> NDArray[np.int64]:
        """A number for each plan: its accelerator's, another where that is owned."""
        plan_set = self._c.plan_set
        return np.zeros(0, dtype=np.int64) if plan_set is None else 2 * plan_set.card + plan_set.owned

    @cached_property
    def _sheet(self) -> CostSheet | None:
        costs, plan_set = self._c.costs, self._c.plan_set
        return None if costs is None or plan_set is None else CostSheet(self._c, costs, plan_set)

    @property
    def heads(self) -> list[int]:
        """The best plan of each accelerator, in order of rank."""
        return [rows[0] for rows in self.groups]

    @property
    def first(self) -> list[int]:
        """Those of them that share the first rank."""
        return [index for index in self.heads if self.equal(index, self.heads[0])]

    def status(self) -> Status:
        """Whether there is a recommendation, and whether it has equals."""
        heads = [rows[0] for rows in self.groups[:2]]
        if not heads:
            return "infeasible"
        return "tied" if len(heads) > 1 and self.equal(*heads) else "recommended"

    def equal(self, one: int, other: int) -> bool:
        """Whether two plans count as the same, or nearly."""
        ranking, unverified = self._c.ranking, self._c.unverified
        return ranking is not None and ranking.tied(one, other) and bool(unverified[one]) == bool(unverified[other])

    def find(self, plan_id: str) -> int | None:
        """The row of a plan by its id; None where there is none."""
        return self._ids.index(plan_id) if plan_id in self._ids else None

    def row_like(self, identity: tuple[str, int, str, str | None]) -> int | None:
        """The first plan that is this choice; None where there is none."""
        rows = range(0 if self._c.plan_set is None else len(self._c.plan_set))
        return next((row for row in rows if self.identity(row) == identity), None)

    def distance(self, row: int) -> tuple[int, float]:
        """How far a plan is from being recommended: by rank where it is left, else by the rules that reject it and
        what it needs.
        """
        place = self._places.get(row)
        if place is not None:
            return 0, float(place)
        if self._c.plan_set is None:
            raise ValueError("there are no plans")
        against = sum(1 for mask in self._rejecting().values() if mask[row])
        return against, self._c.plan_set.configurations[int(self._c.plan_set.configuration[row])].memory.total

    @cached_property
    def _places(self) -> dict[int, int]:
        """The plans that are left, each with its place."""
        ranking = self._c.ranking
        return {} if ranking is None else {row: place for place, row in enumerate(ranking.order)}

    def identity(self, row: int) -> tuple[str, int, str, str | None]:
        """What makes a plan the same choice: accelerator, count, format and method."""
        if self._c.plan_set is None:
            raise ValueError("there are no plans")
        item = self._c.plan_set.candidate(row)
        method = item.setup.method if item.setup.trains else None
        return item.accelerator.id, item.layout.cards, item.setup.format.id, method

    def alike(self, one: int, other: int) -> bool:
        """Whether two plans are the same choice."""
        return self.identity(one) == self.identity(other)

    def trace(self) -> Trace:
        """The record of all that was decided, in full for the plans shown."""
        shown = [rows[0] for rows in self.groups[:_TRACED]]
        return Recorder(self._c, self._ids, self._sheet).trace(shown, self._nearest_rejected, self._comparisons)

    # plans

    def best(self) -> Plan | None:
        """The recommended plan with its variants."""
        return self._head(1, self.groups[0]) if self.groups else None

    def at(self, index: int) -> Plan:
        """One plan of the consultation, whether rules reject it or not; it has no rank."""
        return self._plan(index, None, ())

    def shortlist(self) -> tuple[Pick, ...]:
        """The best plan for each role, beside the recommendation."""
        if not self.groups:
            return ()
        first = self.groups[0][0]
        best = self._plan(first, 1, ())
        picks = (
            (role, best if index == first else self._plan(index, None, ())) for role, index in roles_of(self._c, first)
        )
        return tuple(Pick(role, plan, *gains(plan, best)) for role, plan in picks)

    def others(self) -> Plans:
        """The best plan of each other accelerator with its variants; co-recommended ones share the first rank."""
        rest = self.groups[1:]
        return Plans(len(rest), lambda position: self._head(position + 2, rest[position]))

    def _head(self, position: int, rows: list[int]) -> Plan:
        variants = tuple(self._plan(row, None, ()) for row in rows[1:])
        if self.equal(rows[0], self.groups[0][0]):
            return self._plan(rows[0], 1, variants)
        return replace(self._plan(rows[0], position, variants), behind=self.behind(rows[0]))

    def behind(self, index: int) -> str | None:
        """The first comparison that a plan which is left loses to the recommendation, with both figures."""
        ranking = self._c.ranking
        if ranking is None or not self.groups:
            return None
        best = self.groups[0][0]
        if self._c.unverified[index] and not self._c.unverified[best]:
            return "unverified"
        return ranking.behind(index, best)

    def _plan(self, index: int, rank: int | None, variants: tuple[Plan, ...]) -> Plan:
        if self._c.plan_set is None:
            raise ValueError("there are no plans")
        item = self._c.plan_set.candidate(index)
        card, layout, need = item.accelerator, item.layout, item.memory
        usable = self._knowledge.catalogue.usable_bytes(card)
        cost = None if self._sheet is None else self._sheet.cost(index)
        return Plan(
            id=self._ids[index],
            accelerator=AcceleratorName(
                card.id, card.name, card.family, card.vendor, *map(card.number, ("marketing_gb", "usable_mib"))
            ),
            count=layout.cards,
            nodes=layout.nodes,
            format=item.setup.format.id,
            kv_format=item.setup.kv_format.id if item.setup.kv_format else None,
            method=item.setup.method if item.setup.trains else None,
            batch_size=self._batch_size(item),
            techniques=tuple(effect.id for _, effect in self._advised(index)),
            parallelism=Parallelism(layout.tensor, layout.pipeline, layout.data, layout.sharding),
            memory=Memory(
                weights_gib=need.weights / GIB,
                kv_cache_gib=need.kv_cache / GIB,
                gradients_gib=need.gradients / GIB,
                optimizer_gib=need.optimizer / GIB,
                activations_gib=need.activations / GIB,
                logits_gib=need.logits / GIB,
                overhead_gib=need.overhead / GIB,
                reused_gib=need.reused / GIB,
                total_gib=need.total / GIB,
                low_gib=need.low / GIB,
                high_gib=need.high / GIB,
                usable_gib=None if math.isnan(usable) else usable / GIB,
                verdict=need.verdict(usable),
            ),
            speed=self._speed(index),
            cost=cost,
            unpriced=None if cost is not None or self._sheet is None else self._sheet.unpriced(index),
            verdicts=tuple(self._verdicts(index)),
            rank=rank,
            unverified=bool(self._c.unverified[index]),
            counted=self._counted(index),
            index=index,
            owned=bool(self._c.plan_set.owned[index]),
            variants=variants,
        )

    def _batch_size(self, item: Candidate) -> int | None:
        """Samples at once: of an accelerator in training, of a replica in batch work; None in serving."""
        setup = item.setup
        if setup.phase == "batch-inference" and item.memory.shape.kind in TOKEN_KINDS:
            return setup.requests_per_replica(item.layout.data)
        return setup.batch_size if setup.trains or setup.phase == "batch-inference" else None

    def cost_calculations(self, index: int) -> tuple[Calculation, ...]:
        """How one plan's costs come about."""
        return () if self._sheet is None else tuple(self._sheet.calculations(index))

    def _speed(self, index: int) -> dict[str, Range | None]:
        plan_set = self._c.plan_set
        return plan_set.speeds.ranges(index) if plan_set else dict.fromkeys(FIGURES)

    def _counted(self, index: int) -> Counted | None:
        """What one plan counts as; None where it is out, or no price is known."""
        ranking = self._c.ranking
        if ranking is None or not self._c.alive[index] or not math.isfinite(ranking.counted.values[index]):
            return None
        rules = {
            criterion: tuple(
                rule for item in self._verdicts(index) if item.criterion == criterion for rule in item.rules
            )
            for criterion in ranking.counted.factors
        }
        factors = (
            Factor(criterion, float(column[index]), rules[criterion])
            for criterion, column in ranking.counted.factors.items()
            if rules[criterion] or abs(column[index] - 1) > _NEUTRAL
        )
        return Counted(float(ranking.counted.values[index]), ranking.counted.money.unit, tuple(factors))

    def _verdicts(self, index: int) -> Iterator[PlanVerdict]:
        found: dict[tuple[str, bool], tuple[int, list[Rule]]] = {}
        for rule_id, mask in self._c.fired_plans.items():
            if not mask[index]:
                continue
            rule = self._rules[rule_id]
            for effect in rule.effects:
                if isinstance(effect, Verdict):
                    key = (effect.criterion, effect.favourable)
                    level, rules = found.get(key, (0, []))
                    found[key] = (max(level, STRENGTHS.index(effect.strength)), [*rules, rule])
        for (criterion, favourable), (level, rules) in found.items():
            claims = dict.fromkeys(claim for rule in rules for claim in rule.sources)
            yield PlanVerdict(criterion, STRENGTHS[level], favourable, tuple(rule.id for rule in rules), tuple(claims))

    # rejections

    def rejected(self) -> tuple[Rejection, ...]:
        """Accelerators that have no plan left, each with the plan that the fewest rules reject."""
        rows = self._nearest_rejected
        return tuple(Rejection(self._plan(index, None, ()), tuple(self.reasons(index))) for index in rows)

    @cached_property
    def _nearest_rejected(self) -> list[int]:
        """Of each accelerator without a plan left the one that the fewest rules reject, then that needs least."""
        plan_set = self._c.plan_set
        if self._c.plans is None or plan_set is None:
            return []
        against = np.sum([np.zeros(len(plan_set)), *self._rejecting().values()], axis=0)
        need = np.array([configuration.memory.total for configuration in plan_set.configurations])[
            plan_set.configuration
        ]
        kinds = self._kinds
        left = set(kinds[self._c.alive].tolist())
        nearest: dict[int, int] = {}
        for index in np.lexsort((need, against)).tolist():
            nearest.setdefault(int(kinds[index]), index)
        # what is owned first: it was asked for
        return [nearest[kind] for kind in sorted(nearest, key=lambda kind: (-(kind % 2), kind)) if kind not in left]

    def _rejecting(self) -> dict[str, Mask]:
        """The rules that reject plans, and which."""
        return {rule: mask for rule, mask in self._c.fired_plans.items() if self._rules[rule].rejects}

    def reasons(self, index: int) -> Iterator[Reason]:
        """Why a plan is out: every rule that rejects it, with both numbers."""
        if self._c.plans is None:
            return
        judge = Judge(self._c.plans, self._knowledge.vocabulary, index)
        for rule_id, mask in self._c.fired_plans.items():
            rule = self._rules[rule_id]
            if not (rule.rejects and mask[index]):
                continue
            outcome = judge.reason(rule)
            left, right = (outcome.left, outcome.right) if outcome else (None, None)
            gap = left - right if isinstance(left, float) and isinstance(right, float) else None
            text = fill_template(rule.because, self._c.plans, self._knowledge, index)
            yield Reason(rule.id, text, left, right, gap, outcome.unit if outcome else None, rule.sources)

    def infeasible(self) -> Infeasible | None:
        """The fewest rules that between them reject every plan, and each that alone keeps one out."""
        plan_set = self._c.plan_set
        if self.groups or plan_set is None or not len(plan_set):
            return None if self.groups else Infeasible((), ())
        masks = self._rejecting()
        if self._c.objections:
            limits = tuple(self._relaxations(masks)) if masks else ()
            return Infeasible(self._c.objections, limits, self._plan(self._ranked[0][0], None, ()))
        return Infeasible(smallest_cover(masks), tuple(self._relaxations(masks)))

    def _relaxations(self, masks: Mapping[str, Mask]) -> Iterator[Relaxation]:
        """The fewest rules (one, where one suffices) without which a plan would be left, and the plan that misses
        them least, relative to what they ask for; of equals the cheapest.
        """
        counts = np.sum(list(masks.values()), axis=0)
        fewest = counts[~self._c.alive].min()
        nearest: dict[tuple[str, ...], tuple[float, float, int]] = {}
        objective = self._c.costs.objective if self._c.costs is not None else counts
        cost = np.where(np.isfinite(objective), objective, np.inf)
        for index in np.flatnonzero(~self._c.alive & (counts == fewest)).tolist():
            rules = tuple(rule for rule, mask in masks.items() if mask[index])
            miss = self._miss(rules, index)
            nearest[rules] = min(nearest.get(rules, (miss, math.inf, index)), (miss, float(cost[index]), index))
        # first those of which it can be said by how much
        for rules, (_, _, index) in sorted(nearest.items(), key=lambda item: item[1][0] == 0):
            text = " ".join(reason.text for reason in self.reasons(index))
            yield Relaxation(" and ".join(rules), text, self._ids[index])

    def _miss(self, rules: Iterable[str], index: int) -> float:
        """By how much of what the rules ask for a plan misses it at most; 0 where they compare no numbers."""
        if self._c.plans is None:
            return 0.0
        judge = Judge(self._c.plans, self._knowledge.vocabulary, index)
        found = [0.0]
        for rule in rules:
            outcome = judge.reason(self._rules[rule])
            if outcome is not None and isinstance(outcome.left, float) and isinstance(outcome.right, float):
                ends = sorted((abs(outcome.left), abs(outcome.right)))
                found.append(ends[1] / ends[0] - 1 if ends[0] else math.inf)
        return max(found)

    # items

    def _advised(self, index: int) -> Iterator[tuple[Rule, Advise]]:
        for rule_id, mask in self._c.fired_plans.items():
            rule = self._rules[rule_id]
            for effect in rule.effects if mask[index] else ():
                if isinstance(effect, Advise):
                    yield rule, effect

    def _techniques_of(self, index: int) -> Iterator[Item]:
        if self._c.plans is None:
            return
        for rule, effect in self._advised(index):
            text = fill_template(effect.text or rule.because, self._c.plans, self._knowledge, index)
            yield Item(effect.id, rule.topic, text, (rule.id,), rule.sources)

    def techniques(self) -> tuple[Item, ...]:
        """What the recommended plan uses."""
        return tuple(_merged(self._techniques_of(self.groups[0][0]))) if self.groups else ()

    def advice(self) -> tuple[Item, ...]:
        """Advice beyond the card."""
        return self._items(Advise)

    def warnings(self) -> tuple[Item, ...]:
        """Warnings of rules, ignored answers, and what is doubtful about the model."""
        return (*self._items(Warn), *self._irrelevant(), *self._unchecked(), *self._left_out(), *self._doubts())

    def _items(self, kind: type[Advise] | type[Warn]) -> tuple[Item, ...]:
        found: list[Item] = []
        for rule in self._c.fired:
            for effect in rule.effects:
                if isinstance(effect, kind):
                    text = fill_template(effect.text or rule.because, self._c.session, self._knowledge)
                    found.append(Item(effect.id, rule.topic, text, (rule.id,), rule.sources))
        return tuple(_merged(found))

    def _irrelevant(self) -> Iterator[Item]:
        for question in self._c.irrelevant:
            phase = self._c.answers.given.get("phase", "this work")
            yield Item(
                f"ignored-{question.id}",
                "answers",
                f"'{question.id}' does not apply to {phase} and was ignored.",
                (),
                (),
            )

    def _unchecked(self) -> Iterator[Item]:
        """Limits that no plan could be held against."""
        for rule in self._c.unchecked:
            lacking = "; ".join(self._lacking(rule))
            text = f"{rule.title}: no plan could be checked for it, so all are unverified. Not known is {lacking}."
            yield Item(f"unchecked-{rule.id}", rule.topic, text, (rule.id,), rule.sources)

    def _lacking(self, rule: Rule) -> Iterator[str]:
        """What the names of plans that a rule asks for mean, of those that the best plan has no value for."""
        best, plans = next(iter(self.heads), 0), self._c.plans
        for name in sorted(self._uses[rule.id]):
            spec = self._knowledge.vocabulary[name]
            if plans is not None and spec.scope == "plan" and plain(plans.at(name, best)) is None:
                yield f"{name} ({spec.meaning})"

    def _left_out(self) -> Iterator[Item]:
        """What is owned and yet not tried, or out."""
        answers, names = self._c.answers, self._knowledge.catalogue.accelerators
        chosen = names.keys() if answers.accelerators is None else set(answers.accelerators)
        for name, _ in answers.owned:
            if not answers.allows_own:
                why = "'provider_classes' leaves out 'own'"
            elif name not in chosen or name in answers.exclude_accelerators:
                why = "'accelerators' or 'exclude_accelerators' leaves it out"
            else:
                yield from self._owned_out(name)
                continue
            text = f"The {names[name].name} that is owned was not tried: {why}."
            yield Item(f"owned-left-out-{name}", "answers", text, (), ())

    def _owned_out(self, name: str) -> Iterator[Item]:
        """Why what is owned is out, where something else is recommended instead."""
        plan_set = self._c.plan_set
        if plan_set is None or not self.heads:
            return
        for index in self._nearest_rejected:
            card = plan_set.cards.accelerators[int(plan_set.card[index])]
            if plan_set.owned[index] and card.id == name:
                why = next(self.reasons(index), None)
                text = f"The {card.name} that is owned is out: {why.text if why else 'no plan is left on it.'}"
                yield Item(f"owned-out-{name}", "answers", text, (), ())

    def _doubts(self) -> Iterator[Item]:
        for number, text in enumerate(self._c.doubts, start=1):
            yield Item(f"model-{number}", "model", f"The model: {text}.", (), ())
        assumed = self._c.work.shape.assumed if self._c.work else ()
        if assumed and not isinstance(self._c.answers.model, str):
            yield Item(
                "model-shape", "model", f"Of the model these were derived or assumed: {', '.join(assumed)}.", (), ()
            )

    def comparisons(self) -> tuple[Comparison, ...]:
        """Plans by money and time."""
        return self._comparisons

    @cached_property
    def _comparisons(self) -> tuple[Comparison, ...]:
        heads = self.heads
        plans = Plans(len(heads), lambda position: self._plan(heads[position], None, ()))
        owned = owned_or_rented(plans) if self._c.answers.owned else None  # to find none it would make them all
        found = (owned, fast_or_cheap(plans))
        return tuple(item for item in found if item is not None)

    def assumed(self) -> tuple[Assumed, ...]:
        """Values taken for what was not answered."""
        return tuple(
            Assumed(item.question.name, item.question.id, item.value, item.because) for item in self._c.assumed
        )

    def profile(self) -> Profile | None:
        """What the phase is like."""
        spec = self._knowledge.name_by_answer.get("phase")
        phase = plain(self._c.session.value(spec.name)) if spec is not None else None
        return self._knowledge.profiles.get(str(phase))

    def conflicts(self) -> tuple[Conflict, ...]:
        """Equal and opposite verdicts on the plans shown."""
        tally = self._c.tally
        found: list[Conflict] = []
        for index in [rows[0] for rows in self.groups[:_TRACED]]:
            for criterion in tally.favour if tally else ():
                if tally is not None and tally.conflict(criterion)[index]:
                    sides = {
                        item.favourable: item.rules for item in self._verdicts(index) if item.criterion == criterion
                    }
                    found.append(Conflict(criterion, self._ids[index], sides.get(True, ()), sides.get(False, ())))
        return tuple(found)

    def open(self) -> tuple[OpenQuestion, ...]:
        """Questions that apply and were not answered: some rule or limit waits for them."""
        return tuple(self._open())

    def _open(self) -> Iterator[OpenQuestion]:
        answered = self._c.answers.locations
        assumed = {item.question.id for item in self._c.assumed}
        for question in self._c.applicable:
            if question.id in answered or not question.name:
                continue
            readers = [rule.id for rule in self._knowledge.rules if question.name in self._uses[rule.id]]
            listed = ", ".join(readers[:3]) + (f" and {len(readers) - 3} more" if len(readers) > 3 else "")
            known = question.id in assumed
            verb = "a value was assumed; it is read by" if known else "it is waited for by"
            why = f"{verb} {listed}" if readers else "the plans are sized by it" if known else "no rule reads it"
            if question.id in LIFE_KEYS and not readers:
                known, why = False, "the cost of the lifecycle rests on it"
            yield OpenQuestion(question.id, why, bool(readers) or known)

    @cached_property
    def _uses(self) -> dict[str, set[str]]:
        """The names that each rule depends on, directly or through derived values."""
        return {rule.id: used_names([rule.condition], self._knowledge.values) for rule in self._knowledge.rules}


_NEUTRAL = 0.005
"""A factor this near to 1 without a rule says nothing."""
_TRACED = 12
"""Plans whose steps the trace holds in full; the others hold what rejected them."""


def smallest_cover(masks: Mapping[str, Mask]) -> tuple[str, ...]:
    """The fewest of the masks that between them cover what all of them cover; of equals the first by name.

    Exact for the few rules that reject plans: sets are tried in order of size.
    """
    names = sorted(masks)
    if not names:
        return ()
    whole = np.any([masks[name] for name in names], axis=0)
    for size in range(1, len(names) + 1):
        for chosen in combinations(names, size):
            if (np.any([masks[name] for name in chosen], axis=0) == whole).all():
                return chosen
    return tuple(names)


def _merged(items: Iterable[Item]) -> Iterator[Item]:
    """Items of one id once, with all their rules and claims; the first text stands."""
    found: dict[str, Item] = {}
    for item in items:
        known = found.get(item.id)
        if known is not None:
            rules, claims = (*known.rules, *item.rules), (*known.claims, *item.claims)
            item = Item(known.id, known.topic, known.text, tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(claims)))  # noqa: PLW2901  the merged one replaces it
        found[item.id] = item
    yield from found.values()
