"""Closes the loop: what was measured against what is estimated for the same setup, as corrections of the estimates."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from whygpu.answers import check, node_of
from whygpu.chain.engines import EvaluatorChain
from whygpu.checks.calculation import Range
from whygpu.checks.correction import Correction, Kind, operating_point
from whygpu.checks.memory.estimate import MEASURED
from whygpu.checks.memory.share import takes_share
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.errors import AnswerError
from whygpu.kept import kept
from whygpu.plans.explicit import explicit_plans
from whygpu.quantity import GIB, show, show_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import date

    from whygpu.answers import Answers
    from whygpu.checks.correction import OperatingPoint
    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement
    from whygpu.plans.plan_set import Candidate
    from whygpu.plans.work import Work

    Consult = Callable[..., Consultation]
    _Told = tuple[Correction, str, bool]
    """A correction, what is said of it, and whether it is beyond what the estimate allows."""

_MOST = 12
"""Loads of one measurement that are looked at."""
_PARTS: tuple[tuple[Kind, str], ...] = (("weights", "weights_gib"), ("activations", "activation_gib"))
"""Parts of memory that start-up logs tell."""
_TRAINING = ("samples_per_s", "tokens_per_s", "step_ms")


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A figure that was measured, the estimate that it is held against, and whether both are rates."""

    names: tuple[str, ...]
    kind: Kind
    figure: str
    rate: bool = False


_OF_TOKENS = (
    _Quantity(("tpot_p50_ms", "tpot_mean_ms"), "token", "token_ms"),
    _Quantity(("output_tokens_per_s",), "token", "tokens_per_s", rate=True),
    _Quantity(("ttft_p50_ms", "ttft_mean_ms"), "first", "ttft_ms"),
)
_OF_BATCHES = (
    _Quantity(("requests_per_s",), "batch", "requests_per_s", rate=True),
    _Quantity(("latency_p50_ms", "latency_mean_ms"), "batch", "ttft_ms"),
)
_OF_STEPS = (
    _Quantity(("samples_per_s",), "step", "samples_per_s", rate=True),
    _Quantity(("tokens_per_s",), "step", "train_tokens_per_s", rate=True),
    _Quantity(("step_ms",), "step", "step_ms"),
)


@dataclass(frozen=True, slots=True)
class _Estimated:
    """What is estimated for a setup that was measured."""

    candidate: Candidate
    speed: Mapping[str, Range | None]

    def figure(self, name: str) -> Range | None:
        """A figure with its range; None where it is not known."""
        if name != "step_ms":
            return self.speed.get(name)
        rate = self.speed.get("samples_per_s")
        setup, layout = self.candidate.setup, self.candidate.layout
        samples = 1000.0 * setup.batch_size * layout.data * setup.gradient_accumulation
        return None if rate is None else Range(samples / rate.high, samples / rate.likely, samples / rate.low)

    @property
    def point(self) -> OperatingPoint:
        """The load that it is for."""
        return operating_point(self.candidate.memory.shape, self.candidate.setup, self.candidate.layout)


def with_measured(work: Work, answers: Answers, knowledge: Knowledge, today: date, consult: Consult) -> Work:
    """The work with what measurements of the same model correct, and with what is to be said of them."""
    corrections: list[Correction] = []
    said: list[str] = []
    only = answers.accelerators[0] if len(answers.accelerators or ()) == 1 and answers.accelerators else None
    for item in answers.measured:
        reader = _Reader(item, work, item.setup.accelerator or only, knowledge, today, consult)
        corrections += reader.corrections()
        said += reader.said
    return (
        replace(work, corrections=tuple(corrections), measured=tuple(dict.fromkeys(said))) if answers.measured else work
    )


class _Reader:
    """Reads one measurement for the work that is asked about."""

    def __init__(
        self,
        measured: Measurement,
        work: Work,
        accelerator: str | None,
        knowledge: Knowledge,
        today: date,
        consult: Consult,
    ) -> None:
        self._measured, self._work, self._knowledge = measured, work, knowledge
        self._accelerator = accelerator
        self._today, self._consult = today, consult
        asked = (problem.message for problem in measured.questions)
        self.said = [f"{text[:1].upper()}{text[1:]} ({self._name})." for text in asked]

    @property
    def _name(self) -> str:
        tool = self._measured.tool.name if self._measured.tool is not None else None
        return self._measured.source or tool or self._measured.name

    def corrections(self) -> Iterator[Correction]:
        """The corrections that it gives; what it cannot give is said."""
        if self._accelerator is None:
            self.said.append(f"{self._name} does not say on which accelerator it was measured, and corrects nothing.")
            return
        kinds: set[Kind] = set()
        for row in self._rows():
            estimated = self._estimated(row)
            if estimated is None:
                return
            for correction, told, odd in self._of(row, estimated):
                if odd or correction.kind not in kinds:
                    self.said.append(told)
                kinds.add(correction.kind)
                yield correction
        if not kinds:
            self.said.append(f"{self._name} has no figure that an estimate can be compared with.")

    def _rows(self) -> list[dict[str, float]]:
        """The single figures, each load and each number of accelerators, those nearest to the load asked for first."""
        figures = {key: value for key, value in self._measured.figures.items() if isinstance(value, float)}
        rows = [figures, *map(asdict, self._measured.points), *map(asdict, self._measured.scaling)]
        given = [{key: value for key, value in row.items() if isinstance(value, float)} for row in rows]
        asked = float(self._work.setup.concurrency)

        def away(row: Mapping[str, float]) -> float:
            load = row.get("concurrency") or 0.0
            return abs(math.log(load / asked)) if load > 0 and asked > 0 else 0.0

        return sorted((row for row in given if row), key=away)[:_MOST]

    def _estimated(self, row: Mapping[str, float]) -> _Estimated | None:
        """What is estimated for a row's setup; None where that is of another model, or cannot be estimated."""
        given = {**self._measured.setup.answers.given, "accelerators": [self._accelerator]}
        given = {key: value for key, value in given.items() if value is not None}
        trains = any(name in row for name in _TRAINING)
        given.setdefault("phase", self._phase(trains))
        width = math.prod(int(given.get(key) or 1) for key in ("tensor_parallel", "pipeline_parallel", "replicas"))
        given["count"] = int(row.get("accelerators") or self._measured.setup.count or width)
        given |= _load(row)
        text = json.dumps(given, sort_keys=True, default=str)
        try:
            found = _estimate(self._knowledge, text, self._today, self._consult)
        except AnswerError as error:
            self.said.append(f"{self._name} corrects nothing: {error.problems[0].message}.")
            return None
        shape, own = found.candidate.memory.shape, self._work.shape
        if _sizes(shape) != _sizes(own):
            self.said.append(f"{self._name} is of {shape.name}, and corrects nothing about {own.name}.")
            return None
        return found

    def _phase(self, trains: bool) -> str:
        asked = self._work.setup
        if trains:
            return asked.phase if asked.trains else "training"
        return "inference" if asked.trains else asked.phase

    def _of(self, row: Mapping[str, float], estimated: _Estimated) -> Iterator[_Told]:
        """One correction for each kind of figure in the row."""
        setup = estimated.candidate.setup
        generates = estimated.speed.get("token_ms") is not None
        quantities = _OF_STEPS if setup.trains else _OF_TOKENS if generates else _OF_BATCHES
        done: set[Kind] = set()
        for item in quantities:
            name = next((name for name in item.names if row.get(name)), None)
            expected = estimated.figure(item.figure)
            if name is None or expected is None or item.kind in done:
                continue
            done.add(item.kind)
            ratio = row[name] / expected.likely
            yield self._correction(item.kind, name, row[name], expected, 1 / ratio if item.rate else ratio, estimated)
        yield from self._memory(row, estimated)

    def _memory(self, row: Mapping[str, float], estimated: _Estimated) -> Iterator[_Told]:
        """Memory that was measured: all of it where the runtime takes what it needs, else its parts (vLLM's log)."""
        need = estimated.candidate.memory
        whole = row.get("memory_gib") and not takes_share(need)
        for kind, name in (("memory", "memory_gib"),) if whole else _PARTS:
            used, parts = row.get(name), [getattr(need.ranges, part) for part in MEASURED[kind]]
            expected = sum(parts[1:], start=parts[0]).times(1 / GIB)
            if kind == "memory":
                expected = Range(need.low / GIB, need.total / GIB, need.high / GIB)
            if used and expected.likely:
                yield self._correction(kind, name, used, expected, used / expected.likely, estimated)

    def _correction(
        self, kind: Kind, name: str, value: float, expected: Range, factor: float, estimated: _Estimated
    ) -> _Told:
        spec = self._knowledge.vocabulary[f"measured.{name}"]
        setup, point = estimated.candidate.setup, estimated.point
        card = estimated.candidate.accelerator
        tokens = estimated.candidate.memory.shape.kind in TOKEN_KINDS
        one = "request at once" if tokens and not setup.trains else "sample at once"
        load = f"{show(point.load)} {one if point.load == 1 else one.replace(' ', 's ', 1)}"
        text = (
            f"{spec.meaning}: {show(value, spec.unit)} measured, {show(expected.likely, spec.unit)} estimated, on "
            f"{card.name} in {setup.format.name} by {setup.runtime}, {load} ({self._name})"
        )
        said = f"{text[:1].upper()}{text[1:]}: estimates of it are multiplied by {factor:.3g}."
        odd = not expected.low <= value <= expected.high
        if odd:
            bounds = show_range(expected.low, expected.high, spec.unit)
            said += f" The estimate allows {bounds}: is it the same model, format and load?"
        picked = {
            field: self._work.catalogue.coefficients.pick(f"correction-{field}", {}).likely
            for field in ("left", "reach", "repeats")
        }
        correction = Correction(
            kind,
            card.id,
            setup.format.id,
            setup.runtime,
            setup.trains,
            factor,
            point,
            picked["left"],
            math.log(picked["reach"]),
            picked["repeats"],
            text,
        )
        return correction, said, odd


def _sizes(shape: Any) -> tuple[Any, ...]:
    """What tells models apart, whatever they are called."""
    return shape.kind, shape.parameters, shape.layers, shape.hidden_size


def _load(row: Mapping[str, float]) -> dict[str, float]:
    """The load of a row as answers."""
    found: dict[str, float] = {}
    flight = row.get("concurrency")
    if not flight and row.get("requests_per_s") and row.get("latency_mean_ms"):
        flight = row["requests_per_s"] * row["latency_mean_ms"] / 1000  # Little's law
    if flight:
        found["concurrency"] = max(round(flight), 1)
    if row.get("batch"):
        found["batch_size"] = int(row["batch"])
    tokens = row.get("context_tokens") or (row.get("input_tokens") or 0) + (row.get("output_tokens") or 0)
    if tokens:
        found["context_tokens"] = max(round(tokens), 1)
    if row.get("output_tokens"):
        found["output_tokens"] = max(round(row["output_tokens"]), 1)
    return found


@kept(128)
def _estimate(knowledge: Knowledge, given: str, today: date, consult: Consult) -> _Estimated:
    """What is estimated for a setup, given as JSON; raises AnswerError. It is asked again for each flip and what-if."""
    answers = check(node_of(json.loads(given)), knowledge)
    plans = consult(knowledge, answers, EvaluatorChain(), today, explicit_plans, waits=False).plans
    return _Estimated(plans.plan_set.candidate(0), plans.plan_set.ranges(0))
