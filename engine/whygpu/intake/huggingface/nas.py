"""Configurations that describe each layer apart (`block_configs` of NVIDIA's pruned Llama models).

A layer may attend with fewer key and value heads, or not at all; its feed-forward is as wide as its multiplier says,
or left out. Widths as in the DeciLM modelling code that comes with the models: 2/3 of the multiplier, up to a
multiple of 256.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whygpu.intake.count import AttentionKind, feed_forward
from whygpu.intake.limits import LIMITS, Reader, shown

MULTIPLE = 256


@dataclass(frozen=True, slots=True)
class Blocks:
    """What the blocks come to: kinds of attention, the parameters of all feed-forwards, and their mean width."""

    attentions: tuple[AttentionKind, ...]
    feed_forward_parameters: int
    mean_ffn: int


def read_blocks(reader: Reader, hidden: int, heads: int, head_dim: int) -> Blocks | None:
    """Read the list of blocks; None where there is none, or where it is malformed, which is kept as a problem."""
    key, listed = reader.raw("block_configs")
    if listed is None:
        return None
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or len(listed) > LIMITS["layers"][1]:
        reader.complain(key, f"is {shown(listed)}, not a list with one block a layer")
        return None
    groups: dict[int, int] = {}
    widths: list[int] = []
    for number, block in enumerate(listed):
        if not isinstance(block, Mapping):
            reader.complain(f"{key}[{number}]", f"is {shown(block)}, not a mapping")
            return None
        inner = Reader(block, reader.path(f"{key}[{number}]"), reader.problems)
        kept = _kv_heads(inner.inner("attention"), heads)
        if kept:
            groups[kept] = groups.get(kept, 0) + 1
        widths.append(_width(inner.inner("ffn"), hidden))
    if not groups:
        reader.complain(key, "has no block with attention")
        return None
    attentions = tuple(AttentionKind(count, heads, kept, head_dim, head_dim) for kept, count in sorted(groups.items()))
    total = sum(feed_forward(hidden, width, True, False) for width in widths if width)
    return Blocks(attentions, total, sum(widths) // max(len(widths), 1))


def _left_out(part: Reader | None) -> bool:
    return part is None or part.flag(False, "no_op") or part.flag(False, "replace_with_linear")


def _kv_heads(part: Reader | None, heads: int) -> int:
    if part is None or _left_out(part):
        return 0
    return heads // (part.whole("heads", "n_heads_in_group") or 1)


def _width(part: Reader | None, hidden: int) -> int:
    if part is None or _left_out(part):
        return 0
    wanted = int(2 * (part.number("ratio", "ffn_mult") or 1.0) * hidden / 3)
    return -(-wanted // MULTIPLE) * MULTIPLE
