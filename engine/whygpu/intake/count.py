"""Parameters of a transformer, counted tensor by tensor from its sizes and its family."""

from __future__ import annotations

from dataclasses import dataclass

from whygpu.intake.families import Family


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes a count needs; 0 where there is none."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    positions: int = 0
    tied: bool = False
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn: int = 0
    shared_ffn: int = 0
    moe_layers: int = 0
    kv_lora: int = 0
    rope_dim: int = 0
    nope_dim: int = 0
    value_dim: int = 0
    q_lora: int = 0
    state_layers: int = 0
    state_parameters: int = 0
    encoder_layers: int = 0
    type_vocabulary: int = 0
    embedding_dim: int = 0
    source_positions: int = 0
    buckets: int = 0
    audio_bins: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """Parameters in all, and those one token passes through."""

    parameters: int
    active: int


def linear(inputs: int, outputs: int, bias: bool) -> int:
    """Parameters of a linear layer."""
    return inputs * outputs + (outputs if bias else 0)


def norm(width: int, bias: bool) -> int:
    """Parameters of a norm."""
    return 2 * width if bias else width


def attention(sizes: Sizes, family: Family) -> int:
    """One attention block: four projections, five with latent attention (DeepSeek-V2, 2.1), and its inner norms."""
    hidden, heads, key = sizes.hidden, sizes.heads, sizes.head_dim
    if sizes.kv_lora:
        width = sizes.nope_dim + sizes.rope_dim
        queries = (
            hidden * sizes.q_lora + sizes.q_lora + sizes.q_lora * heads * width
            if sizes.q_lora
            else hidden * heads * width
        )
        keys = hidden * (sizes.kv_lora + sizes.rope_dim) + sizes.kv_lora
        keys += sizes.kv_lora * heads * (sizes.nope_dim + sizes.value_dim)
        return queries + keys + heads * sizes.value_dim * hidden
    query, kept = heads * key, sizes.kv_heads * key
    count = linear(hidden, query, family.qkv_bias) + linear(hidden, kept, family.qkv_bias)
    count += linear(hidden, kept, family.qkv_bias and family.key_bias)
    count += linear(query, hidden, family.out_bias)
    if family.qk_norm == "head":
        count += 2 * key
    elif family.qk_norm == "width":
        count += query + kept
    return count + (heads if family.sinks else 0)


def feed_forward(hidden: int, width: int, gated: bool, bias: bool) -> int:
    """Two matrices, or three where a gate multiplies them."""
    return linear(hidden, width, bias) * (2 if gated else 1) + linear(width, hidden, bias)


def experts(sizes: Sizes, family: Family) -> tuple[int, int]:
    """Parameters of the routed experts of one layer, and of what every token passes beside them (router, shared
    experts).
    """
    each = feed_forward(sizes.hidden, sizes.expert_ffn, family.gated, family.expert_bias)
    beside = linear(sizes.hidden, sizes.experts, family.router_bias)
    if family.expert_correction:
        beside += sizes.experts
    if sizes.shared_ffn:
        beside += feed_forward(sizes.hidden, sizes.shared_ffn, family.gated, family.ffn_bias)
        beside += sizes.hidden if family.shared_gate else 0
    return each * sizes.experts, beside


def transformer(sizes: Sizes, family: Family) -> Counted:
    """All parameters of a stack with its token table, positions and head."""
    hidden = sizes.hidden
    attending = sizes.layers - sizes.state_layers
    routed, beside = experts(sizes, family) if sizes.moe_layers else (0, 0)
    total = attending * attention(sizes, family) + sizes.state_layers * sizes.state_parameters
    total += sizes.layers * family.norms * norm(hidden, family.norm_bias)
    total += (sizes.layers - sizes.moe_layers) * feed_forward(hidden, sizes.ffn, family.gated, family.ffn_bias)
    total += sizes.moe_layers * (routed + beside)
    total += _ends(sizes, family)
    if sizes.encoder_layers:
        total += _encoder_beside(sizes, family)
    share = 1 - sizes.experts_per_token / sizes.experts if sizes.experts else 0.0
    return Counted(total, total - round(sizes.moe_layers * routed * share))


def _ends(sizes: Sizes, family: Family) -> int:
    """Token table, positions, norms at both ends, head."""
    hidden = sizes.hidden
    width = sizes.embedding_dim or hidden
    total = sizes.vocabulary * width * (1 if sizes.tied or family.kind == "encoder" else 2)
    if width != hidden:
        total += 2 * width * hidden
    if family.positions:
        total += (sizes.positions + family.position_extra) * hidden
    total += sizes.type_vocabulary * hidden
    if family.embedding_norm:
        total += norm(hidden, family.norm_bias)
    if family.final_norm:
        total += norm(hidden, family.norm_bias)
    if family.head_bias:
        total += sizes.vocabulary
    if family.pooler:
        total += linear(hidden, hidden, True)
    return total


def _encoder_beside(sizes: Sizes, family: Family) -> int:
    """The encoder of an encoder-decoder, and the cross-attention that its decoder has besides."""
    hidden = sizes.hidden
    block, one_norm = attention(sizes, family), norm(hidden, family.norm_bias)
    layer = block + feed_forward(hidden, sizes.ffn, family.gated, family.ffn_bias) + 2 * one_norm
    ends = one_norm * (int(family.final_norm) + int(family.embedding_norm))
    if family.positions:
        ends += ((sizes.source_positions or sizes.positions) + family.position_extra) * hidden
    if family.relative_positions:
        ends += 2 * sizes.buckets * sizes.heads
    if family.audio:
        ends += linear(3 * sizes.audio_bins, hidden, True) + linear(3 * hidden, hidden, True)
    return sizes.encoder_layers * layer + sizes.layers * (block + one_norm) + ends
