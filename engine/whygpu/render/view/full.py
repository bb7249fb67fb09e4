"""An advice at length, as sections: the chain of rules with conditions, claims and arithmetic; memory and money by
part; every plan, and every one that is out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.explain.figures import show_plain
from whygpu.explain.proof import arithmetic
from whygpu.quantity import show, show_with_range
from whygpu.render.view.model import Evidence, Grid, Line, Section
from whygpu.render.view.questions import assumed_section, fact_text
from whygpu.render.words import buying_text, comparison_text, cost_text, price_text, short_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whygpu.explain.advice import Advice
    from whygpu.explain.parts import Item, Rejection
    from whygpu.explain.plan import Cost, Plan
    from whygpu.knowledge.questions import Profile
    from whygpu.trace import Outcome, Step

_PARTS = ("weights", "kv_cache", "gradients", "optimizer", "activations", "logits", "overhead", "reused")
"""The parts that memory is made of, in the order they are told."""
_LEAST_GIB = 0.005
"""Below this a part is shown as zero."""
_MEMORY_OF = 3
"""Plans whose memory is told by part."""
_REASONS = 2
"""Reasons that are told of what is out."""
_MOST_REJECTED = 8


def everything(advice: Advice) -> Iterator[Section]:
    """All that an advice holds beyond its one screen."""
    yield from _memory(advice.plans[:_MEMORY_OF])
    yield from _money(advice)
    yield from _alternatives(advice)
    yield from _rejected(advice)
    yield from why(advice)
    if advice.assumed:
        yield assumed_section(advice)


def why(advice: Advice) -> Iterator[Section]:
    """The rules behind the recommendation with conditions, claims and arithmetic; warnings, techniques and advice."""
    plan = advice.recommendation
    if plan is not None:
        yield from _chain(advice, plan)
    for title, items in (
        ("Warnings", advice.warnings),
        ("Techniques of this plan", advice.techniques),
        ("Advice", advice.advice),
    ):
        if items:
            yield Section(title, tuple(map(_item, items)))
    if advice.conflicts:
        lines = (
            Line(
                f"{item.criterion} of {item.plan}: {', '.join(item.favour)} for, {', '.join(item.against)} against; "
                "they cancel"
            )
            for item in advice.conflicts
        )
        yield Section("Where rules disagree", tuple(lines))


def about(profiles: Iterable[Profile]) -> Iterator[Section]:
    """What phases are like."""
    for profile in profiles:
        points = (Line(point.text, evidence=Evidence(claims=point.sources)) for point in profile.points)
        yield Section(profile.title, tuple(points))


def _item(item: Item) -> Line:
    return Line(item.text, evidence=Evidence(claims=item.claims))


# the figures


def _memory(plans: Sequence[Plan]) -> Iterator[Section]:
    """Memory by part; what two parts use one after the other is taken off again, as "reused"."""
    found = [plan.memory for plan in plans]
    if not found:
        return
    rows: list[tuple[str, ...]] = []
    for part in _PARTS:
        each = [getattr(memory, f"{part}_gib") for memory in found]
        if any(abs(size) > _LEAST_GIB for size in each):
            rows.append((part.replace("kv_cache", "KV cache"), *map(show, each)))
    rows += [
        ("in all", *(show_with_range(x.low_gib, x.total_gib, x.high_gib) for x in found)),
        ("usable", *("unknown" if x.usable_gib is None else show(x.usable_gib) for x in found)),
        ("fit", *(x.verdict for x in found)),
    ]
    yield Section(
        "Memory per accelerator, in GiB",
        (),
        Grid(("part", *(f"{plan.label} {plan.format.upper()}" for plan in plans)), tuple(rows)),
    )


def _money(advice: Advice) -> Iterator[Section]:
    plan = advice.recommendation
    if plan is None:
        return
    said = [f"No price is known: {plan.unpriced}"] if plan.cost is None else list(_prices(plan.cost))
    compared = (comparison_text(item) for item in advice.comparisons)
    yield Section(f"What {short_text(plan)} costs", tuple(map(Line, (*said, *compared))))


def _prices(cost: Cost) -> Iterator[str]:
    if cost.price_kind != "purchase":
        yield f"{'Renting' if cost.basis == 'buying' else 'Cost'}: {cost_text(cost)}"
    if cost.buying is not None:
        text = buying_text(cost)
        yield f"{text[:1].upper()}{text[1:]}"


# the plans


def _alternatives(advice: Advice) -> Iterator[Section]:
    lines: list[Line] = []
    for plan in advice.alternatives:
        lines.append(Line(f"{plan.rank}. {short_text(plan)}: {price_text(plan)}, {plan.memory.verdict}"))
        against = [f"{item.criterion} {item.strength}" for item in plan.verdicts if not item.favourable]
        behind = "as good" if plan.rank == 1 else "; ".join(filter(None, (plan.behind, ", ".join(against))))
        if behind:
            lines.append(Line(behind, 1))
    if lines:
        yield Section("Alternatives", tuple(lines))


def _rejected(advice: Advice) -> Iterator[Section]:
    """Plans that one rule puts out, together: what it says of the first, and the names of the others."""
    groups: dict[tuple[str, bool], list[Rejection]] = {}
    for rejection in advice.rejected:
        rule = rejection.because[0].rule if rejection.because else ""
        groups.setdefault((rule, rejection.plan.owned), []).append(rejection)
    lines: list[Line] = []
    for first, *rest in groups.values():
        for number, reason in enumerate(first.because[:_REASONS]):
            text = reason.text if number else f"{short_text(first.plan)}: {reason.text}"
            lines.append(Line(text, min(number, 1), evidence=Evidence(reason.rule, claims=reason.claims)))
        if rest:
            names = ", ".join(item.plan.accelerator.name for item in rest[:_MOST_REJECTED])
            more = len(rest) - _MOST_REJECTED
            lines.append(Line(f"Likewise {names}" + (f" and {more} more" if more > 0 else ""), 1))
    if lines:
        yield Section("Ruled out", tuple(lines))


# the chain


def _chain(advice: Advice, plan: Plan) -> Iterator[Section]:
    """Each rule that fired, once: those of the plan with what they rest on, then those of the whole consultation."""
    steps = [step for step in advice.trace.of_plan(plan.id) if step.rule is not None]
    session = [step for step in advice.trace.steps if step.plan is None and step.rule is not None]
    told: set[str] = set()
    lines: list[Line] = []
    for step in steps:
        lines += _step(advice, step, 0, told)
    for step in session:
        if step.id not in told:
            lines += _step(advice, step, 0, told)
    if lines:
        yield Section(f"Why: the rules behind {short_text(plan)}", tuple(lines))


def _step(advice: Advice, step: Step, level: int, told: set[str]) -> Iterator[Line]:
    told.add(step.id)
    status = f" (defeated by {step.by})" if step.by else ""
    place = None if step.place is None else step.place.rpartition(":")[0]
    yield Line(step.title + status, level, "", Evidence(step.rule, place))
    if step.text:
        yield Line(step.text, level + 1)
    for outcome in step.conditions:
        lead = "" if outcome.text.startswith("unless ") else "if "
        yield Line(lead + _outcome(outcome), level + 1)
    claims = advice.consultation.knowledge.claims
    for name in step.claims:
        yield Line(f"{name}: {claims[name].says}" if name in claims else name, level + 1)
    for identifier in step.uses:
        fact = advice.trace.fact_by_id[identifier]
        for giver in advice.trace.givers.get(identifier, ()):
            if giver.id in told:
                continue
            if giver.rule is not None:
                yield Line(f"{fact_text(fact)}, because:", level + 1)
                yield from _step(advice, giver, level + 2, told)
            elif giver.formula and giver.plan is None:
                told.add(giver.id)
                yield Line(f"{fact_text(fact)}: {arithmetic(giver)}", level + 1)


def _outcome(outcome: Outcome) -> str:
    """A judged condition; numbers are shown, words only where they are not what the condition asks for."""
    text = f"{outcome.text}: {outcome.result}"
    if isinstance(outcome.left, float):
        if outcome.left == outcome.right:
            return text
        left = show_plain(outcome.left, outcome.unit)
        right = "" if outcome.right is None else f" against {show_plain(outcome.right, outcome.unit)}"
        return f"{text} ({left}{right})"
    if isinstance(outcome.left, str) and outcome.left not in outcome.text:
        return f"{text} (it is {outcome.left})"
    return text
