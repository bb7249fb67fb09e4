"""What a config.json says of the number format of its weights (quantization_config, as transformers writes it)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PACKED = ("gptq", "awq")
_PLAIN = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4"}
_MODELOPT = {"NVFP4": "nvfp4", "FP8": "fp8"}
_COMPRESSED = {
    "mxfp4-pack-quantized": "mxfp4",
    "nvfp4-pack-quantized": "nvfp4",
    "pack-quantized": "int4",
    "float-quantized": "fp8",
    "int-quantized": "int8",
}
"""Formats of compressed-tensors; packed integers of 4 bits unless they say 8."""


def quantization_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its quantization_config; empty where it has none."""
    found = config.get("quantization_config")
    return found if isinstance(found, Mapping) else {}


def packed_bits(quantization: Mapping[str, Any]) -> int:
    """Bits of a weight that is packed into wider numbers; 0 where it does not say."""
    bits = quantization.get("bits", quantization.get("w_bit"))
    return bits if isinstance(bits, int) and bits in (2, 3, 4, 8) else 0


def configured_format(quantization: Mapping[str, Any], bits: int = 0) -> str:
    """The format of kb/facts/formats.yaml that it names; empty: none. ``bits``: of packed weights, where known."""
    method = quantization.get("quant_method")
    algorithm = quantization.get("moe_quant_algo") or quantization.get("quant_algo")
    if isinstance(algorithm, str) and algorithm in _MODELOPT:
        return _MODELOPT[algorithm]
    if method == "compressed-tensors":
        packed = quantization.get("format")
        return _COMPRESSED.get(packed, "") if isinstance(packed, str) else ""
    bits = bits or packed_bits(quantization) or 4
    if method in _PACKED:
        return f"{method}-int{bits}"
    if method == "bitsandbytes":
        return "int8" if quantization.get("load_in_8bit") is True or bits == 8 else "nf4"
    return _PLAIN.get(method, "") if isinstance(method, str) else ""
