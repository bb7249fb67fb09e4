"""The lists of a view: shortlist, reasons, tipping points, assumptions, what is ruled out, advice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whygpu.chain.strata import used_names
from whygpu.explain import rejections
from whygpu.explain.figures import show_plain
from whygpu.explain.open_questions import filled, settled
from whygpu.explain.shortlist import answer_ms
from whygpu.quantity import show
from whygpu.render.view.model import (
    AssumedRow,
    Disagreement,
    Evidence,
    FlipRow,
    ItemRow,
    ReasonRow,
    RuledOut,
    ShortRow,
)
from whygpu.render.view.rivals import against, against_in_full
from whygpu.render.words import price_text, purchase_text, short_text, spot_text, spread_text, work_text, worth_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.advice import Advice
    from whygpu.explain.deciding import Deciding, Weight
    from whygpu.explain.flips import Flip, PriceFlip
    from whygpu.explain.parts import Item
    from whygpu.explain.plan import Plan
    from whygpu.explain.plan_maker import PlanMaker
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule
    from whygpu.render.view.words import Words

_SPEEDS = (
    ("train_hours", "{}", "hours"),
    ("token_ms", "{} a token", "ms"),
    ("frames_per_s", "{}", "frames/s"),
    ("ttft_ms", "{}", "ms"),
    ("samples_per_s", "{}", "samples/s"),
)
_SIZE = (
    "workload.dataset_tokens",
    "workload.dataset_samples",
    "workload.batch_size",
    "workload.context_tokens",
    "workload.output_tokens",
)
"""How much work there is, which every figure rests on: where it was assumed, that is told first."""
_GENERAL = ("workload.phase", "workload.criticality", "workload.task", "workload.trains", "workload.deployment")
"""Names that are read by what is said of nearly every work of a kind."""


def shortlist(advice: Advice, deciding: Deciding | None, words: Words) -> tuple[ShortRow, ...]:
    """The best plan for each role; ``deciding``: where something is recommended."""
    best = advice.recommendation
    if best is None or deciding is None:
        return ()
    alike = len({pick.plan.method for pick in advice.shortlist}) == 1  # then the headline says it
    called = Counter(short_text(pick.plan) for pick in advice.shortlist)
    return tuple(
        ShortRow(
            number == 0,
            pick.role.replace("-", " "),
            (f"{pick.plan.label} {pick.plan.format.upper()}" if alike else short_text(pick.plan))
            + (spread_text(pick.plan) if called[short_text(pick.plan)] > 1 else ""),
            _price(pick.plan),
            speed_text(pick.plan, advice.consultation.plans.work.setup.output_tokens),
            pick.plan.memory.verdict,
            "" if number == 0 else against(best, pick.plan, deciding),
            "" if number == 0 else against_in_full(best, pick.plan, deciding, words),
            pick.plan.id,
        )
        for number, pick in enumerate(advice.shortlist)
    )


def _price(plan: Plan) -> str:
    """What plans are compared by, in short: "$0.80/h", "$3.17 in all", "$0.20/million tokens", "$1,807 to buy"."""
    cost = plan.cost
    if cost is not None and cost.compared.usd_total is not None:
        return (
            purchase_text(plan) if cost.held else ""
        ) or f"{show(cost.compared.usd_total, 'USD')} in total{spot_text(plan)}"
    return work_text(plan) or price_text(plan).replace(" an hour", "/h").replace(" a month", "/month")


def speed_text(plan: Plan, output_tokens: int) -> str:
    """The one figure of speed that tells plans of this work apart, and by which the fastest is found."""
    whole = answer_ms(plan, output_tokens)
    if whole is not None and plan.speed.get("train_hours") is None:
        return f"{show(whole / 1000, 's')} an answer"
    for name, phrase, unit in _SPEEDS:
        band = plan.speed.get(name)
        if band is not None:
            return phrase.format(show(band.likely, unit))
    return ""


def reasons(maker: PlanMaker, weights: Sequence[Weight], words: Words) -> tuple[ReasonRow, ...]:
    """The rules behind the order, what decides first."""
    best = maker.rows.heads[0]
    told = Counter((item.rule.id, item.row) for item in weights)
    return tuple(
        ReasonRow(
            item.favourable,
            item.rule.title + (f" ({item.criterion})" if told[item.rule.id, item.row] > 1 else ""),
            words.text(item),
            item.criterion,
            worth_text(item.worth),
            item.decides,
            None if item.instead is None else short_text(maker.at(item.instead)),
            None if item.row == best else short_text(maker.at(item.row)),
            words.evidence(item),
        )
        for item in weights
    )


def flips(prices: Iterable[PriceFlip], answers: Iterable[Flip], words: Words) -> tuple[FlipRow, ...]:
    """Tipping points in words, the nearest first."""
    rows = [*map(_price_row, prices), *(_answer_row(item, words) for item in answers)]
    return tuple(sorted(rows, key=lambda row: row.near))


def _price_row(item: PriceFlip) -> FlipRow:
    word = "above" if item.after > item.before else "below"
    cost = item.plan.cost
    bought = cost is not None and cost.basis == "buying"
    hours = cost.compared.usd_per_month / cost.compared.usd_per_hour if cost is not None and bought else 1.0
    after, before = (show(value * hours, "USD") for value in (item.after, item.before))
    if after == before:  # to the cent
        pairs = ((f"${value * hours:,.{digits}g}" for value in (item.after, item.before)) for digits in range(3, 8))
        after, before = next(((one, other) for one, other in pairs if one != other), (after, before))
    change = f"{item.plan.label} {word} {after} {'a month to own' if bought else 'an hour'} (now {before})"
    return FlipRow(change, "it wins" if item.winner.id == item.plan.id else short_text(item.winner), item.near)


def _answer_row(item: Flip, words: Words) -> FlipRow:
    after, before = words.value(item.answer, item.after), words.value(item.answer, item.before)
    same = None if item.unchanged is None else words.value(item.answer, item.unchanged)
    if same == after and isinstance(item.before, float) and isinstance(item.after, float):  # too near to be told apart
        after = f"{'below' if item.after < item.before else 'above'} {after}"
    then = "no plan is left" if item.plan is None else f"{short_text(item.plan)}, {price_text(item.plan)}"
    return FlipRow(f"{item.answer} {after} (now {before}){words.along(item.assumed)}", then, item.near)


def assumed(advice: Advice, decisive: Iterable[Rule]) -> tuple[AssumedRow, ...]:
    """What was assumed; first how much work there is, then what rules that decide read, then what others that fired
    do; and of each kind what decides most often.
    """
    consultation = advice.consultation
    knowledge = consultation.knowledge
    first = {*_SIZE, *used_names((rule.condition for rule in decisive), knowledge.values)}
    weight = {item.question.name: item.question.decides or 0.0 for item in consultation.applied.assumed}
    fired = [*consultation.session.fired, *(knowledge.rule_by_id[name] for name in consultation.plans.fired)]
    second = used_names((rule.condition for rule in fired), knowledge.values)
    own = filled(consultation)
    assumptions = (item.question for item in consultation.applied.assumed)
    told = {item.name for item in assumptions if item.id in own or settled(consultation, item)}
    rows = []
    for item in advice.assumed:
        spec = knowledge.vocabulary.get(item.name)
        value = show_plain(item.value, spec.unit if spec else None, item.name)
        order = 3 if item.name in told else 0 if item.name in first else 1 if item.name in second else 2
        size = _SIZE.index(item.name) if order == 0 and item.name in _SIZE else len(_SIZE)
        row = AssumedRow(item.answer, value, item.because, order < 2)
        rows.append(((order, size, -weight.get(item.name, 0.0)), row))
    return tuple(row for _, row in sorted(rows, key=lambda pair: pair[0]))


def ruled_out(advice: Advice, words: Words) -> tuple[RuledOut, ...]:
    """What is out, by the rule that says so, the one that rejects most first."""
    consultation, plan_set = advice.consultation, advice.consultation.plans.plan_set
    rules = consultation.knowledge.rule_by_id
    found = [
        RuledOut(
            len(rows),
            next(rejections.reasons(consultation, rows[0])).text,
            tuple(plan_set.cards.accelerators[card].name for card in plan_set.card[rows].tolist()),
            words.of_rule(rules[rule]),
            rules[rule].title,
        )
        for rule, rows in rejections.by_first_rule(advice.maker).items()
    ]
    return tuple(sorted(found, key=lambda item: -item.count))


def disagreements(advice: Advice, weights: Sequence[Weight], words: Words) -> tuple[Disagreement, ...]:
    """Where sources disagree and a rule that settles it speaks of a plan shown, what decides first; then where rules
    cancel each other on one.
    """
    knowledge, fired = advice.consultation.knowledge, advice.consultation.plans.fired
    rows = [pick.plan.index for pick in advice.shortlist]
    spoken = {name for name, mask in fired.items() if mask[rows].any()}
    weight = {item.rule.id: (item.decides, item.worth) for item in reversed(weights)}
    found: list[tuple[tuple[bool, float], Disagreement]] = []
    for tension in knowledge.tensions.values():
        names = set(tension.settled_by)  # rules, or whole tables
        settling = [name for name in sorted(spoken) if names & {name, name.partition("/")[0]}]
        if settling and tension.how is not None:
            first = max(settling, key=lambda name: weight.get(name, (False, 0.0)))
            rule = knowledge.rule_by_id[first]
            evidence = Evidence(rule.id, words.location(rule), tension.between)
            said = Disagreement(f"{tension.about} Decided: {tension.how}", (evidence,))
            found.append((weight.get(first, (False, 0.0)), said))
    told = tuple(item for _, item in sorted(found, key=lambda item: item[0], reverse=True))
    return (*told, *_cancelled(advice, words))


def _cancelled(advice: Advice, words: Words) -> Iterator[Disagreement]:
    """Rules that say opposite things of a plan shown, worth the same."""
    rules = advice.consultation.knowledge.rule_by_id
    shown = {pick.plan.id: pick.plan for pick in advice.shortlist}
    for item in advice.conflicts:
        plan = shown.get(item.plan)
        if plan is not None and item.favour and item.against:
            one, other = rules[item.favour[0]], rules[item.against[0]]
            text = (
                f"On {item.criterion}, one rule is for {short_text(plan)} ({one.title}) and one against it "
                f"({other.title}). Decided: both are worth the same, so neither counts."
            )
            yield Disagreement(text, (words.of_rule(one), words.of_rule(other)))


def items(advice: Advice, words: Words) -> tuple[ItemRow, ...]:
    """Warnings, techniques and advice; what nearly every such work is told comes last."""
    consultation = advice.consultation
    rows = [_item(consultation, item, "warning", words) for item in advice.warnings]
    rows += [_item(consultation, item, "technique", words) for item in advice.techniques]
    rows += [_item(consultation, item, "advice", words) for item in advice.advice]
    return tuple(sorted(rows, key=lambda row: row.general))


def _item(consultation: Consultation, item: Item, kind: str, words: Words) -> ItemRow:
    known = [consultation.knowledge.rule_by_id[name] for name in item.rules]
    evidence = Evidence(known[0].id, words.location(known[0]), item.claims) if known else Evidence()
    names = {name for rule in known for name in used_names([rule.condition], {})}
    general = kind == "advice" and bool(known) and names <= set(_GENERAL)
    return ItemRow(item.text, kind, general, evidence)  # type: ignore[arg-type]  # one of the three kinds above


def quoted(knowledge: Knowledge, evidence: Iterable[Evidence]) -> dict[str, str]:
    """What each claim named says, and in which document, by its id; then what each reference is, where and of when."""
    named = dict.fromkeys(claim for item in evidence for claim in item.claims)
    claims = ((name, knowledge.claims[name]) for name in named if name in knowledge.claims)
    found = {name: f"{claim.says} ({knowledge.documents[claim.document].title})" for name, claim in claims}
    known = knowledge.catalogue.references
    for reference in (known[name] for name in named if name in known):
        parts = (reference.title, reference.where, reference.as_of and f"as of {reference.as_of}")
        found[reference.id] = ", ".join(filter(None, parts))
    return found
