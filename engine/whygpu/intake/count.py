"""Parameters of a transformer, counted tensor by tensor from its sizes and its family."""

from __future__ import annotations

from dataclasses import dataclass

from whygpu.intake.huggingface.families import Family


@dataclass(frozen=True, slots=True)
class AttentionKind:
    """Layers with the same attention. `window` 0: the whole context; `values_are_keys`: no matrix for the values;
    `borrows`: they attend to the keys and values of an earlier layer, and keep none.
    """

    layers: int
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int = 0
    values_are_keys: bool = False
    borrows: bool = False


@dataclass(frozen=True, slots=True)
class Latent:
    """Latent attention (DeepSeek-V2, 2.1), and the indexer of its sparse form (DeepSeek-V3.2, 2.1), which
    `indexing` layers have; `chosen` tokens are attended to. `gated`: what attention gives is multiplied by a gate as
    wide (Kimi K3).
    """

    heads: int
    rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    query_rank: int
    index_heads: int = 0
    index_dim: int = 0
    indexing: int = 0
    chosen: int = 0
    gated: bool = False


@dataclass(frozen=True, slots=True)
class ExpertSizes:
    """Routed experts of a layer, each `width` wide, of which a token takes `chosen`; `shared` is the width all take.

    `latent` above 0: the routed experts work on so many elements, to and from which each layer projects.
    """

    count: int
    chosen: int
    width: int
    shared: int
    latent: int = 0


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes a count needs; 0 where there is none. `uneven_parameters`: feed-forwards that differ from layer to
    layer; `projection`: the width that the output is projected to; `attention_parameters`: of all attention, where it
    is not built of the usual projections; `further_parameters`: beside all that the other sizes say, and
    `looked_up_parameters` those of a table of which a token takes one row, apart from the token table.
    """

    layers: int
    hidden: int
    ffn: int
    dense_layers: int
    vocabulary: int
    attentions: tuple[AttentionKind, ...] = ()
    latent: Latent | None = None
    experts: ExpertSizes | None = None
    expert_layers: int = 0
    state_layers: int = 0
    state_parameters: int = 0
    positions: int = 0
    tied: bool = False
    embedding_dim: int = 0
    type_vocabulary: int = 0
    encoder_layers: int = 0
    source_positions: int = 0
    buckets: int = 0
    audio_bins: int = 0
    uneven_parameters: int = 0
    projection: int = 0
    attention_parameters: int = 0
    further_parameters: int = 0
    looked_up_parameters: int = 0


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


def attention(hidden: int, kind: AttentionKind, family: Family) -> int:
    """One attention block: its four projections, and what its family puts beside them."""
    query, keys, values = kind.heads * kind.key_dim, kind.kv_heads * kind.key_dim, kind.kv_heads * kind.value_dim
    gates = 2 if family.gated_attention else 1
    count = linear(hidden, gates * query, family.qkv_bias)
    if not kind.borrows or family.idle_keys:
        count += linear(hidden, keys, family.qkv_bias and family.key_bias)
        count += 0 if kind.values_are_keys else linear(hidden, values, family.qkv_bias)
    count += linear(kind.heads * kind.value_dim, hidden, family.out_bias)
    if family.qk_norm == "head":
        count += 2 * kind.key_dim
    elif family.qk_norm == "width":
        count += query + keys
    return count + (kind.heads if family.sinks else 0)


def latent_attention(hidden: int, latent: Latent) -> int:
    """One block of latent attention with its inner norms and its gate."""
    width = latent.nope_dim + latent.rope_dim
    if latent.query_rank:
        count = hidden * latent.query_rank + latent.query_rank + latent.query_rank * latent.heads * width
    else:
        count = hidden * latent.heads * width
    count += hidden * (latent.rank + latent.rope_dim) + latent.rank
    count += (
        latent.rank * latent.heads * (latent.nope_dim + latent.value_dim) + latent.heads * latent.value_dim * hidden
    )
    return count + (hidden * latent.heads * latent.value_dim if latent.gated else 0)


def latent_index(hidden: int, latent: Latent) -> int:
    """The indexer of one such block, which chooses the tokens that the block attends to."""
    index = latent.index_heads * latent.index_dim
    return latent.query_rank * index + hidden * (latent.index_dim + latent.index_heads) + 2 * latent.index_dim


def feed_forward(hidden: int, width: int, gated: bool, bias: bool) -> int:
    """Two matrices, or three where a gate multiplies them."""
    return linear(hidden, width, bias) * (2 if gated else 1) + linear(width, hidden, bias)


def routed(hidden: int, experts: ExpertSizes, family: Family) -> int:
    """Parameters of the routed experts of one layer."""
    return experts.count * feed_forward(experts.latent or hidden, experts.width, family.gated, family.expert_bias)


def beside_routed(hidden: int, experts: ExpertSizes, family: Family) -> int:
    """What every token passes beside them: the router and the shared experts."""
    count = linear(hidden, experts.count, family.router_bias) + (experts.count if family.expert_correction else 0)
    count += 2 * hidden * experts.latent
    if experts.shared:
        count += feed_forward(hidden, experts.shared, family.gated, family.ffn_bias)
        count += hidden if family.shared_gate else 0
    return count


def transformer(sizes: Sizes, family: Family) -> Counted:
    """All parameters of a stack with its token table, positions and head."""
    hidden = sizes.hidden
    total = sizes.further_parameters + sizes.looked_up_parameters + _attention(sizes, family)
    total += sizes.state_layers * sizes.state_parameters
    total += sizes.layers * family.norms * norm(hidden, family.norm_bias)
    dense = sizes.layers if family.dense_beside_experts else sizes.dense_layers
    total += dense * feed_forward(hidden, sizes.ffn, family.gated, family.ffn_bias) + sizes.uneven_parameters
    idle = sizes.looked_up_parameters
    if sizes.experts is not None:
        each = routed(hidden, sizes.experts, family)
        total += sizes.expert_layers * (each + beside_routed(hidden, sizes.experts, family))
        idle += sizes.expert_layers * each * (sizes.experts.count - sizes.experts.chosen) // sizes.experts.count
    total += _ends(sizes, family)
    if sizes.encoder_layers:
        total += _encoder_beside(sizes, family)
    return Counted(total, total - idle)


def _attention(sizes: Sizes, family: Family) -> int:
    """All blocks of attention."""
    if sizes.attention_parameters:
        return sizes.attention_parameters
    if sizes.latent is None:
        return sum(kind.layers * attention(sizes.hidden, kind, family) for kind in sizes.attentions)
    blocks = sum(kind.layers for kind in sizes.attentions) * latent_attention(sizes.hidden, sizes.latent)
    return blocks + sizes.latent.indexing * latent_index(sizes.hidden, sizes.latent)


def _ends(sizes: Sizes, family: Family) -> int:
    """Token table, positions, norms at both ends, head."""
    hidden = sizes.hidden
    width = sizes.embedding_dim or hidden
    total = sizes.vocabulary * width * (1 if sizes.tied or family.kind == "encoder" else 2)
    if width != hidden:
        total += linear(width, hidden, True) if family.kind == "encoder" else 2 * width * hidden
    rows = (sizes.positions + family.position_extra if family.positions else 0) + sizes.type_vocabulary
    total += rows * (width if family.kind == "encoder" else hidden)
    if family.embedding_norm:
        total += norm(width if family.kind == "encoder" else hidden, family.norm_bias)
    if family.final_norm:
        total += norm(hidden, family.norm_bias)
    if family.head_bias:
        total += sizes.vocabulary
    if family.pooler:
        total += linear(hidden, hidden, True)
    if family.kind == "encoder" and family.relative_positions:
        total += _distances(sizes, family, sizes.layers)
    return total + hidden * sizes.projection


def _distances(sizes: Sizes, family: Family, layers: int) -> int:
    """Biases by distance of one stack: those of its first layer, or of each."""
    return (layers if family.relative_every else 1) * sizes.buckets * sizes.attentions[0].heads


def _encoder_beside(sizes: Sizes, family: Family) -> int:
    """The encoder of an encoder-decoder, and the cross-attention that its decoder has besides."""
    hidden = sizes.hidden
    block, one_norm = attention(hidden, sizes.attentions[0], family), norm(hidden, family.norm_bias)
    layer = block + feed_forward(hidden, sizes.ffn, family.gated, family.ffn_bias) + 2 * one_norm
    ends = one_norm * (int(family.final_norm) + int(family.embedding_norm))
    if family.positions:
        ends += ((sizes.source_positions or sizes.positions) + family.position_extra) * hidden
    if family.relative_positions:
        ends += _distances(sizes, family, sizes.layers) + _distances(sizes, family, sizes.encoder_layers)
    if family.audio:
        ends += linear(3 * sizes.audio_bins, hidden, True) + linear(3 * hidden, hidden, True)
    return sizes.encoder_layers * layer + sizes.layers * (block + one_norm) + ends
