"""Answers to why not, what if, what flips it and how, as sections."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whygpu.explain.bracket import LADDER
from whygpu.explain.changes import Differences, FigureChange, RuleChange, differences
from whygpu.explain.figures import show_plain
from whygpu.explain.proof import Proof, arithmetic
from whygpu.explain.would_win import tried
from whygpu.quantity import show
from whygpu.render.style import plain_markdown
from whygpu.render.view import lists
from whygpu.render.view.model import Evidence, Grid, Line, Section
from whygpu.render.view.rivals import handling_tells, money_with_handling, with_handling
from whygpu.render.view.words import Words
from whygpu.render.words import money_text, price_text, short_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whygpu.explain.advice import Advice
    from whygpu.explain.flips import Flips, PriceFlip
    from whygpu.explain.parts import Reason
    from whygpu.explain.plan import Plan
    from whygpu.explain.why_not import WhyNot
    from whygpu.knowledge.rules import Rule
    from whygpu.trace import Fact, Outcome

_FEW = 8
_ALIKE = 0.005
"""Factors within this share of each other say nothing."""


def why_not_sections(advice: Advice, asked: str, found: Sequence[WhyNot]) -> Iterator[Section]:
    """Why each plan is not the recommendation; of many cards the nearest, and how many more there are."""
    words = Words(advice.consultation)
    nearest = min(found, key=_counted, default=None)  # to search takes as long as a few flips
    for item in found[:_FEW]:
        section = _why_not(advice, item, words)
        if item is nearest and (item.behind is not None or item.rejected) and not item.left_out:
            section = replace(section, lines=(*section.lines, *_would_win(advice, item.plan.accelerator.id, words)))
        yield section
    if len(found) > _FEW:
        names = ", ".join(item.plan.accelerator.name for item in found[_FEW:])
        yield Section(f"'{asked}' also names", (Line(names),))


def _counted(item: WhyNot) -> float:
    """What a plan counts as; those that are out come last."""
    return math.inf if item.plan.counted is None else item.plan.counted.value


def _why_not(advice: Advice, item: WhyNot, words: Words) -> Section:
    plan, best = item.plan, advice.recommendation
    lines: list[Line] = []
    if item.left_out:
        keys = " and ".join(item.left_out)
        lines.append(Line(f"The answers leave it out ({keys}); it is judged here as if they did not."))
    rules = advice.consultation.knowledge.rule_by_id
    for number, reason in enumerate(item.rejected):
        mark = "-" if not number else ""
        lines.append(Line(reason.text, 0 if not number else 1, mark, words.of_rule(rules[reason.rule])))  # type: ignore[arg-type]  # one of the marks
        if number:
            continue
        lines += _gap(reason)
        if item.fix:
            lifted = "it" if len(item.rejected) == 1 else "this alone"
            lines.append(Line(f"What would lift {lifted}: {words.change(item.fix)}.", 1))
        if item.instead is not None:
            instead = f"{short_text(item.instead)}, {price_text(item.instead)}"
            lines.append(Line(f"What the rule would allow on this card: {instead}.", 1))
    if item.rejected:
        return Section(f"Why not {short_text(plan)}: it is ruled out", tuple(lines))
    if best is not None and plan.id == best.id and not item.left_out:
        return Section(f"{short_text(plan)} is the recommendation", tuple(lines))
    if item.ahead:
        wanted = "" if item.left_out else f": {_asked_for(advice, plan)}"
        lines.append(Line(f"It would come before the recommendation{wanted}."))
        return Section(
            f"{short_text(plan)} would come first, {price_text(plan)}",
            tuple(lines),
            _sides(item, best, rules),
        )
    if best is None and not item.enumerated:
        lines.append(Line(f"No rule rules it out, but {_asked_for(advice, plan)}."))
        return Section(f"{short_text(plan)} was not tried, {price_text(plan)}", tuple(lines))
    if best is None and advice.infeasible is not None:
        fired = advice.consultation.plans.fired
        names = [name for name in advice.infeasible.conflict if fired[name][plan.index]]
        lines += [Line(words.because(rules[name], plan.index), evidence=words.of_rule(rules[name])) for name in names]
        return Section(f"{short_text(plan)} is left, and no answer, {price_text(plan)}", tuple(lines))
    if item.behind is None:
        lines.append(Line("It is as good as the recommendation: the two count as the same, or nearly."))
        return Section(
            f"{short_text(plan)} is as good",
            tuple(lines),
            _sides(item, best, rules),
        )
    lines.append(Line(item.behind[:1].upper() + item.behind[1:] + "."))
    if best is not None and handling_tells(best, plan):
        lines.append(Line(with_handling(plan, best), 1))
    return Section(
        f"Why not {short_text(plan)}, {price_text(plan)}",
        tuple(lines),
        _sides(item, best, rules),
    )


def _asked_for(advice: Advice, plan: Plan) -> str:
    """Which answer has a plan tried that was not."""
    if plan.format not in advice.consultation.plans.options.formats:
        name = advice.consultation.knowledge.catalogue.formats[plan.format].name
        return f"no rule has {name} tried for such work, so answer format = {plan.format} to have it planned"
    return f"so many accelerators were not tried, so answer count = {plan.count} to have it planned"


def _would_win(advice: Advice, card: str, words: Words) -> Iterator[Line]:
    """From which load, context or size of a job the accelerator would be recommended, or that none was found."""
    found = advice.would_win(card)
    for item in found:
        now, after = (words.value(item.answer, value) for value in (item.before, item.after))
        more = isinstance(item.after, float) and isinstance(item.before, float) and item.after > item.before
        plan = "" if item.plan is None else f": {short_text(item.plan)}, {price_text(item.plan)}"
        side = "or more" if more else "or less"
        change = f"{item.answer} {after} {side} (now {now}){words.along(item.assumed)}"
        yield Line(f"It would be recommended at {change}{plan}.")
    keys = tried(advice.consultation)
    if not found and keys:
        yield Line(
            f"No other {' or '.join(keys)} that was tried, up to {LADDER[-1]:.0f} times more or less, makes it win."
        )


def _gap(reason: Reason) -> Iterator[Line]:
    """By how much a plan misses what a rule asks for."""
    if isinstance(reason.left, float) and isinstance(reason.right, float) and reason.gap is not None:
        sides = f"{show(reason.left, reason.unit)} against {show(reason.right, reason.unit)}"
        word = "too much" if reason.gap > 0 else "too little"
        yield Line(f"The gap: {sides}, {show(abs(reason.gap), reason.unit)} {word}.", 1)


def _sides(item: WhyNot, best: Plan | None, rules: Mapping[str, Rule]) -> Grid | None:
    """What both plans count as: their price with what handling costs, times the factors that differ and the product of
    those that do not.
    """
    apart = [side for side in item.factors if abs(side.worth / side.best - 1) > _ALIKE]
    if best is None or not apart:
        return None
    plans = item.plan, best
    rows: list[tuple[str, ...]] = [
        ("price", *map(money_text, plans), ""),
        ("with handling", *map(money_with_handling, plans), ""),
    ]
    for side in apart:
        titles = "; ".join(rules[name].title for name in dict.fromkeys((*side.rules, *side.best_rules)))
        rows.append((side.criterion, f"{side.worth:.2f}x", f"{side.best:.2f}x", titles))
    rest = math.prod(side.worth for side in item.factors if side not in apart)
    if abs(rest - 1) > _ALIKE:
        rows.append(("all others", f"{rest:.2f}x", f"{rest:.2f}x", ""))
    counted = ("not counted" if x.counted is None else show(x.counted.value, x.counted.unit) for x in plans)
    rows.append(("counts as", *counted, ""))
    return Grid(("what counts", "this", short_text(best), "why"), tuple(rows))


def what_if_section(before: Advice, after: Advice, changes: Mapping[str, Any]) -> Section:
    """What other answers change."""
    words = Words(before.consultation)
    found = differences(before, after)
    lines = list(_outcome(found))
    lines += [
        Line(f"{item.role.replace('-', ' ')}: {_named(item.after)} instead of {_named(item.before)}", 1)
        for item in found.roles
        if item.role != "recommended"
    ]
    lines += [_rule(item, words) for item in found.rules]
    if not lines:
        lines = [Line("Nothing changes: no figure, no rule and no plan depends on it.")]
    rows = tuple((item.name, _figure(item.before, item), _figure(item.after, item)) for item in found.figures)
    grid = Grid(("figure", "before", "after"), rows) if rows else None
    return Section(f"What if {words.change(changes)}", tuple(lines), grid)


def _outcome(found: Differences) -> Iterator[Line]:
    before, after = found.before, found.after
    if after is None:
        yield Line(f"{'Still' if before is None else 'Then'} no plan satisfies every constraint.")
    elif before is None:
        yield Line(f"Then {short_text(after)} is recommended, {price_text(after)}.")
    elif short_text(before) == short_text(after):
        yield Line(f"The recommendation stays {short_text(after)}, {price_text(after)}.")
    else:
        one, other = (f"{short_text(plan)}, {price_text(plan)}" for plan in (after, before))
        yield Line(f"{one}, is recommended instead of {other}.")


def _named(plan: Any) -> str:
    return "none" if plan is None else short_text(plan)


def _figure(value: float | None, item: FigureChange) -> str:
    return "none" if value is None else show(value, item.unit)


def _rule(item: RuleChange, words: Words) -> Line:
    cause = ""
    if item.after is not None and item.before is not None:
        one, other = _side(item.before), _side(item.after)
        if one == other:  # the other side of the comparison has changed
            one, other = (show_plain(side.right, side.unit) for side in (item.before, item.after))
        sides = f"{one} before, {other} now"
        cause = f", since {item.after.text} is now {item.after.result} ({sides})"
    verb = "Now holds" if item.status == "fires" else "No longer holds"
    about = " for the recommendation" if item.about == "plan" else ""
    return Line(
        f"{verb}{about}: {item.rule.title}{cause}", 1, "+" if item.status == "fires" else "-", words.of_rule(item.rule)
    )


def _side(outcome: Outcome) -> str:
    return show_plain(outcome.left, outcome.unit)


def flip_section(advice: Advice, prices: Sequence[PriceFlip], found: Flips) -> Section:
    """Every tipping point, the nearest first, and what cannot change it."""
    words = Words(advice.consultation)
    lines = [Line(f"{row.change}: {row.then}") for row in lists.flips(prices, found.found, words)]
    if not lines:
        lines.append(Line("Nothing that was tried changes the recommendation."))
    if found.idle:
        lines.append(Line(f"No value that was tried changes it: {', '.join(found.idle)}."))
    return Section("What changes the recommendation, nearest first", tuple(lines))


def how_section(advice: Advice, name: str, proof: Proof) -> Section:
    """A proof as a tree."""
    return Section(f"How {name} came about", tuple(_proof(advice, proof, 0)))


def _proof(advice: Advice, proof: Proof, level: int) -> Iterator[Line]:
    step, fact = proof.step, proof.fact
    known = "" if fact is None else fact_text(fact)
    if step is None:
        origin = {"answer": "answered", "assumed": "assumed", "catalogue": "from the catalogue"}
        said = "" if fact is None else origin.get(fact.origin, "")
        where = "" if fact is None or fact.origin == "check" else f" ({fact.where})"
        yield Line(
            known + (f": {said}{where}" if said else ""),
            level,
            "",
            Evidence(None, None, () if fact is None else fact.sources),
        )
        return
    evidence = Evidence(step.rule, None if step.place is None else step.place.rpartition(":")[0], step.claims)
    if step.rule is not None:
        text = f"{step.title}. {plain_markdown(step.text)}".strip()
        yield Line(f"{known}, because: {text}" if known else text, level, "", evidence)
        for outcome in step.conditions:
            lead = "" if outcome.text.startswith("unless ") else "if "
            yield Line(f"{lead}{outcome.text}: {outcome.result}", level + 1)
    else:
        worked = arithmetic(step)
        label = known or step.title
        yield Line(f"{label}: {worked}" if worked else label, level, "", evidence)
    for inner in proof.rests_on:
        yield from _proof(advice, inner, level + 1)


def fact_text(fact: Fact) -> str:
    """A fact in words: "plan.count is 2"."""
    return f"{fact.name} is {show_plain(fact.value, fact.unit, fact.name)}"


def assumed_section(advice: Advice) -> Section:
    """All that was assumed, and why."""
    rows = lists.assumed(advice, ())
    return Section(
        "Assumed, as not answered", tuple(Line(f"{row.answer} = {row.value}: {row.because}") for row in rows)
    )


def replay_section(
    old: Mapping[str, Any], new: Mapping[str, Any], changes: Sequence[tuple[str, Any, Any]], *, holds: bool
) -> Section:
    """Whether a recorded decision still holds, and what changed."""
    before, after = old["decision"], new["decision"]
    if holds:
        lines = [Line(f"It still holds: {after['text']}, {after['price']}.")]
    else:
        lines = [Line(f"It no longer holds: {after['text']}, {after['price']}; it was {before.get('text')}.")]
    if old.get("kb") != new["kb"]:
        lines.append(Line("The knowledge base has changed since then."))
    if not changes:
        lines.append(Line("Nothing else changed."))
    rows = tuple((where, _cell(one), _cell(other)) for where, one, other in changes)
    grid = Grid(("what", f"on {old.get('date')}", f"on {new['date']}"), rows) if rows else None
    return Section(f"The decision of {old.get('date')}", tuple(lines), grid)


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    return show(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
