"""How the likely figures of a training step come about, term by term."""

from __future__ import annotations

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.memory.activations import step_tokens
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed.columns import LIKELY, coefficient_of
from whygpu.checks.speed.training import (
    TrainingWork,
    attended,
    attention_passes,
    head_flops,
    passes,
    traffic_bytes,
    traffic_of,
)


def explain(done: TrainingWork, i: int) -> list[Calculation]:
    """How the likely figures of one plan came about."""
    columns = done.columns
    shape, setup = columns.shape, columns.setup

    def likely(rows: FloatArray) -> float:
        return float(rows[LIKELY, i])

    terms = _explain_terms(done, i)
    times = [term for term in terms if term.unit == "s"]
    compute = Calculation(
        "compute_s",
        f"max({' + '.join(time.name for time in times)} + unpack, launch) / (1 - bubble)",
        (
            *[time.as_term() for time in times],
            Term("unpack", likely(done.unpack_s), "s", (), "quantized weights turned into 16-bit ones"),
            Term("launch", likely(done.launch_s), "s", (), "host work of a step"),
            Term("bubble", float(done.bubble[i]), "share", ("megatron-interleaved",), "pipeline stages idle"),
        ),
        likely(done.compute_s),
        "s",
    )
    step = Calculation(
        "step_s",
        "compute_s + tensor_wire + data_wire + update / accumulation",
        (
            compute.as_term(),
            Term("tensor_wire", likely(done.tensor_wire_s), "s", (), "all-reduces of tensor parallelism"),
            Term("data_wire", likely(done.data_wire_s), "s", (), "exchange of gradients that arithmetic does not hide"),
            Term("update", likely(done.update_s), "s", (), "the optimizer's pass over its states"),
            Term("accumulation", float(max(setup.gradient_accumulation, 1)), "micro-batches"),
        ),
        likely(done.step_s),
        "s",
    )
    samples = Calculation(
        "samples_per_s",
        "data * batch / step_s",
        (
            Term("data", float(columns.data[i]), "ranks"),
            Term("batch", setup.batch_size, "samples"),
            step.as_term(),
        ),
        likely(done.samples_s),
        "1/s",
    )
    found = [*terms, compute, step, samples]
    if shape.kind in TOKEN_KINDS:
        found.append(
            Calculation(
                "train_tokens_per_s",
                "samples_per_s * sequence",
                (
                    samples.as_term(),
                    Term("sequence", setup.sequence_tokens, "tokens"),
                ),
                likely(done.tokens_s),
                "tokens/s",
            )
        )
    if done.work_total:
        found.append(
            Calculation(
                "train_hours",
                "samples / samples_per_s / 3600",
                (
                    Term("samples", done.work_total, "samples", (), "of the data, all epochs"),
                    samples.as_term(),
                ),
                done.work_total / likely(done.samples_s) / 3600,
                "h",
            )
        )
    return found


def _explain_terms(done: TrainingWork, i: int) -> list[Calculation]:
    """Operations and bytes of a micro-batch, and the three times they take."""
    columns = done.columns
    device = columns.device
    cards = Term("cards", float(columns.tensor[i] * columns.pipeline[i]), "cards")
    found = [
        _explain_products(done),
        Calculation(
            "products_s",
            "(products + head * (max(rate / half, 1) - 1)) / (cards * rate * share)",
            (
                Term("products", done.product_flops, "operations"),
                Term(
                    "head", head_flops(columns), "operations", (), "of the output layer, which is computed in 16 bits"
                ),
                Term("half", float(device.half_flops_s[i]), "operations/s"),
                cards,
                Term("rate", float(device.flops_s[i]), "operations/s"),
                Term(
                    "share",
                    float(done.share[LIKELY, i]),
                    "share",
                    columns.coefficients.pick("product-rate-share", columns.contexts[int(device.kind[i])]).source,
                    "what the best product reaches, or the power limit sustains, times what a step's products reach",
                ),
            ),
            float(done.products_s[LIKELY, i]),
            "s",
        ),
    ]
    if done.attention_flops:
        found += [
            _explain_attention(done),
            Calculation(
                "attention_s",
                "attention / (cards * rate * share)",
                (
                    Term("attention", done.attention_flops, "operations"),
                    cards,
                    Term("rate", float(device.half_flops_s[i]), "operations/s"),
                    coefficient_of(columns, i, "attention-share", "share"),
                ),
                float(done.attention_s[LIKELY, i]),
                "s",
            ),
        ]
    return [
        *found,
        Calculation(
            "traffic_s",
            "(activations * traffic + copied * gathered) / (cards * bandwidth * reached)",
            (
                Term("activations", traffic_bytes(columns), "bytes", (), "that the step computes"),
                coefficient_of(columns, i, traffic_of(columns.shape), "traffic"),
                coefficient_of(columns, i, "gather-copy-bytes", "copied"),
                Term(
                    "gathered", float(columns.gathers[i]) * columns.shape.parameters, "parameters", columns.shape.source
                ),
                cards,
                Term("bandwidth", float(device.bandwidth_bytes_s[i]), "bytes/s"),
                coefficient_of(columns, i, "decode-bandwidth-share", "reached"),
            ),
            float(done.traffic_s[LIKELY, i]),
            "s",
        ),
    ]


def _explain_products(done: TrainingWork) -> Calculation:
    columns = done.columns
    shape, setup = columns.shape, columns.setup
    every = Term("passes", passes(columns), "operations per parameter", ("kaplan-2020",))
    if shape.flops_per_sample and shape.kind not in TOKEN_KINDS:
        return Calculation(
            "products",
            "passes / 2 * forward * area * batch",
            (
                every,
                Term("forward", shape.flops_per_sample, "operations", shape.source),
                Term("area", setup.pixel_scale(shape), "share"),
                Term("batch", setup.batch_size, "samples"),
            ),
            done.product_flops,
            "operations",
        )
    return Calculation(
        "products",
        "passes * active * tokens",
        (
            every,
            Term("active", shape.matmul_parameters, "parameters", shape.source),
            Term("tokens", step_tokens(shape, setup), "tokens"),
        ),
        done.product_flops,
        "operations",
    )


def _explain_attention(done: TrainingWork) -> Calculation:
    columns = done.columns
    shape, setup = columns.shape, columns.setup
    return Calculation(
        "attention",
        "passes * 4 * width * attended * tokens",
        (
            Term("passes", attention_passes(columns), "forward passes", ("flash-attention-2",)),
            Term("width", shape.query_width, "elements", shape.source),
            Term("attended", attended(columns), "tokens", (), "that one token sees, over all layers"),
            Term("tokens", step_tokens(shape, setup), "tokens"),
        ),
        done.attention_flops,
        "operations",
    )
