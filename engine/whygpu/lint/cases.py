"""Runs the worked cases: consults on each case's answers and compares what comes of it with what is expected."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import plain
from whygpu.errors import AnswerError, Problem
from whygpu.knowledge import cases as c
from whygpu.lifecycle.advice import LifecycleAdvice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.api import KnowledgeBase
    from whygpu.chain.engines import Mask
    from whygpu.chain.names import EngineName
    from whygpu.consult.consultation import SessionResult
    from whygpu.explain.advice import Advice
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.base import Knowledge

_SHOWN = 3


def judged(
    kb: KnowledgeBase, case: c.Case, engine: EngineName | None = None
) -> tuple[tuple[Problem, ...], Advice | LifecycleAdvice | None]:
    """A problem for each expectation of a case that is not met, and the advice on it; None where there can be none."""
    try:
        advice = kb.advise(case.answers, engine=engine, today=asked_on(case))
    except AnswerError as error:
        return tuple(error.problems), None
    return tuple(contradictions(case, advice)), advice


def asked_on(case: c.Case) -> date | None:
    """The day a case is asked on, where it says one."""
    return date.fromisoformat(case.on) if case.on is not None else None


def contradictions(case: c.Case, advice: Advice | LifecycleAdvice) -> Iterator[Problem]:
    """A problem for each expectation of a case that an advice does not meet."""
    judges = _judges(advice)
    knowledge = next(iter(judges.values())).knowledge
    for expected in case.expected:
        found = judges[expected.part].contradiction(expected.outcome)
        if found is not None:
            yield Problem(
                "case-failed",
                f"case '{case.id}' expects {expected.text}; {found}",
                expected.location,
                _says(knowledge, case),
            )


def _judges(advice: Advice | LifecycleAdvice) -> dict[c.Part, _SessionJudge]:
    """Who judges what is expected of each part."""
    if not isinstance(advice, LifecycleAdvice):
        return {"": _Judge(advice)}
    return {"train": _Judge(advice.train), "serve": _Judge(advice.serve), "life": _SessionJudge(advice.said, advice)}


def _says(knowledge: Knowledge, case: c.Case) -> str:
    """What the sources of a case say."""
    texts = (
        f"{source}: {knowledge.claims[source].says}" if source in knowledge.claims else source
        for source in case.sources
    )
    return " / ".join(texts)


class _SessionJudge:
    """Compares what a session decided, and what is advised on it, with what is expected."""

    def __init__(self, session: SessionResult, spoken: Advice | LifecycleAdvice) -> None:
        self._session, self._spoken, self.knowledge = session, spoken, session.knowledge

    def contradiction(self, outcome: c.Outcome) -> str | None:
        """What was found instead; None where the expectation is met. Raises TypeError for what is about plans."""
        match outcome:
            case c.Says(what=what, ids=ids, expected=expected):
                return self._listed(ids, self._said(what), expected, what)
            case c.Fires(rules=rules, expected=expected):
                return self._listed(rules, self._fired(), expected, "rules that fire")
            case c.Takes(name=name, value=value):
                found = plain(self._session.environment.value(name))
                return None if found == value else f"{name} is {'unknown' if found is None else found}"
            case c.Costs(name=name, condition=condition):
                environment = self._session.environment
                figure = plain(environment.value(name))
                met = figure is None if condition is None else environment.evaluator.truth(condition).true
                return None if met else f"{name} is {'unknown' if figure is None else f'{figure:.6g}'}"
        raise TypeError(f"{outcome} is not about a session")

    def _fired(self) -> set[str]:
        return {rule.id for rule in self._session.fired}

    def _said(self, what: str) -> set[str]:
        return {item.id for item in (self._spoken.warnings if what == "warnings" else self._spoken.advice)}

    @staticmethod
    def _listed(wanted: tuple[str, ...], found: set[str], expected: bool, what: str) -> str | None:
        wrong = [item for item in wanted if (item in found) != expected]
        if not wrong:
            return None
        if expected:
            return f"{', '.join(wrong)} is not among the {what} ({', '.join(sorted(found)) or 'none'})"
        return f"{', '.join(wrong)} is among the {what}"


class _Judge(_SessionJudge):
    """Of one consultation."""

    def __init__(self, advice: Advice) -> None:
        super().__init__(advice.consultation.session, advice)
        self._advice, self._result = advice, advice.consultation.plans

    def contradiction(self, outcome: c.Outcome) -> str | None:
        """What was found instead; None where the expectation is met."""
        advice = self._advice
        match outcome:
            case c.Ends(statuses=statuses):
                return None if advice.status in statuses else f"it ends {advice.status}: {self._best()}"
            case c.Recommends(selector=selector, quantity=quantity):
                return self._recommends(selector, quantity)
            case c.AmongFirst(selector=selector, first=first, expected=expected):
                ranks = self._ranks(selector)
                if any(rank <= first for rank in ranks) == expected:
                    return None
                return f"the best of these is ranked {min(ranks)}; first: {self._best()}" if ranks else self._best()
            case c.Ahead(this=this, other=other):
                return self._ahead(this, other)
            case c.Possible(selector=selector, expected=expected):
                mask = self._mask(selector) & self._result.alive
                if bool(mask.any()) == expected:
                    return None
                return "every such plan is out" if expected else f"left: {self._named(mask)}"
            case c.Fits(selector=selector, expected=expected):
                mask = self._mask(selector) & ~self._verdict_no()
                if bool(mask.any()) == expected:
                    return None
                return "no such plan holds it" if expected else f"it fits: {self._named(mask)}"
            case c.Rejected(selector=selector, rules=rules):
                return self._rejected(selector, rules)
            case c.Judged():
                return self._judged(outcome)
            case c.Assumes(key=key, value=value):
                return self._assumes(key, value)
            case c.Open(questions=questions):
                return self._listed(questions, {item.question for item in advice.open}, True, "open questions")
            case c.Conflicts(criteria=criteria):
                return self._listed(criteria, {item.criterion for item in advice.conflicts}, True, "conflicts")
            case c.Says() | c.Fires() | c.Takes() | c.Costs():
                return super().contradiction(outcome)

    def _fired(self) -> set[str]:
        return super()._fired() | set(self._result.fired)

    def _said(self, what: str) -> set[str]:
        advice = self._advice
        match what:
            case "warnings":
                return {item.id for item in advice.warnings}
            case "techniques":
                best = advice.recommendation
                return set(best.techniques) if best is not None else set()
        return {item.id for item in (*advice.advice, *advice.techniques)}

    def _assumes(self, key: str, value: float | bool | str | None) -> str | None:
        found = next((item for item in self._advice.assumed if item.answer == key), None)
        if found is None:
            return f"'{key}' is not assumed"
        return None if value is None or found.value == value else f"'{key}' is assumed as {found.value}"

    def _recommends(self, selector: c.Selector, quantity: str) -> str | None:
        best, mask = self._advice.maker.rows.first, self._mask(selector)
        chosen = [row for row in best if mask[row]]
        met = {"some": bool(chosen), "all": bool(best) and len(chosen) == len(best), "none": not chosen}[quantity]
        return None if met else self._best()

    def _ahead(self, this: c.Selector, other: c.Selector) -> str | None:
        ranks = [min(self._ranks(item), default=None) for item in (this, other)]
        if ranks[0] is None:
            return "no plan of the first kind is ranked"
        if ranks[1] is None or ranks[0] < ranks[1]:
            return None
        return f"their ranks are {ranks[0]} and {ranks[1]}"

    def _rejected(self, selector: c.Selector, rules: tuple[str, ...]) -> str | None:
        mask = self._mask(selector)
        if not mask.any():
            return "there is no such plan"
        left = mask & self._result.alive
        if left.any():
            return f"left: {self._named(left)}"
        fired = self._result.fired
        missing = [rule for rule in rules if rule not in fired or not (fired[rule] & mask).any()]
        if not missing:
            return None
        others = [rule for rule, where in fired.items() if (where & mask).any() and self._rejects(rule)]
        return f"{', '.join(missing)} puts none of them out; what does: {', '.join(others)}"

    def _judged(self, wanted: c.Judged) -> str | None:
        plans = list(self._plans(wanted.selector))
        for plan in plans:
            found = {(item.favourable, item.criterion): item.strength for item in plan.verdicts}
            strength = found.get((wanted.favourable, wanted.criterion))
            if strength is None or wanted.strength not in (None, strength):
                words = (f"{'prefer' if one else 'avoid'} {name} {how}" for (one, name), how in found.items())
                return f"{plan.label} {plan.format} has: {', '.join(words) or 'no verdict'}"
        return None if plans else "no such plan is ranked"

    def _rejects(self, rule: str) -> bool:
        return self.knowledge.rule_by_id[rule].rejects

    def _ranks(self, selector: c.Selector) -> list[int]:
        """The ranks of the plans that lead their accelerators, found without making the plans."""
        rows, mask = self._advice.maker.rows, self._mask(selector)
        first = set(rows.first)
        return [1 if row in first else rank for rank, row in enumerate(rows.heads, start=1) if mask[row]]

    def _plans(self, selector: c.Selector) -> Iterator[Plan]:
        mask, advice = self._mask(selector), self._advice
        heads = advice.maker.rows.heads
        return (advice.plans[place] for place, row in enumerate(heads) if mask[row])

    def _mask(self, selector: c.Selector) -> Mask:
        truth = self._result.environment.evaluator.truth(selector.condition)
        return np.broadcast_to(np.asarray(truth.true, dtype=np.bool_), (len(self._result),))

    def _verdict_no(self) -> Mask:
        value = self._result.environment.value("plan.verdict")
        return np.broadcast_to(np.asarray(getattr(value, "word", "") == "no"), (len(self._result),))

    def _named(self, mask: Mask) -> str:
        plans = self._result.environment
        indices = np.flatnonzero(mask)
        shown = (
            f"{plain(plans.at('plan.count', int(index))):g}x {plain(plans.at('gpu.name', int(index)))} "
            f"{plain(plans.at('plan.format', int(index)))}"
            for index in indices[:_SHOWN]
        )
        return ", ".join(shown) + (f" and {len(indices) - _SHOWN} more" if len(indices) > _SHOWN else "")

    def _best(self) -> str:
        best = [plan for plan in self._advice.plans if plan.rank == 1]
        if not best:
            return "nothing is recommended"
        shown = ", ".join(f"{plan.label} {plan.format}" for plan in best[:_SHOWN])
        return f"recommended: {shown}" + (f" and {len(best) - _SHOWN} more" if len(best) > _SHOWN else "")
