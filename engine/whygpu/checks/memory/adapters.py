"""Parameters of low-rank adapters: rank * (inputs + outputs) for each matrix they sit beside (Hu et al. 2021,
arXiv:2106.09685).
"""

from __future__ import annotations

import math

from whygpu.checks.model_shape import ModelShape


def adapter_parameters(shape: ModelShape, rank: int, targets: str) -> int:
    """Adapter parameters of the whole model, for `targets` attention (query, key, value, output) or all-linear.

    With latent attention the low-rank projections are the targets. A model without attention (a convolution network) is
    taken as one square matrix per parameter count, which overstates it: rank * 2 * sqrt(parameters).
    """
    if not shape.layers or not shape.hidden_size:
        return math.ceil(rank * 2 * math.sqrt(shape.parameters))
    hidden = shape.hidden_size
    attention = (
        _latent(shape) if shape.kv_lora_rank else 2 * (hidden + shape.query_width) + 2 * (hidden + shape.kv_width)
    )
    layers = shape.layers + shape.encoder_layers
    count = shape.attention_layers * attention + shape.encoder_layers * attention
    if targets != "all-linear":
        return rank * count
    matrices = 3 if shape.gated_ffn else 2
    count += (layers - shape.moe_layers) * matrices * (hidden + shape.ffn_size)
    count += shape.moe_layers * shape.experts * matrices * (shape.routed_width + shape.expert_ffn_size)
    count += shape.moe_layers * shape.shared_experts * matrices * (hidden + shape.expert_ffn_size)
    if shape.expert_latent_size:  # the projections to the latent and back
        count += shape.moe_layers * 2 * (hidden + shape.expert_latent_size)
    return rank * count


def _latent(shape: ModelShape) -> int:
    """Inputs plus outputs of the five projections of DeepSeek's latent attention, per layer."""
    hidden, heads = shape.hidden_size, shape.heads
    key = shape.head_dim + shape.qk_rope_head_dim
    value = shape.v_head_dim or shape.head_dim
    queries = (
        (hidden + shape.q_lora_rank) + (shape.q_lora_rank + heads * key) if shape.q_lora_rank else hidden + heads * key
    )
    keys = (hidden + shape.kv_lora_rank + shape.qk_rope_head_dim) + (
        shape.kv_lora_rank + heads * (shape.head_dim + value)
    )
    return queries + keys + heads * value + hidden
