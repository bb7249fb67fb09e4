"""Reads the sizes of a transformer out of a Hugging Face configuration, whatever its family calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whygpu.checks.model_shape import KvGroup
from whygpu.intake.count import AttentionKind, ExpertSizes, Latent, Sizes
from whygpu.intake.huggingface import keys
from whygpu.intake.huggingface.families import Family
from whygpu.intake.huggingface.layer_pattern import LayerPattern, read_pattern
from whygpu.intake.huggingface.nas import read_blocks
from whygpu.intake.huggingface.per_layer import read_tables
from whygpu.intake.huggingface.sparse import indexing_layers, read_sparse
from whygpu.intake.huggingface.state_space import StateBlock, read_state_block
from whygpu.intake.limits import Reader

PROJECTS = "WithProjection"


@dataclass(frozen=True, slots=True)
class Described:
    """What a configuration describes. `assumed` names the fields that it left to be derived; `cache` what is kept of a
    context, where the sizes do not say it.
    """

    sizes: Sizes
    pattern: LayerPattern
    state: StateBlock | None
    assumed: tuple[str, ...]
    cache: tuple[KvGroup, ...] = ()


def describe(reader: Reader, family: Family) -> Described:
    """Read all sizes; what is wrong is kept as problems of the reader, with 1 in its place."""
    assumed: list[str] = []
    seq2seq = family.kind == "encoder-decoder"
    layers = reader.whole("layers", *(keys.DECODER_LAYERS + keys.LAYERS if seq2seq else keys.LAYERS))
    hidden = reader.whole("hidden", *keys.HIDDEN) or 1
    heads = reader.whole("heads", *keys.HEADS) or 1
    head_dim = reader.whole("head", *keys.HEAD_DIM)
    if head_dim is None:
        head_dim = max(hidden // heads, 1)
        assumed.append("head_dim")
    experts = _experts(reader, family)
    pattern = read_pattern(reader, family, layers, experts is not None)
    blocks = read_blocks(reader, hidden, heads, head_dim)
    ffn = blocks.mean_ffn if blocks else _feed_forward(reader, family, hidden, experts)
    if ffn is None:
        ffn = family.default_ffn * hidden
        assumed.append("ffn_size")
    state = read_state_block(reader, hidden) if pattern.state else None
    attentions = blocks.attentions if blocks else _attentions(reader, family, pattern, heads, head_dim)
    latent = _latent(reader, family, heads, head_dim, pattern.attending)
    sparse = read_sparse(reader, hidden, attentions, latent)
    further, table = read_tables(reader, hidden, pattern.layers, ffn)
    sizes = Sizes(
        layers=pattern.layers,
        hidden=hidden,
        ffn=ffn,
        dense_layers=0 if blocks else pattern.dense,
        uneven_parameters=blocks.feed_forward_parameters if blocks else 0,
        vocabulary=reader.whole("vocabulary", *keys.VOCABULARY) or 1,
        attentions=attentions,
        latent=latent,
        attention_parameters=sparse.parameters if sparse else 0,
        further_parameters=further + (sparse.further if sparse else 0),
        looked_up_parameters=table,
        experts=experts,
        expert_layers=pattern.experts,
        state_layers=pattern.state,
        state_parameters=state.parameters if state else 0,
        positions=reader.count("tokens", *keys.POSITIONS),
        tied=reader.flag(family.tied, "tie_word_embeddings") or family.headless,
        embedding_dim=_embedding_width(reader, hidden),
        type_vocabulary=reader.count("vocabulary", "type_vocab_size") if family.kind == "encoder" else 0,
        encoder_layers=(reader.whole("layers", *keys.LAYERS) or pattern.layers) if seq2seq else 0,
        source_positions=reader.count("tokens", "max_source_positions"),
        buckets=reader.count("tokens", "relative_attention_num_buckets") or 32,
        audio_bins=reader.count("heads", "num_mel_bins"),
        projection=reader.count("hidden", "projection_dim") if architecture(reader).endswith(PROJECTS) else 0,
    )
    return Described(sizes, pattern, state, tuple(assumed), sparse.cache if sparse else ())


def architecture(reader: Reader) -> str:
    """The class that the weights were saved from, empty where none is named."""
    listed = reader.raw("architectures")[1]
    named = listed[0] if isinstance(listed, list) and listed else ""
    return named[:80] if isinstance(named, str) else ""


def _feed_forward(reader: Reader, family: Family, hidden: int, experts: ExpertSizes | None) -> int | None:
    """Width of the dense feed-forward. Some keep it apart from that of their experts; Gemma 3n states it for each
    layer, and they are alike.
    """
    if experts is not None and reader.has(*keys.DENSE_FFN):
        return reader.whole("hidden", *keys.DENSE_FFN)
    listed = reader.raw(*keys.FFN)[1]
    many = isinstance(listed, Sequence) and not isinstance(listed, (str, bytes))
    if many and listed and all(one == listed[0] for one in listed):
        reader = Reader({keys.FFN[0]: listed[0]}, reader.at, reader.problems)
    width = reader.whole("hidden", *keys.FFN)
    if width is not None and family.halved_ffn:
        return max(width // 2, 1)
    ratio = reader.number("ratio", "ffn_hidden_size_ratio", "expansion_ratio") if width is None else None
    return round(ratio * hidden) if ratio and family.kind == "decoder" else width


def _attentions(
    reader: Reader, family: Family, pattern: LayerPattern, heads: int, head_dim: int
) -> tuple[AttentionKind, ...]:
    """The kinds of attention, those that keep a cache and those that borrow one apart."""
    found = []
    for kind in _kinds(reader, family, pattern, heads, head_dim):
        borrowing = pattern.borrowing_sliding if kind.window else pattern.borrowing
        found.append(replace(kind, layers=kind.layers - borrowing))
        if borrowing:
            found.append(replace(kind, layers=borrowing, borrows=True))
    return tuple(found)


def _kinds(
    reader: Reader, family: Family, pattern: LayerPattern, heads: int, head_dim: int
) -> tuple[AttentionKind, ...]:
    """The kinds of attention: one, or two where sliding and full layers differ in heads (Gemma 4, MiMo V2)."""
    kv_heads = _kv_heads(reader, family, heads)
    value = reader.count("head", "v_head_dim") if not reader.has("kv_lora_rank") else 0
    usual = AttentionKind(pattern.attending, heads, kv_heads, head_dim, value or head_dim)
    full = pattern.attending - pattern.sliding
    if reader.has("global_head_dim", "num_global_key_value_heads"):
        wide = reader.whole("head", "global_head_dim") or head_dim
        groups = reader.whole("heads", "num_global_key_value_heads") or kv_heads
        shared = reader.flag(False, "attention_k_eq_v")
        around = AttentionKind(full, heads, groups, wide, wide, values_are_keys=shared)
        near = AttentionKind(pattern.sliding, heads, kv_heads, head_dim, head_dim, pattern.window)
        return around, near
    if reader.has("swa_num_key_value_heads"):
        groups = reader.whole("heads", "swa_num_key_value_heads") or kv_heads
        wide = reader.whole("head", "swa_head_dim") or head_dim
        narrow = reader.whole("head", "swa_v_head_dim") or wide
        count = reader.whole("heads", "swa_num_attention_heads") or heads
        return (
            AttentionKind(full, heads, kv_heads, head_dim, value or head_dim),
            AttentionKind(pattern.sliding, count, groups, wide, narrow, pattern.window),
        )
    if not pattern.sliding:
        return (usual,)
    around = AttentionKind(full, heads, kv_heads, head_dim, usual.value_dim)
    return around, AttentionKind(pattern.sliding, heads, kv_heads, head_dim, usual.value_dim, pattern.window)


def _kv_heads(reader: Reader, family: Family, heads: int) -> int:
    given = reader.whole("heads", *keys.KV_HEADS)
    if given is not None:
        if given > heads:
            reader.complain(keys.KV_HEADS[0], f"is {given}, more than the {heads} heads")
        # Falcon's old architecture names the number of heads here, and still shares one.
        if not reader.flag(False, "multi_query") or reader.flag(False, "new_decoder_architecture"):
            return given
    if reader.flag(family.one_kv_head, "multi_query") and not reader.flag(False, "new_decoder_architecture"):
        return 1
    return given or heads


def _embedding_width(reader: Reader, hidden: int) -> int:
    """Width of the token table, where it is not the hidden size (OPT 350M, ELECTRA)."""
    width = reader.count("hidden", "word_embed_proj_dim", "embedding_size")
    return 0 if width == hidden else width


def _experts(reader: Reader, family: Family) -> ExpertSizes | None:
    count = reader.count("experts", *keys.EXPERTS)
    if count <= 1:
        return None
    chosen = reader.whole("experts", *keys.EXPERTS_PER_TOKEN)
    if chosen is None or chosen > count:
        said = "is missing" if chosen is None else f"is {chosen}"
        hint = "say how many experts a token passes through"
        reader.complain(keys.EXPERTS_PER_TOKEN[0], f"{said}, with {count} experts", hint)
        return None
    width = reader.whole("hidden", *keys.EXPERT_FFN, *keys.FFN) or 1
    shared = reader.count("experts", *keys.SHARED_EXPERTS) or family.shared_experts
    beside = reader.count("hidden", *keys.SHARED_FFN) or shared * width
    return ExpertSizes(count, chosen, width, beside, reader.count("hidden", *keys.LATENT_EXPERTS))


def _latent(reader: Reader, family: Family, heads: int, head_dim: int, layers: int) -> Latent | None:
    rank = reader.count("hidden", "kv_lora_rank")
    if not rank:
        return None
    return Latent(
        heads=heads,
        rank=rank,
        rope_dim=reader.count("head", "qk_rope_head_dim"),
        nope_dim=reader.count("head", "qk_nope_head_dim") or head_dim,
        value_dim=reader.count("head", "v_head_dim") or head_dim,
        query_rank=reader.count("hidden", "q_lora_rank"),
        index_heads=reader.count("heads", "index_n_heads") if family.indexed else 0,
        index_dim=reader.count("head", "index_head_dim") if family.indexed else 0,
        chosen=reader.count("tokens", "index_topk") if family.indexed else 0,
        indexing=indexing_layers(reader, layers) if family.indexed else 0,
        gated=reader.flag(False, "mla_use_output_gate"),
    )
