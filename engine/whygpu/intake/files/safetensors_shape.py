"""A model by its safetensors files: exact parameters and bytes; the rest from config.json or the tensors' shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from whygpu.intake.diffusers.components import NO_SPEED
from whygpu.intake.files.quantization import configured_format, packed_bits, quantization_of
from whygpu.intake.files.safetensors import MOST_CONFIG_BYTES, RawTensor, open_regular, parse_json, read_tensors
from whygpu.intake.files.tensors import (
    StoredTensor,
    Tally,
    WeightsError,
    expert_of,
    layer_of,
    part_of,
    with_exact_weights,
)
from whygpu.intake.huggingface.config import from_hf_config
from whygpu.intake.mapping import from_mapping
from whygpu.intake.problems import IntakeProblem, IntakeResult
from whygpu.intake.sizes import SizeTable

AT = "model.safetensors"
# Data types of unquantized weights by the format of kb/facts/formats.yaml that has them.
_PLAIN = {"BF16": "bf16", "F16": "fp16", "F32": "fp32", "F64": "fp32"}
_FP8 = ("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ")
# Tensors that stand beside quantized weights and hold no weights themselves.
_BESIDE = re.compile(
    r"\.(qzeros|scales|g_idx|weight_scale(_inv|_2)?|weight_zero_point|input_scale|weight_shape|SCB|weight_format|absmax"
    r"|quant_map|nested_absmax|nested_quant_map)$|\.quant_state\.|\.weight\.(absmax|quant_map|nested_\w+)|_scales$"
    r"|(rotary_emb\.inv_freq|position_ids|num_batches_tracked|masked_bias|attn\.bias)$"
)
# Low-rank adapters hold a pair of thin matrices for each one they change (peft, and the trainers of diffusion models).
_ADAPTER = re.compile(r"\.lora_(A|B|down|up|embedding_A|embedding_B)\.|\.lora\.(down|up)\.")
# Parts of a diffusion model's single file, as its authors publish it, by how their tensors' names begin.
_SINGLE_FILE = {
    "model.diffusion_model.": "denoiser",
    "first_stage_model.": "autoencoder",
    "vae.": "autoencoder",
    "cond_stage_model.": "text_encoder",
    "conditioner.": "text_encoder",
    "text_encoders.": "text_encoder",
}
_PACKED = re.compile(r"(\.qweight|\.weight_packed|_blocks)$")


def from_safetensors(given: str, sizes: SizeTable, *, name: str = "") -> IntakeResult:
    """Read the headers of a file, an index or a folder into a shape. Never raises on bad input."""
    path = Path(given)
    try:
        config = _config_beside(path)
        tensors, tally, number_format = _read(path, config)
        _refuse_adapter(tensors, tally)
    except WeightsError as error:
        return None, [IntakeProblem(AT, error.message, error.hint)]
    except OSError as error:
        return None, [IntakeProblem(AT, f"cannot be read: {error.strerror or error}")]
    shape, problems = _described(config, tensors, tally, sizes)
    if shape is None:
        return None, problems
    folder = path if path.is_dir() else path.parent
    exact = with_exact_weights(shape, tally, number_format)
    named = name or folder.resolve().name or shape.name
    return replace(exact, name=named[:80], file_kind="safetensors"), problems


def _refuse_adapter(tensors: list[StoredTensor], tally: Tally) -> None:
    """Raises WeightsError for a file that holds low-rank adapters alone."""
    if all(_ADAPTER.search(tensor.name) for tensor in tensors):
        said = f"is an adapter of {tally.parameters} parameters, not a model"
        raise WeightsError(said, "name the model it belongs to; method: lora sizes its training")


def tally_of(path: Path) -> tuple[Tally, str]:
    """Parameters and bytes of a file or index, and the format it is in. Raises WeightsError."""
    _, tally, number_format = _read(path, _config_beside(path))
    return tally, number_format


def _read(path: Path, config: Mapping[str, Any]) -> tuple[list[StoredTensor], Tally, str]:
    raw = read_tensors(path)
    quantization = quantization_of(config)
    bits = _packed_bits(quantization, raw)
    tensors = [_stored(tensor, bits) for tensor in raw]
    tally = Tally.of(tensors)
    return tensors, tally, _format(quantization, raw, tally)


def _config_beside(path: Path) -> dict[str, Any]:
    beside = (path if path.is_dir() else path.parent) / "config.json"
    if not beside.is_file():
        return {}
    with open_regular(beside) as file:
        data = parse_json(file.read(MOST_CONFIG_BYTES))
    return data if isinstance(data, dict) else {}


def _packed_bits(quantization: Mapping[str, Any], tensors: list[RawTensor]) -> int:
    """Bits of a weight that is packed into wider numbers: as the configuration says, else 4."""
    return packed_bits(quantization) or (8 if any(tensor.name.endswith(".SCB") for tensor in tensors) else 4)


def _stored(tensor: RawTensor, bits: int) -> StoredTensor:
    name, part = tensor.name, part_of(tensor.name)
    if _BESIDE.search(name):
        parameters = 0
    elif _PACKED.search(name) or (tensor.dtype == "U8" and name.endswith(".weight")):
        parameters = tensor.stored_bytes * 8 // bits
    else:
        parameters = tensor.elements
    return StoredTensor(name, part, tensor.dtype, tensor.dims, parameters, tensor.stored_bytes)


def _format(quantization: Mapping[str, Any], tensors: list[RawTensor], tally: Tally) -> str:
    """The format of kb/facts/formats.yaml that the file is in, by its configuration or its tensors; empty: none."""
    bits = _packed_bits(quantization, tensors)
    configured = configured_format(quantization, bits)
    if configured and configured != "fp8":  # whose tensors say so themselves, and may have been unpacked since
        return configured
    if any(tensor.name.endswith("_blocks") for tensor in tensors):
        return "mxfp4"
    names = {tensor.name.rpartition(".")[2] for tensor in tensors}
    types = dict(tally.dtype_bytes)
    if "qweight" in names or "weight_packed" in names:
        return f"gptq-int{bits}" if "g_idx" in names else f"int{bits}"
    if "absmax" in names or "quant_map" in names:
        return "nf4"
    if any(types.get(dtype, 0.0) > 0.3 * tally.stored_bytes for dtype in _FP8):
        return "fp8"
    if types.get("I8", 0.0) > 0.3 * tally.stored_bytes:
        return "int8"
    return next((_PLAIN[dtype] for dtype in types if dtype in _PLAIN), "")


def _described(config: dict[str, Any], tensors: list[StoredTensor], tally: Tally, sizes: SizeTable) -> IntakeResult:
    """The shape: by config.json, else by the tensors."""
    doubts: list[IntakeProblem] = []
    if config:
        shape, problems = from_hf_config(config)
        if shape is None:
            shape, problems = from_hf_config(config, parameters=tally.parameters)
        if shape is not None:
            # towers beside the language model are counted here: their tensors are in the file
            kept = [item for item in problems if not item.path.endswith(("vision_config", "audio_config"))]
            return shape, kept
        doubts = [IntakeProblem(AT, f"config.json beside it is of no use: {problems[0]}", "", "warning")]
    data = _sizes_of(tensors, tally)
    if set(data) == {"parameters"} and {part.name for part in tally.parts} == {"other"}:
        said = f"holds {tally.parameters} parameters, but nothing says of what kind of model"
        hint = f"put its config.json beside it, or give kind (and image_size ...) with parameters: {tally.parameters}"
        return None, [*doubts, IntakeProblem(AT, said, hint)]
    shape, problems = from_mapping(data, sizes, at=AT)
    if shape is None:
        return None, problems
    doubtful = (
        ("experts_per_token",) if _names_heads(tensors) else ("head_dim", "heads", "kv_heads", "experts_per_token")
    )
    guessed = [key for key in doubtful if key in data]
    shape = replace(shape, assumed=tuple(dict.fromkeys((*shape.assumed, *guessed))))
    found = [
        key for key in data if key not in guessed and key not in ("parameters", "kind", "gated_ffn", "tied_embeddings")
    ]
    said = f"{', '.join(found) or 'its kind'} are from the shapes of its tensors"
    if shape.kind == "diffusion":
        names = ", ".join(f"{part.name} {part.parameters}" for part in shape.components)
        return shape, [*problems, *doubts, IntakeProblem(AT, f"holds {names}: {NO_SPEED}", "", "warning")]
    note = IntakeProblem(AT, f"has no usable config.json beside it: {said}; the rest is assumed", "", "warning")
    return shape, [*problems, *doubts, note]


def _sizes_of(tensors: list[StoredTensor], tally: Tally) -> dict[str, Any]:
    """What the tensors' names and shapes say of a model, as a mapping of sizes."""
    layers = 1 + max((number for tensor in tensors if (number := layer_of(tensor.name)) is not None), default=-1)
    convolved = sum(tensor.parameters for tensor in tensors if len(tensor.dims) == 4)
    found: dict[str, Any] = {"parameters": tally.parameters}
    if any(tensor.name.startswith("model.diffusion_model.") for tensor in tensors):
        return {"kind": "diffusion", "components": _single_file(tensors)}
    if convolved > tally.parameters / 2:
        return found | {"kind": "cnn"}
    if any("patch_embed" in tensor.name for tensor in tensors):
        return found | {"kind": "vit"}
    table = _first(tensors, r"(embed_tokens|wte|word_embeddings|tok_embeddings|embed_in|shared)\.weight$")
    if not layers or table is None:
        return found
    vocabulary, hidden = table.dims
    queries, keys = _first(tensors, r"\.(q_proj|query|wq)\.weight$"), _first(tensors, r"\.(k_proj|key|wk)\.weight$")
    gate = _first(tensors, r"\.(gate_proj|up_proj|fc1|w1|c_fc|dense_h_to_4h|intermediate\.dense)\.weight$")
    head_norm = _names_heads(tensors)
    experts = 1 + max((number for tensor in tensors if (number := expert_of(tensor.name)) is not None), default=-1)
    found |= {"layers": layers, "hidden_size": hidden, "vocab_size": vocabulary}
    found["gated_ffn"] = _first(tensors, r"\.(gate_proj|gate_up_proj|w3)\.weight$") is not None
    found["tied_embeddings"] = not tally.count("head")
    if queries is not None and keys is not None:
        width = queries.dims[0]
        head = head_norm if 0 < head_norm < hidden and not width % head_norm else _usual_head(width, keys.dims[0])
        found |= {"heads": width // head, "kv_heads": max(keys.dims[0] // head, 1), "head_dim": head}
    if gate is not None:
        found["expert_ffn_size" if experts > 1 else "ffn_size"] = (
            max(gate.dims) if gate.dims[0] == hidden else gate.dims[0]
        )
    if experts > 1:
        # how many a token takes is in no tensor: all of them, until somebody says otherwise
        found |= {"experts": experts, "experts_per_token": experts}
    return {key: value for key, value in found.items() if value or isinstance(value, bool)}


def _single_file(tensors: list[StoredTensor]) -> dict[str, int]:
    """Parameters of each network of a diffusion model in one file."""
    found: dict[str, int] = {}
    for tensor in tensors:
        part = next((part for begin, part in _SINGLE_FILE.items() if tensor.name.startswith(begin)), "other")
        found[part] = found.get(part, 0) + tensor.parameters
    return {part: count for part, count in found.items() if count}


def _names_heads(tensors: list[StoredTensor]) -> int:
    """The width of a head, where a norm over it tells; 0 where none does."""
    return next((item.dims[0] for item in tensors if item.dims and item.name.endswith(".q_norm.weight")), 0)


def _usual_head(query_width: int, key_width: int) -> int:
    """The widest usual head dimension that both widths are made of."""
    return next((size for size in (128, 64, 96, 80, 256, 32) if not query_width % size and not key_width % size), 1)


def _first(tensors: list[StoredTensor], pattern: str) -> StoredTensor | None:
    """The first tensor of two dimensions with such a name."""
    wanted = re.compile(pattern)
    return next((tensor for tensor in tensors if len(tensor.dims) == 2 and wanted.search(tensor.name)), None)
