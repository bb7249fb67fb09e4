"""How the likely figures of reading prompts and writing tokens came about, for one plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.model_shape import GENERATIVE
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed import splitting
from whygpu.checks.speed.columns import LIKELY, Columns, coefficient_of, power_term
from whygpu.checks.speed.inference import (
    InferenceWork,
    Overheads,
    chunk_passes,
    chunks,
    expert_rows,
    prompt_length,
    prompt_width,
    routed_parameters,
    rows_each,
    spread_s,
    step_unpacked_bytes,
    step_unpacked_rate,
    unpacked_bytes,
    unpacked_rate,
    weights_read,
)
from whygpu.checks.speed.serving import SLOWDOWN, Host, explain_gain


def explain(done: InferenceWork, i: int) -> list[Calculation]:
    """The figures of plan `i` with their formulas and the numbers put in."""
    *parts, prefill = _prefill(done, i)
    if done.columns.shape.kind not in GENERATIVE:
        return [*parts, prefill, _samples(done, i, prefill)]
    read, compute = _read(done, i), _compute(done, i)
    step = _step(done, i, read, compute)
    steps = [step]
    if done.decode.gain is not None:
        gain = explain_gain(done.columns, i, float(done.requests[i]), done.decode.gain)
        terms = (step.as_term(), gain.as_term())
        value = _likely(done.decode.token_s, i)
        steps += [gain, Calculation("token_s", "step_s / speculative_gain", terms, value, "s", note="on average")]
    found = [*parts, prefill, read, compute, *steps]
    first = prefill
    if done.longest is not None:
        first = replace(_prefill(done.longest, i)[-1], name="longest_prefill_s", note="as of a usual prompt")
        found.append(first)
    return [*found, *_answers(done, i, prefill, first, steps[-1])]


def _likely(rows: FloatArray, i: int) -> float:
    return float(rows[LIKELY, i])


def _rates(done: InferenceWork, i: int) -> tuple[Term, Term, Term]:
    columns = done.columns
    return (
        Term("tensor", float(columns.tensor[i]), "cards"),
        Term("rate", float(columns.device.flops_s[i]), "operations/s"),
        Term("bandwidth", float(columns.device.bandwidth_bytes_s[i]), "bytes/s"),
    )


def _host(overheads: Overheads, i: int) -> tuple[Term, Term, Term]:
    return (
        Term("launch", _likely(overheads.launch_s, i), "s", (), "host work of all layers"),
        Term("gap", _likely(overheads.gap_s, i), "s", (), "between kernels of all layers, and around them"),
        Term("hops", _likely(overheads.hop_s, i), "s", (), "from one pipeline stage to the next"),
    )


def _row(overheads: Overheads, i: int) -> Term:
    return Term("row", _likely(overheads.row_s, i), "s per token", (), "kernels that work on a row each, of all layers")


def _spread(done: InferenceWork, i: int, *, step: bool) -> Term | None:
    """What is moved between tokens and their experts, where there are any and the runtime's share is known."""
    columns = done.columns
    share = splitting.expert_share(columns) * (1.0 if step else columns.prompts_at_once())
    seconds = _likely(spread_s(columns, share), i) if columns.shape.is_moe else 0.0
    if not seconds:
        return None
    source = columns.coefficients.pick("expert-spread-bytes", columns.contexts[int(columns.device.kind[i])]).source
    return Term("spread", seconds, "s per token", source, "to its experts and back, on each card alike")


def _prefill(done: InferenceWork, i: int) -> list[Calculation]:
    """Seconds of a prompt, and the three terms it is made of."""
    compute, read, moved = _prompt_compute(done, i), _prompt_read(done, i), _prompt_moved(done, i)
    wire = Term("wire", _likely(done.prefill.wire_s, i), "s", (), splitting.said(done.columns, i, step=False))
    parts = tuple(part.as_term() for part in (compute, read, moved))
    together_s = "(prefill_compute_s ** 2 + prefill_read_s ** 2) ** 0.5 + prefill_moved_s"
    formula = f"max({together_s}, launch) + gap + hops + wire"
    terms = (*parts, *_host(done.overheads, i), wire)
    prefill = Calculation("prefill_s", formula, terms, _likely(done.prefill.total_s, i), "s")
    return [compute, read, moved, _with_adapters(done, i, prefill)]


def _passes(done: InferenceWork, i: int) -> tuple[Term, Term]:
    """Requests read in one pass, and the share of its time that pipeline stages leave."""
    filled = float(done.prefill.filled[i])
    return (
        Term("together", float(done.prefill.together[i]), "requests", (), "read in one pass"),
        Term("filled", filled, "share", (), "of the time, as pipeline stages overlap"),
    )


def _prompt_compute(done: InferenceWork, i: int) -> Calculation:
    columns = done.columns
    tensor, rate, _ = _rates(done, i)
    unpacked = Term(
        "unpacked",
        float(np.broadcast_to(unpacked_rate(columns), done.prefill.total_s.shape)[LIKELY, i]),
        "share",
        columns.coefficients.pick("unpacked-rate-share", columns.contexts[int(columns.device.kind[i])]).source,
        "of the rate where weights are unpacked within the products",
    )
    terms: tuple[Term, ...] = (
        Term("flops", done.prefill.flops, "operations", ("kaplan-2020",)),
        rate,
        unpacked,
        Term("scores", done.prefill.score_flops, "operations", ("kaplan-2020",), "of attention"),
        Term("half", float(columns.device.half_flops_s[i]), "operations/s", (), "in 16 bits"),
        *_passes(done, i),
        tensor,
        power_term(done.rates.power, i),
        coefficient_of(columns, i, "prefill-mfu", "mfu"),
    )
    formula = "(flops / (rate * unpacked) + scores / half) * together * filled / (tensor * power * mfu)"
    if done.prefill.image_flops:
        said = f"of the tower that {columns.setup.image_tokens} tokens of images come from"
        terms = (*terms, Term("images", done.prefill.image_flops, "operations", columns.shape.source, said))
        formula = formula.replace("scores /", "(scores + images) /")
    if columns.by_requests[i]:
        routed_share = routed_parameters(columns.shape) / columns.shape.prompt_parameters
        undivided = float(splitting.undivided(columns, routed_share)[i])
        terms = (*terms, Term("undivided", undivided, "times", (), "an even share: a card reads a prompt of its own"))
        formula = formula.replace("flops", "flops * undivided").replace("scores", "scores * tensor")
    return Calculation("prefill_compute_s", formula, terms, _likely(done.prefill.compute_s, i), "s")


def _prompt_read(done: InferenceWork, i: int) -> Calculation:
    columns = done.columns
    tensor, _, bandwidth = _rates(done, i)
    count, passes = chunks(columns, done.computed), float(chunk_passes(columns, done.computed)[i])
    tokens = np.full(columns.device.size, done.computed / count)
    once = weights_read(columns.shape, columns, tokens, done.overheads.host)
    terms = (
        Term("weights", float(once[i]), "bytes", (), "that a chunk of the prompt reads"),
        Term("passes", passes, "", (), f"of {count:g} x {done.computed / count:,.0f} tokens, as stages overlap"),
        tensor,
        bandwidth,
        coefficient_of(columns, i, "decode-bandwidth-share", "share"),
    )
    formula = "weights * passes / tensor / (bandwidth * share)"
    return Calculation("prefill_read_s", formula, terms, _likely(done.prefill.read_s, i), "s")


def _prompt_moved(done: InferenceWork, i: int) -> Calculation:
    columns, shape, prompt = done.columns, done.columns.shape, prompt_length(done.columns)
    tensor, _, bandwidth = _rates(done, i)
    together, filled = _passes(done, i)
    unpacked = float(unpacked_bytes(columns, done.computed)[i])
    terms: tuple[Term, ...] = (
        coefficient_of(columns, i, "prefill-traffic-bytes", "traffic"),
        Term("tokens", done.computed, "tokens", (), _of_prompt(done, prompt)),
        Term("width", prompt_width(shape, prompt, columns.setup.attention), "elements per token", shape.source),
        together,
        Term("unpacked", unpacked, "bytes", shape.source, "weights turned into 16-bit ones"),
        coefficient_of(columns, i, "prefill-unpacked-share", "copies"),
        _row(done.overheads, i),
        filled,
        replace(tensor, value=tensor.value / float(splitting.copies(columns)[i])),
        bandwidth,
        coefficient_of(columns, i, "decode-bandwidth-share", "share"),
    )
    formula = (
        "((traffic * tokens * width * together + unpacked * copies) / tensor / (bandwidth * share) "
        "+ row * tokens * together) * filled"
    )
    if spread := _spread(done, i, step=False):
        terms, formula = (*terms, spread), formula.replace("row *", "(row + spread) *")
    moved = Calculation("prefill_moved_s", formula, terms, _likely(done.prefill.moved_s, i), "s")
    return moved if done.overheads.host is None else _copied(done, i, done.overheads.host, moved)


def _of_prompt(done: InferenceWork, prompt: int) -> str:
    """What the tokens computed are of a prompt."""
    rate = done.columns.setup.prefix_hit_rate
    return f"of {prompt}; the other {rate:.0%} are found in the cache" if done.computed < prompt else ""


def _with_adapters(done: InferenceWork, i: int, calculation: Calculation) -> Calculation:
    """The same with what adapters add to its time."""
    if done.overheads.slowdown is None:
        return calculation
    term = coefficient_of(done.columns, i, SLOWDOWN, "adapters")
    return replace(calculation, formula=f"({calculation.formula}) * adapters", terms=(*calculation.terms, term))


def _copied(done: InferenceWork, i: int, host: Host, moved: Calculation) -> Calculation:
    """The same with the experts that are copied to the cards for each chunk of a prompt."""
    columns, copied = done.columns, float(host.prompt_bytes[i])
    known = float(columns.device.pcie_bytes_s[i])
    slot = Term("slot", known, "bytes/s", (), "PCIe, one direction")
    if np.isnan(known):
        slot = coefficient_of(columns, i, "pcie-bytes-s", "slot")
    terms = (
        Term("experts", copied, "bytes", columns.shape.source, "copied to the cards, over all chunks"),
        Term("group", float(columns.tensor[i]), "cards", (), "over which they are divided"),
        slot,
        coefficient_of(columns, i, "host-copy-share", "copy"),
    )
    formula = f"{moved.formula} + experts / group / (slot * copy)"
    return replace(moved, formula=formula, terms=(*moved.terms, *terms))


def _read(done: InferenceWork, i: int) -> Calculation:
    tensor, _, bandwidth = _rates(done, i)
    terms: tuple[Term, ...] = (
        Term("weights", float(done.decode.weight_bytes[i]), "bytes", done.columns.shape.source, "read in a step"),
        tensor,
        Term(
            "cache",
            float(done.decode.cache_bytes[i]),
            "bytes per card",
            (),
            "of all requests, in the middle of a usual answer",
        ),
        bandwidth,
        coefficient_of(done.columns, i, "decode-bandwidth-share", "share"),
    )
    formula = "(weights / tensor + cache) / (bandwidth * share)"
    if done.overheads.host is not None:
        formula += " + experts / host"
        terms = (
            *terms,
            Term(
                "experts",
                float(done.overheads.host.step_bytes[i]),
                "bytes",
                done.columns.shape.source,
                f"in the host's memory: {1 - float(done.overheads.host.held[i]):.0%} of the layers have them there",
            ),
            coefficient_of(done.columns, i, "host-bytes-s", "host"),
        )
    return Calculation("read_s", formula, terms, _likely(done.decode.read_s, i), "s")


def _compute(done: InferenceWork, i: int) -> Calculation:
    columns = done.columns
    tensor, rate, _ = _rates(done, i)
    shape, tile = columns.shape, coefficient_of(columns, i, "decode-rows", "rows")
    unpacked, said = _unpacked(done, i, done.requests, "unpacked")
    experts: tuple[Term, ...] = ()
    products = f"active * max(requests, rows){said}"
    if shape.is_moe:
        of_each, said_of_each = _unpacked(done, i, rows_each(shape, done.requests), "unpacked_experts")
        experts = (
            Term("routed", routed_parameters(shape), "parameters", shape.source, "of them in experts"),
            Term(
                "expert", shape.expert_parameters / shape.experts, "parameters", shape.source, "of one, in all layers"
            ),
            Term("expert_rows", _likely(_expert_rows(done), i), "rows", (), "of all, padded"),
            *of_each,
        )
        products = f"((active - routed) * max(requests, rows){said} + expert * expert_rows{said_of_each})"
    terms: tuple[Term, ...] = (
        Term("active", shape.written_parameters, "parameters", shape.source),
        *unpacked,
        *experts,
        Term("requests", float(done.requests[i]), "requests", (), "in flight on one replica"),
        replace(tile, value=tile.value * float(splitting.copies(columns)[i])),
        Term("scores", splitting.score_flops(columns), "operations", ("kaplan-2020",), "of attention, of each request"),
        Term("half", float(columns.device.half_flops_s[i]), "operations/s", (), "in 16 bits"),
        tensor,
        rate,
        power_term(done.rates.power, i),
        coefficient_of(columns, i, "decode-mfu", "mfu"),
    )
    formula = f"(2 * {products} / rate + scores * requests / half) / (tensor * power * mfu)"
    return Calculation("compute_s", formula, terms, _likely(done.decode.compute_s, i), "s")


def _unpacked(done: InferenceWork, i: int, rows: FloatArray, name: str) -> tuple[tuple[Term, ...], str]:
    """The share of the rate that a step's products of so many rows reach, and how the formula goes on with it: nothing
    where that is all.
    """
    columns = done.columns
    share = _likely(np.broadcast_to(step_unpacked_rate(columns, rows), done.decode.step_s.shape), i)
    if share == 1:
        return (), ""
    source = columns.coefficients.pick("unpacked-rate-share", columns.contexts[int(columns.device.kind[i])]).source
    text = "of the rate, where weights are unpacked in products of more rows than a tile has"
    return (Term(name, share, "share", source, text),), f" / {name}"


def _expert_rows(done: InferenceWork) -> FloatArray:
    return expert_rows(done.columns.shape, done.requests, done.columns.less_is_better("decode-rows"))


def _step(done: InferenceWork, i: int, read: Calculation, compute: Calculation) -> Calculation:
    """Seconds of a step: those of a token, where no tokens are guessed ahead."""
    wire = Term("wire", _likely(done.decode.wire_s, i), "s", (), splitting.said(done.columns, i, step=True))
    requests = Term("requests", float(done.requests[i]), "requests", (), "in flight on one replica")
    served = coefficient_of(done.columns, i, "request-step-s", "served")
    written = done.step_overheads
    first = (read.as_term(), compute.as_term(), _row(written, i), requests)
    terms: tuple[Term, ...] = (*first, *_host(written, i), served, wire)
    busy = "(read_s ** 2 + compute_s ** 2) ** 0.5"
    if unpacked := float(step_unpacked_bytes(done.columns)[i]):
        busy = f"{busy} + unpack"
        share = done.columns.coefficients.pick("unpack-share", done.columns.base)
        text = f"{unpacked / 2**30:.3g} GiB written and read again, weights turned into 16-bit ones for every step"
        terms = (*terms, Term("unpack", _likely(done.decode.unpack_s, i), "s", share.source, text))
    row = "row"
    if spread := _spread(done, i, step=True):
        terms, row = (*terms, spread), "(row + spread)"
    formula = f"max({busy}, launch, served * requests) + {row} * requests + gap + hops + wire"
    name = "token_s" if done.decode.gain is None else "step_s"
    return _with_adapters(done, i, Calculation(name, formula, terms, _likely(done.decode.step_s, i), "s"))


def _samples(done: InferenceWork, i: int, prefill: Calculation) -> Calculation:
    terms = (
        Term("data", float(done.columns.data[i]), "replicas"),
        Term("together", float(done.prefill.together[i]), "requests", (), "read in one pass"),
        Term("stages", float(done.stages[i]), "passes", (), "under way in the pipeline"),
        prefill.as_term(),
    )
    value = float(done.columns.data[i] * done.prefill.together[i] * done.stages[i]) / _likely(done.prefill.total_s, i)
    return Calculation("samples_per_s", "data * together * stages / prefill_s", terms, value, "1/s")


def _answers(
    done: InferenceWork, i: int, prefill: Calculation, first_prompt: Calculation, token: Calculation
) -> list[Calculation]:
    """What users see; the time to the first token with the prompt that it is for."""
    columns = done.columns
    alone = float(done.requests[i]) <= 1
    wait = Term(
        "wait", 0.0 if alone else _likely(done.decode.step_s, i), "s", (), "the step under way, where others are served"
    )
    queue = Term("queue", _likely(done.queue_s, i), "s", ("mean-value-analysis",), "for prompts that came before it")
    first = (first_prompt.as_term(), coefficient_of(columns, i, "request-s", "server"), wait, queue)
    requests = Term("requests", float(done.requests[i]), "requests", (), "in flight on one replica")
    output = Term("output", float(max(columns.setup.output_tokens, 1)), "tokens")
    stages = Term("stages", float(done.stages[i]), "prompts", (), "under way in the pipeline")
    sources = ("sarathi-serve", "trtllm-adp-balance") if columns.by_requests[i] else ("sarathi-serve",)
    if columns.shape.kind == "encoder-decoder":
        sources = ("vllm-encoder-first",)
    joined = Term("joined", _likely(done.joined_s, i), "s", sources, "that a prompt adds to others' steps")
    further: tuple[Term, ...] = (token.as_term(),)
    further_ms = "1000 * token_s"
    if columns.setup.output_tokens > 1:
        further = (*further, requests, joined, output)
        further_ms = "1000 * (token_s + (requests - 1) * joined / (output - 1))"
    terms = (
        Term("data", float(columns.data[i]), "replicas"),
        requests,
        output,
        prefill.as_term(),
        stages,
        joined,
        token.as_term(),
    )
    rate = _rate(columns, i, terms)
    return [
        Calculation(
            "ttft_ms",
            f"1000 * ({first_prompt.name} + server + wait + queue)",
            first,
            1e3 * _likely(done.ttft_s, i),
            "ms",
        ),
        Calculation("token_ms", further_ms, further, 1e3 * _likely(done.mean_token_s, i), "ms"),
        replace(rate, value=_likely(done.tokens_s, i)),
    ]


def _rate(columns: Columns, i: int, terms: tuple[Term, ...]) -> Calculation:
    """Tokens a second of all replicas, with what batches that are not filled up and windows that overlap cost."""
    steps, cycle = "(output - 1) * token_s", "prefill_s / stages + (requests - 1) * joined"
    longest = coefficient_of(columns, i, "batch-tail", "tail")
    if columns.requests()[i] > 1 and longest.value != 1:
        steps, terms = f"{steps} * tail", (*terms, longest)
    formula = f"data * requests * output / ({cycle} + {steps})"
    overlap = coefficient_of(columns, i, "windows-per-sample", "windows")
    if columns.shape.sample_seconds and overlap.value != 1:
        formula, terms = f"{formula} / windows", (*terms, overlap)
    return Calculation("tokens_per_s", formula, terms, 0.0, "tokens/s")
