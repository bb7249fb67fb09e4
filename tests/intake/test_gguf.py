"""GGUF headers: exact sizes, the same as the gguf package reads, and a clear problem for whatever is wrong."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.effort import takes_less
from tests.intake.files import LLAMA_GGUF, LLAMA_KEYS, gguf_bytes, text
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.setup import Format
from whygpu.intake import read
from whygpu.intake.files.gguf import FILE_TYPES, MOST_VALUES, TYPES, read_header

GOOD = gguf_bytes(LLAMA_GGUF, LLAMA_KEYS)


def problem_of(data: bytes, folder: Path, coefficients: Coefficients) -> str:
    path = folder / "x.gguf"
    path.write_bytes(data)
    shape, problems = read({"gguf": str(path)}, {}, coefficients)
    assert shape is None
    assert len(str(problems[0])) < 2000
    return str(problems[0])


def _lists_of(kind: int, values: bytes, count: int) -> bytes:
    """A metadata value: a list."""
    return struct.pack("<IIQ", 9, kind, count) + values


def test_a_small_header_takes_little_time(tmp_path: Path, coefficients: Coefficients) -> None:
    """One of 20 KB, with as many kinds of layers as layers, took five seconds of sizing."""
    kinds = _lists_of(2, struct.pack("<4096H", *range(1, 4097)), 4096)
    keys = LLAMA_KEYS | {"llama.block_count": 4096, "llama.attention.head_count": 4096}
    data = gguf_bytes(LLAMA_GGUF, keys | {"llama.attention.head_count_kv": kinds})
    said: list[str] = []
    assert takes_less(lambda: said.append(problem_of(data, tmp_path, coefficients)), 20)
    assert "has 4096 kinds of layers by their heads, more than 64" in said[0]


@pytest.mark.slow
def test_as_many_texts_as_are_walked_over_take_bounded_time(tmp_path: Path, coefficients: Coefficients) -> None:
    """Empty texts in a file that is all hole beyond its first bytes."""
    path = tmp_path / "x.gguf"
    for count, message in ((MOST_VALUES, "has type 0"), (MOST_VALUES + 1, f"more than {MOST_VALUES} in all")):
        path.write_bytes(gguf_bytes({}, {"general.architecture": "llama", "x": _lists_of(8, b"", count)}))
        os.truncate(path, 100 + 8 * count)
        said: list[str] = []
        assert takes_less(lambda: said.append(str(read({"gguf": str(path)}, {}, coefficients)[1][0])), 100)  # noqa: B023  called at once
        assert message in said[0] or "holds no parameters" in said[0]


def test_shape_and_bytes(tmp_path: Path, coefficients: Coefficients) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(GOOD)
    shape, problems = read({"gguf": str(path)}, {}, coefficients)
    assert shape is not None
    assert problems == []
    assert (shape.layers, shape.hidden_size, shape.ffn_size, shape.vocab_size) == (1, 64, 128, 100)
    assert (shape.heads, shape.kv_heads, shape.head_dim) == (4, 2, 16)
    assert shape.tied_embeddings
    assert shape.gated_ffn
    assert shape.parameters == 6400 + 64 + 2 * 4096 + 2 * 2048 + 3 * 8192
    assert (shape.stored_format, shape.file_kind) == ("q8_0", "gguf")
    assert Format("q8_0", "Q8_0", 8.5).weight_bytes(shape) == pytest.approx(
        sum(size for _, _, size in LLAMA_GGUF.values())
    )


def test_a_mixture_of_experts_and_heads_by_layer(tmp_path: Path, coefficients: Coefficients) -> None:
    keys = LLAMA_KEYS | {"llama.expert_count": 4, "llama.expert_used_count": 2}
    tensors = {name: entry for name, entry in LLAMA_GGUF.items() if "ffn" not in name}
    tensors["blk.0.ffn_gate_inp.weight"] = ((64, 4), 0, 1024)
    for word in ("gate", "up", "down"):
        tensors[f"blk.0.ffn_{word}_exps.weight"] = ((64, 128, 4), 8, 34816)
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf_bytes(tensors, keys))
    shape, _ = read({"gguf": str(path)}, {}, coefficients)
    assert shape is not None
    assert (shape.experts, shape.experts_per_token, shape.moe_layers) == (4, 2, 1)
    assert shape.parameters - shape.active_parameters == 3 * 64 * 128 * 2
    assert shape.routed_width == 64

    path.write_bytes(gguf_bytes(tensors, keys | {"llama.moe_latent_size": 32}))
    shape, _ = read({"gguf": str(path)}, {}, coefficients)
    assert shape is not None
    assert shape.routed_width == 32, "llama.cpp, LLM_KV_MOE_LATENT_SIZE"


def test_latent_attention(tmp_path: Path, coefficients: Coefficients) -> None:
    """As llama.cpp converts DeepSeek-V2-Lite: one latent head is cached, 512 + 64 numbers a token and layer."""
    keys = LLAMA_KEYS | {"general.architecture": "deepseek2"}
    keys = {key.replace("llama.", "deepseek2."): value for key, value in keys.items()}
    keys |= {
        "deepseek2.attention.head_count": 16, "deepseek2.attention.head_count_kv": 1,
        "deepseek2.attention.key_length": 576, "deepseek2.attention.value_length": 512,
        "deepseek2.attention.key_length_mla": 192, "deepseek2.attention.value_length_mla": 128,
        "deepseek2.attention.kv_lora_rank": 512, "deepseek2.rope.dimension_count": 64,
    }  # fmt: skip
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf_bytes(LLAMA_GGUF, keys))
    shape, _ = read({"gguf": str(path)}, {}, coefficients)
    assert shape is not None
    assert (shape.kv_lora_rank, shape.qk_rope_head_dim, shape.head_dim, shape.v_head_dim) == (512, 64, 128, 128)
    assert shape.kv_elements_per_token() == 512 + 64


def test_a_denoiser_says_what_it_can(tmp_path: Path, coefficients: Coefficients) -> None:
    path = tmp_path / "flux.gguf"
    path.write_bytes(gguf_bytes({"double_blocks.0.img_mod.lin.weight": ((64, 384), 8, 26112)},
                                {"general.architecture": "flux", "general.file_type": 7}))  # fmt: skip
    shape, problems = read({"gguf": str(path)}, {}, coefficients)
    assert shape is not None
    assert (shape.kind, shape.parameters, shape.stored_format) == ("diffusion", 64 * 384, "q8_0")
    assert "is a denoiser alone" in str(problems[0])


def test_a_split_model(tmp_path: Path, coefficients: Coefficients) -> None:
    names = list(LLAMA_GGUF)
    keys = LLAMA_KEYS | {"split.count": 2}
    first = {name: LLAMA_GGUF[name] for name in names[:4]}
    second = {name: LLAMA_GGUF[name] for name in names[4:]}
    one, two = tmp_path / "m-00001-of-00002.gguf", tmp_path / "m-00002-of-00002.gguf"
    one.write_bytes(gguf_bytes(first, keys))
    two.write_bytes(gguf_bytes(second, {"split.count": 2}))
    for path in (one, tmp_path):
        shape, _ = read({"gguf": str(path)}, {}, coefficients)
        assert shape is not None
        assert sum(part.parameters for part in shape.parts) == 43_328
    two.unlink()
    shape, problems = read({"gguf": str(one)}, {}, coefficients)
    assert shape is None
    assert "m-00002-of-00002.gguf is missing" in str(problems[0])


def _head(tensors: int, keys: int, rest: bytes = b"", version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + rest


def _key(kind: int, value: bytes, name: bytes = b"") -> bytes:
    return (name or text("k")) + struct.pack("<I", kind) + value


def _info(dims: tuple[int, ...], kind: int = 0, offset: int = 0, count: int | None = None) -> bytes:
    given_count = len(dims) if count is None else count
    return text("t") + struct.pack(f"<I{len(dims)}QIQ", given_count, *dims, kind, offset)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "beyond the end"),
        (b"GGUF", "beyond the end"),
        (b"PK\x03\x04" + b"\0" * 40, "does not begin with GGUF"),
        (_head(0, 0, version=1), "version 1"),
        (_head(0, 0, version=77), "version 77"),
        (_head(2**60, 0), "claims 1152921504606846976 tensors"),
        (_head(0, 2**60), "keys, more than"),
        (_head(0, 0), "holds no parameters"),
        (_head(0, 1, struct.pack("<Q", 2**62)), "has a key of"),
        (_head(0, 1, _key(4, b"", struct.pack("<Q", 2) + b"\xff\xfe")), "not UTF-8"),
        (_head(0, 1, _key(99, b"")), "which GGUF does not have"),
        (_head(0, 1, _key(8, struct.pack("<Q", 2**62))), "beyond the end"),
        (_head(0, 1, _key(9, struct.pack("<IQ", 4, 2**61))), "beyond the end"),
        (_head(0, 1, _key(9, struct.pack("<IQ", 8, 2**61))), "texts, more than"),
        (_head(0, 1, _key(9, struct.pack("<IQ", 9, 1) * 50)), "a list of type 9"),
        (_head(0, 2, _key(4, b"\0" * 4) * 2), "stands twice"),
        (_head(1, 0, _info((2**40, 2**40))), "elements, more than"),
        (_head(1, 0, _info((4,), count=9)), "9 dimensions"),
        (_head(1, 0, _info((4,), kind=77)), "has type 77"),
        (_head(1, 0, _info((33,), kind=8)), "not a multiple of the 32"),
        (_head(1, 0, _info((4,), offset=2**60)), "lies beyond the end"),
        (_head(2, 0, _info((0,)) * 2 + b"\0" * 64), "stands twice"),
        (GOOD[:200], "beyond the end"),
        (GOOD[:-1], "lies beyond the end"),
        (gguf_bytes(LLAMA_GGUF, {}), "names no general.architecture"),
        (
            gguf_bytes(LLAMA_GGUF, {"general.architecture": "clip"}),
            "projector of images or sound (43328 parameters, 0 MiB)",
        ),
        (gguf_bytes(LLAMA_GGUF, LLAMA_KEYS | {"general.type": "adapter"}), "is an adapter (43328 parameters"),
        (gguf_bytes({}, {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2"}), "is a vocabulary without"),
        (gguf_bytes(LLAMA_GGUF, LLAMA_KEYS | {"general.alignment": 0}), "general.alignment"),
        (gguf_bytes(LLAMA_GGUF, LLAMA_KEYS | {"split.count": 9}), "not named so"),
        (gguf_bytes(LLAMA_GGUF, LLAMA_KEYS | {"llama.block_count": 2**31}), "layers"),
        (gguf_bytes(LLAMA_GGUF, LLAMA_KEYS | {"llama.embedding_length": 2**31}), "hidden_size"),
    ],
)
def test_hostile_headers(tmp_path: Path, coefficients: Coefficients, data: bytes, message: str) -> None:
    assert message in problem_of(data, tmp_path, coefficients)


@given(
    cut=st.integers(0, len(GOOD)),
    flips=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 255)), max_size=8),
)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_a_problem_or_a_shape(
    tmp_path: Path, coefficients: Coefficients, cut: int, flips: list[tuple[int, int]]
) -> None:
    data = bytearray(GOOD)
    for location, value in flips:
        data[location] = value
    path = tmp_path / "x.gguf"
    path.write_bytes(bytes(data[: cut or len(data)]))
    shape, problems = read({"gguf": str(path)}, {}, coefficients)
    assert (shape is None) == any(problem.severity == "error" for problem in problems)


def test_type_numbers_and_block_sizes_are_those_of_gguf_py() -> None:
    constants = pytest.importorskip("gguf.constants", reason="the gguf package, an oracle, is not installed")
    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in constants.GGML_QUANT_SIZES.items()}
    assert {kind: entry for kind, entry in theirs.items() if kind in TYPES} == TYPES
    names = {int(kind): kind.name.partition("_")[2].lower() for kind in constants.LlamaFileType}
    same = {"f32": "fp32", "f16": "fp16", "mxfp4_moe": "mxfp4"}
    assert {kind: same.get(names[kind], names[kind]) for kind in FILE_TYPES} == FILE_TYPES


quantized = ("F32", "F16", "BF16", "Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ4_XS", "MXFP4")


@given(
    tensors=st.dictionaries(
        st.text(min_size=1, max_size=20),
        st.tuples(st.sampled_from(quantized), st.lists(st.integers(1, 3), max_size=3)),
        max_size=8,
    ),
    keys=st.dictionaries(
        st.text("abc._", min_size=1, max_size=12),
        st.integers(0, 2**31)
        | st.text(min_size=1, max_size=20)
        | st.booleans()
        | st.lists(st.integers(0, 99), min_size=1, max_size=9),
        max_size=8,
    ),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_of_gguf_py_read_the_same(
    tmp_path: Path, tensors: dict[str, tuple[str, list[int]]], keys: dict[str, Any]
) -> None:
    gguf = pytest.importorskip("gguf", reason="the gguf package, an oracle, is not installed")
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "x.gguf"
    writer: Any = gguf.GGUFWriter(str(path), "llama")
    for key, value in keys.items():
        add = {int: writer.add_uint32, str: writer.add_string, bool: writer.add_bool, list: writer.add_array}[
            type(value)
        ]
        add(f"x.{key}", value)
    for name, (kind_name, dims) in tensors.items():
        kind = gguf.GGMLQuantizationType[kind_name]
        block, width = gguf.constants.GGML_QUANT_SIZES[kind]
        writer.add_tensor(name, numpy.zeros((*dims, 256 // block * width), numpy.uint8), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ours, theirs = read_header(path), gguf.GGUFReader(path)
    assert {item.name: (item.elements, item.stored_bytes, item.type_name) for item in ours.tensors} == {
        item.name: (int(item.n_elements), int(item.n_bytes), item.tensor_type.name) for item in theirs.tensors
    }
    for key, value in keys.items():
        assert ours.metadata[f"x.{key}"] == (tuple(value) if isinstance(value, list) else value)


def test_a_file_that_gguf_py_wrote_reads_the_same(tmp_path: Path, coefficients: Coefficients) -> None:
    gguf = pytest.importorskip("gguf", reason="the gguf package, an oracle, is not installed")
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "x.gguf"
    writer: Any = gguf.GGUFWriter(str(path), "llama")
    writer.add_block_count(1)
    writer.add_embedding_length(256)
    writer.add_feed_forward_length(512)
    writer.add_head_count(4)
    writer.add_head_count_kv([2])
    writer.add_key_length(32)
    writer.add_token_list([f"word {number}" for number in range(5000)])
    writer.add_array("tokenizer.ggml.scores", [0.5] * 5000)
    kinds = gguf.GGMLQuantizationType
    for name, dims, kind in (
        ("token_embd.weight", (96, 256), kinds.Q8_0),
        ("output.weight", (96, 256), kinds.F16),
        ("blk.0.attn_q.weight", (128, 256), kinds.Q4_0),
        ("blk.0.ffn_down.weight", (256, 512), kinds.Q5_1),
        ("blk.0.attn_norm.weight", (256,), kinds.F32),
    ):
        values = numpy.linspace(-1, 1, numpy.prod(dims), dtype=numpy.float32).reshape(dims)
        writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    theirs = {item.name: item for item in gguf.GGUFReader(path).tensors}
    ours = read_header(path)
    assert {item.name: (item.elements, item.stored_bytes, item.type_name) for item in ours.tensors} == {
        name: (int(item.n_elements), int(item.n_bytes), item.tensor_type.name) for name, item in theirs.items()
    }
    assert ours.lengths == {"tokenizer.ggml.tokens": 5000, "tokenizer.ggml.scores": 5000}
    shape, _ = read({"gguf": str(path)}, {}, coefficients)
    assert shape is not None
    assert (shape.vocab_size, shape.heads, shape.kv_heads, shape.head_dim) == (96, 4, 2, 32)
    assert not shape.tied_embeddings
