"""Answers to facts: each question in turn is answered, assumed or left open, and the model becomes a shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from whygpu.chain.environment import SessionEnvironment, known_value, plain, unknown_of
from whygpu.consult.consultation import AppliedAnswers, DefaultApplied
from whygpu.consult.hardware import hardware_facts
from whygpu.consult.names import PHASE_OF_LIFE
from whygpu.errors import AnswerError, Location, Problem
from whygpu.intake.resolve import shape_of
from whygpu.plans.work import Work, format_checks, model_facts, setup_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whygpu.answers import Answers
    from whygpu.checks.model_shape import ModelShape
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.questions import Assumption, Question, Unasked
    from whygpu.language.tree import Expression

Reshape: TypeAlias = "Callable[[ModelShape], ModelShape]"
"""Puts another model in the place of the one answered."""


class Answering:
    """Asks the questions of one consultation; what they come to stands in ``environment``."""

    def __init__(
        self,
        knowledge: Knowledge,
        answers: Answers,
        reshape: Reshape | None = None,
        before: SessionEnvironment | None = None,
    ) -> None:
        """Nothing is asked yet; ``before``: what most of the same answers came to."""
        self.environment = SessionEnvironment(knowledge, before)
        self._knowledge, self._answers, self._reshape = knowledge, answers, reshape
        self._shape: ModelShape | None = None
        self._applicable: list[Question] = []
        self._assumed: list[DefaultApplied] = []
        self._doubts: tuple[str, ...] = ()

    def applied(self) -> AppliedAnswers:
        """Ask every question; raises AnswerError where the model is no model."""
        answers, names = self._answers, self._knowledge.vocabulary
        self._begin()
        irrelevant: list[Question | Unasked] = []
        for question in self._knowledge.questions:
            answered = question.id in answers.values or question.id in answers.locations
            applies = holds(self.environment, question.when)
            if applies:
                self._applicable.append(question)
            if answered and not applies:
                irrelevant.append(question)
                if question.name:  # what is ignored must not count anywhere
                    self.environment.set(question.name, unknown_of(names[question.name]))
            if not answered and applies:
                self._assume(question)
            if question.id == "model" and (answered or applies):
                self._preset()
        for item in self._knowledge.unasked:
            if item.id in answers.values and not holds(self.environment, item.when):
                irrelevant.append(item)
                self.environment.set(item.name, unknown_of(names[item.name]))
        return AppliedAnswers(tuple(self._applicable), tuple(self._assumed), tuple(irrelevant), self._doubts)

    def work(self) -> Work:
        """What is to be sized, as far as it is known; raises AnswerError where no model is given and none assumed."""
        if self._shape is None:
            hint = "add 'model:', a preset's name or a mapping of its figures"
            message = "no model is given and none can be assumed"
            raise AnswerError([Problem("no-model", message, Location("answers"), hint)])
        return Work(self._shape, setup_of(self._knowledge, self.environment), self._knowledge.catalogue)

    def provide_checks(self) -> None:
        """The numeric checks, of the work as far as it is known."""
        work = self.work()
        self.environment.provide(work.checks(), work)

    def _begin(self) -> None:
        """The answers as facts; of the model what it is for and how large it is are asked before it."""
        self.environment.provide(format_checks(self._knowledge))
        if PHASE_OF_LIFE in self._knowledge.vocabulary:
            self.environment.set(PHASE_OF_LIFE, known_value(self._answers.life))
        for name, fact in hardware_facts(self._answers, self._knowledge.catalogue).items():
            if name in self._knowledge.vocabulary:
                self.environment.set(name, known_value(fact))
        for key, value in self._answers.values.items():
            self.environment.set(self._knowledge.name_by_answer[key].name, known_value(value))
        if self._answers.model is not None:
            self._take_model(self._answers.model)

    def _assume(self, question: Question) -> None:
        assumption = assumption_of(self.environment, question)
        if assumption is None:
            return
        value = plain(self.environment.evaluator.value(assumption.value))
        if isinstance(value, float) and self._knowledge.vocabulary[question.name].integer:
            value = float(math.ceil(value - 1e-9))  # half a request in flight is one: assume enough, not too little
        if value is not None:
            self.environment.set(question.name, known_value(value))
            self._assumed.append(DefaultApplied(question, value, assumption.because))

    def _preset(self) -> None:
        """The model that was named or assumed by a word."""
        word = plain(self.environment.value(self._knowledge.name_by_answer["model"].name))
        if self._shape is None and isinstance(word, str):
            self._take_model(word)

    def _take_model(self, model: str | Mapping[str, Any]) -> None:
        location = self._answers.locations.get("model", Location("answers"))
        task = str(self._answers.values.get("task", ""))
        shape, self._doubts = shape_of(model, self._knowledge.catalogue, location, task)
        self._shape = shape if self._reshape is None else self._reshape(shape)
        for name, value in model_facts(self._shape).items():
            if name in self._knowledge.vocabulary:
                self.environment.set(name, known_value(value))
        self.provide_checks()


def holds(environment: SessionEnvironment, when: Expression) -> bool:
    """Whether a condition on names of the session surely holds."""
    return bool(environment.evaluator.truth(when).true)


def assumption_of(environment: SessionEnvironment, question: Question) -> Assumption | None:
    """The first assumption of a question whose condition holds."""
    return next((item for item in question.assumptions if holds(environment, item.when)), None)
