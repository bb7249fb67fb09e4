"""What each layer of a configuration is: which attend to everything or to a window, keep a state, have experts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whygpu.intake.huggingface import keys
from whygpu.intake.huggingface.families import Family
from whygpu.intake.limits import LIMITS, Reader, shown

SLIDING = frozenset({"sliding_attention", "chunked_attention", "sliding", "local", "local_attention"})
STATE = frozenset({"linear_attention", "mamba", "mamba2", "recurrent", "ssm", "conv"})
FEED_FORWARD = frozenset({"mlp", "moe"})
LISTS = ("layer_types", "layers_block_type", "hybrid_override_pattern", "attn_type_list")
LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
"""Letters of `hybrid_override_pattern` (Nemotron-H), where each layer is one mixer or one feed-forward."""


@dataclass(frozen=True, slots=True)
class LayerPattern:
    """Counts of layers. `dense` and `experts` have a feed-forward of the kind, `window` is what sliding layers keep;
    of the last layers, `borrowing` that attend to everything and `borrowing_sliding` use an earlier layer's cache.
    """

    layers: int
    window: int = 0
    sliding: int = 0
    state: int = 0
    attending: int = 0
    dense: int = 0
    experts: int = 0
    borrowing: int = 0
    borrowing_sliding: int = 0


def read_pattern(reader: Reader, family: Family, layers: int | None, has_experts: bool) -> LayerPattern:
    """From a list of layer types where there is one, else from the counts and the family's habit."""
    words = _listed(reader)
    if words and layers is None:
        layers = len(words)
    elif words and len(words) != layers:
        reader.complain(LISTS[0], f"names {len(words)} layers of {layers}")
        words = []
    layers = layers or 1
    if family.kind == "state-space":
        return LayerPattern(layers, state=layers)
    window = reader.count("tokens", "sliding_window", "sliding_window_size", "attention_window_size", "local_attention")
    window = window or reader.count("tokens", "attention_chunk_size")
    if words and FEED_FORWARD & set(words):
        return LayerPattern(
            layers, state=sum(word in STATE for word in words), attending=words.count("attention"),
            dense=words.count("mlp"), experts=words.count("moe"),
        )  # fmt: skip
    experts = _expert_layers(reader, layers) if has_experts else 0
    state = sum(word in STATE for word in words) if words else _state_layers(reader, layers)
    sliding = sum(word in SLIDING for word in words) if words else _sliding_layers(reader, family, layers, window)
    sliding = sliding if window else 0
    borrowing, near = _borrowing(reader, words, layers, sliding)
    return LayerPattern(
        layers, window if sliding else 0, sliding, state, layers - state, layers - experts, experts, borrowing, near,
    )  # fmt: skip


def _borrowing(reader: Reader, words: list[str], layers: int, sliding: int) -> tuple[int, int]:
    """How many of the last layers keep no cache of their own: those that attend to everything, those that slide."""
    last = min(reader.count("layers", "num_kv_shared_layers"), layers - 1)
    near = sum(word in SLIDING for word in words[layers - last :]) if words else round(last * sliding / layers)
    return last - near, near


def _listed(reader: Reader) -> list[str]:
    """One word a layer, where the configuration has such a list."""
    key, listed = reader.raw(*LISTS)
    if listed is None:
        return _flagged(reader)
    if isinstance(listed, str) and key == "hybrid_override_pattern" and len(listed) <= LIMITS["layers"][1]:
        return [LETTERS.get(letter, "") for letter in listed]
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or len(listed) > LIMITS["layers"][1]:
        reader.complain(key, f"is {shown(listed)}, not a list with one word a layer")
        return []
    return [word if isinstance(word, str) else "" for word in listed]


def _flagged(reader: Reader) -> list[str]:
    """A list of 0 and 1 that marks the sliding layers."""
    key, listed = reader.raw("hybrid_layer_pattern")
    if listed is None:
        return []
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or len(listed) > LIMITS["layers"][1]:
        reader.complain(key, f"is {shown(listed)}, not a list with one number a layer")
        return []
    return ["sliding_attention" if flag == 1 else "attention" for flag in listed]


def _state_layers(reader: Reader, layers: int) -> int:
    """Layers without attention, by the interval between those with it."""
    linear = reader.inner("linear_attn_config")
    _, listed = (linear or reader).raw("full_attn_layers" if linear else "attn_layer_indices")
    if isinstance(listed, Sequence) and not isinstance(listed, (str, bytes)):
        return max(layers - len(listed), 0)
    period = reader.count("layers", "attn_layer_period", "full_attention_interval")
    if not period:
        return 0
    offset = reader.count("layers", "attn_layer_offset") % period if reader.has("attn_layer_offset") else period - 1
    return layers - len(range(offset, layers, period))


def _sliding_layers(reader: Reader, family: Family, layers: int, window: int) -> int:
    if not window or not reader.flag(True, "use_sliding_window"):
        return 0
    if family.sliding == "none" and not reader.flag(False, "use_sliding_window"):
        return 0
    if family.sliding == "even":
        return (layers + 1) // 2
    every = reader.count("layers", "sliding_window_pattern", "global_attn_every_n_layers") or family.sliding_every
    if family.sliding == "every" and every:
        return layers - layers // every
    first = reader.count("layers", "max_window_layers")
    return max(layers - first, 0) if family.sliding == "none" else layers


def _expert_layers(reader: Reader, layers: int) -> int:
    """Layers with experts: all but the first dense ones, or every n-th, or those a list marks."""
    key, marked = reader.raw("moe_layer_freq", "moe_layers")
    if isinstance(marked, Sequence) and not isinstance(marked, (str, bytes)):
        if len(marked) > LIMITS["layers"][1]:
            reader.complain(key, f"has {len(marked)} entries")
            return 0
        # A list of flags, one a layer, or the numbers of the layers with experts.
        flags = len(marked) == layers and all(flag in (0, 1) for flag in marked)
        return sum(flag == 1 for flag in marked) if flags else min(len(marked), layers)
    period = reader.count("layers", "expert_layer_period")
    if period:
        return len(range(reader.count("layers", "expert_layer_offset") % period, layers, period))
    start = reader.count("layers", *keys.DENSE_LAYERS)
    end = reader.count("layers", "moe_layer_end_index")
    last = min(end + 1, layers) if end else layers
    step = reader.count("layers", "decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step",
                        "moe_layer_interval") or 1  # fmt: skip
    return max(last - start, 0) // step
