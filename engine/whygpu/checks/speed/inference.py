"""Speed of models that read and write tokens: roofline of prefill and of decode (Williams et al. 2009; Pope et al.
2022).

A decode step reads the active weights and the cache once: it takes the longer of that, over the memory bandwidth, and
of its arithmetic, over the peak rate, and more than either where they are near each other; matrix units work on whole
tiles, so few requests cost as much as a tile's rows. Prefill is arithmetic, and what kernels move between them where
the runtime does not fuse them. Tensor parallelism adds two all-reduces a layer. Requests in flight share the
accelerator: the prompts of those that take the others' places join their steps (queue). What divides the cache
over a tensor group changes what a card reads and exchanges (splitting).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whygpu.checks.memory.inference import widest_ffn
from whygpu.checks.memory.weights import ENDS
from whygpu.checks.model_shape import GENERATIVE, ModelShape
from whygpu.checks.setup import FloatArray, Format
from whygpu.checks.speed import splitting
from whygpu.checks.speed.columns import LIKELY, WIRE, Band, Columns, Wire
from whygpu.checks.speed.queue import joined_s, wait_s
from whygpu.checks.speed.serving import Host, applies_gain, host_of, slowdown, speculative_gain, touched

UNCERTAIN = (
    "joules-per-operation",
    "prefill-traffic-bytes",
    "prefill-unpacked-share",
    "row-s",
    "expert-spread-bytes",
    "decode-bandwidth-share",
    "decode-mfu",
    "decode-rows",
    "prefill-mfu",
    "launch-s-per-layer",
    "gap-s-per-layer",
    "state-layer-s",
    "request-s",
    "text-request-s",
    "request-step-s",
    "unpacked-rate-share",
    "unpack-share",
    "stage-hop-s",
    "step-s",
    "batch-tail",
    "windows-per-sample",
    "formula-error",
    *WIRE,
)


@dataclass(frozen=True, slots=True)
class Rates:
    """What the cards of each plan reach, as rows: operations and bytes a second, the share of the peak that the power
    limit leaves, and the path between them.
    """

    power: FloatArray
    operations_s: FloatArray
    bandwidth_bytes_s: FloatArray
    wire: Wire


@dataclass(frozen=True, slots=True)
class Overheads:
    """Seconds that a pass over all layers takes beside its work, as rows: launching kernels, gaps between them, hops
    between pipeline stages, and kernels that work on a row each; how much longer adapters and all that the formulas
    leave out make it; and experts in the host's memory.
    """

    launch_s: FloatArray
    gap_s: FloatArray
    hop_s: FloatArray
    row_s: FloatArray
    slowdown: FloatArray | None
    longer: FloatArray
    host: Host | None


@dataclass(frozen=True, slots=True)
class Decode:
    """A step that writes a token of each request in flight: bytes on the cards, and seconds as rows."""

    weight_bytes: FloatArray
    cache_bytes: FloatArray
    read_s: FloatArray
    compute_s: FloatArray
    floor_s: FloatArray
    unpack_s: FloatArray
    wire_s: FloatArray
    step_s: FloatArray
    gain: FloatArray | None
    token_s: FloatArray


@dataclass(frozen=True, slots=True)
class Prefill:
    """Reading a prompt, or all requests of a pass ``together``: operations, those of attention and of the tower that
    its images pass among them, and seconds as rows.
    """

    flops: float
    score_flops: float
    image_flops: float
    together: FloatArray
    filled: FloatArray
    compute_s: FloatArray
    read_s: FloatArray
    moved_s: FloatArray
    wire_s: FloatArray
    total_s: FloatArray


@dataclass(frozen=True, slots=True)
class InferenceWork:
    """Columns and rows behind the figures, for explaining them. Seconds and bytes per replica; rows over n plans
    unless said.
    """

    columns: Columns
    requests: FloatArray
    computed: float
    rates: Rates
    overheads: Overheads
    step_overheads: Overheads
    decode: Decode
    prefill: Prefill
    stages: FloatArray
    joined_s: FloatArray
    mean_token_s: FloatArray
    queue_s: FloatArray
    ttft_s: FloatArray
    tokens_s: FloatArray
    longest: InferenceWork | None


def work(columns: Columns) -> InferenceWork:
    """Compute prefill and decode of all plans, at the context of a usual request; the time to the first token at the
    longest.
    """
    requests = columns.requests()
    computed = computed_tokens(columns, prompt_length(columns))
    rates, overheads = _rates(columns), _overheads(columns, requests, computed, _layers(columns.shape))
    written = overheads
    if columns.shape.encoder_layers:  # what is written passes the decoder alone
        written = _overheads(columns, requests, computed, columns.shape.layers)
    decode = _decode(columns, requests, rates, written)
    prefill = _prefill(columns, requests, computed, rates, overheads)
    # Stages that a prompt leaves idle read the next one, and so do cards with requests of their own.
    stages = prefill.filled * columns.pipeline * columns.prompts_at_once()
    joined = _joined_s(columns, requests, computed, decode, prefill, overheads.longer)
    mean_token, queue, tokens = _in_flight(columns, decode.token_s, prefill.total_s / stages, joined)
    longest = _longest(columns)
    first = columns.less_is_better("request-s") + _step_wait_s(columns, decode.step_s) + queue
    ttft = (prefill if longest is None else longest.prefill).total_s + first
    return InferenceWork(
        columns,
        requests,
        computed,
        rates,
        overheads,
        written,
        decode,
        prefill,
        stages,
        joined,
        mean_token,
        queue,
        ttft,
        tokens,
        longest,
    )


def _rates(columns: Columns) -> Rates:
    power = columns.power_share()
    bandwidth = columns.device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share")
    return Rates(power, columns.tensor * columns.device.flops_s * power, bandwidth, columns.wire())


def _overheads(columns: Columns, requests: FloatArray, computed: float, layers: int) -> Overheads:
    slower = slowdown(columns) if columns.setup.adapters else None
    gap = columns.less_is_better("gap-s-per-layer") * layers
    if columns.shape.state_layers:
        gap = gap + columns.less_is_better("state-layer-s") * columns.shape.state_layers
    return Overheads(
        launch_s=columns.less_is_better("launch-s-per-layer") * layers,
        gap_s=gap + columns.less_is_better("step-s"),
        hop_s=columns.less_is_better("stage-hop-s") * (columns.pipeline - 1),
        row_s=columns.less_is_better("row-s") * layers,
        slowdown=slower,
        longer=columns.unmodelled() * (1.0 if slower is None else slower),
        host=host_of(columns, requests, computed, chunks(columns, computed)),
    )


def _decode(columns: Columns, requests: FloatArray, rates: Rates, overheads: Overheads) -> Decode:
    shape, host = columns.shape, overheads.host
    weights = weights_read(shape, columns, requests, host) * written_share(shape)
    cache = splitting.cache_read(columns) * columns.requests_on_card()
    read = (weights / columns.tensor + cache) / rates.bandwidth_bytes_s + (0.0 if host is None else host.step_s)
    attention = splitting.score_flops(columns) * requests / (columns.tensor * columns.device.half_flops_s * rates.power)
    compute = step_operations(columns, requests) / rates.operations_s + attention
    compute = compute / columns.more_is_better("decode-mfu")
    # The server's own process hands out a token to each request, beside what the cards do.
    floor = np.maximum(overheads.launch_s, columns.less_is_better("request-step-s") * requests)
    wire = splitting.step_wire_s(columns, rates.wire, requests)
    unpack = _unpack_s(columns)
    each = overheads.row_s + spread_s(columns, splitting.expert_share(columns))
    busy = np.maximum(overlapped(read, compute) + unpack, floor) + each * requests
    step = (busy + overheads.gap_s + overheads.hop_s + wire) * overheads.longer
    gain = speculative_gain(columns, requests) if applies_gain(columns) else None
    token = step if gain is None else step / gain
    return Decode(weights, cache, read, compute, floor, unpack, wire, step, gain, token)


def step_unpacked_bytes(columns: Columns) -> FloatArray:
    """Bytes that a step of several requests moves where its weights are unpacked before the products: written in 16
    bits, and read again (bitsandbytes, matmul_4bit; of one request a kernel unpacks them within the product).
    """
    flag = columns.less_is_better("unpacks-each-step")[LIKELY]
    inside = sum(part.parameters for part in columns.shape.parts if part.name not in ENDS)
    moved: FloatArray = np.where(columns.requests() > 1, 4.0 * flag * inside, 0.0)
    return moved


def _unpack_s(columns: Columns) -> FloatArray:
    """Rows: seconds in which each card of a tensor group unpacks its part of the weights."""
    rate = columns.device.bandwidth_bytes_s * columns.more_is_better("unpack-share")
    seconds: FloatArray = step_unpacked_bytes(columns) / columns.tensor / rate
    return seconds


def spread_s(columns: Columns, share: FloatArray) -> FloatArray:
    """Rows: seconds a token in which a card moves tokens to the places of their experts and sums up what these give, in
    all layers, for its ``share`` of the experts that a token chooses. A slice of every expert asks for whole rows: what
    cards of a tensor group divide are the products, not these (vLLM, pull request 13932: 0.98 microseconds a token and
    layer on one, two, four and eight cards alike).
    """
    shape = columns.shape
    if not shape.is_moe:
        return np.zeros((1, columns.device.size))
    elements = float(shape.moe_layers * shape.experts_per_token * shape.routed_width)
    rate = columns.device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share")
    seconds: FloatArray = columns.less_is_better("expert-spread-bytes") * elements * share / rate
    return seconds


def step_operations(columns: Columns, requests: FloatArray) -> FloatArray:
    """Rows: operations of a step with the weights, each product padded to whole tiles; every expert that is chosen has
    a product of its own (vLLM, moe_align_block_size). Those that unpack their weights count for as many as take as long
    without.
    """
    shape, tile = columns.shape, columns.less_is_better("decode-rows")
    rows = np.maximum(requests, tile * splitting.copies(columns))
    operations = 2.0 * (shape.written_parameters - routed_parameters(shape)) * rows
    counted: FloatArray = operations / step_unpacked_rate(columns, requests)
    if shape.is_moe:
        routed = 2.0 * shape.expert_parameters / shape.experts * expert_rows(shape, requests, tile)
        counted = counted + routed / step_unpacked_rate(columns, rows_each(shape, requests))
    return counted


def rows_each(shape: ModelShape, tokens: FloatArray) -> FloatArray:
    """Tokens of each expert that is chosen at all, of so many chosen evenly."""
    rows: FloatArray = tokens * shape.experts_per_token / (shape.experts * touched(shape, tokens))
    return rows


def routed_parameters(shape: ModelShape) -> float:
    """Parameters of the routed experts that one token passes through."""
    return shape.chosen_parameters


def expert_rows(shape: ModelShape, tokens: FloatArray, tile: FloatArray) -> FloatArray:
    """Rows that the products of all experts have, of so many tokens chosen evenly: the last tile of each is full to a
    half on average, and none has less than a tile.
    """
    chosen = shape.experts * touched(shape, tokens)
    rows: FloatArray = chosen * np.maximum(tile, rows_each(shape, tokens) + (tile - 1) / 2)
    return rows


def _prefill(columns: Columns, requests: FloatArray, computed: float, rates: Rates, overheads: Overheads) -> Prefill:
    shape, device, host = columns.shape, columns.device, overheads.host
    prompt = prompt_length(columns)
    flops, scores = prompt_flops(shape, computed), score_flops(shape, prompt, computed)
    images = image_flops(shape, columns.setup.image_tokens, prompt, computed)
    filled = pipeline_fill(columns, computed)
    chunk = weights_read(shape, columns, np.full(device.size, computed / chunks(columns, computed)), host)
    read = chunk * chunk_passes(columns, computed) / columns.tensor / rates.bandwidth_bytes_s
    # An encoder reads all requests in one pass; a decoder's prompts are read one by one between steps.
    together = np.ones(device.size) if shape.kind in GENERATIVE else requests
    routed_share = routed_parameters(shape) / shape.prompt_parameters
    attention = scores * splitting.copies(columns) + images
    attention = attention / (columns.tensor * device.half_flops_s * rates.power)
    products = flops * splitting.undivided(columns, routed_share) / (rates.operations_s * unpacked_rate(columns))
    compute = (products + attention) / columns.more_is_better("prefill-mfu") * together * filled
    # Prompts that are read side by side share the cards that the experts of each are on.
    row = overheads.row_s + spread_s(columns, splitting.expert_share(columns) * columns.prompts_at_once())
    moved = _moved_s(columns, prompt, computed, together, row, rates.bandwidth_bytes_s) * filled
    moved = moved + (host.prompt_s if host else 0.0)
    wire = splitting.layers_wire_s(columns, rates.wire, computed * together * columns.prompts_at_once())
    busy = np.maximum(overlapped(compute, read) + moved, overheads.launch_s)
    total = (busy + overheads.gap_s + overheads.hop_s + wire) * overheads.longer
    return Prefill(flops, scores, images, together, filled, compute, read, moved, wire, total)


def _joined_s(
    columns: Columns, requests: FloatArray, computed: float, decode: Decode, prefill: Prefill, longer: FloatArray
) -> FloatArray:
    """Rows: seconds that a prompt adds to the steps of the requests it joins. The source of an encoder-decoder joins
    none: its encoder runs by itself, before the decoder's step (vLLM, pull request 27292).
    """
    output, at_once = columns.setup.output_tokens, columns.prompts_at_once()
    stages = prefill.filled * columns.pipeline * at_once
    if output <= 1 or columns.shape.kind == "encoder-decoder":
        return prefill.total_s / stages
    alone = (decode.read_s, decode.compute_s, decode.floor_s, prefill.compute_s / prefill.filled / at_once)
    added = joined_s(*alone, _full_chunks(columns, computed), requests, output) / columns.pipeline
    held_up = added * splitting.waits(columns, requests, prompt_length(columns))
    seconds: FloatArray = (held_up + (prefill.moved_s + prefill.wire_s) / stages) * longer
    return seconds


def _in_flight(
    columns: Columns, token: FloatArray, prompt: FloatArray, joined: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows: seconds of a further token with the prompts of others, seconds that a prompt waits, and tokens a second."""
    requests, output = columns.requests(), max(columns.setup.output_tokens, 1)
    if columns.shape.kind not in GENERATIVE:  # all requests are in one pass: no steps to join, no prompt to wait for
        return token, np.zeros_like(prompt), columns.data * requests / prompt
    steps = (output - 1) * token
    cycle = (prompt + (requests - 1) * joined + steps * tail(columns, requests)) * windows(columns)
    tokens = columns.data * requests * output / cycle
    return token + others_prompts(requests, joined, output), wait_s(joined, steps, requests), tokens


def tail(columns: Columns, requests: FloatArray) -> FloatArray:
    """Rows: time in which a batch of answers is written over that of answers of average length: where none takes the
    place of one that is done, all wait for the longest (Yu et al. 2022, Orca, 3.1).
    """
    return np.where(requests > 1, columns.less_is_better("batch-tail"), 1.0)


def windows(columns: Columns) -> FloatArray:
    """Rows: windows read for each that a recording is long, where they overlap; 1 of what is no sound."""
    return columns.less_is_better("windows-per-sample") if columns.shape.sample_seconds else np.ones((1, 1))


def _step_wait_s(columns: Columns, step: FloatArray) -> FloatArray:
    """Rows: seconds that a request waits for the step under way, where others are served; an encoder has none."""
    steps = (columns.requests() > 1) & (columns.shape.kind in GENERATIVE)
    return np.where(steps, step, 0.0)


def _longest(columns: Columns) -> InferenceWork | None:
    """The same work with requests at their longest, where the usual ones are shorter: the limit on the first token is
    for nearly all of them.
    """
    setup = columns.setup
    if setup.usual_tokens >= setup.context_tokens:
        return None
    return work(columns.changed(average_context_tokens=0))


def unpacked_rate(columns: Columns) -> FloatArray:
    """Rows: share of the 16-bit rate that products of many rows reach where the card unpacks weights of fewer bits
    within them; 1 where it multiplies them as they are, and where the runtime unpacks them before
    (prefill-unpacked-share, unpacks-each-step).
    """
    device = columns.device
    unpacks = columns.of_each(lambda setup: setup.format.quantized) > 0
    if not unpacks.any():
        return np.ones((1, device.size))
    slower = unpacks & (device.flops_s <= device.half_flops_s)
    return np.where(slower, columns.more_is_better("unpacked-rate-share"), 1.0)


def step_unpacked_rate(columns: Columns, rows: FloatArray) -> FloatArray:
    """Rows: the same of the products of a step that have so many rows. Kernels unpack a tile's weights while they wait
    for the next ones, which costs nothing until there are more rows than one tile has (Frantar et al. 2024, Marlin,
    arXiv:2408.11743; 3.2 times as fast as 16 bits at 16 rows, 0.74 at 256: vLLM, pull request 2497).
    """
    before = columns.less_is_better("unpacks-each-step")[LIKELY]
    many = (rows > columns.less_is_better("decode-rows")) & (before == 0)
    return np.where(many, unpacked_rate(columns), 1.0)


def _moved_s(
    columns: Columns, prompt: int, computed: float, together: FloatArray, row: FloatArray, bandwidth: FloatArray
) -> FloatArray:
    """Rows: seconds that kernels take beside the products of a prompt, where a runtime does not fuse them."""
    shape = columns.shape
    width = prompt_width(shape, prompt, columns.setup.attention)
    moved = columns.less_is_better("prefill-traffic-bytes") * computed * width * together
    moved = moved + columns.less_is_better("prefill-unpacked-share") * unpacked_bytes(columns, computed)
    seconds: FloatArray = moved * splitting.copies(columns) / columns.tensor / bandwidth + row * computed * together
    return seconds


def prompt_length(columns: Columns) -> int:
    """Tokens of a usual request that are read before the first one is written."""
    setup = columns.setup
    return max(setup.usual_tokens - setup.output_tokens, 1) if columns.shape.kind in GENERATIVE else setup.usual_tokens


def computed_tokens(columns: Columns, prompt: int) -> float:
    """Tokens of a prompt that are not found in the cache, one at least: what is found need not be read again (Kwon et
    al. 2023, vLLM, 4.4; Zheng et al. 2023, SGLang, section 3). An encoder's tokens depend on those after them as well,
    so that nothing of them is found.
    """
    if columns.shape.kind not in GENERATIVE or columns.shape.encoder_layers:
        return float(prompt)
    return max(prompt * (1.0 - columns.setup.prefix_hit_rate), 1.0)


def others_prompts(requests: FloatArray, prompt_s: FloatArray, output: int) -> FloatArray:
    """Seconds that a further token waits on average for the prompts of the other requests in flight: while one
    request is written, each of the others ends once, and the one in its place joins its steps (continuous batching:
    Yu et al. 2022, Orca, section 3).
    """
    return (requests - 1) * prompt_s / (output - 1) if output > 1 else np.zeros_like(prompt_s)


def pipeline_fill(columns: Columns, prompt: float) -> FloatArray:
    """Time of a prompt over pipeline stages against one card: (chunks + stages - 1) / (chunks * stages).

    The chunks a runtime cuts a prompt into follow each other through the stages (Huang et al. 2019, GPipe, 2.3); the
    last one, which is not full, takes its share of a chunk's time.
    """
    full = _full_chunks(columns, prompt)
    filled: FloatArray = (full + columns.pipeline - 1) / (full * columns.pipeline)
    return filled


def chunks(columns: Columns, prompt: float) -> float:
    """How many chunks the runtime cuts a prompt into."""
    return float(np.ceil(_full_chunks(columns, prompt)))


def chunk_passes(columns: Columns, prompt: float) -> FloatArray:
    """Time of what each chunk takes alike, however full, over pipeline stages against once on one card: (chunks +
    stages - 1) / stages.
    """
    passes: FloatArray = (chunks(columns, prompt) + columns.pipeline - 1) / columns.pipeline
    return passes


def _full_chunks(columns: Columns, prompt: float) -> float:
    """The prompt in chunks that are full, of which the last one may be a part: one at least. An encoder's source is
    read at once, before the few tokens that the decoder begins with.
    """
    if columns.shape.encoder_layers:
        return 1.0
    chunk = columns.coefficients.pick("prefill-chunk-tokens", columns.contexts[0]).likely
    return float(max(prompt / chunk, 1.0))


def weights_read(shape: ModelShape, columns: Columns, tokens: FloatArray, host: Host | None) -> FloatArray:
    """Bytes of weights on the cards that a step over so many tokens reads: all but a looked-up token table, and the
    experts that are chosen; of them the host has some in its memory.
    """
    sizes = np.array([read_bytes(shape, setup.format) for setup in columns.setups])[columns.which]
    fixed: FloatArray = sizes[:, 0] * splitting.copies(columns)
    routed: FloatArray = sizes[:, 1]
    if not shape.is_moe:
        return fixed + routed
    return fixed + routed * touched(shape, tokens) * (1.0 if host is None else host.held)


def read_bytes(shape: ModelShape, number_format: Format) -> tuple[float, float]:
    """Bytes of weights that every step reads, and of the routed experts."""
    lookup = not shape.tied_embeddings or shape.kind == "encoder"
    fixed = routed = 0.0
    for part in shape.parts:
        read = max(part.parameters - shape.idle_parameters, 0) if part.name == "other" else part.parameters
        size = read * number_format.bits_in(shape, part.name) / 8
        if part.name == "experts":
            routed += size
        elif part.name != "embedding" or not lookup:
            fixed += size
    return fixed, routed


def overlapped(read_s: FloatArray, compute_s: FloatArray) -> FloatArray:
    """Seconds of work that reads and computes: the longer of the two far from the ridge of the roofline, and up to
    1.4 times that at the ridge, where neither unit is kept busy all the time: (read^2 + compute^2)^0.5.

    Source: Volkov 2016, Understanding latency hiding on GPUs (throughput falls short of both bounds where they meet).
    """
    seconds: FloatArray = np.hypot(read_s, compute_s)
    return seconds


def written_share(shape: ModelShape) -> float:
    """Share of the weights that a step reads: all but those of an encoder."""
    read = shape.parameters - (0 if shape.tied_embeddings else shape.embedding_parameters)
    return max(1.0 - shape.encoder_parameters / read, 0.0) if shape.encoder_parameters else 1.0


def prompt_flops(shape: ModelShape, tokens: float) -> float:
    """Operations of reading a prompt with the weights: 2 * active parameters * tokens (Kaplan et al. 2020, 2.1), those
    of the head for the last token alone (transformers, generate: logits_to_keep).

    An encoder reads its source, which each decoder layer turns into keys and values of its own; without a fixed source
    that is the prompt, and the decoder begins with one token (Vaswani et al. 2017, arXiv:1706.03762, 3.2.3).
    """
    source = shape.source_length(tokens)
    if not source:
        return 2.0 * (shape.prompt_parameters * tokens + shape.head_parameters)
    crossed = shape.encoder_parameters + 2.0 * shape.layers * shape.hidden_size * shape.kv_width
    return 2.0 * (crossed * source + shape.written_parameters * (tokens if shape.source_tokens else 1.0))


def score_flops(shape: ModelShape, tokens: int, computed: float | None = None) -> float:
    """Operations of attention over a prompt, in 16 bits whatever the weights' format: 4 * query width * tokens * what
    each attends to. Where only the last `computed` tokens are computed, the others lie before them: a share c of the
    prompt takes c * (2 - c) of the work.

    Source: Kaplan et al. 2020 (arXiv:2001.08361), 2.1.
    """
    attended = shape.attended(tokens) if shape.kind in GENERATIVE else shape.layers * tokens
    share = 1.0 if computed is None else computed / tokens
    source = shape.source_length(tokens)
    if source:
        own = (attended + shape.layers * source) * tokens if shape.source_tokens else shape.layers * source
        return 4.0 * shape.query_width * (shape.encoder_layers * source * source + own)
    return 4.0 * shape.query_width * attended * tokens * (share * (2.0 - share))


def image_flops(shape: ModelShape, tokens: int, prompt: int, computed: float) -> float:
    """Operations that turn an image into so many tokens of a prompt, in 16 bits whatever the weights' format, but for
    what of the prompt is found in the cache.
    """
    if shape.image_tower is None or not tokens:
        return 0.0
    return shape.image_tower.flops(min(tokens, prompt)) * computed / prompt


def prompt_width(shape: ModelShape, tokens: int, attention: str) -> float:
    """Elements that kernels of their own read and write per token, over all layers: the feed-forward width, three
    times the hidden size (norms, rotation, residual sums), and with eager attention the scores twice (scaling,
    softmax). An encoder's are those of its source.
    """
    fixed, source = widest_ffn(shape) + 3 * shape.hidden_size, shape.source_length(tokens)
    scored = shape.heads if attention == "eager" else 0
    own = shape.layers * (fixed + scored * tokens)
    return own + shape.encoder_layers * (fixed + scored * source) * source / tokens


def unpacked_bytes(columns: Columns, prompt: float) -> FloatArray:
    """Bytes moved where quantized weights are unpacked to 16 bits before each chunk of a prompt: read, and written;
    over what ``pipeline_fill`` makes of the time.
    """
    shape, passes = columns.shape, chunk_passes(columns, prompt) / pipeline_fill(columns, prompt)
    return passes * columns.of_each(
        lambda setup: (
            setup.format.weight_bytes(shape) + 2.0 * shape.matmul_parameters if setup.format.quantized else 0.0
        )
    )


def _layers(shape: ModelShape) -> int:
    return shape.layers + shape.encoder_layers


def bands(done: InferenceWork) -> dict[str, Band]:
    """The figures of the contract, by name."""
    shape, setup = done.columns.shape, done.columns.setup
    if shape.kind not in GENERATIVE:
        cards_s = done.prefill.total_s / (done.requests * done.stages)
        each = done.columns.data / np.maximum(cards_s, done.columns.less_is_better("text-request-s"))
        return {
            "ttft_ms": Band.of(done.ttft_s, 1e3),
            "samples_per_s": Band.of(each),
            "requests_per_s": Band.of(each),
        }
    return {
        "ttft_ms": Band.of(done.ttft_s, 1e3),
        "token_ms": Band.of(done.mean_token_s, 1e3),
        "tokens_per_s": Band.of(done.tokens_s),
        "requests_per_s": Band.of(done.tokens_s / max(setup.output_tokens, 1)),
    }
