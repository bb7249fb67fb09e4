"""Layers that keep a fixed state instead of a cache: their parameters, and the numbers they keep for a sequence.

Mamba (Gu and Dao 2023, arXiv:2312.00752), Mamba-2 (Dao and Gu 2024, arXiv:2405.21060), gated delta nets (Yang et al.
2024, arXiv:2412.06464), as transformers builds them; Kimi delta attention (Kimi Linear 2025, arXiv:2510.26692), as
Megatron Bridge builds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from whygpu.intake.limits import Reader


@dataclass(frozen=True, slots=True)
class StateBlock:
    """One such layer: its parameters without norm and feed-forward, and the numbers it keeps of each sequence."""

    parameters: int
    elements: int


def read_state_block(reader: Reader, hidden: int) -> StateBlock | None:
    """The block that the configuration's keys describe, None where they describe none."""
    if reader.has("linear_num_value_heads"):
        return _gated_delta(reader, hidden)
    if reader.has("linear_attn_config"):
        return _kimi_delta(reader, hidden)
    if reader.has("mamba_num_heads", "mamba_n_heads") or (reader.has("num_heads") and reader.has("state_size")):
        return _mamba2(reader, hidden)
    if reader.has("state_size", "mamba_d_state"):
        return _mamba(reader, hidden)
    return None


def _gated_delta(reader: Reader, hidden: int) -> StateBlock:
    value_heads = reader.whole("heads", "linear_num_value_heads") or 1
    key_heads = reader.whole("heads", "linear_num_key_heads") or value_heads
    key_dim = reader.whole("head", "linear_key_head_dim") or 1
    value_dim = reader.whole("head", "linear_value_head_dim") or key_dim
    kernel = reader.whole("heads", "linear_conv_kernel_dim") or 4
    keys, values = key_heads * key_dim, value_heads * value_dim
    convolved = 2 * keys + values
    parameters = hidden * (convolved + values + 2 * value_heads) + convolved * kernel + 2 * value_heads + value_dim
    return StateBlock(parameters + values * hidden, value_heads * key_dim * value_dim + convolved * kernel)


def _kimi_delta(reader: Reader, hidden: int) -> StateBlock | None:
    inner = reader.inner("linear_attn_config")
    if inner is None:
        return None
    heads, width = inner.whole("heads", "num_heads") or 1, inner.whole("head", "head_dim") or 1
    kernel = inner.whole("heads", "short_conv_kernel_size") or 4
    projected = heads * width
    narrow = hidden * width + width * projected
    gate = hidden * projected if inner.flag(False, "use_full_rank_gate") else narrow
    # Queries, keys, values and the output; a convolution for each of the first three; forgetting, gate, step sizes.
    parameters = 4 * hidden * projected + 3 * projected * kernel + narrow + gate + hidden * heads
    parameters += heads + projected + width
    return StateBlock(parameters, heads * width * width + 3 * projected * kernel)


def _mamba2(reader: Reader, hidden: int) -> StateBlock:
    heads = reader.whole("heads", "mamba_num_heads", "mamba_n_heads", "num_heads") or 1
    width = reader.whole("head", "mamba_head_dim", "mamba_d_head", "head_dim") or 1
    state = reader.whole("head", "ssm_state_size", "mamba_d_state", "state_size") or 1
    groups = reader.whole("heads", "n_groups", "mamba_n_groups") or 1
    kernel = reader.whole("heads", "conv_kernel", "mamba_d_conv") or 4
    inner = heads * width
    convolved = inner + 2 * groups * state
    bias = reader.flag(True, "use_conv_bias", "mamba_conv_bias")
    parameters = hidden * (inner + convolved + heads) + convolved * (kernel + int(bias)) + 3 * heads + inner
    return StateBlock(parameters + inner * hidden, inner * state + convolved * kernel)


def _mamba(reader: Reader, hidden: int) -> StateBlock:
    state = reader.whole("head", "state_size", "mamba_d_state") or 16
    kernel = reader.whole("heads", "conv_kernel", "mamba_d_conv") or 4
    inner = reader.count("hidden", "intermediate_size") if reader.has("state_size") else 0
    inner = inner or (reader.whole("heads", "expand", "mamba_expand") or 2) * hidden
    rank = reader.count("hidden", "time_step_rank", "mamba_dt_rank") or -(-hidden // 16)
    # Jamba norms the three inputs of the state.
    norms = rank + 2 * state if reader.has("mamba_dt_rank") else 0
    bias = int(reader.flag(True, "use_conv_bias", "mamba_conv_bias"))
    parameters = hidden * 2 * inner + inner * (kernel + bias) + inner * (rank + 2 * state) + rank * inner + inner
    parameters += inner * state + inner + inner * hidden + norms
    return StateBlock(parameters, inner * (state + kernel))
