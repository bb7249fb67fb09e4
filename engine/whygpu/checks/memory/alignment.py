"""Memory that post-training takes beside the policy: frozen models, a critic, and the engine that writes answers.

The policy writes answers (rollouts) before it learns from them. The engine that writes is spread over several cards and
sleeps while weights are updated; the policy's states lie in the host's memory while it writes, where the framework
moves them. So the larger of the two moments counts, and answers for which there is no room wait for others to end.
Sources: Sheng et al. 2024 (HybridFlow, arXiv:2409.19256, 2 and 5.2); verl (hardware needed for RL: tensor parallel
rollouts, param_offload, optimizer_offload); TRL (GRPOConfig: no reference model where beta is 0; DPO with adapters
takes the model without them as its reference); vLLM's sleep mode; OpenRLHF (actor, critic, reward and reference model).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficient, Coefficients, Context
from whygpu.checks.memory.inference import sequence_bytes
from whygpu.checks.memory.parts import MemoryParts, coefficient_term, scaled
from whygpu.checks.memory.weights import held_weights
from whygpu.checks.model_shape import GENERATIVE, ModelShape
from whygpu.checks.setup import ParallelLayout, Setup

SUPERVISED = "supervised"
ENGINE = "vllm"
"""The serving stack that writes answers."""


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
    """Answers that it writes at once for each card, where it has room."""
    staying: Coefficient
    """Share of the policy's states that stays on the card while it writes."""
    model: Range
    """Bytes of one model as it is held frozen."""
    ranks: int
    """Cards that the engine is spread over."""
    shard: Range
    """Bytes of its weights on each."""
    sequence: float
    """Bytes of the cache of one answer on each."""

    def frozen_bytes(self, ranks: int) -> Range:
        """Those of all frozen models, spread over as many ranks as the weights are."""
        return Range(
            self.frozen.low * self.model.low / ranks,
            self.frozen.likely * self.model.likely / ranks,
            self.frozen.high * self.model.high / ranks,
        )

    def engine_weights(self) -> Range:
        """Bytes of the engine's own weights on one card."""
        return self.shard.times(self.copies.likely)

    def kept(self, weights: Range, optimizer: Range) -> Range:
        """Bytes of the policy's states on the card while answers are written: weights that the engine has no copy of
        stay in any case.
        """
        shared = self.copies.likely < 1
        return Range(
            optimizer.low * self.staying.low + weights.low * max(self.staying.low, shared),
            optimizer.likely * self.staying.likely + weights.likely * max(self.staying.likely, shared),
            optimizer.high * self.staying.high + weights.high * max(self.staying.high, shared),
        )

    def cache(self, asleep: Range) -> Range:
        """Bytes of the cache on one card: what is left of the room of all that sleeps meanwhile, for all answers at
        most and for one at least.
        """
        least, engine = self.sequence, self.engine_weights()
        most = scaled(self.rollouts, self.ranks * self.sequence)
        return Range(
            max(min(asleep.low - engine.low, most.low), least),
            max(min(asleep.likely - engine.likely, most.likely), least),
            max(min(asleep.high - engine.high, most.high), least),
        )


def beside_policy(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Beside | None:
    """What there is beside the policy; None where answers are given and nothing is compared with them."""
    if not compares(shape, setup):
        return None
    trained, frozen, copies, rollouts, staying, most = (
        coefficients.pick(name, context)
        for name in (
            "trained-models",
            "frozen-models",
            "rollout-weight-copies",
            "rollouts-in-flight",
            "states-while-writing",
            "rollout-ranks",
        )
    )
    model = held_weights(shape, setup.format, layout, coefficients, context)
    ranks = engine_ranks(shape, layout.cards, most.likely)[-1]
    shard, sequence = engine_bytes(shape, setup, ranks, coefficients, setup.sequence_tokens)
    return Beside(trained, frozen, copies, rollouts, staying, model, ranks, shard, sequence)


def serving(setup: Setup) -> Setup:
    """The setup as the engine writes answers in it."""
    written = max(min(setup.output_tokens, setup.sequence_tokens - 1), 1)
    return replace(
        setup,
        phase="inference",
        runtime=ENGINE,
        offload="none",
        context_tokens=setup.sequence_tokens,
        output_tokens=written,
    )


def engine_ranks(shape: ModelShape, cards: int, most: float) -> list[int]:
    """Numbers of cards that the engine may be spread over: powers of two that divide the cards and the heads."""
    found = [1]
    while (wider := 2 * found[-1]) <= most and cards % wider == 0 and (shape.heads or 1) % wider == 0:
        found.append(wider)
    return found


def engine_bytes(
    shape: ModelShape, setup: Setup, ranks: int, coefficients: Coefficients, tokens: float
) -> tuple[Range, float]:
    """Bytes on each of so many cards: of the engine's weights, and of the cache of one answer of so many tokens."""
    writes, spread = serving(setup), ParallelLayout(tensor=ranks)
    weights = held_weights(shape, setup.format, spread, coefficients, writes.context(shape))
    return weights, sequence_bytes(shape, writes, spread, tokens)


def with_beside(parts: MemoryParts, beside: Beside | None, ranks: int) -> MemoryParts:
    """The parts of a step with what is beside the policy; ``ranks``: over how many the weights are spread."""
    if beside is None:
        return parts
    models = beside.trained.likely
    gradients, optimizer = parts.gradients.times(models), parts.optimizer.times(models)
    held = parts.weights.times(models) + beside.frozen_bytes(ranks)
    step = parts.activations + parts.logits + gradients + parts.reused
    done = replace(parts, weights=held, gradients=gradients, optimizer=optimizer)
    if not beside.rollouts.likely:
        return done
    asleep = held + optimizer + step + beside.kept(held, optimizer).times(-1.0)
    engine, cache = beside.engine_weights(), beside.cache(asleep)
    turns = _turns(engine + cache, asleep)
    return replace(done, weights=held + engine, kv_cache=cache, reused=parts.reused + turns)


def _turns(engine: Range, asleep: Range) -> Range:
    """Room that the engine and what sleeps while it writes take one after the other, below zero."""
    return Range(-min(engine.low, asleep.low), -min(engine.likely, asleep.likely), -min(engine.high, asleep.high))


def explained(found: list[Calculation], beside: Beside | None, ranks: int, done: MemoryParts) -> list[Calculation]:
    """The parts of a step as they were worked out for the policy alone, with what is beside it."""
    if beside is None:
        return found
    changed = [_explained(item, beside, ranks, done) for item in found]
    if not beside.rollouts.likely:
        return changed
    reused = next(item for item in changed if item.name == "reused")
    asleep = _explain_asleep(reused, beside, done)
    others = [item for item in changed if item.name != "reused"]
    return [*others, asleep, _explain_cache(asleep, beside, done), _explain_turns(asleep, beside, done)]


def _explained(item: Calculation, beside: Beside, ranks: int, done: MemoryParts) -> Calculation:
    if item.name not in ("weights", "gradients", "optimizer"):
        return item
    terms, formula = (*item.terms, coefficient_term("models", beside.trained)), f"({item.formula}) * models"
    if item.name == "weights":
        one = Term("one_model", beside.model.likely, "bytes", (), "held frozen")
        also = (one, coefficient_term("frozen_models", beside.frozen), Term("spread", ranks, "ranks"))
        shard = Term("shard", beside.shard.likely, "bytes", (), f"of a copy that is spread over {beside.ranks} cards")
        terms = (*terms, *also, shard, coefficient_term("engine_copies", beside.copies))
        formula = f"{formula} + one_model * frozen_models / spread + shard * engine_copies"
    return replace(item, formula=formula, terms=terms, value=getattr(done, item.name).likely)


def _explain_asleep(reused: Calculation, beside: Beside, done: MemoryParts) -> Calculation:
    """What of the policy and its step is not on the card while answers are written."""
    room = done.activations.likely + done.logits.likely
    alone = -reused.terms[0].value * min(done.gradients.likely / beside.trained.likely, room)
    weights = done.weights.likely - beside.engine_weights().likely
    kept = beside.kept(Range(weights, weights, weights), done.optimizer).likely
    terms = (
        Term("policy_weights", weights, "bytes", (), "the engine's own are not among them"),
        Term("optimizer", done.optimizer.likely, "bytes"),
        Term("kept", kept, "bytes", beside.staying.source, "of both that stays while answers are written"),
        Term("gradients", done.gradients.likely, "bytes"),
        Term("activations", done.activations.likely, "bytes"),
        Term("logits", done.logits.likely, "bytes"),
        Term("alone", alone, "bytes", reused.terms[0].source, "activations and gradients take turns"),
    )
    formula = "policy_weights + optimizer - kept + gradients + activations + logits + alone"
    value = weights + done.optimizer.likely - kept + done.gradients.likely + room + alone
    return Calculation("asleep", formula, terms, value, "bytes")


def _explain_cache(asleep: Calculation, beside: Beside, done: MemoryParts) -> Calculation:
    terms = (
        asleep.as_term(),
        Term("engine", beside.engine_weights().likely, "bytes", (), "the engine's own weights"),
        coefficient_term("rollouts", beside.rollouts),
        Term("engine_cards", beside.ranks, "cards", (), "that it is spread over"),
        Term("sequence", beside.sequence, "bytes", (), "of one answer on each of them"),
    )
    formula = "max(min(asleep - engine, rollouts * engine_cards * sequence), sequence)"
    note = "answers that find no room wait for others to end"
    return Calculation("kv_cache", formula, terms, done.kv_cache.likely, "bytes", note=note)


def _explain_turns(asleep: Calculation, beside: Beside, done: MemoryParts) -> Calculation:
    """What the policy's own parts take in turn, and the engine and all that sleeps meanwhile."""
    alone = next(term for term in asleep.terms if term.name == "alone")
    engine = beside.engine_weights().likely + done.kv_cache.likely
    meaning = "weights and cache of the engine that writes answers"
    terms = (alone, Term("engine", engine, "bytes", (), meaning), asleep.as_term())
    note = "the engine sleeps while weights are updated, the policy while answers are written"
    return Calculation("reused", "alone - min(engine, asleep)", terms, done.reused.likely, "bytes", note=note)
