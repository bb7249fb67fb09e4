"""Which layers of a configuration attend to everything, to a window, or keep a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whygpu.intake.families import Family
from whygpu.intake.limits import LIMITS, Reader, shown

SLIDING = frozenset({"sliding_attention", "chunked_attention", "sliding", "local", "local_attention"})
LINEAR = frozenset({"linear_attention", "mamba", "mamba2", "recurrent", "ssm", "conv"})


@dataclass(frozen=True, slots=True)
class AttentionPattern:
    """Layers that slide over `window` tokens, and layers without a growing cache."""

    window: int = 0
    sliding_layers: int = 0
    state_layers: int = 0


def read_pattern(reader: Reader, family: Family, layers: int) -> AttentionPattern:
    """From a list of layer types where there is one, else from the window and the family's habit."""
    window = reader.count("tokens", "sliding_window", "attention_window_size", "local_attention")
    window = window or reader.count("tokens", "attention_chunk_size")
    key, listed = reader.raw("layer_types", "layers_block_type", "attn_type_list")
    if listed is not None:
        return _listed(reader, key, listed, layers, window)
    if not window or not reader.flag(True, "use_sliding_window"):
        return AttentionPattern()
    if family.sliding == "none" and not reader.flag(False, "use_sliding_window"):
        return AttentionPattern()
    return AttentionPattern(window, _sliding_layers(reader, family, layers))


def _sliding_layers(reader: Reader, family: Family, layers: int) -> int:
    if family.sliding == "even":
        return (layers + 1) // 2
    every = reader.count("layers", "sliding_window_pattern", "global_attn_every_n_layers") or family.sliding_every
    if family.sliding == "every" and every:
        return layers - layers // every
    first = reader.count("layers", "max_window_layers")
    return max(layers - first, 0) if family.sliding == "none" else layers


def _listed(reader: Reader, key: str, listed: object, layers: int, window: int) -> AttentionPattern:
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or len(listed) > LIMITS["layers"][1]:
        reader.complain(key, f"is {shown(listed)}, not a list with one word a layer")
        return AttentionPattern()
    if len(listed) != layers:
        reader.complain(key, f"names {len(listed)} layers of {layers}")
        return AttentionPattern()
    sliding = sum(1 for word in listed if isinstance(word, str) and word in SLIDING)
    state = sum(1 for word in listed if isinstance(word, str) and word in LINEAR)
    return AttentionPattern(window if sliding else 0, sliding if window else 0, state)
