"""Attention that compresses its context, or chooses what to attend to: its parameters, and what it keeps of a context.

DeepSeek-V4 keeps one vector for keys and values alike: of each of the last tokens, and of all tokens one for every 4
(compressed sparse attention, with a narrower one for choosing among them) or every 128 (heavily compressed attention).
DeepSeek-V3.2, GLM-5 and MiniMax-M3 keep every token, and beside it a narrow key by which tokens are chosen. As
transformers (models/deepseek_v4) and Megatron Bridge (models/minimax_m3) build them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from whygpu.checks.model_shape import KvGroup
from whygpu.intake.count import AttentionKind, Latent
from whygpu.intake.limits import LIMITS, Reader, shown

CHOOSING = 4
"""Tokens to a vector up to which a layer chooses among the vectors, with windows that overlap by half."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """Parameters of all attention (0: the usual ones) or beside it, and the groups of the cache."""

    parameters: int = 0
    further: int = 0
    cache: tuple[KvGroup, ...] = ()


def read_sparse(
    reader: Reader, hidden: int, attentions: tuple[AttentionKind, ...], latent: Latent | None
) -> Sparse | None:
    """What the configuration's keys describe, None where they describe none."""
    if reader.has("compress_ratios"):
        return _compressed(reader, hidden, attentions[0])
    if latent is not None and latent.indexing:
        return Sparse(cache=_latent_groups(latent, sum(kind.layers for kind in attentions)))
    inner = reader.inner("sparse_attention_config") if len(attentions) == 1 else None
    return _blocks(inner, hidden, attentions[0]) if inner is not None else None


def _numbers(reader: Reader, key: str, layers: int) -> list[int]:
    """A list of one number a layer; what follows belongs to modules that predict further tokens."""
    listed = reader.raw(key)[1]
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or len(listed) > LIMITS["layers"][1]:
        reader.complain(key, f"is {shown(listed)}, not a list with one number a layer")
        return []
    if len(listed) < layers or not all(isinstance(one, int) and one >= 0 for one in listed):
        reader.complain(key, f"holds {len(listed)} entries that are not one whole number for each of {layers} layers")
        return []
    return list(listed[:layers])


def _compressed(reader: Reader, hidden: int, kind: AttentionKind) -> Sparse:
    ratios = _numbers(reader, "compress_ratios", kind.layers)
    width, heads = kind.key_dim, kind.heads
    rank = reader.count("hidden", "q_lora_rank")
    groups, narrow = reader.count("heads", "o_groups") or 1, reader.count("hidden", "o_lora_rank")
    index_heads, index = reader.count("heads", "index_n_heads"), reader.count("head", "index_head_dim")
    queries = hidden * rank + rank + rank * heads * width
    total = kind.layers * (queries + hidden * width + width + heads * width * narrow + groups * narrow * hidden)
    chosen = reader.count("tokens", "index_topk")
    kept: dict[KvGroup, int] = {}
    for ratio in ratios:
        if not ratio:
            continue
        choosing = ratio <= CHOOSING
        elements = width // ratio + (index // ratio if choosing else 0)
        group = KvGroup(1, elements, 1, vector_tokens=ratio)
        if choosing:
            group = replace(
                group, chosen=chosen * ratio, index_elements=index // ratio, index_width=index_heads * index
            )
        kept[group] = kept.get(group, 0) + 1
        total += _compressor(hidden, width, ratio, choosing)
        if choosing:
            total += _compressor(hidden, index, ratio, choosing) + rank * index_heads * index + hidden * index_heads
    window = KvGroup(kind.layers, width, 1, fixed_tokens=reader.count("tokens", "sliding_window"))
    cache = tuple(replace(group, layers=kept[group]) for group in sorted(kept, key=lambda one: one.elements))
    return Sparse(parameters=total, cache=(*cache, window) if window.fixed_tokens else cache)


def _compressor(hidden: int, width: int, ratio: int, overlaps: bool) -> int:
    """What turns so many tokens into one vector: values, their weights, a bias for each place, a norm."""
    made = 2 * width if overlaps else width
    return 2 * hidden * made + ratio * made + width


def _latent_groups(latent: Latent, layers: int) -> tuple[KvGroup, ...]:
    elements = latent.rank + latent.rope_dim
    width = latent.index_heads * latent.index_dim
    choosing = KvGroup(
        latent.indexing,
        elements + latent.index_dim,
        1,
        chosen=latent.chosen,
        index_elements=latent.index_dim,
        index_width=width,
    )
    others = layers - latent.indexing
    return (choosing, KvGroup(others, elements, 1, chosen=latent.chosen)) if others > 0 else (choosing,)


def _blocks(inner: Reader, hidden: int, kind: AttentionKind) -> Sparse | None:
    """MiniMax-M3: layers that choose blocks of tokens have small queries and one small key besides."""
    flags = _numbers(inner, "sparse_attention_freq", kind.layers) if inner.has("sparse_attention_freq") else []
    choosing = sum(flag > 0 for flag in flags)
    if not choosing:
        return None
    index, heads = inner.count("head", "sparse_index_dim"), inner.count("heads", "sparse_num_index_heads")
    elements = kind.kv_heads * (kind.key_dim + kind.value_dim)
    chosen = inner.count("tokens", "sparse_topk_blocks") * inner.count("tokens", "sparse_block_size")
    searching = {"chosen": chosen, "index_elements": index, "index_width": heads * index}
    groups = [KvGroup(choosing, elements + index, kind.kv_heads, **searching)]
    if choosing < kind.layers:
        groups.append(KvGroup(kind.layers - choosing, elements, kind.kv_heads))
    return Sparse(further=choosing * (hidden * index * (heads + 1) + 2 * index), cache=tuple(groups))


def indexing_layers(reader: Reader, layers: int) -> int:
    """Layers with an indexer of their own; the others use what the one before them chose (GLM-5.2)."""
    listed = reader.raw("indexer_types")[1]
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes, Mapping)):
        return layers
    return min(list(listed).count("full"), layers)
