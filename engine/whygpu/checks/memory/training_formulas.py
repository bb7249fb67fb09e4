"""How the parts of a training step's memory came about."""

from __future__ import annotations

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.memory.activations import activations, explain_activations
from whygpu.checks.memory.alignment import beside_policy, explained
from whygpu.checks.memory.parts import MemoryParts, coefficient_term, explain_overhead
from whygpu.checks.memory.training import (
    OFFLOADED,
    States,
    end_bytes,
    end_parameters,
    frozen_share,
    keeps_stage,
    layer_bytes,
    optimizer_share,
    stage_layers,
    states_of,
    training_context,
)
from whygpu.checks.memory.weights import held_weights
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup


def explain(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, done: MemoryParts
) -> list[Calculation]:
    """Every part of `training.parts` with its formula and the numbers put in."""
    context = training_context(shape, setup, layout)
    states = states_of(shape, setup, layout, coefficients, context)
    kept = activations(shape, setup, layout, coefficients, context)
    beside = beside_policy(shape, setup, layout, coefficients, context)
    found = [
        _explain_weights(shape, setup, layout, coefficients, states, done),
        _explain_gradients(setup, states, done),
        _explain_optimizer(shape, setup, states, done),
        *explain_activations(shape, setup, layout, coefficients, context, kept),
        _explain_overhead(layout, coefficients, context, done),
        _explain_reused(coefficients, context, done),
    ]
    return explained(found, beside, states.weight_ranks, done)


def _trained(setup: Setup, states: States, share: float) -> tuple[Term, Term]:
    meaning = "" if setup.method == "full" else f"adapters of rank {setup.lora_rank} beside {setup.lora_targets}"
    by = "tensor, pipeline and expert parallelism" if share < states.share else "tensor and pipeline parallelism"
    return (
        Term("trained", states.trained, "parameters", (), meaning),
        Term("share", share, "share", (), f"of the model on this card, by {by}"),
    )


def _on_host(name: str) -> Calculation:
    return Calculation(name, "on_card", (Term("on_card", 0, "bytes", (), "kept in the host's memory"),), 0.0, "bytes")


def _explain_gradients(setup: Setup, states: States, done: MemoryParts) -> Calculation:
    if setup.offload == "all":
        return _on_host("gradients")
    held = Term("held", states.gradient_share, "share", (), "of the gradients, on this rank")
    trained = _trained(setup, states, states.held_share)
    terms: tuple[Term, ...] = (*trained, coefficient_term("gradient_bytes", states.gradient), held)
    formula = "trained * share * gradient_bytes * held"
    return Calculation("gradients", formula, terms, done.gradients.likely, "bytes")


def _tables(shape: ModelShape, states: States) -> tuple[Term, Term]:
    return (
        Term("tables", shape.table_parameters, "parameters", shape.source, "of embedding tables"),
        Term("table_ranks", states.table_ranks, "ranks", (), "that they are spread over"),
    )


def _explain_optimizer(shape: ModelShape, setup: Setup, states: States, done: MemoryParts) -> Calculation:
    if setup.offload in OFFLOADED:
        return _on_host("optimizer")
    terms: tuple[Term, ...] = (
        *_trained(setup, states, optimizer_share(states)),
        coefficient_term("master_bytes", states.master),
        coefficient_term("moment_bytes", states.moments),
        Term("ranks", states.optimizer_ranks, "ranks"),
    )
    formula = "trained * share * (master_bytes + moment_bytes) / ranks"
    if shape.table_parameters:
        terms = (*terms, *_tables(shape, states), coefficient_term("row_bytes", states.table_moments))
        formula = f"{formula} + tables * row_bytes / table_ranks"
    return Calculation("optimizer", formula, terms, done.optimizer.likely, "bytes")


def _explain_weights(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    coefficients: Coefficients,
    states: States,
    done: MemoryParts,
) -> Calculation:
    terms = [
        *_trained(setup, states, states.held_share),
        coefficient_term("weight_bytes", states.weight),
        Term("ranks", states.weight_ranks, "ranks"),
    ]
    formula = "trained * share * weight_bytes / ranks"
    if shape.table_parameters:
        terms += [*_tables(shape, states), coefficient_term("table_bytes", states.table_weight)]
        formula = f"{formula} + tables * table_bytes / table_ranks"
    share = frozen_share(shape, setup)
    if share:
        whole_model = held_weights(shape, setup.format, layout, coefficients, training_context(shape, setup, layout))
        meaning = f"the model in {setup.format.name}"
        terms.append(Term("model", whole_model.likely, "bytes", setup.format.source, meaning))
        terms.append(Term("frozen", share, "share", (), "of it that is held and not trained"))
        formula = f"model * frozen / ranks + {formula}"
        if states.held_share < states.share:
            own = Term("own", states.held_share / states.share, "share", (), "of it, without what other cards hold")
            terms, formula = [*terms, own], f"own * {formula}"
    if states.upcast.likely:
        terms += [
            coefficient_term("upcast", states.upcast),
            Term("end_parameters", end_parameters(shape, layout), "parameters", shape.source, "token table and head"),
        ]
        formula = f"{formula} + upcast * end_parameters / ranks"
    if states.weight_ranks > 1 or setup.offload == "all":
        gathered = coefficient_term("gathered", states.gathered)
        if keeps_stage(layout):
            gathered = Term("gathered", stage_layers(shape, layout), "layers", shape.source, "of the stage, all kept")
        terms += [
            Term("layer", layer_bytes(shape, setup, layout), "bytes", shape.source),
            gathered,
            Term("ends", end_bytes(shape, setup, layout), "bytes", shape.source, "token table and head"),
            coefficient_term("gathered_ends", states.gathered_ends),
        ]
        whole = "layer * gathered + ends * gathered_ends"
        formula = whole if setup.offload == "all" else f"{formula} + {whole}"
    return Calculation("weights", formula, tuple(terms), done.weights.likely, "bytes")


def _explain_overhead(
    layout: ParallelLayout, coefficients: Coefficients, context: dict[str, str], done: MemoryParts
) -> Calculation:
    outside = explain_overhead(layout, coefficients, context, done.overhead.likely)
    if layout.data <= 1 or layout.sharding != "none":
        return outside
    terms = (
        *outside.terms,
        Term("gradients", done.gradients.likely, "bytes"),
        coefficient_term("copies", coefficients.pick("gradient-copies", context)),
    )
    return Calculation("overhead", f"{outside.formula} + gradients * copies", terms, done.overhead.likely, "bytes")


def _explain_reused(coefficients: Coefficients, context: dict[str, str], done: MemoryParts) -> Calculation:
    terms = (
        coefficient_term("reuse", coefficients.pick("gradient-reuse", context)),
        Term("gradients", done.gradients.likely, "bytes"),
        Term("activations", done.activations.likely, "bytes"),
        Term("logits", done.logits.likely, "bytes"),
    )
    note = "activations are freed while gradients are filled in"
    formula = "-reuse * min(gradients, activations + logits)"
    return Calculation("reused", formula, terms, done.reused.likely, "bytes", note=note)
