"""GGUF headers: metadata, and the exact type and size of every tensor, without reading any tensor.

The format, its type numbers and block sizes: ggml-org/ggml, docs/gguf.md (version 3), include/ggml.h and
src/ggml-common.h. Everything read is bounded and checked; long lists (a tokenizer's words) are passed over, not kept.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, NoReturn

from whygpu.intake.files.safetensors import open_regular
from whygpu.intake.files.tensors import MOST_PARAMETERS, WeightsError
from whygpu.intake.limits import shown

MOST_HEADER_BYTES = 256 * 2**20
MOST_VALUES = 1_500_000  # texts walked over in lists; the largest tokenizers have 0.8 million words and merges
MOST_KEYS = 65_536
MOST_TENSORS = 400_000
MOST_TEXT = 65_535  # of a key or name, in bytes (gguf.md)
KEPT_TEXT, KEPT_ITEMS = 4096, 4096  # longer ones are passed over
MOST_SPLITS = 1024
_DIMENSIONS = 4  # GGML_MAX_DIMS

# ggml_type: name, elements per block, bytes per block.
TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36),
}  # fmt: skip
# llama_ftype (llama.cpp, include/llama.h): the mixture of types of a whole file, as formats are named.
FILE_TYPES: dict[int, str] = {
    0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s",
    12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k", 19: "iq2_xxs",
    20: "iq2_xs", 21: "q2_k_s", 22: "iq3_xs", 23: "iq3_xxs", 24: "iq1_s", 25: "iq4_nl", 26: "iq3_s", 27: "iq3_m",
    28: "iq2_s", 29: "iq2_m", 30: "iq4_xs", 31: "iq1_m", 32: "bf16", 36: "tq1_0", 37: "tq2_0", 38: "mxfp4",
    39: "nvfp4",
}  # fmt: skip

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_SPLIT = re.compile(r"^(.*)-(\d{5})-of-(\d{5})\.gguf$", re.DOTALL)

Value = int | float | bool | str | tuple[int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor; `dims` has the length of a row first, as GGUF does."""

    name: str
    dims: tuple[int, ...]
    type_name: str
    stored_bytes: int

    @property
    def elements(self) -> int:
        """Numbers in it."""
        return math.prod(self.dims)


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What the header says; `lengths` are those of the lists that were not kept."""

    metadata: dict[str, Value]
    lengths: dict[str, int]
    tensors: tuple[GgufTensor, ...]


def read_gguf(path: Path) -> GgufHeader:
    """The header of a file; of a split model, the first file's with the tensors of all. Raises WeightsError."""
    first = read_header(path)
    count = first.metadata.get("split.count")
    if not isinstance(count, int) or count < 2:
        return first
    named = _SPLIT.match(path.name)
    if named is None or int(named[3]) != count or count > MOST_SPLITS:
        raise WeightsError(
            f"{path.name}: is one of {shown(count)} files, but is not named so",
            "keep the names that end in -00001-of-00002.gguf",
        )
    files = [path.with_name(f"{named[1]}-{number:05}-of-{named[3]}.gguf") for number in range(1, count + 1)]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise WeightsError(f"{missing[0]} is missing, of {count} files", "download the whole model")
    headers = [first if file == path else read_header(file) for file in files]
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise WeightsError(f"{path.name}: two of the {count} files hold the same tensor")
    return GgufHeader(headers[0].metadata, headers[0].lengths, tensors)


def read_header(path: Path) -> GgufHeader:
    """The header of one file. Raises WeightsError."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        return _Reader(file, size, path.name).header()


@dataclass(slots=True)
class _Reader:
    """Reads values one after the other; nothing beyond the file or the limits."""

    file: BinaryIO
    size: int
    name: str
    order: str = "<"
    at: int = 0
    walked: int = 0
    lengths: dict[str, int] = field(default_factory=dict)

    def fail(self, message: str, hint: str = "") -> NoReturn:
        raise WeightsError(f"{self.name}: {message}", hint)

    def take(self, count: int) -> bytes:
        self.claim(count)
        data = self.file.read(count)
        if len(data) != count:
            self.fail("ends in the middle of its header", "download the file again")
        return data

    def skip(self, count: int) -> None:
        self.claim(count)
        self.file.seek(count, 1)

    def claim(self, count: int) -> None:
        self.at += count
        if self.at > self.size:
            self.fail("its header reaches beyond the end of the file", "the file is damaged or cut short")
        if self.at > MOST_HEADER_BYTES:
            self.fail(f"its header is longer than {MOST_HEADER_BYTES} bytes")

    def number(self, code: str) -> int:
        return int(struct.unpack(self.order + code, self.take(struct.calcsize(self.order + code)))[0])

    def text(self, limit: int, what: str) -> str:
        length = self.number("Q")
        if length > limit:
            self.fail(f"{what} of {length} bytes, more than {limit}")
        data = self.take(length)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise WeightsError(f"{self.name}: {what} that is not UTF-8 text") from error

    def header(self) -> GgufHeader:
        if self.take(4) != b"GGUF":
            self.fail("does not begin with GGUF", "is it a GGUF file?")
        version = self.number("I")
        if version & 0xFFFF == 0:  # the other byte order, of big-endian machines
            self.order, version = ">", int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in (2, 3):
            self.fail(f"is GGUF version {version}, not 2 or 3", "convert the model again with a current llama.cpp")
        tensors, keys = self.number("Q"), self.number("Q")
        if keys > MOST_KEYS or tensors > MOST_TENSORS:
            self.fail(f"claims {tensors} tensors and {keys} keys, more than {MOST_TENSORS} and {MOST_KEYS}")
        metadata = self.metadata(keys)
        infos = [self.info() for _ in range(tensors)]
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 2**20:
            self.fail(f"general.alignment is {shown(alignment)}, not a size")
        room = self.size - -(-self.at // alignment) * alignment
        seen: set[str] = set()
        for tensor, offset in infos:
            if tensor.name in seen:
                self.fail(f"tensor {shown(tensor.name)} stands twice in the header")
            seen.add(tensor.name)
            if offset + tensor.stored_bytes > room:
                self.fail(f"tensor {shown(tensor.name)} lies beyond the end", "the file is damaged or cut short")
        return GgufHeader(metadata, self.lengths, tuple(tensor for tensor, _ in infos))

    def metadata(self, keys: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for _ in range(keys):
            key = self.text(MOST_TEXT, "has a key")
            if key in found or key in self.lengths:
                self.fail(f"key {shown(key)} stands twice in the header")
            value = self.value(key, self.number("I"))
            if value is not None:
                found[key] = value
        return found

    def value(self, key: str, kind: int) -> Value | None:
        """The value, None where it is passed over."""
        if kind in _SCALARS:
            code = self.order + _SCALARS[kind]
            value: int | float | bool = struct.unpack(code, self.take(struct.calcsize(code)))[0]
            return value
        if kind == _STRING:
            length = self.number("Q")
            if length > KEPT_TEXT:
                self.lengths[key] = length
                self.skip(length)
                return None
            return self.take(length).decode("utf-8", "replace")
        if kind != _ARRAY:
            self.fail(f"{shown(key)} has type {kind}, which GGUF does not have")
        return self.array(key)

    def array(self, key: str) -> tuple[int | float | bool, ...] | None:
        kind, count = self.number("I"), self.number("Q")
        if kind in _SCALARS:
            width = struct.calcsize(self.order + _SCALARS[kind])
            if count > KEPT_ITEMS:
                self.lengths[key] = count
                self.skip(count * width)
                return None
            return struct.unpack(f"{self.order}{count}{_SCALARS[kind]}", self.take(count * width))
        if kind != _STRING:
            self.fail(f"{shown(key)} is a list of type {kind}; lists of numbers and texts are read")
        self.walked += count
        if self.walked > MOST_VALUES or count * 8 > self.size:
            self.fail(
                f"{shown(key)} claims {count} texts, more than {MOST_VALUES} in all or than the file has room for"
            )
        order: Literal["little", "big"] = "little" if self.order == "<" else "big"
        for _ in range(count):
            length = int.from_bytes(self.file.read(8), order)
            self.claim(8 + length)
            if length:
                self.file.seek(length, 1)
        self.lengths[key] = count
        return None

    def info(self) -> tuple[GgufTensor, int]:
        """One tensor, and where it begins."""
        name = self.text(MOST_TEXT, "has a tensor's name")
        at = f"tensor {shown(name)}"
        count = self.number("I")
        if not 0 <= count <= _DIMENSIONS:
            self.fail(f"{at} has {count} dimensions, more than {_DIMENSIONS}")
        dims = tuple(self.number("Q") for _ in range(count))
        kind, offset = self.number("I"), self.number("Q")
        if kind not in TYPES:
            self.fail(f"{at} has type {kind}, which is not known here", "is the file newer than this version?")
        type_name, block, width = TYPES[kind]
        elements = math.prod(dims)
        if elements > MOST_PARAMETERS:
            self.fail(f"{at} has {elements:.3g} elements, more than {MOST_PARAMETERS:.0e}")
        if elements % block or (dims and dims[0] % block):
            self.fail(f"{at} has rows of {dims[0]}, not a multiple of the {block} of {type_name}")
        return GgufTensor(name, dims, type_name, elements // block * width), offset
