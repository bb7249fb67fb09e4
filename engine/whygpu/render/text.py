"""Advice as text: the verdict, memory against VRAM, alternatives, what is out, the reasons, what was assumed."""

from __future__ import annotations

import shutil
import textwrap
from itertools import takewhile
from typing import TYPE_CHECKING

from whygpu.explain.figures import show_plain
from whygpu.quantity import show, show_range, show_with_range
from whygpu.render.style import Style, plain_markdown
from whygpu.render.words import buying_text, comparison_text, cost_text, price_text, sentence, short_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from whygpu.explain.advice import Advice
    from whygpu.explain.parts import Rejection
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.questions import Profile
    from whygpu.knowledge.sources import Claim
    from whygpu.language.names import NameSpec
    from whygpu.trace import Fact, Outcome, Step

_PARTS = (
    ("weights", "weights_gib", "█"),
    ("KV cache", "kv_cache_gib", "▓"),
    ("gradients", "gradients_gib", "▒"),
    ("optimizer", "optimizer_gib", "▚"),
    ("activations", "activations_gib", "░"),
    ("logits", "logits_gib", "▞"),
    ("overhead", "overhead_gib", "·"),
    ("reused", "reused_gib", ""),
)
_SPEEDS = (
    ("ttft_ms", "first answer", "ms"),
    ("token_ms", "per token", "ms"),
    ("tokens_per_s", "output", "tokens/s"),
    ("requests_per_s", "requests", "requests/s"),
    ("frames_per_s", "frames", "frames/s"),
    ("times_real_time", "sound", "times real time"),
    ("train_tokens_per_s", "training", "tokens/s"),
    ("samples_per_s", "samples", "samples/s"),
    ("train_hours", "to finish", "hours"),
)
_MOST_REJECTED = 8


class TextRenderer:
    """Renders advice; needs the claims and the vocabulary to spell citations and units out."""

    def __init__(
        self,
        claims: Mapping[str, Claim],
        vocabulary: Mapping[str, NameSpec],
        style: Style | None = None,
        width: int | None = None,
    ) -> None:
        """``width`` in characters; the terminal's by default, at most 110."""
        self._claims, self._vocabulary = claims, vocabulary
        self._style = style or Style(False)
        self._width = width or min(shutil.get_terminal_size((100, 24)).columns, 110)

    def render(self, advice: Advice) -> str:
        """The whole answer."""
        sections = [
            list(self._verdict(advice)),
            list(self._comparisons(advice)),
            list(self._memory(advice)),
            list(self._shortlist(advice)),
            list(self._alternatives(advice)),
            list(self._rejected(advice)),
            list(self._reasons(advice)),
            list(self._items(advice)),
            list(self._assumed(advice)),
            list(self._footer(advice)),
        ]
        return self._style.safe("\n\n".join("\n".join(lines) for lines in sections if lines) + "\n")

    def why(self, advice: Advice) -> str:
        """The rules behind the recommendation with conditions, claims and arithmetic; techniques and advice."""
        sections = [list(self._reasons(advice)), list(self._items(advice))]
        return self._style.safe("\n\n".join("\n".join(lines) for lines in sections if lines) + "\n")

    def about(self, profiles: Iterable[Profile]) -> str:
        """What phases are like."""
        lines: list[str] = []
        for profile in profiles:
            lines += ["", self._style.strong(plain_markdown(profile.title))]
            for point in profile.points:
                lines += self._wrap(f"{point.text} [{', '.join(point.sources)}]", "    ", "  - ")
        return self._style.safe("\n".join([*lines, ""]))

    def _wrap(self, text: str, indent: str = "  ", first: str | None = None) -> Iterator[str]:
        flat = plain_markdown(" ".join(text.split()))
        yield from textwrap.wrap(
            flat, self._width, initial_indent=indent if first is None else first, subsequent_indent=indent
        )

    def _faintly(self, text: str, indent: str, first: str | None = None) -> Iterator[str]:
        yield from map(self._style.faint, self._wrap(text, indent, first))

    def _beside(self, lines: Iterable[str], text: str, indent: str, paint: Callable[[str], str] = str) -> Iterator[str]:
        """Painted lines, and a faint text behind the last one where there is room, else below it."""
        *before, last = lines
        yield from map(paint, before)
        if text and len(last) + 1 + len(text) <= self._width:
            yield f"{paint(last)} {self._style.faint(text)}"
        else:
            yield paint(last)
            yield from self._faintly(text, indent)

    # the answer

    def _verdict(self, advice: Advice) -> Iterator[str]:
        plan = advice.recommendation
        if plan is None:
            least_bad = None if advice.infeasible is None else advice.infeasible.least_bad
            if least_bad is None:
                yield self._style.bad("No plan satisfies every constraint.")
            else:
                yield self._style.bad("No sensible plan within these limits.")
                yield from self._wrap(f"The least bad: {short_text(least_bad)}, {price_text(least_bad)}.", "  ", "")
            yield from self._infeasible(advice)
            return
        tied = list(takewhile(lambda other: other.rank == 1, advice.alternatives))
        yield self._style.strong(sentence(plan))
        if tied:
            yield from self._wrap(
                "As good: " + ", ".join(f"{other.label} ({price_text(other)})" for other in tied) + ".", ""
            )
        if plan.unverified:
            yield self._style.doubtful("Unverified: a limit could not be checked, because a figure is unknown.")
        speeds = [f"{label} {_range(plan, name, unit)}" for name, label, unit in _speeds(plan)]
        if speeds:
            yield from self._wrap("Speed: " + "; ".join(speeds) + ".", "  ", "")
        yield from self._price(plan)

    def _comparisons(self, advice: Advice) -> Iterator[str]:
        for item in advice.comparisons:
            yield from self._wrap(comparison_text(item), "  ", "")

    def _price(self, plan: Plan) -> Iterator[str]:
        cost = plan.cost
        if cost is None:
            yield from self._wrap(f"Cost: no price known: {plan.unpriced}.", "  ", "")
            return
        if cost.price_kind != "purchase":
            yield from self._wrap(f"{'Renting' if cost.basis == 'buying' else 'Cost'}: {cost_text(cost)}.", "  ", "")
        if cost.buying is not None:
            text = buying_text(cost)
            yield from self._wrap(f"{text[:1].upper()}{text[1:]}.", "  ", "")

    def _infeasible(self, advice: Advice) -> Iterator[str]:
        if advice.infeasible is None:
            return
        titles = {step.rule: step.title for step in advice.trace.steps if step.rule}
        if advice.infeasible.conflict:
            yield "In conflict:" if advice.infeasible.least_bad is None else "Against every remaining plan:"
            for rule in advice.infeasible.conflict:
                yield from self._wrap(f"{titles.get(rule, rule)} ({rule})", "    ", "  - ")
        if advice.infeasible.relaxations:
            yield "Lifting any one of these would allow a plan:"
            for item in advice.infeasible.relaxations:
                yield from self._wrap(f"{item.constraint}: {item.text} -> {item.plan}", "    ", "  - ")

    def _memory(self, advice: Advice) -> Iterator[str]:
        plans = advice.plans[:3]
        if not plans:
            return
        yield self._style.strong("Memory per accelerator, and what it has")
        widest = max(max(plan.memory.usable_gib or 0.0, plan.memory.total_gib) for plan in plans)
        room = max(self._width - 46, 20)
        name_width = max(len(plan.label) for plan in plans)
        for plan in plans:
            memory = plan.memory
            usable = memory.usable_gib or 0.0
            scale = room / widest if widest else 0.0
            bar = "".join(mark * max(round(getattr(memory, key) * scale), 0) for _, key, mark in _PARTS)[
                : round(max(usable, memory.total_gib) * scale)
            ]
            bar = bar.ljust(max(round(usable * scale) - 1, len(bar)), " ") + "|"
            figures = f"{show(memory.total_gib)} of {show(usable)} GiB"
            yield f"  {plan.label.ljust(name_width)} {bar} {figures} {self._badge(memory.verdict)}"
        yield self._style.faint(
            "  "
            + "  ".join(
                f"{mark} {label}"
                for label, key, mark in _PARTS
                if any(getattr(plan.memory, key) > 0.005 for plan in plans)
            )
            + "  | usable"
        )
        best = plans[0].memory
        parts = " + ".join(
            f"{label} {show(getattr(best, key))}" for label, key, _ in _PARTS if abs(getattr(best, key)) > 0.005
        )
        yield from self._wrap(
            f"{plans[0].label}: {parts} = {show(best.total_gib)} GiB, {show_range(best.low_gib, best.high_gib, 'GiB')}."
        )

    def _badge(self, verdict: str) -> str:
        paint = {"fits": self._style.good, "tight": self._style.doubtful}.get(verdict, self._style.bad)
        return paint(verdict)

    def _shortlist(self, advice: Advice) -> Iterator[str]:
        """The best plan for each role, with what one gains and gives up."""
        if len(advice.shortlist) < 2:
            return
        yield self._style.strong("Shortlist")
        width = max(len(item.role) for item in advice.shortlist)
        for item in advice.shortlist:
            line = f"  {item.role.replace('-', ' ').ljust(width)}  {short_text(item.plan)}, {price_text(item.plan)}"
            sides = (("better: ", item.gains), ("worse: ", item.gives_up))
            more = ". ".join(f"{word}{text}" for word, text in sides if text)
            yield from self._wrap(line.strip() + (f": {more}" if more else ""), " " * (width + 4), "  ")

    def _alternatives(self, advice: Advice) -> Iterator[str]:
        if not advice.alternatives:
            return
        yield self._style.strong("Alternatives")
        for plan in advice.alternatives:
            against = [f"{item.criterion} {item.strength}" for item in plan.verdicts if not item.favourable]
            why = "tied" if plan.rank == 1 else "; ".join(filter(None, [plan.behind, ", ".join(against)]))
            line = f"  {plan.rank:>2}. {short_text(plan)}: {price_text(plan)}, {plan.memory.verdict}"
            yield from self._beside(self._wrap(line.strip(), "      ", "  "), f"[{why}]" if why else "", "      ")

    def _rejected(self, advice: Advice) -> Iterator[str]:
        if not advice.rejected:
            return
        yield self._style.strong("Ruled out")
        groups: dict[tuple[str, bool], list[Rejection]] = {}
        for rejection in advice.rejected:
            rule = rejection.because[0].rule if rejection.because else ""
            groups.setdefault((rule, rejection.plan.owned), []).append(rejection)
        for group in groups.values():
            first = group[0]
            text = " ".join(reason.text for reason in first.because[:2])
            others = [item.plan.accelerator.name for item in group[1:]]
            more = f" Likewise {', '.join(others[:_MOST_REJECTED])}" if others else ""
            rest = f" and {len(others) - _MOST_REJECTED} more" if len(others) > _MOST_REJECTED else ""
            yield from self._wrap(
                f"{short_text(first.plan)}: {text}{more}{rest}{'.' if more else ''}", "      ", "  - "
            )

    # the chain

    def _reasons(self, advice: Advice) -> Iterator[str]:
        plan = advice.recommendation
        if plan is None:
            return
        steps = [step for step in advice.trace.of_plan(plan.id) if step.rule is not None]
        session = [step for step in advice.trace.steps if step.plan is None and step.rule is not None]
        if not steps and not session:
            return
        yield self._style.strong(f"Why: the rules behind {short_text(plan)}")
        told: set[str] = set()
        for step in steps:
            yield from self._step(advice, step, "  ", told)
        for step in session:
            if step.id not in told:
                yield from self._step(advice, step, "  ", told)

    def _step(self, advice: Advice, step: Step, indent: str, told: set[str]) -> Iterator[str]:
        told.add(step.id)
        mark = {"exclude": "✗", "prefer": "●"}.get(step.kind, "○")
        status = f" (defeated by {step.by})" if step.by else ""
        inner = indent + "    "
        heading = self._wrap(step.title + status, inner, f"{indent}{mark} ")
        yield from self._beside(heading, f"{step.rule}, {step.place}", inner, self._style.strong)
        yield from self._wrap(step.text, inner)
        for outcome in step.conditions:
            lead = "" if outcome.text.startswith("unless ") else "if "
            yield from self._faintly(f"{lead}{_outcome(outcome)}", inner + "  ", inner)
        for claim in step.claims:
            yield from self._faintly(self._claim(claim), inner + "  ", f"{inner}» ")
        for identifier in step.uses:
            fact = advice.trace.fact_by_id[identifier]
            for giver in advice.trace.givers.get(identifier, ()):
                if giver.id in told:
                    continue
                if giver.rule is not None:
                    yield from self._wrap(f"because {self._fact(fact)}:", inner + "  ", f"{inner}└ ")
                    yield from self._step(advice, giver, inner + "  ", told)
                elif giver.formula and giver.plan is None:
                    told.add(giver.id)
                    terms = ", ".join(f"{term.name} {show(term.value, term.unit)}" for term in giver.terms)
                    text = f"{self._fact(fact)} = {giver.formula}" + (f" ({terms})" if terms else "")
                    yield from self._faintly(text, inner + "  ", f"{inner}└ ")

    def _claim(self, identifier: str) -> str:
        claim = self._claims.get(identifier)
        return identifier if claim is None else f"{identifier}: {claim.says}"

    def _fact(self, fact: Fact) -> str:
        return f"{fact.name} is {show_plain(fact.value, fact.unit, fact.name)}"

    # the rest

    def _items(self, advice: Advice) -> Iterator[str]:
        for title, items, paint in (
            ("Warnings", advice.warnings, self._style.doubtful),
            ("Techniques of this plan", advice.techniques, self._style.strong),
            ("Advice", advice.advice, self._style.strong),
        ):
            if items:
                yield paint(title)
            for item in items:
                cited = f" [{', '.join(item.claims)}]" if item.claims else ""
                yield from self._wrap(f"{item.text}{cited}", "    ", "  - ")
        for conflict in advice.conflicts:
            yield from self._wrap(
                f"Sources disagree on {conflict.criterion} of {conflict.plan}: {', '.join(conflict.favour)} for, "
                f"{', '.join(conflict.against)} against; "
                "they cancel.",
                "    ",
                "  - ",
            )

    def _assumed(self, advice: Advice) -> Iterator[str]:
        if not advice.assumed:
            return
        yield self._style.strong("Assumed, as not answered (answer to change it)")
        for item in advice.assumed:
            spec = self._vocabulary.get(item.name)
            value = show_plain(item.value, spec.unit if spec else None, item.name)
            yield from self._wrap(f"{item.answer} = {value}: {item.because}", "    ", "  - ")

    def _footer(self, advice: Advice) -> Iterator[str]:
        yield self._style.faint(
            f"Knowledge base {advice.knowledge_version} ({advice.knowledge_hash}), {advice.engine} engine."
        )


def _speeds(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """The speeds worth telling: for what gives no tokens the time of one answer, and one rate instead of three."""
    known = [item for item in _SPEEDS if plan.speed.get(item[0])]
    names = {name for name, _, _ in known}
    for name, label, unit in known:
        if name == "ttft_ms" and "token_ms" not in names:
            yield name, "one image" if "frames_per_s" in names else "one answer", unit
        elif not (name in ("requests_per_s", "samples_per_s") and "frames_per_s" in names) and not (
            name == "samples_per_s" and "requests_per_s" in names
        ):
            yield name, label, unit


def _range(plan: Plan, name: str, unit: str) -> str:
    band = plan.speed.get(name)
    if band is None:
        return "unknown"
    return show_with_range(band.low, band.likely, band.high, unit)


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
