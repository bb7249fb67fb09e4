"""Safetensors headers: exact parameters and bytes, and a clear problem for whatever is wrong with a file."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.effort import peak_mb, takes_less
from tests.intake.files import (
    CONFIG,
    HIDDEN,
    PARAMETERS,
    VOCABULARY,
    header_of,
    llama_tensors,
    write_raw,
    write_safetensors,
)
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.setup import Format
from whygpu.intake import read
from whygpu.intake.files.safetensors import MOST_BRACKETS, MOST_COLONS, MOST_COMMAS, MOST_WIDE_BYTES, read_header
from whygpu.intake.files.tensors import part_of

BF16 = Format("bf16", "BF16", 16)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with one file."""
    write_safetensors(tmp_path / "model.safetensors", header_of(llama_tensors()))
    return tmp_path


def problem_of(path: Path, coefficients: Coefficients) -> str:
    shape, problems = read({"safetensors": str(path)}, {}, coefficients)
    assert shape is None
    assert len(problems) == 1
    assert len(str(problems[0])) < 2000
    return str(problems[0])


def test_parameters_and_bytes_are_exact(model: Path, coefficients: Coefficients) -> None:
    for path in (model, model / "model.safetensors"):
        shape, problems = read({"safetensors": str(path)}, {}, coefficients)
        assert shape is not None
        assert (shape.parameters, shape.active_parameters) == (PARAMETERS, PARAMETERS)
        assert sum(part.parameters for part in shape.parts) == PARAMETERS
        assert BF16.weight_bytes(shape) == 2 * PARAMETERS
        assert (shape.layers, shape.hidden_size, shape.vocab_size, shape.ffn_size) == (2, HIDDEN, VOCABULARY, 512)
        assert {"heads", "kv_heads", "head_dim"} <= set(shape.assumed)
        assert "config.json" in str(problems[0])


def test_the_shape_is_that_of_the_configuration_beside_it(model: Path, coefficients: Coefficients) -> None:
    (model / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    shape, problems = read({"safetensors": str(model), "name": "mine"}, {}, coefficients)
    assert shape is not None
    assert problems == []
    assert (shape.name, shape.heads, shape.kv_heads, shape.head_dim) == ("mine", 4, 1, 64)
    assert "parameters" not in shape.assumed


def test_mixed_types_count_as_they_are_stored(tmp_path: Path, coefficients: Coefficients) -> None:
    header = header_of({"model.embed_tokens.weight": (10, 8)}, "F32", 4)
    header["model.layers.0.mlp.up_proj.weight"] = {"dtype": "F8_E4M3", "shape": [64, 8], "data_offsets": [320, 832]}
    header["model.layers.0.mlp.up_proj.weight_scale"] = {"dtype": "F32", "shape": [], "data_offsets": [832, 836]}
    path = write_safetensors(tmp_path / "x.safetensors", header)
    shape, _ = read({"safetensors": str(path)}, {}, coefficients)
    assert shape is not None
    assert shape.parameters == 80 + 512  # a scale is no parameter
    assert shape.stored_format == "fp8"
    assert Format("fp8", "FP8", 8).weight_bytes(shape) == pytest.approx(320 + 512 + 4)


def test_packed_weights_count_as_weights(tmp_path: Path, coefficients: Coefficients) -> None:
    header = {
        "model.layers.0.mlp.up_proj.qweight": {"dtype": "I32", "shape": [16, 64], "data_offsets": [0, 4096]},
        "model.layers.0.mlp.up_proj.scales": {"dtype": "F16", "shape": [1, 64], "data_offsets": [4096, 4224]},
        "model.layers.0.mlp.up_proj.g_idx": {"dtype": "I32", "shape": [128], "data_offsets": [4224, 4736]},
    }
    path = write_safetensors(tmp_path / "model.safetensors", header)
    (tmp_path / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "gptq", "bits": 4}}))
    shape, _ = read({"safetensors": str(path)}, {}, coefficients)
    assert shape is not None
    assert shape.parameters == 128 * 64
    assert shape.stored_format == "gptq-int4"
    assert Format("gptq-int4", "GPTQ", 4).weight_bytes(shape) == pytest.approx(4736)


def test_an_index_adds_its_files_up(tmp_path: Path, coefficients: Coefficients) -> None:
    tensors = llama_tensors()
    names = list(tensors)
    shards = {"a.safetensors": names[:9], "b.safetensors": names[9:]}
    for file, held in shards.items():
        write_safetensors(tmp_path / file, header_of({name: tensors[name] for name in held}))
    index = {"metadata": {}, "weight_map": {name: file for file, held in shards.items() for name in held}}
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps(index), encoding="utf-8")
    for given_path in (path, tmp_path):
        shape, _ = read({"safetensors": str(given_path)}, {}, coefficients)
        assert shape is not None
        assert shape.parameters == PARAMETERS
    (tmp_path / "b.safetensors").unlink()
    assert "'b.safetensors' of 2 files are not there" in problem_of(path, coefficients)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"t": "../other.safetensors"}, "not a file beside it"),
        ({"t": "/etc/passwd.safetensors"}, "not a file beside it"),
        ({"t": "..\\x.safetensors"}, "not a file beside it"),
        ({"t": "config.json"}, "not a .safetensors file"),
        ({"t": 7}, "not a .safetensors file"),
        ({"gone": "x.safetensors"}, "lacks it"),
        ({}, "no weight_map"),
        ([], "no weight_map"),
    ],
)
def test_an_index_that_leads_astray(tmp_path: Path, coefficients: Coefficients, weights: Any, message: str) -> None:
    write_safetensors(tmp_path / "x.safetensors", header_of({"t": (4,)}))
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": weights}), encoding="utf-8")
    assert message in problem_of(path, coefficients)


GOOD = {"dtype": "F16", "shape": [4, 4], "data_offsets": [0, 32]}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "too short"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"not json at all", "not JSON"),
        (b"[1, 2, 3]", "not a mapping of tensors"),
        (b"{}" + b" " * 20, "no parameters"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a":' + b"[" * 200_000, "nested too deeply"),
        (b'{"a":1,"a":2}        ', "stands twice"),
        (b"{" + b"[]," * 1_000_001 + b"}", "more entries than any model"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON"),
        (json.dumps({"t": 5}).encode(), "not a mapping of dtype"),
        (json.dumps({"t": GOOD | {"dtype": "F17"}}).encode(), "has type 'F17'"),
        (json.dumps({"t": GOOD | {"dtype": ["F16"]}}).encode(), "has type"),
        (json.dumps({"t": GOOD | {"shape": [-4, -4]}}).encode(), "has shape"),
        (json.dumps({"t": GOOD | {"shape": [2**60, 2**60]}}).encode(), "take"),
        (json.dumps({"t": GOOD | {"shape": [1] * 99}}).encode(), "has shape"),
        (json.dumps({"t": GOOD | {"shape": [4.5]}}).encode(), "has shape"),
        (json.dumps({"t": GOOD | {"data_offsets": [0, 2**60]}}).encode(), "cut short"),
        (json.dumps({"t": GOOD | {"data_offsets": [32, 0]}}).encode(), "cut short"),
        (json.dumps({"t": GOOD | {"data_offsets": [0]}}).encode(), "not two positions"),
        (json.dumps({"t": GOOD | {"data_offsets": [0, 16]}}).encode(), "take 32 bytes"),
        (json.dumps({"t": GOOD | {"data_offsets": [-32, 0]}}).encode(), "not two positions"),
        (json.dumps({"t": GOOD, "u": GOOD}).encode(), "'t' and 'u' overlap"),
        (json.dumps({"x" * 1_000_000: GOOD | {"dtype": "y" * 1_000_000}}).encode(), "has type 'yyy"),
    ],
)
def test_hostile_headers(tmp_path: Path, coefficients: Coefficients, raw: bytes, message: str) -> None:
    assert message in problem_of(write_raw(tmp_path / "x.safetensors", raw, 32 if raw else 0), coefficients)


@pytest.mark.parametrize(("length", "message"), [(2**60, "claims"), (200_000_000, "claims"), (5_000, "only")])
def test_a_length_beyond_the_file(tmp_path: Path, coefficients: Coefficients, length: int, message: str) -> None:
    assert message in problem_of(write_raw(tmp_path / "x.safetensors", b"{}  ", length=length), coefficients)


def test_a_header_of_100_megabytes_is_refused_unread(tmp_path: Path, coefficients: Coefficients) -> None:
    path = write_raw(tmp_path / "x.safetensors", b"{", data_bytes=100_000_100, length=100_000_001)

    def refused() -> None:
        assert "claims 100000001 bytes" in problem_of(path, coefficients)

    assert peak_mb(refused) < 5


LISTS = b'{"a":[' + b"[]," * (MOST_BRACKETS - 10) + b"[]]}"
KEYS = b'{"__metadata__":{' + b",".join(b'"%x":""' % number for number in range(MOST_COLONS - 10)) + b"}}"
NUMBERS = b'{"t":{"dtype":[' + b"0," * (MOST_COMMAS - 10) + b"0]}}"


@pytest.mark.slow
@pytest.mark.parametrize("raw", [LISTS, KEYS, NUMBERS], ids=["lists", "keys", "numbers"])
def test_a_header_takes_bounded_time_and_memory(tmp_path: Path, coefficients: Coefficients, raw: bytes) -> None:
    """A header of lists in lists took 190 MB."""
    path = write_raw(tmp_path / "x.safetensors", raw)
    assert takes_less(lambda: problem_of(path, coefficients), 100)
    assert peak_mb(lambda: problem_of(path, coefficients)) < 120
    more = raw.replace(b"[]", b"[],[]", 20).replace(b'"0":""', b'"":"","0":""', 1).replace(b"0,", b"0,0,", 20)
    more = more.replace(b'"1":""', b",".join(b'"y%x":""' % number for number in range(20)))
    assert "more entries than any model has tensors" in problem_of(write_raw(path, more), coefficients)


def test_a_long_header_is_ascii(tmp_path: Path, coefficients: Coefficients) -> None:
    """One wide character makes Python keep four bytes for each of the others."""
    raw = json.dumps({"__metadata__": {"x": "y" * MOST_WIDE_BYTES + "é"}}, ensure_ascii=False).encode()
    assert "not in ASCII alone" in problem_of(write_raw(tmp_path / "x.safetensors", raw), coefficients)


def test_a_truncated_file(model: Path, coefficients: Coefficients) -> None:
    path = model / "model.safetensors"
    os.truncate(path, path.stat().st_size - 1000)
    assert "cut short" in problem_of(path, coefficients)


def test_an_adapter_is_no_model(tmp_path: Path, coefficients: Coefficients) -> None:
    names = ("lora_A", "lora_B")
    header = header_of({f"base_model.model.transformer.h.0.attn.c_attn.{name}.weight": (8, 768) for name in names})
    path = write_safetensors(tmp_path / "adapter_model.safetensors", header)
    assert "is an adapter of 12288 parameters" in problem_of(path, coefficients)


def test_tensors_that_say_nothing_are_no_language_model(tmp_path: Path, coefficients: Coefficients) -> None:
    path = write_safetensors(
        tmp_path / "model.safetensors", header_of({"l1.weight": (128, 784), "l2.weight": (10, 128)})
    )
    said = problem_of(path, coefficients)
    assert "101632 parameters, but nothing says of what kind of model" in said
    assert "parameters: 101632" in said


def test_a_diffusion_model_in_one_file(tmp_path: Path, coefficients: Coefficients) -> None:
    tensors = {
        "model.diffusion_model.input_blocks.0.0.weight": (320, 4, 3, 3),
        "first_stage_model.decoder.conv_in.weight": (512, 4, 3, 3),
        "cond_stage_model.transformer.text_model.embeddings.token_embedding.weight": (100, 768),
    }
    path = write_safetensors(tmp_path / "v1-5.safetensors", header_of(tensors, "F16"))
    shape, problems = read({"safetensors": str(path)}, {}, coefficients)
    assert shape is not None
    assert shape.kind == "diffusion"
    assert {item.name: item.parameters for item in shape.components} == {
        "denoiser": 320 * 36, "autoencoder": 512 * 36, "text_encoder": 76_800,
    }  # fmt: skip
    assert "there is no speed" in str(problems[0])


dtypes = {"F32": "float32", "F16": "float16", "F64": "float64", "I8": "int8", "U8": "uint8", "I32": "int32"}


@given(
    tensors=st.dictionaries(
        st.text(min_size=1, max_size=20).filter(lambda name: name != "__metadata__"),
        st.tuples(st.sampled_from(sorted(dtypes)), st.lists(st.integers(0, 5), max_size=4)),
        max_size=12,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_of_the_safetensors_package_read_the_same(
    tmp_path: Path, tensors: dict[str, tuple[str, list[int]]]
) -> None:
    package = pytest.importorskip("safetensors", reason="the safetensors package, an oracle, is not installed")
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "x.safetensors"
    arrays = {name: numpy.zeros(dims, dtypes[dtype]) for name, (dtype, dims) in tensors.items()}
    importlib.import_module("safetensors.numpy").save_file(arrays, str(path), {"format": "pt"})
    ours = {item.name: (item.dtype, item.dims, item.stored_bytes) for item in read_header(path)}
    with package.safe_open(str(path), "np") as theirs:
        names = [(name, theirs.get_slice(name)) for name in theirs.keys()]  # noqa: SIM118  it is no mapping
        assert ours == {name: (part.get_dtype(), tuple(part.get_shape()), arrays[name].nbytes) for name, part in names}


def test_paths_that_are_no_file(tmp_path: Path, coefficients: Coefficients) -> None:
    assert "cannot be read" in problem_of(tmp_path / "none.safetensors", coefficients)
    assert "folder without" in problem_of(tmp_path, coefficients)
    os.mkfifo(tmp_path / "pipe.safetensors")
    assert "not a regular file" in problem_of(tmp_path / "pipe.safetensors", coefficients)
    for given_path in (7, "", None, "x\0y", "x" * 5000):
        shape, problems = read({"safetensors": given_path}, {}, coefficients)
        assert shape is None
        assert problems
    shape, problems = read({"safetensors": "x", "layers": 3}, {}, coefficients)
    assert "cannot stand beside safetensors" in str(problems[0])


@given(cut=st.integers(0, 4000), flips=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_a_problem_or_a_shape(
    tmp_path: Path, coefficients: Coefficients, cut: int, flips: list[tuple[int, int]]
) -> None:
    path = write_safetensors(tmp_path / "x.safetensors", header_of({f"h.{n}.w": (8, 8) for n in range(8)}))
    data = bytearray(path.read_bytes())
    for location, value in flips:
        data[location % len(data)] = value
    path.write_bytes(bytes(data[: cut or len(data)]))
    shape, problems = read({"safetensors": str(path)}, {}, coefficients)
    assert (shape is None) == any(problem.severity == "error" for problem in problems)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("model.layers.3.self_attn.q_proj.weight", "attention"),
        ("model.layers.3.self_attn.v_proj.weight", "value"),
        ("model.layers.3.mlp.experts.17.down_proj.weight", "experts"),
        ("model.layers.3.block_sparse_moe.gate.weight", "other"),
        ("model.layers.3.mlp.shared_expert.up_proj.weight", "ffn"),
        ("model.layers.3.post_attention_layernorm.weight", "other"),
        ("transformer.h.1.attn.c_attn.weight", "attention"),
        ("transformer.h.1.mlp.c_proj.weight", "down"),
        ("lm_head.weight", "head"),
        ("model.embed_tokens.weight", "embedding"),
        ("vision_tower.encoder.layers.0.self_attn.q_proj.weight", "other"),
        ("blk.0.ffn_down_exps.weight", "experts"),
        ("blk.0.ffn_gate_inp.weight", "other"),
        ("blk.0.attn_norm.weight", "other"),
        ("blk.0.attn_q.weight", "attention"),
        ("blk.0.attn_v.weight", "value"),
        ("output.weight", "head"),
        ("output_norm.weight", "other"),
        ("token_embd.weight", "embedding"),
    ],
)
def test_parts_by_name(name: str, part: str) -> None:
    assert part_of(name) == part
