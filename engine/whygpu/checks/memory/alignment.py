"""Memory that post-training takes beside the policy: frozen models, a critic, and the engine that writes answers.

The policy writes answers (rollouts) before it learns from them, so the engine's weights and cache and the activations
of a step take turns; model states stay. Sources: TRL (GRPOConfig: no reference model where beta is 0; DPO with adapters
takes the model without them as its reference), vLLM's sleep mode, OpenRLHF (actor, critic, reward and reference model).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficient, Coefficients, Context
from whygpu.checks.memory.inference import sequence_bytes
from whygpu.checks.memory.parts import NOTHING, MemoryParts, coefficient_term, scaled, stage_share
from whygpu.checks.memory.weights import held_weights
from whygpu.checks.model_shape import GENERATIVE, ModelShape
from whygpu.checks.setup import ParallelLayout, Setup

SUPERVISED = "supervised"


def compares(shape: ModelShape, setup: Setup) -> bool:
    """Whether a policy learns from pairs or rewards, and not from given answers."""
    return setup.algorithm != SUPERVISED and shape.kind in GENERATIVE


@dataclass(frozen=True, slots=True)
class Beside:
    """What one card holds beside the policy, and how it is counted."""

    trained: Coefficient
    """Models that are trained, the policy among them."""
    frozen: Coefficient
    """Models that are held and not trained."""
    copies: Coefficient
    """Copies of the policy that the engine which writes has for itself."""
    rollouts: Coefficient
    """Answers that it writes at once."""
    model: Range
    """Bytes of one model as it is held frozen."""
    sequence: float
    """Bytes of the cache of one answer."""

    def frozen_bytes(self, ranks: int) -> Range:
        """Those of all frozen models, spread over as many ranks as the weights are."""
        return Range(
            self.frozen.low * self.model.low / ranks,
            self.frozen.likely * self.model.likely / ranks,
            self.frozen.high * self.model.high / ranks,
        )

    def engine_weights(self) -> Range:
        """Bytes of the engine's own weights, whole on every tensor group."""
        return Range(*(self.copies.likely * each for each in (self.model.low, self.model.likely, self.model.high)))

    def cache(self) -> Range:
        """Bytes of the cache of all answers at once."""
        return scaled(self.rollouts, self.sequence)


def beside_policy(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Beside | None:
    """What there is beside the policy; None where answers are given and nothing is compared with them."""
    if not compares(shape, setup):
        return None
    trained, frozen, copies, rollouts = (
        coefficients.pick(name, context)
        for name in ("trained-models", "frozen-models", "rollout-weight-copies", "rollouts-in-flight")
    )
    written = replace(setup, context_tokens=setup.sequence_tokens)
    sequence = sequence_bytes(shape, written, layout, setup.sequence_tokens) * stage_share(
        shape.layers, layout.pipeline
    )
    model = held_weights(shape, setup.format, layout, coefficients, context)
    return Beside(trained, frozen, copies, rollouts, model, sequence)


def with_beside(parts: MemoryParts, beside: Beside | None, ranks: int) -> MemoryParts:
    """The parts of a step with what is beside the policy; ``ranks``: over how many the weights are spread."""
    if beside is None:
        return parts
    models = beside.trained.likely
    gradients, optimizer = parts.gradients.times(models), parts.optimizer.times(models)
    engine, cache = beside.engine_weights(), beside.cache()
    step = parts.activations + parts.logits + gradients + parts.reused
    return replace(
        parts,
        weights=parts.weights.times(models) + beside.frozen_bytes(ranks) + engine,
        gradients=gradients,
        optimizer=optimizer,
        kv_cache=cache,
        reused=parts.reused + (_turns(engine + cache, step) if beside.rollouts.likely else NOTHING),
    )


def _turns(engine: Range, step: Range) -> Range:
    """Room that the engine and the step take one after the other, below zero."""
    return Range(-min(engine.low, step.low), -min(engine.likely, step.likely), -min(engine.high, step.high))


def explained(found: list[Calculation], beside: Beside | None, ranks: int, done: MemoryParts) -> list[Calculation]:
    """The parts of a step as they were worked out for the policy alone, with what is beside it."""
    if beside is None:
        return found
    changed = [_explained(item, beside, ranks, done) for item in found]
    if not beside.rollouts.likely:
        return changed
    terms = (coefficient_term("rollouts", beside.rollouts), Term("sequence", beside.sequence, "bytes", (), "each"))
    return [*changed, Calculation("kv_cache", "rollouts * sequence", terms, done.kv_cache.likely, "bytes")]


def _explained(item: Calculation, beside: Beside, ranks: int, done: MemoryParts) -> Calculation:
    if item.name == "reused" and beside.rollouts.likely:
        return _explain_turns(item, beside, done)
    if item.name not in ("weights", "gradients", "optimizer"):
        return item
    terms, formula = (*item.terms, coefficient_term("models", beside.trained)), f"({item.formula}) * models"
    if item.name == "weights":
        one = Term("one_model", beside.model.likely, "bytes", (), "held frozen")
        also = (one, coefficient_term("frozen_models", beside.frozen), coefficient_term("engine_copies", beside.copies))
        terms = (*terms, *also, Term("spread", ranks, "ranks"))
        formula = f"{formula} + one_model * (frozen_models / spread + engine_copies)"
    return replace(item, formula=formula, terms=terms, value=getattr(done, item.name).likely)


def _explain_turns(item: Calculation, beside: Beside, done: MemoryParts) -> Calculation:
    """What the policy's own parts take in turn, and the engine and the step."""
    room = done.activations.likely + done.logits.likely
    alone = -item.terms[0].value * min(done.gradients.likely / beside.trained.likely, room)
    engine = beside.engine_weights().likely + done.kv_cache.likely
    terms = (
        Term("alone", alone, "bytes", item.terms[0].source, "activations and gradients take turns"),
        Term("engine", engine, "bytes", (), "weights and cache of the engine that writes answers"),
        Term("gradients", done.gradients.likely, "bytes"),
        Term("activations", done.activations.likely, "bytes"),
        Term("logits", done.logits.likely, "bytes"),
    )
    formula = "alone - min(engine, activations + logits + gradients + alone)"
    note = "the engine sleeps while weights are updated"
    return replace(item, formula=formula, terms=terms, value=done.reused.likely, note=note)
