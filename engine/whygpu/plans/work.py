"""The work to be sized: the model's shape and the setup of the checks, from the consultation's names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from whygpu.chain.environment import plain
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import Format, ParallelLayout, Setup
from whygpu.language import values as v
from whygpu.language.types import Signature
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu.chain.environment import SessionEnvironment
    from whygpu.checks.calculation import Calculation
    from whygpu.checks.correction import Correction
    from whygpu.checks.memory.estimate import MemoryEstimate
    from whygpu.checks.memory.parts import MemoryParts
    from whygpu.checks.model_shape import ModelShape
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Catalogue

NATIVE_FORMAT = "workload.native_format"
"""The name of the number format that work is sized in before others are tried."""
BOARD = "workload.board"
"""The name of the board that holds the host's memory."""
ONE_CARD = ParallelLayout()

# Setup fields that are numbers or words answered under the same key
_NUMBERS = (
    "context_tokens",
    "output_tokens",
    "concurrency",
    "batch_size",
    "sequence_tokens",
    "gradient_accumulation",
    "lora_rank",
    "average_context_tokens",
    "image_tokens",
    "adapters",
    "streams",
    "host_vcpus",
    "dataset_columns",
    "generations",
)
_FLOATS = ("dataset_tokens", "dataset_samples", "epochs", "prefix_hit_rate")
_WORDS = (
    "phase",
    "method",
    "optimizer",
    "attention",
    "cross_entropy",
    "offload",
    "lora_targets",
    "runtime",
    "training_precision",
    "speculative",
    "decoding",
    "algorithm",
    "task",
    "gradient_checkpointing",
)
_AUTO = frozenset({"auto", ""})


@dataclass(frozen=True, slots=True)
class Work:
    """What is to run: the shape, and a setup whose format, method and split a plan fills in."""

    shape: ModelShape
    setup: Setup
    catalogue: Catalogue
    corrections: tuple[Correction, ...] = ()
    """What was measured of this model against what is estimated."""
    measured: tuple[str, ...] = ()
    """What measurements do to the estimates, and what is odd about them, in sentences."""

    @property
    def splits_layers(self) -> bool:
        """Whether the stack that serves it spreads a model over cards by whole layers alone (llama.cpp and Ollama)."""
        context = self.setup.context(self.shape)
        return not self.setup.trains and self.catalogue.coefficients.pick("splits-layers", context).likely > 0

    def interleave(self, stages: int) -> int:
        """Stages that each card of a pipeline of so many cards works on in turn, as far as the model has layers: more
        than one in training alone (Narayanan et al. 2021, arXiv:2104.04473).
        """
        if not self.setup.trains or stages == 1:
            return 1
        most = self.catalogue.coefficients.pick("pipeline-interleave", self.setup.context(self.shape)).likely
        return max(min(int(most), self.shape.layers // stages), 1)

    def memory(self, setup: Setup, layout: ParallelLayout, parts: MemoryParts | None = None) -> MemoryEstimate:
        """Memory per accelerator of one way to run it; ``parts``: as estimated, where they are known."""
        coefficients = self.catalogue.coefficients
        if parts is None:
            found = memory.estimate(self.shape, setup, layout, coefficients)
        else:
            found = memory.estimate_of(parts, self.shape, setup, layout, coefficients)
        for kind in memory.MEASURED:
            own = (item for item in self.corrections if item.kind == kind and item.applies(setup))
            correction = next(own, None)
            found = found if correction is None else memory.corrected(found, correction)
        return found

    def calculations_in(self, format_id: str) -> list[Calculation]:
        """How the need on one accelerator in a format comes about."""
        return self.memory(replace(self.setup, format=self.catalogue.formats[format_id]), ONE_CARD).calculations()

    def checks(self) -> Mapping[str, Callable[[Sequence[v.Value]], v.Value]]:
        """The named numeric checks on this work."""
        return {name: partial(check.of_work, self) for name, check in NUMERIC_CHECKS.items()}

    def api_usd(self, arguments: Sequence[v.Value]) -> v.Value:
        """The price of the row of `api-prices` nearest by parameters; none for models that are no decoder."""
        key = {"input": "usd_in", "output": "usd_out"}.get(str(plain(arguments[0])))
        rows = self.catalogue.coefficients.table("api-prices") if self.shape.kind == "decoder" else ()
        if key is None or not rows:
            return v.NO_NUMBER
        nearest = min(rows, key=lambda row: abs(math.log(row["parameters"] / self.shape.parameters)))
        return v.number(float(nearest[key]))

    def in_format(self, arguments: Sequence[v.Value], size: Callable[[Format], float]) -> v.Value:
        """A size in bytes, in the format given, as GiB; unknown where there is no such format."""
        word = plain(arguments[0])
        found = self.catalogue.formats.get(word) if isinstance(word, str) else None
        return v.NO_NUMBER if found is None else v.number(size(found) / GIB)

    def by_method(self, arguments: Sequence[v.Value], size: Callable[[MemoryEstimate], float]) -> v.Value:
        """Training by a method in a format on one accelerator; QLoRA's frozen weights are in 4 bits anyway."""
        method, word = (plain(argument) for argument in arguments)
        formats = self.catalogue.formats
        base = formats.get("nf4" if method == "qlora" else str(word))
        if method not in ("full", "lora", "qlora") or base is None:
            return v.NO_NUMBER
        setup = replace(self.setup, method=str(method), phase="fine-tuning", format=base)
        return v.number(size(self.memory(setup, ONE_CARD)) / GIB)


def _runs(catalogue: Catalogue, arguments: Sequence[v.Value]) -> v.Value:
    word, runtime = (plain(argument) for argument in arguments)
    found = catalogue.formats.get(str(word))
    if found is None or not isinstance(runtime, str):
        return v.NO_NUMBER
    return v.number(float(found.runs_on(runtime)))


@dataclass(frozen=True, slots=True)
class NumericCheck:
    """A numeric check that expressions may call: what it takes and gives, and how it is computed."""

    takes: tuple[Literal["number", "word"], ...]
    unit: str | None
    meaning: str
    of_work: Callable[[Work, Sequence[v.Value]], v.Value]
    of_catalogue: Callable[[Catalogue, Sequence[v.Value]], v.Value] | None = None
    """The same without a model, so that questions may ask it before it is known; None where it needs one."""


NUMERIC_CHECKS: Mapping[str, NumericCheck] = MappingProxyType(
    {
        "weights_gib": NumericCheck(
            ("word",),
            "GiB",
            "the model's weights in a number format",
            lambda work, given: work.in_format(given, lambda f: f.weight_bytes(work.shape)),
        ),
        "need_gib": NumericCheck(
            ("word",),
            "GiB",
            "all memory the work needs on one accelerator, in a number format",
            lambda work, given: work.in_format(
                given, lambda f: work.memory(replace(work.setup, format=f), ONE_CARD).total
            ),
        ),
        "method_gib": NumericCheck(
            ("word", "word"),
            "GiB",
            "all memory that training by a method in a format needs on one accelerator",
            lambda work, given: work.by_method(given, lambda memory: memory.total),
        ),
        "states_gib": NumericCheck(
            ("word", "word"),
            "GiB",
            "what training by a method, in a format, keeps all the time: weights, gradients and optimizer state",
            lambda work, given: work.by_method(
                given, lambda memory: memory.weights + memory.gradients + memory.optimizer
            ),
        ),
        "api_usd": NumericCheck(
            ("word",),
            "USD",
            "what an API asks for a million tokens of 'input' or 'output' of such a model",
            lambda work, given: work.api_usd(given),
        ),
        "runs": NumericCheck(
            ("word", "word"),
            None,
            "1 where a number format is run by a serving stack, 0 where it is not",
            lambda work, given: _runs(work.catalogue, given),
            _runs,
        ),
    }
)
"""Every numeric check: a new one is one entry here."""
FUNCTIONS: Mapping[str, Signature] = MappingProxyType(
    {name: Signature(name, item.takes, item.unit, item.meaning) for name, item in NUMERIC_CHECKS.items()}
)
"""Their signatures, by which expressions are type-checked."""


def format_checks(knowledge: Knowledge) -> Mapping[str, Callable[[Sequence[v.Value]], v.Value]]:
    """The checks that need no model, so that questions may ask them before it is known."""
    return {
        name: partial(item.of_catalogue, knowledge.catalogue)
        for name, item in NUMERIC_CHECKS.items()
        if item.of_catalogue is not None
    }


_MODEL_FACTS: Mapping[str, Callable[[ModelShape], float | str | bool]] = {
    "model.name": lambda shape: shape.name,
    "model.kind": lambda shape: shape.kind,
    "model.type": lambda shape: shape.model_type,
    "model.task": lambda shape: shape.task,
    "model.parameters": lambda shape: float(shape.parameters),
    "model.active_parameters": lambda shape: float(shape.active_parameters),
    "model.layers": lambda shape: float(shape.layers),
    "model.experts": lambda shape: float(shape.experts),
    "model.sample_seconds": lambda shape: float(shape.sample_seconds),
    "model.kv_heads": lambda shape: float(shape.kv_heads),
    "model.positions": lambda shape: float(shape.positions),
    "model.image_size": lambda shape: float(shape.image_size),
    "model.frames": lambda shape: float(shape.frames),
    "model.flops_per_sample": lambda shape: float(shape.flops_per_sample),
    "model.steps": lambda shape: float(shape.steps),
    "model.sound_tokens_s": lambda shape: shape.sound_tokens_s,
    "model.sparse_attention": lambda shape: shape.sparse_attention,
    "model.image_tower": lambda shape: shape.image_tower is not None,
    "model.scores_pairs": lambda shape: shape.scores_pairs,
    "model.file_kind": lambda shape: shape.file_kind,
    "model.file_format": lambda shape: shape.stored_format,
    "model.published_format": lambda shape: shape.published_format,
}
MODEL_NAMES = tuple(_MODEL_FACTS)
_ALWAYS_KNOWN = frozenset(
    {
        "model.name",
        "model.kind",
        "model.parameters",
        "model.active_parameters",
        "model.experts",
        "model.frames",
        "model.sparse_attention",
        "model.image_tower",
    }
)


def model_facts(shape: ModelShape) -> dict[str, float | str | bool]:
    """The ``model.`` names that a shape gives values to; what it does not know is left out."""
    found = {name: fact(shape) for name, fact in _MODEL_FACTS.items()}
    return {name: value for name, value in found.items() if name in _ALWAYS_KNOWN or value}


def setup_of(knowledge: Knowledge, environment: SessionEnvironment) -> Setup:
    """The setup that the consultation's answers and assumptions describe, before a plan fills it in."""

    def answer(key: str) -> float | bool | str | None:
        spec = knowledge.name_by_answer.get(key)
        return None if spec is None else plain(environment.value(spec.name))

    formats = knowledge.catalogue.formats
    found: dict[str, object] = {}
    for key in _NUMBERS:
        value = answer(key)
        if isinstance(value, float):
            found[key] = max(round(value), 1)
    for key in _FLOATS:
        value = answer(key)
        if isinstance(value, float):
            found[key] = value
    for key in _WORDS:
        value = answer(key)
        if isinstance(value, str) and value not in _AUTO:
            found[key] = value
    seen, stored = answer("input_resolution"), answer("resolution")
    if isinstance(stored, float):
        found["frame_pixels"] = math.sqrt(stored)
    if isinstance(pixels := seen or stored, float):
        found["pixels"] = math.sqrt(pixels)
    if found.get("phase") in ("inference", "batch-inference") and found.get("training_precision"):
        del found["training_precision"]
    base = answer("format")
    start = formats.get(str(base)) if base not in (None, "auto") else None
    kv = formats.get(str(answer("kv_format")))
    if board := _concluded(knowledge, environment, BOARD):
        found["host"] = board
    return Setup(format=start or _native(knowledge, environment), kv_format=kv, **found)  # type: ignore[arg-type]


def _native(knowledge: Knowledge, environment: SessionEnvironment) -> Format:
    """The format the work is sized in before quantization is considered: a derived name of the knowledge base."""
    formats = knowledge.catalogue.formats
    return formats.get(_concluded(knowledge, environment, NATIVE_FORMAT)) or next(iter(formats.values()))


def _concluded(knowledge: Knowledge, environment: SessionEnvironment, name: str) -> str:
    """A word that rules conclude; empty where they have not, or the knowledge base has no such name."""
    word = plain(environment.value(name)) if name in knowledge.vocabulary else None
    return word if isinstance(word, str) else ""
