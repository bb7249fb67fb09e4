"""What a consultation gives back: plans and advice, as typed objects; renderers turn them into text, JSON and pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.explain import (
    compare,
    flips,
    items,
    open_questions,
    rejections,
    shortlist,
    unfired,
    verdicts,
    why_not,
    would_win,
)
from whygpu.explain.json_form import SCHEMA, infeasible_dict, item_dict, json_value, plan_dict, profile_dict, trace_dict
from whygpu.explain.plan import Plans
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.record_plans import PlanRecorder
from whygpu.explain.rerun import rerun
from whygpu.explain.start import starts
from whygpu.knowledge.rules import Advise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.contract import AdviceJson
    from whygpu.explain.flips import Flip
    from whygpu.explain.parts import (
        Assumed,
        Comparison,
        Conflict,
        Infeasible,
        Item,
        OpenQuestion,
        Pick,
        Rejection,
        Status,
    )
    from whygpu.explain.plan import Plan
    from whygpu.explain.start import Start
    from whygpu.explain.why_not import WhyNot
    from whygpu.knowledge.questions import Profile
    from whygpu.trace import Step, Trace


class Advice:
    """The answer to a consultation. Its parts are made when they are first asked for, and then kept."""

    def __init__(self, consultation: Consultation) -> None:
        """Nothing is made yet."""
        self.consultation = consultation
        self.maker = PlanMaker(consultation)

    @property
    def knowledge_version(self) -> str:
        """The version of the knowledge base."""
        return self.consultation.knowledge.version

    @property
    def knowledge_hash(self) -> str:
        """The hash of its files."""
        return self.consultation.knowledge.hash

    @property
    def engine(self) -> str:
        """What fired the rules."""
        return self.consultation.engine

    @property
    def answers(self) -> Mapping[str, Any]:
        """The answers as they were given."""
        return self.consultation.answers.given

    @cached_property
    def status(self) -> Status:
        """Whether there is a recommendation, and whether it has equals."""
        return self.maker.rows.status

    @cached_property
    def assumed(self) -> tuple[Assumed, ...]:
        """Values taken for what was not answered."""
        return open_questions.assumed(self.consultation)

    @cached_property
    def recommendation(self) -> Plan | None:
        """The best plan; None where nothing satisfies the constraints."""
        return self.maker.best()

    @cached_property
    def alternatives(self) -> Sequence[Plan]:
        """The best plan of each other accelerator, ranked."""
        return self.maker.others()

    @cached_property
    def plans(self) -> Sequence[Plan]:
        """The recommendation and the alternatives."""
        best, others = self.recommendation, self.alternatives
        return () if best is None else Plans(1 + len(others), lambda index: others[index - 1] if index else best)

    @cached_property
    def shortlist(self) -> tuple[Pick, ...]:
        """The best plan for each role: recommended, cheapest, fastest and so on; each plan once."""
        return shortlist.shortlist(self.maker)

    @cached_property
    def rejected(self) -> tuple[Rejection, ...]:
        """Accelerators that have no plan left, and why."""
        return rejections.rejections(self.maker)

    @cached_property
    def techniques(self) -> tuple[Item, ...]:
        """What the recommended plan uses."""
        return items.techniques(self.maker)

    @cached_property
    def advice(self) -> tuple[Item, ...]:
        """Advice beyond the card."""
        return items.session_items(self.consultation.session, Advise)

    @cached_property
    def warnings(self) -> tuple[Item, ...]:
        """Warnings, and answers that were ignored."""
        return items.warnings(self.maker)

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Where rules cancel each other on a plan shown."""
        return tuple(verdicts.conflicts(self.consultation, self.maker.rows))

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """An expensive fast plan against a cheap slow one, and what is owned against what could be rented."""
        return compare.comparisons(self.maker)

    @cached_property
    def open(self) -> tuple[OpenQuestion, ...]:
        """Questions that apply and were not answered."""
        return tuple(open_questions.open_questions(self.consultation))

    @cached_property
    def infeasible(self) -> Infeasible | None:
        """Why no plan is left; None where one is."""
        return rejections.infeasible(self.maker)

    @cached_property
    def start(self) -> tuple[Start, ...]:
        """How tools start the recommendation; those that cannot say why, and come last."""
        best = self.recommendation
        return () if best is None else starts(self.consultation, best.index)

    @cached_property
    def profile(self) -> Profile | None:
        """What the phase that this is about is like; None where no profile describes it."""
        return self.consultation.knowledge.profiles.get(str(self.consultation.session.answered("phase")))

    @cached_property
    def trace(self) -> Trace:
        """Every fact and step behind the plans shown."""
        return PlanRecorder(self.maker).whole(self.comparisons)

    def how(self, fact: str) -> tuple[Step, ...]:
        """Every step that led to a fact (its id, or the name of one of the consultation or the recommendation).

        Raises AnswerError where the trace has none such.
        """
        best = self.recommendation
        for known in self.trace.facts:
            own = known.plan is None or (best is not None and known.plan == best.id)
            if known.id == fact or (known.name == fact and own):
                return self.trace.how(known.id)
        near = did_you_mean(fact, {known.name for known in self.trace.facts})
        message = f"nothing in the trace is called '{fact[:80]}'"
        raise AnswerError([Problem("unknown-fact", message, Location("trace"), near)])

    def unfired(self) -> tuple[Step, ...]:
        """The rules that did not fire for the recommendation: silent, blocked by an exception, or open."""
        return tuple(unfired.unfired(self.consultation, self.maker.rows))

    def why_not(self, plan: str) -> tuple[WhyNot, ...]:
        """Why a plan (by id) or an accelerator (id, name or family) is not the recommendation; raises AnswerError."""
        return why_not.why_not(self.consultation, plan)

    def would_win(self, accelerator: str) -> tuple[Flip, ...]:
        """The loads, contexts and sizes of a job from which an accelerator (an id) would be recommended; none where
        none was found.
        """
        return would_win.would_win(self.consultation, accelerator)

    def what_if(self, **answers: Any) -> WhatIf:
        """The advice with these answers merged over the given ones (None takes one away); raises AnswerError."""
        return WhatIf(self.recommendation, Advice(rerun(self.consultation, answers)))

    def flips(self) -> tuple[Flip, ...]:
        """The nearest single changes of an answer, given or assumed, that change the recommendation."""
        return flips.search(self.consultation).found

    def to_dict(self, *, every: bool = True, trace: bool = True) -> dict[str, Any]:
        """The JSON form, as docs/reference/contract.md lists it.

        Without ``every`` there are the recommendation, the shortlist, reasons and warnings, and not the other plans,
        what is out, conflicts, comparisons and open questions; without ``trace`` there is no record. What is not asked
        for is not made.
        """
        infeasible = self.infeasible
        picks = self.shortlist  # first: the ranges of all its plans are found together, the recommendation's too
        best = self.recommendation
        found: AdviceJson = {
            "schema": SCHEMA,
            "kb": {"version": self.knowledge_version, "hash": self.knowledge_hash},
            "engine": self.engine,
            "status": self.status,
            "answers": json_value(dict(self.answers)),
            "assumed": {item.name: {"value": json_value(item.value), "because": item.because} for item in self.assumed},
            "recommendation": plan_dict(best, variant=not every) if best else None,
            "shortlist": [
                {
                    "role": item.role,
                    "plan": plan_dict(item.plan, variant=True),
                    "gains": item.gains,
                    "gives_up": item.gives_up,
                }
                for item in picks
            ],
            "techniques": [item_dict(item) for item in self.techniques],
            "advice": [item_dict(item) for item in self.advice],
            "warnings": [item_dict(item) for item in self.warnings],
            "infeasible": None if infeasible is None else infeasible_dict(infeasible),
        }
        if every:
            found["alternatives"] = [plan_dict(plan) for plan in self.alternatives]
            found["rejected"] = [
                {"plan": plan_dict(item.plan), "because": [json_value(reason) for reason in item.because]}
                for item in self.rejected
            ]
            found["conflicts"] = [
                {
                    "criterion": item.criterion,
                    "plan": item.plan,
                    "for": list(item.favour),
                    "against": list(item.against),
                }
                for item in self.conflicts
            ]
            found["comparisons"] = [json_value(item) for item in self.comparisons]
            found["open"] = [json_value(item) for item in self.open]
            found["start"] = [json_value(item) for item in self.start]
            found["profile"] = None if self.profile is None else profile_dict(self.profile)
        if trace:
            found["trace"] = trace_dict(self.trace)
        return {**found}


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The advice with other answers, beside the recommendation of before."""

    before: Plan | None
    advice: Advice

    @property
    def changed(self) -> bool:
        """Whether accelerator, count, format or method of the recommendation differ, not only its figures."""
        after = self.advice.recommendation
        return (self.before and self.before.identity) != (after and after.identity)
