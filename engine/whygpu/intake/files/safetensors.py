"""Headers of safetensors files: names, types and sizes of tensors, without reading any tensor.

The format (huggingface/safetensors, README.md): 8 bytes with the header's length, a JSON header, the tensors. A model
in several files has an index, whose `weight_map` names the file of each tensor. Everything read is bounded and checked.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from whygpu import files as regular
from whygpu.intake.files.tensors import MOST_DIMENSIONS, MOST_PARAMETERS, WeightsError
from whygpu.intake.limits import shown

INDEX_NAME = "model.safetensors.index.json"
SINGLE_NAME = "model.safetensors"
# The reference implementation reads headers of up to 100 MB (safetensors/src/tensor.rs); an index of 200,000 tensors at
# 130 bytes each has 26 MB.
MOST_HEADER_BYTES, MOST_WIDE_BYTES = 32_000_000, 4_000_000  # all of it, and what is not ASCII: parsing widens that
MOST_CONFIG_BYTES = 4 * 2**20
MOST_TENSORS, MOST_INDEXED = 100_000, 400_000  # of a file, and of all files of an index
MOST_BRACKETS, MOST_COLONS, MOST_COMMAS = 310_000, 420_000, 800_000  # what as many take, and no more to be parsed
MOST_SHARDS = 4096
# Bits of one element by the format's name of the type (safetensors/src/tensor.rs).
DTYPE_BITS = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "F64": 64, "I64": 64, "U64": 64, "C64": 64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RawTensor:
    """One entry of a header."""

    name: str
    dtype: str
    dims: tuple[int, ...]
    stored_bytes: int

    @property
    def elements(self) -> int:
        """Numbers in it, as stored."""
        return math.prod(self.dims)


def read_tensors(path: Path) -> list[RawTensor]:
    """The tensors of a file, of an index and its files, or of a folder that holds either. Raises WeightsError."""
    path = _in_folder(path)
    return _by_index(path) if path.name.endswith(".json") else read_header(path)


def _in_folder(path: Path) -> Path:
    """The file to read where a folder is named."""
    try:
        if not path.is_dir():
            return path
        for name in (INDEX_NAME, SINGLE_NAME):
            if (path / name).exists():
                return path / name
        found = sorted(
            item for item in path.iterdir() if item.name.endswith((".safetensors", ".safetensors.index.json"))
        )
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot be read: {regular.reason(error)}") from error
    indices = [item for item in found if item.name.endswith(".json")]
    if len(indices) == 1 or len(found) == 1:
        return (indices or found)[0]
    if not found:
        raise WeightsError("is a folder without a .safetensors file", "name the file")
    raise WeightsError(
        f"is a folder with {len(found)} .safetensors files and no index", f"name one file, or {INDEX_NAME}"
    )


def read_header(path: Path) -> list[RawTensor]:
    """The tensors of one file. Raises WeightsError."""
    raw, data_bytes = _header_bytes(path)
    header = parse_json(raw)
    if not isinstance(header, dict):
        raise WeightsError(f"{path.name}: the header is {shown(header)}, not a mapping of tensors")
    if len(header) > MOST_TENSORS:
        raise WeightsError(f"{path.name}: holds {len(header)} tensors, more than {MOST_TENSORS}")
    tensors: list[RawTensor] = []
    spans: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        if name != "__metadata__":
            tensors.append(_tensor(path.name, name, entry, data_bytes))
            spans.append((*entry["data_offsets"], name))
    _apart(path.name, spans)
    return tensors


def _apart(file: str, spans: list[tuple[int, int, str]]) -> None:
    """Refuse tensors that share bytes, which would count twice. Raises WeightsError."""
    spans.sort()
    for (_, last, name), (first, _, following) in pairwise(spans):
        if first < last:
            said = f"{file}: tensors {shown(name)} and {shown(following)} overlap"
            raise WeightsError(said, "the file is damaged or made to mislead")


def _header_bytes(path: Path) -> tuple[bytes, int]:
    """The header, and how many bytes of tensors follow it."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        length = int.from_bytes(file.read(8), "little")
        if size < 10:
            raise WeightsError(f"{path.name}: is {size} bytes long, too short for a safetensors file")
        if length > MOST_HEADER_BYTES:
            hint = "is it a safetensors file?"
            raise WeightsError(f"{path.name}: the header claims {length} bytes, more than {MOST_HEADER_BYTES}", hint)
        if length > size - 8:
            raise WeightsError(
                f"{path.name}: the header claims {length} bytes, but only {size - 8} follow", "download the file again"
            )
        return file.read(length), size - 8 - length


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading bytes; pipes and devices are refused. Raises WeightsError."""
    try:
        return regular.open_regular(path)
    except regular.NotRegularError as error:
        raise WeightsError(f"{shown(path.name)}: cannot be read: {regular.NOT_REGULAR}") from error
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        raise WeightsError(f"{shown(path.name)}: cannot be read: {regular.reason(error)}", "check the path") from error


def parse_json(raw: bytes) -> Any:
    """JSON within bounds, names unique. Raises WeightsError."""
    many = raw.count(b"{") + raw.count(b"[") > MOST_BRACKETS or raw.count(b'":') > MOST_COLONS
    if many or raw.count(b",") > MOST_COMMAS:
        raise WeightsError("the header has more entries than any model has tensors")
    if len(raw) > MOST_WIDE_BYTES and not raw.isascii():
        raise WeightsError(f"the header has more than {MOST_WIDE_BYTES} bytes, and not in ASCII alone")
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_unique)
    except RecursionError as error:
        raise WeightsError("the header is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise WeightsError("the header is not UTF-8 text") from error
    except ValueError as error:
        raise WeightsError(f"the header is not JSON: {str(error)[:120]}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise WeightsError(f"{shown(twice)} stands twice in the header")
    return found


def _tensor(file: str, name: str, entry: object, data_bytes: int) -> RawTensor:
    at = f"{file}: tensor {shown(name)}"
    if not isinstance(entry, dict):
        raise WeightsError(f"{at}: is {shown(entry)}, not a mapping of dtype, shape and data_offsets")
    dtype, dims, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        raise WeightsError(f"{at}: has type {shown(dtype)}, not one of {', '.join(DTYPE_BITS)}")
    if not isinstance(dims, list) or len(dims) > MOST_DIMENSIONS or not all(_natural(item) for item in dims):
        raise WeightsError(f"{at}: has shape {shown(dims)}, not up to {MOST_DIMENSIONS} sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_natural(item) for item in offsets):
        raise WeightsError(f"{at}: has data_offsets {shown(offsets)}, not two positions")
    first, last = offsets
    if not first <= last <= data_bytes:
        raise WeightsError(
            f"{at}: lies at {first} to {last} of {data_bytes} bytes of tensors", "the file is damaged or cut short"
        )
    elements = math.prod(dims)
    wanted = -(-elements * DTYPE_BITS[dtype] // 8)
    if elements > MOST_PARAMETERS or wanted != last - first:
        raise WeightsError(f"{at}: {shown(dims)} of {dtype} take {shown(wanted)} bytes, not the {last - first} it has")
    return RawTensor(name, dtype, tuple(dims), last - first)


def _natural(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _by_index(path: Path) -> list[RawTensor]:
    """The tensors that an index names, from the headers of its files."""
    with open_regular(path) as file:
        raw = file.read(MOST_HEADER_BYTES + 1)
    if len(raw) > MOST_HEADER_BYTES:
        raise WeightsError(f"{path.name}: is larger than {MOST_HEADER_BYTES} bytes")
    index = parse_json(raw)
    files = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(files, dict) or not files or len(files) > MOST_INDEXED:
        raise WeightsError(f"{path.name}: has no weight_map of up to {MOST_INDEXED} tensors", f"name a {INDEX_NAME}")
    wanted: dict[str, set[str]] = {}
    for name, shard in files.items():
        wanted.setdefault(_shard_name(path.name, shard), set()).add(name)
    if len(wanted) > MOST_SHARDS:
        raise WeightsError(f"{path.name}: names {len(wanted)} files, more than {MOST_SHARDS}")
    missing = [shard for shard in wanted if not (path.parent / shard).is_file()]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise WeightsError(
            f"{path.name}: {', '.join(shown(shard) for shard in sorted(missing)[:3])}{more} of {len(wanted)} files "
            "are not there",
            "download the whole model, or give its config.json",
        )
    tensors: list[RawTensor] = []
    for shard, names in wanted.items():
        held = [tensor for tensor in read_header(path.parent / shard) if tensor.name in names]
        if len(held) < len(names):
            lacking = min(names - {tensor.name for tensor in held})
            raise WeightsError(f"{path.name}: says that {shown(lacking)} is in {shard}, which lacks it")
        tensors += held
    return tensors


def _shard_name(index: str, shard: object) -> str:
    """A file name beside the index; anything that could lead elsewhere is refused."""
    if not isinstance(shard, str) or not shard.endswith(".safetensors") or len(shard) > 255:
        raise WeightsError(f"{index}: names {shown(shard)}, not a .safetensors file")
    if any(mark in shard for mark in "/\\:\0") or shard.startswith("."):
        raise WeightsError(f"{index}: names {shown(shard)}, which is not a file beside it")
    return shard
