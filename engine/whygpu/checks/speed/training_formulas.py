"""How the likely figures of a training step come about, term by term."""

from __future__ import annotations

from collections.abc import Sequence

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.memory.alignment import compares
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed.alignment import PASSES, ROLLOUTS, TAIL, rollouts, written_tokens
from whygpu.checks.speed.columns import LIKELY, coefficient_of
from whygpu.checks.speed.training import (
    TrainingWork,
    attended,
    attention_passes,
    dispatched_elements,
    expert_copies,
    forward_flops,
    forward_s,
    head_flops,
    looked_up,
    multiplied,
    passes,
    square_flops,
    tokens_of,
    traffic_bytes,
    traffic_of,
)
from whygpu.checks.speed.vision import area_term


def explain(done: TrainingWork, i: int) -> list[Calculation]:
    """How the likely figures of one plan came about."""
    terms = _explain_terms(done, i)
    compute = _explain_compute(done, i, [term for term in terms if term.unit == "s"])
    step = _explain_step(done, i, compute)
    return [*terms, compute, step, *_explain_rates(done, i, step)]


def _likely(rows: FloatArray, i: int) -> float:
    return float(rows[LIKELY, i])


def _explain_compute(done: TrainingWork, i: int, times: Sequence[Calculation]) -> Calculation:
    terms = (
        *[time.as_term() for time in times],
        Term("unpack", _likely(done.batch.unpack_s, i), "s", (), "quantized weights turned into 16-bit ones"),
        Term("launch", _likely(done.batch.launch_s, i), "s", (), "host work of a step"),
        *_explain_waiting(done, i),
        Term("bubble", float(done.bubble[i]), "share", ("megatron-interleaved",), "pipeline stages idle"),
    )
    card = f"max({' + '.join(time.name for time in times)} + unpack, launch)"
    formula = f"({card} + waiting) / (1 - bubble)" if _likely(done.batch.waiting_s, i) else f"{card} / (1 - bubble)"
    return Calculation("compute_s", formula, terms, _likely(done.compute_s, i), "s")


def _explain_waiting(done: TrainingWork, i: int) -> tuple[Term, ...]:
    waiting = _likely(done.batch.waiting_s, i)
    if not waiting:
        return ()
    columns, operators = done.columns, done.columns.shape.sample_operators
    if operators:
        text = f"host work on one sample after another ({operators} operators each), which the card waits for"
        picked = "operator-s"
    else:
        text = f"host work to make a batch of samples of {columns.shape.sample_seconds:g} s, which the card waits for"
        picked = "sound-load-s"
    source = (*columns.shape.source, *columns.coefficients.pick(picked, columns.base).source)
    return (Term("waiting", waiting, "s", source, text),)


def _explain_step(done: TrainingWork, i: int, compute: Calculation) -> Calculation:
    exchange = "exchange of gradients that arithmetic does not hide"
    terms: tuple[Term, ...] = (
        compute.as_term(),
        Term("tensor_wire", _likely(done.tensor_wire_s, i), "s", (), "all-reduces of tensor parallelism"),
        Term("data_wire", _likely(done.data_wire_s, i), "s", (), exchange),
        Term("update", _likely(done.update_s, i), "s", (), "the optimizer's pass over its states"),
        Term("accumulation", float(done.columns.accumulation[i]), "micro-batches"),
    )
    formula = "compute_s + tensor_wire + data_wire + update / accumulation"
    if done.columns.tables[i]:
        text = (
            f"rows of {looked_up(done.columns)[i]:,.0f} parameters come from other cards, and their gradients go back"
        )
        source = done.columns.coefficients.pick("table-exchange-bytes", done.columns.base).source
        terms = (*terms, Term("table_wire", _likely(done.table_wire_s, i), "s", source, text))
        formula = f"{formula} + table_wire"
    if done.columns.expert[i] > done.columns.tensor[i]:
        terms = (*terms, _explain_experts(done, i))
        formula = f"{formula} + expert_wire"
    if (carried := _likely(done.offload_s, i)) > 0:
        text = "inputs of recomputed layers to the host and back"
        terms = (*terms, Term("offload", carried, "s", ("checkpoint-offload",), text))
        formula = f"{formula} + offload"
    if compares(done.columns.shape, done.columns.setup):
        passes_of = coefficient_of(done.columns, i, PASSES, "passes")
        forward = Term("forward", _likely(forward_s(done.columns, done.batch), i), "s", (), "a forward pass")
        terms, formula = (*terms, passes_of, forward), f"{formula} + passes * forward"
    if rollouts(done.columns):
        terms, formula = (*terms, _explain_rollouts(done, i)), f"{formula} + rollout"
    return Calculation("step_s", formula, terms, _likely(done.step_s, i), "s")


def _explain_experts(done: TrainingWork, i: int) -> Term:
    columns = done.columns
    far, near = (float(each[i]) for each in expert_copies(columns, columns.wire().together))
    network = f"{far:.1f} times over the network and " if far else ""
    text = (
        f"each token goes {network}{near:.1f} times over the link to its experts on {columns.expert[i]:g} cards and "
        "back, in each layer with experts; what arithmetic does not hide"
    )
    source = ("deepseek-v3-report", *columns.coefficients.pick("expert-exchange-overlap", columns.base).source)
    return Term("expert_wire", _likely(done.expert_wire_s, i), "s", source, text)


def _explain_rollouts(done: TrainingWork, i: int) -> Term:
    columns = done.columns
    engine = f"an engine over {done.rollout.ranks[i]:g} cards" if done.rollout.ranks[i] > 1 else "one card"
    text = (
        f"to write {columns.batch[i]:g} answers of {written_tokens(columns):,} tokens, "
        f"{done.rollout.at_once[i]:g} at once on {engine}"
    )
    tail = columns.coefficients.pick(TAIL, columns.base)
    text = f"{text}, {tail.likely:g} times as long as if all were of one length"
    source = (*columns.coefficients.pick(ROLLOUTS, columns.base).source, *tail.source)
    return Term("rollout", _likely(done.rollout.seconds, i), "s", source, text)


def _explain_rates(done: TrainingWork, i: int, step: Calculation) -> list[Calculation]:
    """Samples and tokens a second, and the hours of the job where its size is known."""
    columns, setup = done.columns, done.columns.setup
    data = Term("data", float(columns.data[i]), "ranks")
    terms = (data, Term("batch", float(columns.batch[i]), "samples"), step.as_term())
    samples = Calculation("samples_per_s", "data * batch / step_s", terms, _likely(done.samples_s, i), "1/s")
    found = [samples]
    if columns.shape.kind in TOKEN_KINDS:
        per_sample = (samples.as_term(), Term("sequence", setup.sequence_tokens, "tokens"))
        tokens = _likely(done.tokens_s, i)
        found.append(Calculation("train_tokens_per_s", "samples_per_s * sequence", per_sample, tokens, "tokens/s"))
    if done.work_total:
        of_job = (Term("samples", done.work_total, "samples", (), "of the data, all epochs"), samples.as_term())
        hours = done.work_total / _likely(done.samples_s, i) / 3600
        found.append(Calculation("train_hours", "samples / samples_per_s / 3600", of_job, hours, "h"))
    return found


def _explain_terms(done: TrainingWork, i: int) -> list[Calculation]:
    """Operations and bytes of a micro-batch, and the three times they take."""
    found = [_explain_products(done, i), _explain_products_s(done, i)]
    if done.batch.attention_flops[i]:
        found += [_explain_attention(done, i), _explain_attention_s(done, i)]
    return [*found, _explain_traffic_s(done, i)]


def _cards(done: TrainingWork, i: int) -> Term:
    return Term("cards", float(done.columns.tensor[i] * done.columns.pipeline[i]), "cards")


def _explain_products_s(done: TrainingWork, i: int) -> Calculation:
    columns, device = done.columns, done.columns.device
    share = Term(
        "share",
        _likely(done.batch.share, i),
        "share",
        columns.coefficients.pick("product-rate-share", columns.contexts[int(device.kind[i])]).source,
        "what the best product reaches, or the power limit sustains, times what a step's products reach",
    )
    head = "of the output layer, which is computed in 16 bits"
    terms = (
        Term("products", float(done.batch.product_flops[i]), "operations"),
        Term("head", float(head_flops(columns)[i]), "operations", (), head),
        Term("half", float(device.half_flops_s[i]), "operations/s"),
        _cards(done, i),
        Term("rate", float(columns.flops_s()[i]), "operations/s"),
        share,
    )
    formula = "(products + head * (max(rate / half, 1) - 1)) / (cards * rate * share)"
    return Calculation("products_s", formula, terms, _likely(done.batch.products_s, i), "s")


def _explain_attention_s(done: TrainingWork, i: int) -> Calculation:
    terms = (
        Term("attention", float(done.batch.attention_flops[i]), "operations"),
        _cards(done, i),
        Term("rate", float(done.columns.device.half_flops_s[i]), "operations/s"),
        coefficient_of(done.columns, i, "attention-share", "share"),
    )
    formula = "attention / (cards * rate * share)"
    return Calculation("attention_s", formula, terms, _likely(done.batch.attention_s, i), "s")


def _explain_traffic_s(done: TrainingWork, i: int) -> Calculation:
    columns, shape = done.columns, done.columns.shape
    terms: tuple[Term, ...] = (
        Term("activations", float(traffic_bytes(columns)[i]), "bytes", (), "that the step computes"),
        coefficient_of(columns, i, traffic_of(shape), "traffic"),
        coefficient_of(columns, i, "traffic-left", "left"),
        coefficient_of(columns, i, "gather-copy-bytes", "copied"),
        Term("gathered", float(columns.gathers[i]) * shape.parameters, "parameters", shape.source),
        _cards(done, i),
        Term("bandwidth", float(columns.device.bandwidth_bytes_s[i]), "bytes/s"),
        coefficient_of(columns, i, "decode-bandwidth-share", "reached"),
    )
    moved = "activations * traffic * left + copied * gathered"
    if columns.shape.is_moe:
        text = "copies of tokens for the experts that they are sent to"
        sorted_terms = (
            Term("sent", float(dispatched_elements(columns)[i]), "elements", columns.shape.source, text),
            coefficient_of(columns, i, "expert-traffic-bytes", "sorted"),
        )
        terms, moved = (*terms, *sorted_terms), f"{moved} + sorted * sent"
    formula = f"({moved}) / (cards * bandwidth * reached)"
    return Calculation("traffic_s", formula, terms, _likely(done.batch.traffic_s, i), "s")


def _explain_products(done: TrainingWork, i: int) -> Calculation:
    columns = done.columns
    shape = columns.shape
    every = Term("passes", passes(columns), "operations per parameter", ("kaplan-2020",))
    if shape.flops_per_sample and shape.kind not in TOKEN_KINDS:
        return Calculation(
            "products",
            "passes / 2 * forward * area * batch",
            (
                every,
                Term(
                    "forward",
                    forward_flops(shape) - square_flops(shape),
                    "operations",
                    shape.source,
                    "without attention of an image to itself" if shape.square_flops_per_sample else "",
                ),
                area_term(shape, columns.setup),
                Term("batch", float(columns.batch[i]), "samples"),
            ),
            float(done.batch.product_flops[i]),
            "operations",
        )
    return Calculation(
        "products",
        "passes * active * tokens",
        (
            every,
            Term("active", multiplied(columns), "parameters", shape.source),
            Term("tokens", float(tokens_of(columns)[i]), "tokens"),
        ),
        float(done.batch.product_flops[i]),
        "operations",
    )


def _explain_attention(done: TrainingWork, i: int) -> Calculation:
    columns, shape = done.columns, done.columns.shape
    every = Term("passes", attention_passes(columns), "forward passes", ("flash-attention-2",))
    if shape.kind not in TOKEN_KINDS:
        text = "of an image to itself, which grow with the square of its area"
        return Calculation(
            "attention",
            "passes * square * area ** 2 * batch",
            (
                every,
                Term("square", square_flops(shape), "operations", shape.source, text),
                area_term(shape, columns.setup),
                Term("batch", float(columns.batch[i]), "samples"),
            ),
            float(done.batch.attention_flops[i]),
            "operations",
        )
    return Calculation(
        "attention",
        "passes * 4 * width * attended * tokens",
        (
            every,
            Term("width", shape.query_width, "elements", shape.source),
            Term("attended", attended(columns), "tokens", (), "that one token sees, over all layers"),
            Term("tokens", float(tokens_of(columns)[i]), "tokens"),
        ),
        float(done.batch.attention_flops[i]),
        "operations",
    )
