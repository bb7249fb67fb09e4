"""Small weights files for tests, written by hand."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LAYERS, HIDDEN, FFN, VOCABULARY, KV = 2, 256, 512, 320, 64
HF_LAYER = {
    "self_attn.q_proj": (HIDDEN, HIDDEN),
    "self_attn.k_proj": (KV, HIDDEN),
    "self_attn.v_proj": (KV, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN),
    "mlp.gate_proj": (FFN, HIDDEN),
    "mlp.up_proj": (FFN, HIDDEN),
    "mlp.down_proj": (HIDDEN, FFN),
    "input_layernorm": (HIDDEN,),
    "post_attention_layernorm": (HIDDEN,),
}
PARAMETERS = (
    2 * VOCABULARY * HIDDEN + HIDDEN + LAYERS * sum(math.prod(dims) for dims in HF_LAYER.values())
)  # counted from the sizes above: table, head, last norm, layers
CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": LAYERS,
    "hidden_size": HIDDEN,
    "intermediate_size": FFN,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
}


def llama_tensors() -> dict[str, tuple[int, ...]]:
    """Names and shapes of a two-layer Llama."""
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
        "lm_head.weight": (VOCABULARY, HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }
    for number in range(LAYERS):
        found |= {f"model.layers.{number}.{name}.weight": dims for name, dims in HF_LAYER.items()}
    return found


def header_of(tensors: Mapping[str, tuple[int, ...]], dtype: str = "BF16", width: int = 2) -> dict[str, Any]:
    """A header with the tensors one after the other."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, dims in tensors.items():
        size = math.prod(dims) * width
        header[name] = {"dtype": dtype, "shape": list(dims), "data_offsets": [at, at + size]}
        at += size
    return header


def write_raw(path: Path, raw: bytes, data_bytes: int = 0, length: int | None = None) -> Path:
    """A file with this header text, claiming this length, and so many bytes of tensors (a hole, not written)."""
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(raw) if length is None else length) + raw)
        file.truncate(8 + len(raw) + data_bytes)
    return path


def write_safetensors(path: Path, header: Mapping[str, Any], data_bytes: int | None = None) -> Path:
    """A file with this header, and bytes enough for its tensors."""
    ends = [entry["data_offsets"][1] for entry in header.values() if "data_offsets" in entry]
    return write_raw(path, json.dumps(header).encode(), max(ends, default=0) if data_bytes is None else data_bytes)


def text(value: str) -> bytes:
    """A GGUF string."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf_bytes(
    tensors: Mapping[str, tuple[tuple[int, ...], int, int]], metadata: Mapping[str, int | str | bytes], version: int = 3
) -> bytes:
    """A GGUF file without the tensors' contents: name -> (dims, type number, bytes); bytes stand for type and value."""
    keys = b""
    for key, value in metadata.items():
        if isinstance(value, int):
            value = struct.pack("<II", 4, value)  # noqa: PLW2901  as it is written
        keys += text(key) + (struct.pack("<I", 8) + text(value) if isinstance(value, str) else value)
    infos, at = b"", 0
    for name, (dims, kind, size) in tensors.items():
        infos += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, at)
        at += -(-size // 32) * 32
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata)) + keys + infos
    return head + b"\0" * (-len(head) % 32 + at)


LLAMA_KEYS: dict[str, int | str] = {
    "general.architecture": "llama",
    "general.file_type": 7,
    "llama.block_count": 1,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 128,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
}
LLAMA_GGUF: dict[str, tuple[tuple[int, ...], int, int]] = {
    "token_embd.weight": ((64, 100), 8, 6800),
    "output_norm.weight": ((64,), 0, 256),
    "blk.0.attn_q.weight": ((64, 64), 8, 4352),
    "blk.0.attn_k.weight": ((64, 32), 8, 2176),
    "blk.0.attn_v.weight": ((64, 32), 8, 2176),
    "blk.0.attn_output.weight": ((64, 64), 8, 4352),
    "blk.0.ffn_gate.weight": ((64, 128), 8, 8704),
    "blk.0.ffn_up.weight": ((64, 128), 8, 8704),
    "blk.0.ffn_down.weight": ((128, 64), 8, 8704),
}
