"""The library's front: load a knowledge base, ask it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whygpu.answers import Answers, as_node
from whygpu.chain.durable import DurableEngine, Program, default_engine
from whygpu.chain.engines import Chain, EvaluatorChain
from whygpu.chain.names import EngineName, unknown_engine
from whygpu.collector import collector_at_rest
from whygpu.consult.consultation import Consultation
from whygpu.consult.driver import consult
from whygpu.consult.hardware import HARDWARE_NAMES
from whygpu.consult.names import PHASE_OF_LIFE
from whygpu.errors import EngineError, KnowledgeBaseError, Location, Problem
from whygpu.explain.advice import Advice
from whygpu.explain.start import START_NAMES
from whygpu.kept import forget
from whygpu.knowledge.base import Knowledge
from whygpu.lifecycle.answers import check_lifecycle, is_lifecycle
from whygpu.lifecycle.conclude import LIFE_NAMES, conclude_lifecycle
from whygpu.loader import cache
from whygpu.loader.files import default_root, read_texts
from whygpu.loader.registry import Registry
from whygpu.measured.answers import check_answers
from whygpu.plans.columns import GPU_NAMES, PLAN_NAMES
from whygpu.plans.work import FUNCTIONS, MODEL_NAMES
from whygpu.sizing.names import SIZING_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as ReadOnly
    from datetime import date

    from whygpu.diagnosis.diagnosis import Diagnosis
    from whygpu.explain.estimate import Estimate
    from whygpu.explain.interview import Interview, Memory, NextQuestion
    from whygpu.explain.plan import Plan
    from whygpu.lifecycle.advice import LifecycleAdvice
    from whygpu.measured.measurement import Measurement
    from whygpu.sizing.pace import Pace, Unit
    from whygpu.sizing.sized import Sized
    from whygpu.yamldoc.document import Node

REGISTRY = Registry(
    FUNCTIONS,
    (*PLAN_NAMES, *GPU_NAMES, *MODEL_NAMES, *LIFE_NAMES, *START_NAMES, *SIZING_NAMES, *HARDWARE_NAMES, PHASE_OF_LIFE),
)


_COMPILING = threading.Lock()
"""A cached property is computed by each thread that finds it missing (Python 3.12 and later)."""


class KnowledgeBase:
    """A loaded knowledge base and its engines; safe to share between threads."""

    def __init__(self, knowledge: Knowledge, program: Program | None = None) -> None:
        """Wrap loaded knowledge; engines are compiled when first used. ``program``: its rules as compiled before."""
        self.knowledge = knowledge
        if program is not None:
            self.program = program

    @cached_property
    def program(self) -> Program:
        """The rules as durable-rules takes them; raises EngineError where they are beyond what it can bear."""
        return Program(self.knowledge, self.knowledge.strata)

    @cached_property
    def _durable(self) -> DurableEngine:
        return DurableEngine(self.knowledge, self.program)

    def chain(self, engine: EngineName | None) -> Chain:
        """A new chain on an engine; where none is named on durable-rules, or else on the evaluator.

        Raises AnswerError for a name that is no engine's, EngineUnavailableError where durable-rules is not installed.
        """
        match default_engine() if engine is None else engine:
            case "durable":
                with _COMPILING:
                    durable = self._durable
                return durable.chain()
            case "evaluator":
                return EvaluatorChain()
            case other:
                return unknown_engine(other)

    def check(self, answers: Answers | ReadOnly[str, object] | Node) -> Answers:
        """Answers as plain data or a node, checked; raises AnswerError with every problem."""
        return answers if isinstance(answers, Answers) else check_answers(as_node(answers), self.knowledge)

    def check_as(self, answers: ReadOnly[str, object], life: str) -> Answers:
        """Answers about one phase of a life ("train", "serve"), or one that is alone; raises AnswerError."""
        return replace(self.check(answers), life=life)

    def consult(
        self,
        answers: Answers | ReadOnly[str, object] | Node,
        *,
        engine: EngineName | None = None,
        today: date | None = None,
    ) -> Consultation:
        """Everything decided about the answers; raises AnswerError."""
        return consult(self.knowledge, self.check(answers), self.chain(engine), today)

    def next_question(
        self, answers: Answers | ReadOnly[str, object], *, today: date | None = None
    ) -> NextQuestion | None:
        """The question to ask now, and why; None where no answer to any can change the recommendation.

        A question whose answer is None is left to what is assumed. Raises AnswerError.
        """
        return self.interview(answers, today=today).next()

    def interview(
        self,
        answers: Answers | ReadOnly[str, object],
        *,
        today: date | None = None,
        consultation: Consultation | None = None,
    ) -> Interview:
        """What can still be asked, and what each answer would do; ``consultation``: that of the answers, if at hand.

        The order of the answers is that in which they were given: a topic that was begun goes on, and what is left
        (None) before anything is answered was left by choosing the others from the list. Raises AnswerError.
        """
        from whygpu.explain.interview import Interview  # noqa: PLC0415  to give advice takes none

        said: tuple[str, ...] = ()
        if not isinstance(answers, Answers):
            said = tuple(answers)
            answers = self.check({key: value for key, value in answers.items() if value is not None})
        return Interview(self.knowledge, answers, self._memory, said=said, today=today, consultation=consultation)

    @cached_property
    def _memory(self) -> Memory:
        from whygpu.explain.interview import Memory  # noqa: PLC0415

        return Memory()

    def estimate(
        self,
        answers: Answers | ReadOnly[str, object] | Node,
        *,
        engine: EngineName | None = None,
        today: date | None = None,
    ) -> Plan:
        """The plan on the one accelerator and the count that the answers name, whether it fits or not.

        Raises AnswerError.
        """
        return self.estimate_in_full(answers, engine=engine, today=today).plan

    def estimate_in_full(
        self,
        answers: Answers | ReadOnly[str, object] | Node,
        *,
        engine: EngineName | None = None,
        today: date | None = None,
    ) -> Estimate:
        """The same with every figure's formula, and how far the work could grow; raises AnswerError."""
        from whygpu.explain.estimate import estimate_of, one_accelerator  # noqa: PLC0415  to give advice takes neither
        from whygpu.plans.explicit import explicit_plans  # noqa: PLC0415

        checked = one_accelerator(self.check(answers))
        return estimate_of(consult(self.knowledge, checked, self.chain(engine), today, explicit_plans, waits=False))

    def advise(
        self,
        answers: Answers | ReadOnly[str, object] | Node,
        *,
        engine: EngineName | None = None,
        today: date | None = None,
    ) -> Advice | Any:
        """The advice on the answers; raises AnswerError.

        Answers with ``phases`` give a LifecycleAdvice. No type can tell such a mapping from others, hence ``Any``:
        whoever asks about one phase, as nearly everyone does, has an Advice without a cast.
        """
        if isinstance(answers, Answers):
            return Advice(self.consult(answers, engine=engine, today=today))
        node = as_node(answers)
        if is_lifecycle(node):
            return self.advise_lifecycle(node, engine=engine, today=today)
        return Advice(self.consult(node, engine=engine, today=today))

    def size_inference(
        self,
        measured: Iterable[Measurement],
        answers: ReadOnly[str, object] | Node | None = None,
        *,
        engine: EngineName | None = None,
        today: date | None = None,
    ) -> Sized:
        """Replicas, capacity and cost of a service from its load test; raises AnswerError.

        ``answers``: those of the vocabulary (``requests_per_second`` at the peak, ``latency_ms`` ...) and of sizing
        itself (``p95_ms``, ``burstiness`` ...), docs/how-to/size.md.
        """
        from whygpu.sizing.asked import ask  # noqa: PLC0415  to give advice takes none of it
        from whygpu.sizing.size import sized_service  # noqa: PLC0415

        asked = ask("inference", measured, answers or {}, self.knowledge)
        return sized_service(asked, self.knowledge, lambda: self.chain(engine), today)

    def size_training(
        self,
        measured: Iterable[Measurement],
        answers: ReadOnly[str, object] | Node | None = None,
        *,
        engine: EngineName | None = None,
        today: date | None = None,
    ) -> Sized:
        """Accelerator-hours, days and cost of a training run from measured steps; raises AnswerError.

        A pace that was not measured is estimated from the model and the accelerator, and said to be.
        """
        from whygpu.sizing.asked import ask  # noqa: PLC0415
        from whygpu.sizing.estimated import estimated_pace  # noqa: PLC0415
        from whygpu.sizing.size import sized_training  # noqa: PLC0415

        asked = ask("training", measured, answers or {}, self.knowledge)

        def estimate(unit: Unit) -> Pace | None:
            return estimated_pace(asked, unit, lambda given: self.estimate(given, engine=engine, today=today))

        return sized_training(asked, self.knowledge, lambda: self.chain(engine), estimate, today)

    def advise_lifecycle(
        self, answers: ReadOnly[str, object] | Node, *, engine: EngineName | None = None, today: date | None = None
    ) -> LifecycleAdvice:
        """The advice on a lifecycle, answers with ``phases``; raises AnswerError."""
        checked = check_lifecycle(as_node(answers), self.knowledge)

        def again(answers: Answers) -> Consultation:
            return consult(self.knowledge, answers, self.chain(engine), today)

        train = self.consult(checked.train, engine=engine, today=today)
        serve = self.consult(checked.serve, engine=engine, today=today)
        return conclude_lifecycle(checked.given, train, serve, again, self.chain(engine))

    def diagnose(
        self, *measurements: Measurement | ReadOnly[str, object], engine: EngineName | None = None, ask: bool = True
    ) -> Diagnosis:
        """The causes of what was measured of one system: measurements, or what a measurement file holds as a mapping.

        ``ask``: look for what to measure next, too. Raises AnswerError.
        """
        from whygpu.diagnosis.diagnosis import diagnose  # noqa: PLC0415  to give advice takes neither
        from whygpu.measured.read import measurement_of  # noqa: PLC0415

        found = [
            measurement_of(as_node(item), "measurement", self.knowledge) if isinstance(item, Mapping) else item
            for item in measurements
        ]
        return diagnose(self._diagnosing.knowledge, found, self._diagnosing.chain(engine), ask=ask)

    @cached_property
    def _diagnosing(self) -> KnowledgeBase:
        """The knowledge with the rules that diagnose in the place of those that a consultation judges."""
        return KnowledgeBase(replace(self.knowledge, strata=self.knowledge.diagnosis))


def load(path: str | Path | None = None) -> KnowledgeBase:
    """Load a knowledge base from a folder, by default the one that comes with whygpu; raises KnowledgeBaseError."""
    forget()
    root = default_root() if path is None else Path(path)
    texts = read_texts(root)
    key = cache.key_of(texts, str(root))
    with collector_at_rest():  # to look for garbage among all that stays takes a quarter of the time
        match cache.read(key):
            case Knowledge() as knowledge, Program() as program:
                return KnowledgeBase(knowledge, program)
        kb = KnowledgeBase(_load(texts, str(root)))
        try:
            cache.write(key, (kb.knowledge, kb.program))
        except EngineError as error:
            raise KnowledgeBaseError(
                [Problem("engine-limit", str(error), Location(str(root)), "split or merge rules")]
            ) from error
    return kb


def _load(texts: ReadOnly[str, str], root: str) -> Knowledge:
    from whygpu.loader.assemble import load_texts  # noqa: PLC0415  what was loaded before needs no reader

    return load_texts(texts, root, REGISTRY, cases=False)
