"""What divides the cache over a tensor group, and what that costs a step and a prompt.

By heads, a card beyond as many as key/value heads reads a copy. By tokens (decode context parallelism), each reads its
share of every context, and the group exchanges queries and partial outputs (vLLM, context parallel deployment; SGLang,
decode context parallelism). By requests (attention data parallelism), each works on requests of its own with all
weights but the experts, which the group shares (vLLM, data parallel deployment; SGLang, DP attention).
"""

from __future__ import annotations

import numpy as np

from whygpu.checks.model_shape import KvGroup, ModelShape
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed.columns import Columns, Wire

EXCHANGES = "token-split-exchanges"


def copies(columns: Columns) -> FloatArray:
    """How many cards of a tensor group hold, and compute with, each weight that is no expert's."""
    return np.where(columns.by_requests > 0, columns.tensor, 1.0)


def expert_share(columns: Columns) -> FloatArray:
    """Of the experts that a token chooses, how many a card of a tensor group works on: a slice of each, or where
    requests are divided those that are on the card.
    """
    return np.where(columns.by_requests > 0, 1.0 / columns.tensor, 1.0)


def undivided(columns: Columns, routed_share: float) -> FloatArray:
    """Operations of a prompt's products on a card against an even share of them, where so large a share is of routed
    experts: these are shared by the prompts that are read side by side.
    """
    return copies(columns) * (1.0 - routed_share) + columns.prompts_at_once() * routed_share


def chunk_of_rank(tokens: float, ranks: FloatArray | int) -> FloatArray:
    """Tokens of prompts that each of so many ranks works on at once, of those meant for all."""
    tokens_each: FloatArray = np.maximum(tokens // ranks, 1.0)
    return tokens_each


def waits(columns: Columns, requests: FloatArray, prompt: float) -> FloatArray:
    """How many times as long prompts hold up steps as if all ranks read theirs at once: ranks that divide requests pass
    through each step together (vLLM, data parallel deployment; TensorRT-LLM, ADP balance strategy), so that a prompt of
    one holds up all, and each reads one in a step with the same chance, (requests of the rank) * chunks / steps.
    """
    ranks = columns.prompts_at_once()
    if not columns.by_requests.any():
        return np.ones_like(ranks)
    tokens, divided = (
        columns.coefficients.pick(name, columns.contexts[0]).likely
        for name in ("prefill-chunk-tokens", "divides-chunks")
    )
    chunk = np.where(divided > 0, chunk_of_rank(tokens, columns.tensor), tokens)
    chunks = np.maximum(prompt / chunk, 1.0)
    chance = np.clip(requests / ranks * chunks / max(columns.setup.output_tokens - 1, 1), 1e-9, 1 - 1e-12)
    return np.where(ranks > 1, -np.expm1(ranks * np.log1p(-chance)) / chance, 1.0)


def cache_read(columns: Columns) -> FloatArray:
    """Bytes of cache per sequence that one card of a tensor group reads in a step, in the middle of a usual answer
    (all pipeline stages in turn).
    """
    setup, shape = columns.setup, columns.shape
    tokens = max(setup.usual_tokens - setup.output_tokens / 2, 1.0)
    states = shape.state_layers * shape.state_elements
    total = columns.of_each(lambda own: states * own.format.compute_bits / 8) * copies(columns) / columns.tensor
    kv_bits = columns.of_each(lambda own: own.kv_bits)
    for group in shape.kv_groups:
        size = group.layers * group.elements_read(tokens) * kv_bits / 8
        total = total + size * _share(columns, group)
    return total


def score_flops(columns: Columns) -> float:
    """Operations of attention per sequence in a step, in 16 bits, in the middle of a usual answer: two for each number
    of a head's query and output and each vector it attends to. A latent is multiplied by every head (FlashMLA is bound
    by arithmetic on Hopper), a key by those of its group alone.
    """
    setup, shape = columns.setup, columns.shape
    tokens = max(setup.usual_tokens - setup.output_tokens / 2, 1.0)
    seen = sum(group.layers * group.seen(tokens) for group in shape.kv_groups)
    return 2.0 * shape.heads * head_width(shape) * seen


def _share(columns: Columns, group: KvGroup) -> FloatArray:
    """``KvGroup.share`` of each plan."""
    by_heads = np.ceil(group.heads / columns.tensor) / group.heads
    by_tokens = (columns.by_tokens > 0) & (columns.tensor > group.heads)
    return np.where(columns.by_requests > 0, 1.0, np.where(by_tokens, 1.0 / columns.tensor, by_heads))


def step_wire_s(columns: Columns, wire: Wire, requests: FloatArray) -> FloatArray:
    """Rows: seconds that a step of so many requests exchanges: what layers hand on, and what attention merges where the
    tokens of a context are divided: the queries of all heads are gathered, and outputs scattered, in collectives as
    counted by ``token-split-exchanges`` (vLLM's default: queries, sums of exponentials, outputs).
    """
    seconds, shape = layers_wire_s(columns, wire, requests), columns.shape
    if not columns.by_tokens.any():
        return seconds
    width = columns.of_each(lambda setup: setup.format.compute_bits / 8) * head_width(shape)
    for group in shape.kv_groups:
        cards = np.maximum(columns.tensor / group.heads, 1.0)
        payload = requests * width * shape.heads * cards / columns.tensor
        merged = group.layers * wire.halves_s(cards, payload, columns.less_is_better(EXCHANGES))
        seconds = seconds + np.where(columns.by_tokens > 0, merged, 0.0)
    return seconds


def head_width(shape: ModelShape) -> int:
    """Elements of a head's query and of its output, as attention works on them: on the latent, where there is one
    (DeepSeek-V2, 2.1: absorbed projections).
    """
    if shape.kv_lora_rank:
        return 2 * shape.kv_lora_rank + shape.qk_rope_head_dim
    return 2 * shape.head_dim


def layers_wire_s(columns: Columns, wire: Wire, tokens: FloatArray | float) -> FloatArray:
    """Rows: seconds of what layers hand on of so many tokens: two all-reduces each (Shoeybi et al. 2019, Megatron-LM,
    3); where requests are divided, tokens go to the experts and back, which moves each twice.
    """
    shape = columns.shape
    row = tokens * columns.of_each(lambda setup: setup.format.compute_bits / 8)
    reduced = 2 * (shape.layers + shape.encoder_layers) * wire.all_reduce_s(columns.tensor, row * shape.hidden_size)
    if not columns.by_requests.any():
        return reduced
    sent = wire.halves_s(columns.tensor, 2 * row * shape.routed_width, 2.0)
    return np.where(columns.by_requests > 0, shape.moe_layers * sent, reduced)


def said(columns: Columns, i: int, *, step: bool) -> str:
    """What is exchanged, in words."""
    if columns.by_requests[i]:
        return "tokens to their experts and back"
    merged = ", and queries and outputs of attention" if step and columns.by_tokens[i] else ""
    return f"two all-reduces a layer{merged}"
