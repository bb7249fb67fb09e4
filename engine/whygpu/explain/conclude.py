"""Makes the advice of a consultation: ranked plans, rejections with their reasons, items with citations."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.advice import (
    AcceleratorName,
    Advice,
    Assumed,
    Conflict,
    Cost,
    Infeasible,
    Item,
    Memory,
    OpenQuestion,
    Parallelism,
    Plan,
    PlanVerdict,
    Reason,
    Rejection,
    Relaxation,
    Status,
)
from whygpu.checks.speed import FIGURES
from whygpu.consult import fill_template
from whygpu.explain.conditions import Judge
from whygpu.explain.record import Recorder
from whygpu.knowledge import STRENGTHS, Advise, Rule, Verdict, Warn
from whygpu.language.tree import names
from whygpu.load.conditions import expression_of
from whygpu.quantity import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whygpu.checks.reckoning import Range
    from whygpu.consult import Consultation
    from whygpu.plans.enumerate import Candidate

HOURS_PER_MONTH = 8766 / 12  # 365.25 days


def conclude(consultation: Consultation) -> Advice:
    """The advice, with its trace."""
    return _Conclusion(consultation).advice()


def plan_ids(candidates: Iterable[Candidate]) -> list[str]:
    """An id for every plan: accelerator, count, format, and what else tells it from the others."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for item in candidates:
        parts = [item.accelerator.id, f"x{item.split.cards}", item.setup.format.id]
        if item.setup.trains:
            parts.append(item.setup.method)
        name = "-".join(parts)
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return found


class _Conclusion:
    def __init__(self, consultation: Consultation) -> None:
        self._c = consultation
        self._knowledge = consultation.knowledge
        self._candidates = consultation.field_.candidates if consultation.field_ else ()
        self._ids = plan_ids(self._candidates)
        self._rules = self._knowledge.rule_by_id

    def advice(self) -> Advice:
        c = self._c
        groups = self._groups()
        ranked = self._ranked(groups)
        rejected = tuple(self._rejections())
        status: Status = (
            "infeasible" if not ranked else "tied" if len(ranked) > 1 and ranked[1].rank == 1 else "recommended"
        )
        shown = [plan.index for plan in ranked[:_TRACED]]
        recorder = Recorder(c, self._ids)
        trace = recorder.trace(shown, [rejection.plan.index for rejection in rejected])
        return Advice(
            knowledge_version=self._knowledge.version,
            knowledge_hash=self._knowledge.hash,
            engine=c.engine,
            status=status,
            answers=c.answers.given,
            assumed=tuple(self._assumed()),
            recommendation=ranked[0] if ranked else None,
            alternatives=tuple(ranked[1:]),
            rejected=rejected,
            techniques=tuple(self._techniques(ranked[:1])),
            advice=tuple(self._items(Advise)),
            warnings=(*self._items(Warn), *self._irrelevant(), *self._doubts()),
            conflicts=tuple(self._conflicts(ranked)),
            open=tuple(self._open()),
            infeasible=None if ranked else self._infeasible(),
            trace=trace,
        )

    # plans

    def _groups(self) -> dict[str, list[int]]:
        """The rows of the plans left, by accelerator, in order of rank."""
        found: dict[str, list[int]] = {}
        for index in self._c.ranking.order if self._c.ranking else ():
            found.setdefault(self._candidates[index].accelerator.id, []).append(index)
        return found

    def _ranked(self, groups: dict[str, list[int]]) -> list[Plan]:
        ranking = self._c.ranking
        if ranking is None or not groups:
            return []
        heads = [rows[0] for rows in groups.values()]
        found: list[Plan] = []
        for position, rows in enumerate(groups.values(), start=1):
            tied = ranking.tied(heads[0], rows[0]) and bool(self._c.unverified[heads[0]]) == bool(
                self._c.unverified[rows[0]]
            )
            variants = tuple(self._plan(row, None, ()) for row in rows[1:])
            behind = "unverified" if self._c.unverified[rows[0]] else ranking.behind(rows[0], heads[0])
            plan = self._plan(rows[0], 1 if tied else position, variants)
            found.append(plan if tied else replace(plan, behind=behind))
        return found

    def _plan(self, index: int, rank: int | None, variants: tuple[Plan, ...]) -> Plan:
        item = self._candidates[index]
        card, split, need = item.accelerator, item.split, item.memory
        mib = card.number("usable_mib")
        usable = math.nan if mib is None else mib * MIB
        return Plan(
            id=self._ids[index],
            accelerator=AcceleratorName(card.id, card.name, card.family, card.vendor, card.number("marketing_gb"), mib),
            count=split.cards,
            nodes=split.nodes,
            format=item.setup.format.id,
            kv_format=item.setup.kv_format.id if item.setup.kv_format else None,
            method=item.setup.method if item.setup.trains else None,
            techniques=tuple(technique.id for technique in self._techniques_of(index)),
            parallelism=Parallelism(split.tensor, split.pipeline, split.data, split.sharding),
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
                usable_gib=None if mib is None else usable / GIB,
                verdict=need.verdict(usable),
            ),
            speed=self._speed(index),
            cost=self._cost(index),
            verdicts=tuple(self._verdicts(index)),
            rank=rank,
            unverified=bool(self._c.unverified[index]),
            index=index,
            variants=variants,
        )

    def _speed(self, index: int) -> dict[str, Range | None]:
        bands = self._c.field_.speeds.bands if self._c.field_ else {}
        found: dict[str, Range | None] = {}
        for name in FIGURES:
            band = bands.get(name)
            at = None if band is None else band.at(index)
            found[name] = None if at is None or not math.isfinite(at.likely) else at
        return found

    def _cost(self, index: int) -> Cost | None:
        costs, field_ = self._c.costs, self._c.field_
        price = costs.prices[index] if costs else None
        if costs is None or field_ is None or price is None:
            return None
        offering = price.offering
        provider = self._knowledge.catalogue.providers[offering.provider]
        hourly = price.usd_per_hour
        tokens = max(
            (field_.speeds.likely(name, index) for name in ("tokens_per_s", "train_tokens_per_s")), key=_finite
        )
        total, objective = float(costs.usd_total[index]), float(costs.objective[index])
        return Cost(
            hourly,
            offering.id,
            provider.id,
            provider.provider_class,
            offering.region,
            offering.price_kind,
            offering.as_of,
            hourly * HOURS_PER_MONTH,
            hourly / 3600 / tokens * 1e6 if tokens > 0 else None,
            total if math.isfinite(total) else None,
            objective if math.isfinite(objective) else None,
            costs.unit,
        )

    def _verdicts(self, index: int) -> Iterator[PlanVerdict]:
        found: dict[tuple[str, bool], tuple[int, list[Rule]]] = {}
        for rule_id, mask in self._c.fired_plans.items():
            rule = self._rules[rule_id]
            for effect in rule.effects if mask[index] else ():
                if isinstance(effect, Verdict):
                    key = (effect.criterion, effect.favourable)
                    level, rules = found.get(key, (0, []))
                    found[key] = (max(level, STRENGTHS.index(effect.strength)), [*rules, rule])
        for (criterion, favourable), (level, rules) in found.items():
            claims = dict.fromkeys(claim for rule in rules for claim in rule.sources)
            yield PlanVerdict(criterion, STRENGTHS[level], favourable, tuple(rule.id for rule in rules), tuple(claims))

    # rejections

    def _rejections(self) -> Iterator[Rejection]:
        """Accelerators that have no plan left, each with its nearest plan and what rejects that."""
        if self._c.plans is None:
            return
        left = {self._candidates[index].accelerator.id for index in np.flatnonzero(self._c.alive)}
        best: dict[str, tuple[tuple[int, float], int]] = {}
        for index, item in enumerate(self._candidates):
            if item.accelerator.id in left:
                continue
            reasons = sum(1 for rule, mask in self._c.fired_plans.items() if self._rules[rule].rejects and mask[index])
            key = (reasons, item.memory.total)
            if item.accelerator.id not in best or key < best[item.accelerator.id][0]:
                best[item.accelerator.id] = (key, index)
        for _, index in best.values():
            yield Rejection(self._plan(index, None, ()), tuple(self._reasons(index)))

    def _reasons(self, index: int) -> Iterator[Reason]:
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

    def _infeasible(self) -> Infeasible:
        """The fewest rules that reject every plan between them, and each that alone keeps some plan out."""
        masks = {rule: mask for rule, mask in self._c.fired_plans.items() if self._rules[rule].rejects}
        left = np.ones(len(self._candidates), dtype=np.bool_)
        conflict: list[str] = []
        while left.any() and masks:
            rule = max(masks, key=lambda name: (int((masks[name] & left).sum()), name))
            if not (masks[rule] & left).any():
                break
            conflict.append(rule)
            left &= ~masks[rule]
        counts = np.sum(list(masks.values()), axis=0) if masks else np.zeros(0)
        relaxations: list[Relaxation] = []
        for rule, mask in masks.items():
            freed = np.flatnonzero(mask & (counts == 1))
            if freed.size:
                objective = self._c.costs.objective[freed] if self._c.costs is not None else np.zeros(freed.size)
                nearest = int(freed[int(np.argmin(np.where(np.isfinite(objective), objective, np.inf)))])
                text = next((reason.text for reason in self._reasons(nearest)), "")
                relaxations.append(Relaxation(rule, text, self._ids[nearest]))
        return Infeasible(tuple(conflict), tuple(relaxations))

    # items

    def _techniques_of(self, index: int) -> Iterator[Item]:
        if self._c.plans is None:
            return
        for rule_id, mask in self._c.fired_plans.items():
            rule = self._rules[rule_id]
            for effect in rule.effects if mask[index] else ():
                if isinstance(effect, Advise):
                    text = fill_template(effect.text or rule.because, self._c.plans, self._knowledge, index)
                    yield Item(effect.id, rule.topic, text, (rule.id,), rule.sources)

    def _techniques(self, plans: Sequence[Plan]) -> Iterator[Item]:
        yield from _merged(item for plan in plans for item in self._techniques_of(plan.index))

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

    def _doubts(self) -> Iterator[Item]:
        for number, text in enumerate(self._c.doubts, start=1):
            yield Item(f"model-{number}", "model", f"The model: {text}.", (), ())
        assumed = self._c.work.shape.assumed if self._c.work else ()
        if assumed and not isinstance(self._c.answers.model, str):
            yield Item(
                "model-shape", "model", f"Of the model these were derived or assumed: {', '.join(assumed)}.", (), ()
            )

    def _assumed(self) -> Iterator[Assumed]:
        for item in self._c.assumed:
            yield Assumed(item.question.name, item.question.id, item.value, item.because)

    def _conflicts(self, plans: Sequence[Plan]) -> Iterator[Conflict]:
        standing = self._c.standing
        for plan in plans[:_TRACED]:
            for criterion in standing.favour if standing else ():
                if standing is not None and standing.conflict(criterion)[plan.index]:
                    sides = {
                        verdict.favourable: verdict.rules for verdict in plan.verdicts if verdict.criterion == criterion
                    }
                    yield Conflict(criterion, plan.id, sides.get(True, ()), sides.get(False, ()))

    def _open(self) -> Iterator[OpenQuestion]:
        """Questions that apply and were not answered: some rule or limit waits for them."""
        answered = self._c.answers.places
        for question in self._knowledge.questions:
            if question.id in answered or not question.name:
                continue
            if not self._c.session.evaluator.truth(expression_of(question.when)).true:
                continue
            assumed = any(item.question.id == question.id for item in self._c.assumed)
            why = "a value was assumed" if assumed else "nothing is limited by it so far"
            used = any(name.name == question.name for rule in self._knowledge.rules for name in names(rule.condition))
            yield OpenQuestion(question.id, why, used or assumed)


_TRACED = 12
"""Plans whose steps the trace holds in full; the others hold what rejected them."""


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -1.0


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
