"""A model described by its sizes."""

from __future__ import annotations

import pytest

from whygpu import intake
from whygpu.checks.coefficients import Coefficients
from whygpu.intake import SizeTable, from_mapping, from_preset


def test_a_bare_count_takes_the_shape_of_its_size(sizes: SizeTable) -> None:
    shape, problems = from_mapping({"parameters": 8_000_000_000}, sizes)
    assert shape is not None
    assert not problems
    assert (shape.layers, shape.hidden_size, shape.kv_heads) == (32, 4096, 8)
    assert {"layers", "hidden_size", "kv_heads", "vocab_size"} <= set(shape.assumed)
    assert "parameters" not in shape.assumed


def test_what_follows_is_derived(sizes: SizeTable) -> None:
    given = {"parameters": 7_000_000_000, "layers": 32, "hidden_size": 4096, "heads": 32, "vocab_size": 32_000}
    shape, _ = from_mapping(given, sizes)
    assert shape is not None
    assert (shape.head_dim, shape.kv_heads, shape.ffn_size) == (128, 32, 16_384)
    assert shape.assumed == ("head_dim", "ffn_size", "kv_heads")


def test_a_pipeline_is_the_sum_of_its_networks(sizes: SizeTable) -> None:
    given = {"kind": "diffusion", "components": {"unet": 860_000_000, "vae": 84_000_000}, "flops_per_sample": 8e11}
    shape, _ = from_mapping(given, sizes)
    assert shape is not None
    assert shape.parameters == 944_000_000
    assert [component.name for component in shape.components] == ["unet", "vae"]


@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        ({"parameters": True}, "model.parameters", "not a number"),
        ({"parameters": float("nan")}, "model.parameters", "nan"),
        ({"parameters": float("inf")}, "model.parameters", "inf"),
        ({"parameters": 1e30}, "model.parameters", "outside"),
        ({"parameters": -5}, "model.parameters", "outside"),
        ({"parameters": "8B"}, "model.parameters", "not a number"),
        ({"parameters": 10, "layers": 1.5}, "model.layers", "whole"),
        ({"parameters": 10, "layers": 10**9}, "model.layers", "outside"),
        ({"parameters": 10, "kind": "transformer"}, "model.kind", "not one of"),
        ({"parameters": 10, "laers": 4}, "model.laers", "not a size"),
        ({"parameters": 10, "active_parameters": 20}, "model.active_parameters", "more than"),
        ({"parameters": 10, "active_parameters": 5, "lookup_parameters": 6}, "model.lookup_parameters", "more than"),
        ({"parameters": 10, "lookup_parameters": 6}, "model.lookup_parameters", "more than"),
        ({"parameters": 10, "heads": 4, "kv_heads": 8}, "model.kv_heads", "more than"),
        ({"parameters": 10, "square_flops_per_sample": 6}, "model.square_flops_per_sample", "more than"),
        (
            {"parameters": 10, "square_activation_bytes_per_sample": 6},
            "model.square_activation_bytes_per_sample",
            "more than",
        ),
        ({"parameters": 10, "experts": 4, "experts_per_token": 8}, "model.experts_per_token", "more than"),
        ({"parameters": 10, "kv_lora_rank": 512}, "model.qk_rope_head_dim", "missing"),
        ({"parameters": 10, "tied_embeddings": "yes"}, "model.tied_embeddings", "true or false"),
        ({"parameters": 10, "activation_16bit_share": 2}, "model.activation_16bit_share", "between 0 and 1"),
        ({"parameters": 10, "components": [1]}, "model.components", "not a mapping"),
        ({}, "model.parameters", "missing"),
        ([1, 2], "model", "not a mapping"),
        (None, "model", "not a mapping"),
    ],
)
def test_bad_sizes_are_refused_where_they_stand(sizes: SizeTable, given: object, path: str, said: str) -> None:
    shape, problems = from_mapping(given, sizes)
    assert shape is None
    assert path in [problem.path for problem in problems]
    assert any(said in problem.message for problem in problems)


def test_layers_that_keep_different_caches(sizes: SizeTable) -> None:
    groups = [{"layers": 5, "elements": 2048, "heads": 2}, {"layers": 25, "elements": 4096, "heads": 8, "window": 1024}]
    shape, problems = from_mapping({"parameters": 26e9, "layers": 30, "kv_groups": groups}, sizes)
    assert shape is not None, problems
    assert shape.kv_elements_per_token() == 5 * 2048 + 25 * 4096
    assert [group.tokens(8192) for group in shape.kv_groups] == [8192, 1024]


@pytest.mark.parametrize("groups", ["all", [{"elements": 4}], [{"layers": 1, "element": 4}], [7]])
def test_bad_groups_of_layers_are_refused_where_they_stand(sizes: SizeTable, groups: object) -> None:
    shape, problems = from_mapping({"parameters": 26e9, "kv_groups": groups}, sizes)
    assert shape is None
    assert problems[0].path.startswith("model.kv_groups")


def test_every_problem_is_listed(sizes: SizeTable) -> None:
    _, problems = from_mapping({"parameters": True, "layers": -1, "knid": "decoder"}, sizes)
    assert {problem.path for problem in problems} == {"model.parameters", "model.layers", "model.knid"}
    assert any("did you mean 'kind'" in problem.help for problem in problems)


def test_a_preset_may_source_each_field(sizes: SizeTable) -> None:
    entry = {"id": "x", "name": "X", "kind": "decoder", "parameters": {"is": 1000, "source": "paper"}, "source": "card",
             "context_tokens": 4096}  # fmt: skip
    shape, problems = from_preset(entry, sizes)
    assert shape is not None
    assert not problems
    assert (shape.parameters, shape.id, shape.source) == (1000, "x", ("card",))


def test_a_preset_names_the_format_it_is_published_in(sizes: SizeTable) -> None:
    entry = {"id": "x", "name": "X", "parameters": 1000, "published_format": {"is": "fp8", "source": "card"}}
    shape, problems = from_preset(entry, sizes)
    assert shape is not None
    assert not problems
    assert shape.published_format == "fp8"


def test_the_one_door(coefficients: Coefficients) -> None:
    presets = {"tiny": {"name": "Tiny", "parameters": 1000, "source": "s"}}
    shape, _ = intake.read("tiny", presets, coefficients)
    assert shape is not None
    assert shape.id == "tiny"
    shape, problems = intake.read("tinny", presets, coefficients)
    assert shape is None
    assert problems[0].help == "did you mean 'tiny'?"
    shape, problems = intake.read({"config": {"model_type": "gpt2"}, "layers": 4}, presets, coefficients)
    assert shape is None
    assert problems[0].path == "model.layers"


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000, b"[1]"])
def test_a_bad_config_file_is_a_problem(coefficients: Coefficients, tmp_path: object, content: bytes) -> None:
    path = tmp_path / "config.json"  # type: ignore[operator]  # pytest gives a Path
    path.write_bytes(content)
    shape, problems = intake.read({"config": str(path)}, {}, coefficients)
    assert shape is None
    assert problems[0].path == "model.config"


@pytest.mark.parametrize("path", ["/nowhere/config.json", "a\0b", ""])
def test_a_missing_config_file_is_a_problem(coefficients: Coefficients, path: str) -> None:
    shape, problems = intake.read({"config": path}, {}, coefficients)
    assert shape is None
    assert problems
