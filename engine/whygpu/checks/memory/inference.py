"""Memory of models that read and write tokens, in inference.

Sources: numbers of the cache from Ainslie et al. 2023 (GQA) and DeepSeek-V2 2.1 (MLA); working memory of prefill from
what a gated feed-forward keeps at once (gate, up and their product) beside the residual stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficients, Context
from whygpu.checks.memory.beside import explain_beside, held_beside
from whygpu.checks.memory.parts import (
    NOTHING,
    MemoryParts,
    Need,
    coefficient_term,
    explain_overhead,
    overhead,
    scaled,
    stage_share,
)
from whygpu.checks.memory.weights import explain_weights, held_weights, largest_tensor_bytes
from whygpu.checks.model_shape import GENERATIVE, KvGroup, ModelShape
from whygpu.checks.setup import ParallelLayout, Setup


class End(NamedTuple):
    """One end of the ranges that a replica's parts come of, or their likely figures: bytes per accelerator, and what
    multiplies them.
    """

    weights: float
    overhead: float
    workspace: float
    loading: float
    """What is held while weights are quantized at load."""
    width: float
    """Elements of one token in the widest layer."""
    slack: float
    """What the cache takes over what is in it."""
    profiled: float
    """Requests that the runtime profiles at start."""
    logits: float
    """Bytes of the logits of one request."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a replica takes of each accelerator whatever its requests, and what those are multiplied with."""

    low: End
    likely: End
    high: End
    longest: float
    """Bytes of the cache of a sequence at full context."""
    further: float | None
    """Those of each sequence beyond one, where these are shorter."""
    stage: float
    """Share of the layers that the fullest stage holds."""
    prompt: int
    """Tokens of one request that a forward pass works on."""
    chunk: float
    """Tokens that it works on at most."""
    compute_bits: int
    scores: tuple[float, int, float]
    """Of attention scores that are written out: heads, tokens that each attends to, and bytes of one; else zeros."""

    def cache_bytes(self, requests: int) -> float:
        """Bytes of the cache of so many sequences, states included: one at full context, the others as long as is
        usual.
        """
        total = self.longest * requests
        if self.further is not None:
            total = self.longest + self.further * (requests - 1)
        return total * self.stage

    def tokens_at_once(self, requests: int) -> float:
        """Tokens one forward pass works on at most: all prompts at once, or the chunk the runtime cuts them into."""
        return max(min(float(requests * self.prompt), self.chunk), requests)

    def score_bytes(self, tokens: float) -> float:
        """Bytes of the attention scores of one layer where they are written out (see ``_scores``)."""
        heads, length, each = self.scores
        return heads * tokens * length * each

    def taken(self, end: End, requests: int) -> tuple[float, float, float]:
        """Bytes of the cache, of the widest layer at work, and of the logits while the next tokens are chosen.

        While the weights are quantized at load their copies may be more than a layer takes. Logits are held of as many
        requests as the runtime profiles at start where that is more; the card that samples gathers whole rows, so a
        tensor group does not divide them.
        """
        tokens = self.tokens_at_once(requests)
        working = max(end.width * (tokens * self.compute_bits / 8) + self.score_bytes(tokens), end.loading)
        return end.slack * self.cache_bytes(requests), working, max(requests, end.profiled) * end.logits

    def total(self, end: End, requests: int) -> float:
        """Bytes of all parts of ``parts_of``, added up in the same order."""
        cache, working, logits = self.taken(end, requests)
        return end.weights + cache + (working + end.workspace) + logits + end.overhead - min(working, logits)


def parts(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> MemoryParts:
    """Bytes per accelerator of serving the requests of one replica."""
    return parts_of(held(shape, setup, layout, coefficients), requests_on_card(setup, layout))


def requests_on_card(setup: Setup, layout: ParallelLayout) -> int:
    """Requests of a replica whose cache one accelerator keeps."""
    return layout.requests_on_card(setup.requests_per_replica(layout.data))


def held(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> Held:
    """What does not depend on how many requests there are."""
    context = setup.context(shape)
    adapters, draft = held_beside(shape, setup, layout, coefficients, context)
    weights = held_weights(shape, setup.format, layout, coefficients, context) + adapters + draft
    outside = overhead(layout, coefficients, context) + load_fragments(shape, layout, coefficients, context)
    profiled, logits = NOTHING, NOTHING
    if shape.kind in GENERATIVE:
        profiled = scaled(coefficients.pick("sampled-requests", context), 1.0)
        logits = scaled(coefficients.pick("logit-bytes", context), shape.vocab_size)
    ranges = (
        weights,
        outside,
        coefficients.pick("workspace-bytes", context),
        load_bytes(shape, layout, coefficients, context),
        working_width(shape, layout, coefficients, context),
        coefficients.pick("cache-slack", context),
        profiled,
        logits,
    )
    further = further_tokens(setup, coefficients, context)
    return Held(
        End._make(each.low for each in ranges),
        End._make(each.likely for each in ranges),
        End._make(each.high for each in ranges),
        longest=sequence_bytes(shape, setup, layout, setup.context_tokens),
        further=sequence_bytes(shape, setup, layout, further) if further < setup.context_tokens else None,
        stage=stage_share(shape.layers, layout.pipeline),
        prompt=max(_asked_tokens(shape, setup), shape.source_tokens if shape.encoder_layers else 0),
        chunk=coefficients.pick("prefill-chunk-tokens", context).likely,
        compute_bits=setup.format.compute_bits,
        scores=_scores(shape, setup, layout),
    )


def parts_of(held_: Held, requests: int) -> MemoryParts:
    """The parts of a replica that holds this, with so many requests on each accelerator.

    What is reused is taken by layers and by sampling one after the other: the last layer is done when the first logit
    is there (vLLM's profile of two cards shows the same peak as that of one, and logits alone are not divided).
    """
    ends = held_.low, held_.likely, held_.high
    taken = [held_.taken(end, requests) for end in ends]
    return MemoryParts(
        weights=Range(*(end.weights for end in ends)),
        kv_cache=Range(*(cache for cache, _, _ in taken)),
        activations=Range(*(working + end.workspace for end, (_, working, _) in zip(ends, taken, strict=True))),
        logits=Range(*(logits for _, _, logits in taken)),
        overhead=Range(*(end.overhead for end in ends)),
        reused=Range(*(-min(working, logits) for _, working, logits in taken)),
    )


def need_of(held_: Held, requests: int) -> Need:
    """What they sum to."""
    total, high = held_.total(held_.likely, requests), held_.total(held_.high, requests)
    return Need(total, high, held_.likely.weights, held_.likely.slack * held_.cache_bytes(requests))


def group_bytes(group: KvGroup, context_tokens: float, kv_bits: float, layout: ParallelLayout) -> float:
    """Cache bytes per sequence and card of one group: layers * elements * tokens * bits / 8, spread over the tensor
    ranks as the layout says.
    """
    share = group.share(layout.tensor, layout.cache_split)
    return group.layers * group.elements * group.tokens(context_tokens) * kv_bits / 8 * share


def state_bytes(shape: ModelShape, setup: Setup) -> float:
    """Bytes per sequence of the fixed states of state-space and linear-attention layers, whatever the context."""
    return shape.state_layers * shape.state_elements * setup.format.compute_bits / 8


def further_tokens(setup: Setup, coefficients: Coefficients, context: Context) -> float:
    """Tokens that the cache holds room for per request beyond one at its longest: the average, where the runtime
    hands memory out in pages as requests grow (Kwon et al. 2023, vLLM, section 4), and all where it reserves.
    """
    if setup.usual_tokens >= setup.context_tokens:
        return float(setup.context_tokens)
    reserved = coefficients.pick("cache-reserved-share", context).likely
    return setup.usual_tokens + reserved * (setup.context_tokens - setup.usual_tokens)


def sequence_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout, tokens: float) -> float:
    """Bytes per card of the cache of one sequence of so many tokens over all layers, states included."""
    each = sum(group_bytes(group, tokens, setup.kv_bits, layout) for group in shape.kv_groups)
    return each + state_bytes(shape, setup) * _state_share(layout)


def _state_share(layout: ParallelLayout) -> float:
    """Share of a sequence's fixed states that a card keeps: they have no tokens, and a head or more for each card."""
    return 1.0 if layout.by_requests else 1.0 / layout.tensor


def _asked_tokens(shape: ModelShape, setup: Setup) -> int:
    """Tokens of a request that are read at once: of one that is answered, its prompt."""
    return setup.prompt_tokens if shape.kind in GENERATIVE else setup.context_tokens


def working_width(shape: ModelShape, layout: ParallelLayout, coefficients: Coefficients, context: Context) -> Range:
    """Elements one token needs at once in the widest layer: tensors of the feed-forward width, and of the hidden
    size.
    """
    ffn = coefficients.pick("prefill-ffn-tensors", context)
    hidden = coefficients.pick("prefill-hidden-tensors", context)
    width = widest_ffn(shape) / _cards_of_token(layout)
    return Range(
        ffn.low * width + hidden.low * shape.hidden_size,
        ffn.likely * width + hidden.likely * shape.hidden_size,
        ffn.high * width + hidden.high * shape.hidden_size,
    )


def _cards_of_token(layout: ParallelLayout) -> int:
    """Cards that share the work on a token: one where each works on requests of its own."""
    return 1 if layout.by_requests else layout.tensor


def widest_ffn(shape: ModelShape) -> int:
    """Feed-forward width a token passes through in the widest layer: the dense one, or its experts together."""
    routed = (shape.experts_per_token + shape.shared_experts) * shape.expert_ffn_size if shape.is_moe else 0
    return max(shape.ffn_size, routed)


def load_bytes(shape: ModelShape, layout: ParallelLayout, coefficients: Coefficients, context: Context) -> Range:
    """Bytes beside the weights while they are quantized on the card at load: 16-bit copies of the largest tensor."""
    return scaled(coefficients.pick("load-copies", context), largest_tensor_bytes(shape) / layout.tensor)


def load_fragments(shape: ModelShape, layout: ParallelLayout, coefficients: Coefficients, context: Context) -> Range:
    """Bytes that the framework's allocator keeps after weights were quantized at load: freed 16-bit copies of the
    largest quantized matrix, of which smaller tensors stand in parts, so that they do not go back to the driver
    (PyTorch, CUDACachingAllocator: blocks of one segment).
    """
    matrix = 2.0 * max(shape.hidden_size * shape.ffn_size, shape.routed_width * shape.expert_ffn_size)
    return scaled(coefficients.pick("load-fragments", context), matrix / layout.tensor)


def _scores(shape: ModelShape, setup: Setup, layout: ParallelLayout) -> tuple[float, int, float]:
    """Of the attention scores of one layer where they are written out (eager), the numbers whose product with the
    tokens is their bytes: heads * tokens * prompt, before and after they are scaled, in FP32 and their FP32 softmax
    (transformers, eager_attention_forward; PyTorch copies BF16 before a softmax in FP32, SoftMax.cpp, and its allocator
    keeps the freed ones, which are too small for FP32).
    """
    if setup.attention != "eager":
        return 0.0, 0, 0.0
    each = setup.format.compute_bits / 4 + 8
    return shape.heads / _cards_of_token(layout), _asked_tokens(shape, setup), each


def explain(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, done: MemoryParts
) -> list[Calculation]:
    """How each part of `parts` came about."""
    context = setup.context(shape)
    requests, held_ = requests_on_card(setup, layout), held(shape, setup, layout, coefficients)
    found = _explain_weights(shape, setup, layout, coefficients, context, done.weights.likely)
    if shape.kv_groups or shape.state_layers:
        found.extend(_explain_cache(shape, setup, layout, requests, coefficients, context, done))
    found += _explain_working(
        shape, setup, layout, held_, held_.tokens_at_once(requests), coefficients, context, done.activations.likely
    )
    if shape.kind in GENERATIVE:
        found.append(_explain_logits(shape, requests, coefficients, context, done.logits.likely))
    found.append(_explain_overhead(shape, layout, coefficients, context, done.overhead.likely))
    if done.reused.likely:
        found.append(_explain_reused(coefficients, context, done))
    return found


def _explain_working(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    held_: Held,
    tokens: float,
    coefficients: Coefficients,
    context: Context,
    value: float,
) -> list[Calculation]:
    """What one token needs in the widest layer, and the working memory of all that are read at once."""
    pick = coefficients.pick
    width = Calculation(
        "working_width",
        "ffn_tensors * ffn / tensor + hidden_tensors * hidden",
        (
            coefficient_term("ffn_tensors", pick("prefill-ffn-tensors", context)),
            Term("ffn", widest_ffn(shape), "elements", shape.source),
            Term("tensor", _cards_of_token(layout), "cards", (), "that share a token's layer"),
            coefficient_term("hidden_tensors", pick("prefill-hidden-tensors", context)),
            Term("hidden", shape.hidden_size, "elements", shape.source),
        ),
        working_width(shape, layout, coefficients, context).likely,
        "elements per token",
    )
    copies = pick("load-copies", context)
    terms = (
        Term("tokens", tokens, "tokens at once"),
        width.as_term(),
        Term("compute_bits", setup.format.compute_bits, "bits"),
        Term("scores", held_.score_bytes(tokens), "bytes", (), "attention scores, where written out"),
        Term("load", held_.likely.loading, "bytes", copies.source, "held while the weights are quantized at load"),
        coefficient_term("workspace", pick("workspace-bytes", context)),
    )
    formula = "max(tokens * working_width * compute_bits / 8 + scores, load) + workspace"
    return [width, Calculation("activations", formula, terms, value, "bytes")]


def _explain_logits(
    shape: ModelShape, requests: int, coefficients: Coefficients, context: Context, value: float
) -> Calculation:
    terms = (
        Term("requests", requests, "requests"),
        coefficient_term("profiled", coefficients.pick("sampled-requests", context)),
        Term("vocabulary", shape.vocab_size, "tokens", shape.source),
        coefficient_term("logit_bytes", coefficients.pick("logit-bytes", context)),
    )
    return Calculation("logits", "max(requests, profiled) * vocabulary * logit_bytes", terms, value, "bytes")


def _explain_overhead(
    shape: ModelShape, layout: ParallelLayout, coefficients: Coefficients, context: Context, value: float
) -> Calculation:
    outside = explain_overhead(layout, coefficients, context, value)
    kept = load_fragments(shape, layout, coefficients, context)
    if not kept.high:
        return outside
    copies = coefficients.pick("load-fragments", context)
    term = Term("fragments", kept.likely, "bytes", copies.source, copies.meaning)
    return Calculation("overhead", f"{outside.formula} + fragments", (*outside.terms, term), value, "bytes")


def _explain_reused(coefficients: Coefficients, context: Context, done: MemoryParts) -> Calculation:
    terms = (
        Term("activations", done.activations.likely, "bytes"),
        coefficient_term("workspace", coefficients.pick("workspace-bytes", context)),
        Term("logits", done.logits.likely, "bytes"),
    )
    return Calculation("reused", "-min(activations - workspace, logits)", terms, done.reused.likely, "bytes")


def _explain_weights(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context, value: float
) -> list[Calculation]:
    """The model's own weights, and what is served beside them."""
    beside = explain_beside(shape, setup, layout, coefficients, context)
    if not beside:
        return [explain_weights(shape, setup.format, layout, coefficients, context, value)]
    own = held_weights(shape, setup.format, layout, coefficients, context).likely
    found = [explain_weights(shape, setup.format, layout, coefficients, context, own, "model_weights"), *beside]
    terms = tuple(part.as_term() for part in found)
    return [*found, Calculation("weights", " + ".join(term.name for term in terms), terms, value, "bytes")]


def _explain_cache(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    requests: int,
    coefficients: Coefficients,
    context: Context,
    done: MemoryParts,
) -> list[Calculation]:
    found = _explain_sequence(shape, setup, layout, setup.context_tokens, "")
    longest = " + ".join(part.name for part in found)
    formula = f"({longest}) * requests * stage * slack"
    further = further_tokens(setup, coefficients, context)
    if further < setup.context_tokens:
        others = _explain_sequence(shape, setup, layout, further, "further_")
        formula = f"({longest} + ({' + '.join(part.name for part in others)}) * (requests - 1)) * stage * slack"
        found += others
    terms = (
        *(part.as_term() for part in found),
        Term("requests", requests, "requests"),
        Term("stage", stage_share(shape.layers, layout.pipeline), "share", (), "layers of the fullest pipeline stage"),
        coefficient_term("slack", coefficients.pick("cache-slack", context)),
    )
    return [*found, Calculation("kv_cache", formula, terms, done.kv_cache.likely, "bytes")]


_SHARES = {"heads": "ceil(heads / tensor) / heads", "tokens": "1 / tensor", "requests": "1"}
"""What a card keeps of a sequence's cache, by what divides it."""


def _explain_sequence(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, length: float, prefix: str
) -> list[Calculation]:
    """The cache of one sequence of this length, by groups of layers that keep alike."""
    found = []
    for number, group in enumerate(shape.kv_groups, start=1):
        kept = (
            "a fixed length"
            if group.fixed_tokens
            else f"at most its window of {group.window}"
            if group.window
            else "the average context, and what is reserved beyond it"
            if prefix
            else "the whole context"
        )
        how = "heads" if layout.cache_split == "tokens" and layout.tensor <= group.heads else layout.cache_split
        found.append(
            Calculation(
                f"{prefix}cache_of_layers_{number}",
                f"layers * elements * tokens * kv_bits / 8 * {_SHARES[how]}",
                (
                    Term("layers", group.layers, "layers", shape.source),
                    Term("elements", group.elements, "numbers per token", shape.source),
                    Term("tokens", group.tokens(length), "tokens", (), kept),
                    Term("kv_bits", setup.kv_bits, "bits", setup.kv_format.source if setup.kv_format else ()),
                    *(() if how == "requests" else (Term("tensor", layout.tensor, "cards"),)),
                    *(() if how != "heads" else (Term("heads", group.heads, "heads kept apart", shape.source),)),
                ),
                group_bytes(group, length, setup.kv_bits, layout),
                "bytes per sequence",
            )
        )
    if shape.state_layers:
        found.append(
            Calculation(
                f"{prefix}states",
                "state_layers * state_elements * compute_bits / 8 * share",
                (
                    Term("state_layers", shape.state_layers, "layers", shape.source),
                    Term("state_elements", shape.state_elements, "numbers", shape.source),
                    Term("compute_bits", setup.format.compute_bits, "bits"),
                    Term("share", _state_share(layout), "share", (), "of a card"),
                ),
                state_bytes(shape, setup) * _state_share(layout),
                "bytes per sequence",
            )
        )
    return found
