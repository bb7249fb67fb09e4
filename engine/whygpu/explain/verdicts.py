"""What the rules say for and against one plan, and what it counts as with that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whygpu.explain.parts import Conflict
from whygpu.explain.plan import Counted, Factor, PlanVerdict
from whygpu.knowledge.rules import STRENGTHS, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.rows import Rows
    from whygpu.knowledge.rules import Rule

_NEUTRAL = 0.005
"""A factor this near to 1 without a rule says nothing."""


def verdicts_of(consultation: Consultation, row: int) -> Iterator[PlanVerdict]:
    """By criterion and side the strongest verdict, with every rule that says so."""
    rules_by_id = consultation.knowledge.rule_by_id
    found: dict[tuple[str, bool], tuple[int, list[Rule]]] = {}
    for rule_id, mask in consultation.plans.fired.items():
        if not mask[row]:
            continue
        rule = rules_by_id[rule_id]
        for effect in rule.effects:
            if isinstance(effect, Verdict):
                key = (effect.criterion, effect.favourable)
                level, rules = found.get(key, (0, []))
                found[key] = (max(level, STRENGTHS.index(effect.strength)), [*rules, rule])
    for (criterion, favourable), (level, rules) in found.items():
        claims = dict.fromkeys(claim for rule in rules for claim in rule.sources)
        yield PlanVerdict(criterion, STRENGTHS[level], favourable, tuple(rule.id for rule in rules), tuple(claims))


def counted_of(consultation: Consultation, row: int, said: Sequence[PlanVerdict]) -> Counted | None:
    """What one plan counts as by what the rules say of it; None where it is out, or no price is known."""
    counted = consultation.plans.ranking.counted
    if not consultation.plans.alive[row] or not math.isfinite(counted.values[row]):
        return None
    rules = {
        criterion: tuple(rule for item in said if item.criterion == criterion for rule in item.rules)
        for criterion in counted.factors
    }
    factors = (
        Factor(criterion, float(column[row]), rules[criterion])
        for criterion, column in counted.factors.items()
        if rules[criterion] or abs(column[row] - 1) > _NEUTRAL
    )
    return Counted(float(counted.values[row]), counted.money.unit, tuple(factors))


def conflicts(consultation: Consultation, rows: Rows) -> Iterator[Conflict]:
    """Equal and opposite verdicts on the plans shown."""
    tally = consultation.plans.tally
    for row in rows.shown:
        for criterion in tally.favour:
            if tally.conflict(criterion)[row]:
                said = [item for item in verdicts_of(consultation, row) if item.criterion == criterion]
                sides = {item.favourable: item.rules for item in said}
                yield Conflict(criterion, rows.ids[row], sides.get(True, ()), sides.get(False, ()))
