"""Speed of models that read and write tokens: roofline of prefill and of decode (Williams et al. 2009; Pope et al.
2022).

A decode step reads the active weights and the cache once: it takes the longer of that, over the memory bandwidth, and
of its arithmetic, over the peak rate; matrix units work on whole tiles, so few requests cost as much as a tile's
rows. Prefill is arithmetic. Tensor parallelism adds two all-reduces a layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whygpu.checks.setup import FloatArray
from whygpu.checks.shape import GENERATIVE, ModelShape
from whygpu.checks.speed_columns import Band, Columns


@dataclass(frozen=True, slots=True)
class InferenceWork:
    """Columns and rows behind the figures, for explaining them. Seconds and bytes per replica; rows (3, n) unless
    said.
    """

    columns: Columns
    requests: FloatArray
    weight_bytes: FloatArray
    cache_bytes: FloatArray
    decode_flops: FloatArray
    prefill_flops: float
    bandwidth_share: FloatArray
    decode_share: FloatArray
    prefill_share: FloatArray
    launch_s: FloatArray
    gap_s: FloatArray
    read_s: FloatArray
    compute_s: FloatArray
    decode_wire_s: FloatArray
    token_s: FloatArray
    prefill_wire_s: FloatArray
    prefill_s: FloatArray
    ttft_s: FloatArray
    together: FloatArray
    stages: FloatArray
    tokens_s: FloatArray


def work(columns: Columns) -> InferenceWork:
    """Reckon prefill and decode of all plans. `context_tokens` is the context at which the cache is read."""
    shape, setup, device = columns.shape, columns.setup, columns.device
    requests = columns.requests()
    weights = weights_read(shape, columns, requests)
    cache = cache_read(columns) * requests
    rows = np.maximum(requests, columns.less_is_better("decode-rows"))
    flops = 2.0 * shape.matmul_parameters * rows
    bandwidth_share, decode_share = (
        columns.more_is_better("decode-bandwidth-share"),
        columns.more_is_better("decode-mfu"),
    )
    prefill_share = columns.more_is_better("prefill-mfu")
    wire = columns.wire()
    layers = shape.layers + shape.encoder_layers
    launch = columns.less_is_better("launch-s-per-layer") * layers
    gap = columns.less_is_better("gap-s-per-layer") * layers
    bandwidth = device.bandwidth_bytes_s * bandwidth_share
    read = (weights / columns.tensor + cache) / bandwidth
    compute = flops / (columns.tensor * device.flops_s * decode_share)
    width = setup.format.compute_bits / 8 * shape.hidden_size
    decode_wire = _wire(wire.all_reduce_s(columns.tensor, requests * width), layers)
    token = np.maximum(np.maximum(read, compute), launch) + gap + decode_wire
    prompt = setup.prompt_tokens if shape.kind in GENERATIVE else setup.context_tokens
    prefill_flops = prompt_flops(shape, prompt)
    once = weights_read(shape, columns, np.full(device.size, float(prompt))) / columns.tensor / bandwidth
    filled = pipeline_fill(columns, prompt)
    # An encoder reads all requests in one pass; a decoder's prompts are read one by one between steps.
    together = np.ones(device.size) if shape.kind in GENERATIVE else requests
    arithmetic = prefill_flops * together * filled / (columns.tensor * device.flops_s * prefill_share)
    prefill_wire = _wire(wire.all_reduce_s(columns.tensor, prompt * width * together), layers)
    prefill = np.maximum(arithmetic, np.maximum(once, launch)) + gap + prefill_wire
    # A request that joins others waits for the step that is under way.
    server = columns.less_is_better("request-s")
    ttft = prefill + server + np.where(requests > 1, token, 0.0)
    output = max(setup.output_tokens, 1)
    # Stages that a prompt leaves idle read the next one.
    stages = filled * columns.pipeline
    tokens = columns.data * requests * output / (requests * prefill / stages + output * token)
    return InferenceWork(
        columns,
        requests,
        weights,
        cache,
        flops,
        prefill_flops,
        bandwidth_share,
        decode_share,
        prefill_share,
        launch,
        gap,
        read,
        compute,
        decode_wire,
        token,
        prefill_wire,
        prefill,
        ttft,
        together,
        stages,
        tokens,
    )


def pipeline_fill(columns: Columns, prompt: int) -> FloatArray:
    """Time of a prompt over pipeline stages against one card: (chunks + stages - 1) / (chunks * stages).

    The chunks a runtime cuts a prompt into follow each other through the stages (Huang et al. 2019, GPipe, 2.3).
    """
    chunk = columns.coefficients.pick("prefill-chunk-tokens", columns.contexts[0]).likely
    chunks = float(np.ceil(max(prompt, 1) / chunk))
    filled: FloatArray = (chunks + columns.pipeline - 1) / (chunks * columns.pipeline)
    return filled


def weights_read(shape: ModelShape, columns: Columns, tokens: FloatArray) -> FloatArray:
    """Bytes of weights a step over so many tokens reads: all but a looked-up token table, and the experts that are
    chosen.
    """
    number_format = columns.setup.format
    lookup = not shape.tied_embeddings
    fixed = routed = 0.0
    for part in shape.parts:
        size = part.parameters * number_format.bits_in(shape, part.name) / 8
        if part.name == "experts":
            routed += size
        elif part.name != "embedding" or not lookup:
            fixed += size
    if not shape.is_moe:
        return np.full(columns.device.size, fixed + routed)
    touched: FloatArray = 1.0 - (1.0 - shape.experts_per_token / shape.experts) ** tokens
    return fixed + routed * touched


def cache_read(columns: Columns) -> FloatArray:
    """Bytes of cache per sequence that one card of a tensor group reads in a step, at full context (all pipeline
    stages in turn).
    """
    setup, shape = columns.setup, columns.shape
    total = (
        np.full(columns.device.size, shape.state_layers * shape.state_elements * setup.format.compute_bits / 8)
        / columns.tensor
    )
    for group in shape.kv_groups:
        size = group.layers * group.elements * group.tokens(setup.context_tokens) * setup.kv_bits / 8
        total = total + size * np.ceil(group.heads / columns.tensor) / group.heads
    return total


def prompt_flops(shape: ModelShape, tokens: int) -> float:
    """Operations of reading a prompt: 2 * active parameters * tokens, and 4 * layers * query width * tokens^2, halved
    by the causal mask.

    Source: Kaplan et al. 2020 (arXiv:2001.08361), 2.1.
    """
    causal = 0.5 if shape.kind in GENERATIVE else 1.0
    scores = (
        4.0
        * causal
        * shape.query_width
        * sum(group.layers * group.tokens(tokens) for group in shape.kv_groups if not group.fixed_tokens)
        if shape.kv_groups
        else 4.0 * causal * shape.query_width * shape.layers * tokens
    )
    return (2.0 * shape.matmul_parameters + scores) * tokens


def _wire(all_reduce_s: FloatArray, layers: int) -> FloatArray:
    """Two all-reduces a layer (Shoeybi et al. 2019, Megatron-LM, section 3)."""
    return 2 * layers * all_reduce_s


def bands(done: InferenceWork) -> dict[str, Band]:
    """The figures of the contract, by name."""
    shape, setup = done.columns.shape, done.columns.setup
    if shape.kind not in GENERATIVE:
        each = done.columns.data * done.requests * done.stages / done.prefill_s
        return {
            "ttft_ms": Band.of_time(done.ttft_s, 1e3),
            "samples_per_s": Band.of_rate(each),
            "requests_per_s": Band.of_rate(each),
        }
    return {
        "ttft_ms": Band.of_time(done.ttft_s, 1e3),
        "token_ms": Band.of_time(done.token_s, 1e3),
        "tokens_per_s": Band.of_rate(done.tokens_s),
        "requests_per_s": Band.of_rate(done.tokens_s / max(setup.output_tokens, 1)),
    }
