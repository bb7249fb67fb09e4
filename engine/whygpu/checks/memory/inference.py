"""Memory of models that read and write tokens, in inference.

Sources: numbers of the cache from Ainslie et al. 2023 (GQA) and DeepSeek-V2 2.1 (MLA); working memory of prefill from
what a gated feed-forward keeps at once (gate, up and their product) beside the residual stream.
"""

from __future__ import annotations

from dataclasses import dataclass

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficients, Context
from whygpu.checks.memory.beside import explain_beside, held_beside
from whygpu.checks.memory.parts import MemoryParts, coefficient_term, explain_overhead, overhead, scaled, stage_share
from whygpu.checks.memory.weights import explain_weights, held_weights, largest_tensor_bytes
from whygpu.checks.model_shape import GENERATIVE, KvGroup, ModelShape
from whygpu.checks.setup import ParallelLayout, Setup


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes per accelerator of what is there whatever the requests, and the words of the work."""

    weights: Range
    overhead: Range
    context: Context


def parts(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> MemoryParts:
    """Bytes per accelerator of serving the requests of one replica."""
    return parts_of(held(shape, setup, layout, coefficients), shape, setup, layout, coefficients)


def held(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> Held:
    """What does not depend on how many requests there are."""
    context = setup.context(shape)
    adapters, draft = held_beside(shape, setup, layout, coefficients, context)
    return Held(
        held_weights(shape, setup.format, layout, coefficients, context) + adapters + draft,
        overhead(layout, coefficients, context) + load_fragments(shape, layout, coefficients, context),
        context,
    )


def parts_of(
    held_: Held, shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients
) -> MemoryParts:
    """The parts of a replica that holds this, with the requests of the setup."""
    context = held_.context
    requests = layout.requests_on_card(setup.requests_per_replica(layout.data))
    tokens = tokens_at_once(shape, setup, requests, coefficients, context)
    further = further_tokens(setup, coefficients, context)
    working = _working(shape, setup, layout, tokens, coefficients, context)
    logits = _logits(shape, requests, coefficients, context)
    return MemoryParts(
        weights=held_.weights,
        kv_cache=scaled(
            coefficients.pick("cache-slack", context), cache_bytes(shape, setup, layout, requests, further)
        ),
        activations=working + scaled(coefficients.pick("workspace-bytes", context), 1.0),
        logits=logits,
        overhead=held_.overhead,
        reused=_reused(working, logits),
    )


def _reused(working: Range, logits: Range) -> Range:
    """Bytes that layers and sampling take one after the other, below zero: the last layer is done when the first logit
    is there (vLLM's profile of two cards shows the same peak as that of one, and logits alone are not divided).
    """
    return Range(-min(working.low, logits.low), -min(working.likely, logits.likely), -min(working.high, logits.high))


def _logits(shape: ModelShape, requests: int, coefficients: Coefficients, context: Context) -> Range:
    """Bytes held while the next tokens are chosen, of as many requests as the runtime profiles at start where that is
    more. The card that samples gathers whole rows, so a tensor group does not divide them.
    """
    if shape.kind not in GENERATIVE:
        return Range(0.0, 0.0, 0.0)
    each, profiled = coefficients.pick("logit-bytes", context), coefficients.pick("sampled-requests", context)
    return Range(
        max(requests, profiled.low) * shape.vocab_size * each.low,
        max(requests, profiled.likely) * shape.vocab_size * each.likely,
        max(requests, profiled.high) * shape.vocab_size * each.high,
    )


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


def cache_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout, requests: int, further: float) -> float:
    """Bytes per card of the cache of so many sequences, states included: one at full context, the others of `further`
    tokens.
    """
    each = sequence_bytes(shape, setup, layout, setup.context_tokens)
    total = each * requests
    if further < setup.context_tokens:
        total = each + sequence_bytes(shape, setup, layout, further) * (requests - 1)
    return total * stage_share(shape.layers, layout.pipeline)


def sequence_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout, tokens: float) -> float:
    """Bytes per card of the cache of one sequence of so many tokens over all layers, states included."""
    each = sum(group_bytes(group, tokens, setup.kv_bits, layout) for group in shape.kv_groups)
    return each + state_bytes(shape, setup) * _state_share(layout)


def _state_share(layout: ParallelLayout) -> float:
    """Share of a sequence's fixed states that a card keeps: they have no tokens, and a head or more for each card."""
    return 1.0 if layout.by_requests else 1.0 / layout.tensor


def tokens_at_once(
    shape: ModelShape, setup: Setup, requests: int, coefficients: Coefficients, context: Context
) -> float:
    """Tokens one forward pass works on at most: all prompts at once, or the chunk the runtime cuts them into."""
    asked = setup.prompt_tokens if shape.kind in GENERATIVE else setup.context_tokens
    source = shape.source_tokens if shape.encoder_layers else 0
    return max(
        min(float(requests * max(asked, source)), coefficients.pick("prefill-chunk-tokens", context).likely), requests
    )


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


def _working(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    tokens: float,
    coefficients: Coefficients,
    context: Context,
) -> Range:
    """Bytes of the widest layer at work, or of the weights while they are quantized at load where those are more."""
    each = working_width(shape, layout, coefficients, context).times(tokens * setup.format.compute_bits / 8)
    scores = score_bytes(shape, setup, layout, tokens)
    loading = load_bytes(shape, layout, coefficients, context)
    return Range(
        max(each.low + scores, loading.low),
        max(each.likely + scores, loading.likely),
        max(each.high + scores, loading.high),
    )


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


def score_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout, tokens: float) -> float:
    """Bytes of the attention scores of one layer where they are written out (eager): heads * tokens * prompt, before
    and after they are scaled, in FP32 and their FP32 softmax (transformers, eager_attention_forward; PyTorch copies
    BF16 before a softmax in FP32, SoftMax.cpp, and its allocator keeps the freed ones, which are too small for FP32).
    """
    if setup.attention != "eager":
        return 0.0
    length = setup.prompt_tokens if shape.kind in GENERATIVE else setup.context_tokens
    return shape.heads / _cards_of_token(layout) * tokens * length * (setup.format.compute_bits / 4 + 8)


def explain(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, done: MemoryParts
) -> list[Calculation]:
    """How each part of `parts` came about."""
    context = setup.context(shape)
    requests = layout.requests_on_card(setup.requests_per_replica(layout.data))
    found = _explain_weights(shape, setup, layout, coefficients, context, done.weights.likely)
    if shape.kv_groups or shape.state_layers:
        found.extend(_explain_cache(shape, setup, layout, requests, coefficients, context, done))
    tokens = tokens_at_once(shape, setup, requests, coefficients, context)
    found += _explain_working(shape, setup, layout, tokens, coefficients, context, done.activations.likely)
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
    scores = score_bytes(shape, setup, layout, tokens)
    load, copies = load_bytes(shape, layout, coefficients, context).likely, pick("load-copies", context)
    terms = (
        Term("tokens", tokens, "tokens at once"),
        width.as_term(),
        Term("compute_bits", setup.format.compute_bits, "bits"),
        Term("scores", scores, "bytes", (), "attention scores, where written out"),
        Term("load", load, "bytes", copies.source, "held while the weights are quantized at load"),
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
