"""Whether the worked cases hold a little beside what they say: models 20% smaller or larger, prices 15% off.

A model of another size has so many times the layers and with them the parameters, the cache and the arithmetic; its
width and vocabulary stay. Prices move all at once, against budgets and thresholds in USD; and those of the
accelerators recommended move alone, against their rivals. A case may say under ``sensitive`` why it need not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from whygpu.chain.engines import EvaluatorChain
from whygpu.consult.driver import consult
from whygpu.errors import AnswerError, Problem
from whygpu.explain.advice import Advice
from whygpu.lifecycle.advice import LifecycleAdvice
from whygpu.lifecycle.answers import LifecycleAnswers, check_lifecycle, is_lifecycle
from whygpu.lifecycle.conclude import conclude_lifecycle
from whygpu.lint.cases import asked_on, contradictions
from whygpu.lint.parallel import at_once, batched

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from whygpu.answers import Answers
    from whygpu.api import KnowledgeBase
    from whygpu.checks.model_shape import ModelShape
    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.cases import Case

_TOGETHER = 4
"""Cases that a process takes at a time."""
SIZES = (0.8, 1.2)
PRICES = (0.85, 1.15)


@dataclass(frozen=True, slots=True)
class Variation:
    """One small change to a case: of its ``size`` or of ``prices``, in words and as what is consulted."""

    about: str
    text: str
    knowledge: Knowledge
    reshape: Callable[[ModelShape], ModelShape] | None = None


@dataclass(frozen=True, slots=True)
class Robustness:
    """How many variations were tried, and each expectation that one of them breaks."""

    cases: int
    variations: int
    problems: tuple[Problem, ...]


def robustness(kb: KnowledgeBase) -> Robustness:
    """Try every variation of every case of a knowledge base loaded with them; a case that fails as it is counts too."""
    return _Trial(kb).run()


class _Trial:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb, self._knowledge = kb, kb.knowledge
        self._all_prices = {factor: repriced(kb.knowledge, factor) for factor in PRICES}
        self._tried = 0

    def run(self) -> Robustness:
        cases = self._knowledge.cases
        with at_once([partial(self._some, some) for some in batched(cases, _TOGETHER)]) as done:
            parts = list(done())
        problems = tuple(problem for _, found in parts for problem in found)
        return Robustness(len(cases), sum(tried for tried, _ in parts), problems)

    def _some(self, cases: Sequence[Case]) -> tuple[int, list[Problem]]:
        """The variations tried of these cases, and the problems."""
        before = self._tried
        problems = [problem for case in cases for problem in self._case(case)]
        return self._tried - before, problems

    def _case(self, case: Case) -> Iterator[Problem]:
        try:
            answers = self._answers(case)
            plain = self._advise(case, answers, Variation("", "as it is", self._knowledge))
        except AnswerError as error:
            yield from error.problems
            return
        yield from contradictions(case, plain)
        broken: set[str] = set()
        for variation in self._variations(plain):
            self._tried += 1
            for problem in contradictions(case, self._advise(case, answers, variation)):
                broken.add(variation.about)
                if variation.about not in case.sensitive:
                    yield replace(problem, code="fragile-case", message=f"{variation.text}: {problem.message}")
        for about in sorted(case.sensitive.keys() - broken):
            message = f"case '{case.id}' is said to be sensitive to {about}, and holds: {case.sensitive[about]}"
            yield Problem("needless-sensitive", message, case.location, "remove it", severity="warning")

    def _answers(self, case: Case) -> Answers | LifecycleAnswers:
        return (
            check_lifecycle(case.answers, self._knowledge)
            if is_lifecycle(case.answers)
            else self._kb.check(case.answers)
        )

    def _variations(self, plain: Advice | LifecycleAdvice) -> Iterator[Variation]:
        for factor in SIZES:
            yield Variation("size", f"with a model x{factor:g}", self._knowledge, partial(resized, factor=factor))
        phases = plain.phases if isinstance(plain, LifecycleAdvice) else (plain,)
        chosen = {plan.accelerator.id for phase in phases for plan in phase.plans if plan.rank == 1}
        for factor, knowledge in self._all_prices.items():
            yield Variation("prices", f"at all prices x{factor:g}", knowledge)
            if chosen:
                alone = repriced(self._knowledge, factor, chosen)
                yield Variation("prices", f"at prices of {', '.join(sorted(chosen))} x{factor:g}", alone)

    @staticmethod
    def _advise(case: Case, answers: Answers | LifecycleAnswers, variation: Variation) -> Advice | LifecycleAdvice:
        def held(part: Answers) -> Consultation:
            knowledge, reshape = variation.knowledge, variation.reshape
            return consult(knowledge, part, EvaluatorChain(), asked_on(case), reshape=reshape)

        if isinstance(answers, LifecycleAnswers):
            return conclude_lifecycle(answers.given, held(answers.train), held(answers.serve), held, EvaluatorChain())
        return Advice(held(answers))


def resized(shape: ModelShape, factor: float) -> ModelShape:
    """A model like this one with so many times the layers, and all that goes with them."""

    def times(count: int) -> int:
        return max(round(count * factor), 1) if count else 0

    return replace(
        shape,
        parameters=times(shape.parameters),
        active_parameters=times(shape.active_parameters),
        trained_parameters=times(shape.trained_parameters),
        layers=times(shape.layers),
        encoder_layers=times(shape.encoder_layers),
        moe_layers=times(shape.moe_layers),
        sliding_layers=times(shape.sliding_layers),
        state_layers=times(shape.state_layers),
        flops_per_sample=shape.flops_per_sample * factor,
        square_flops_per_sample=shape.square_flops_per_sample * factor,
        step_operators=times(shape.step_operators),
        forward_operators=times(shape.forward_operators),
        forward_bytes_per_sample=shape.forward_bytes_per_sample * factor,
        activation_bytes_per_sample=shape.activation_bytes_per_sample * factor,
        square_activation_bytes_per_sample=shape.square_activation_bytes_per_sample * factor,
        components=tuple(replace(item, parameters=times(item.parameters)) for item in shape.components),
        kv_groups=tuple(replace(group, layers=times(group.layers)) for group in shape.kv_groups),
        parts=tuple(replace(part, parameters=times(part.parameters)) for part in shape.parts),
    )


def repriced(knowledge: Knowledge, factor: float, accelerators: Container[str] | None = None) -> Knowledge:
    """The same knowledge at so many times the prices, of these accelerators or of all."""
    catalogue = knowledge.catalogue
    offerings = tuple(
        replace(item, usd_per_hour=item.usd_per_hour * factor)
        if accelerators is None or item.accelerator in accelerators
        else item
        for item in catalogue.offerings
    )
    purchases = tuple(
        replace(item, usd=item.usd * factor) if accelerators is None or item.accelerator in accelerators else item
        for item in catalogue.purchases
    )
    return replace(knowledge, catalogue=replace(catalogue, offerings=offerings, purchases=purchases))
