"""Hugging Face configurations: parameters as the built modules have them, caches as published, clear problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from whygpu.checks.model_shape import ImageTower
from whygpu.intake.huggingface.config import from_hf_config

ROOT = Path(__file__).parents[2]
CONFIGS: list[dict[str, Any]] = yaml.load(
    (ROOT / "tests" / "data" / "configs.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)["configs"]
LLAMA = next(row["config"] for row in CONFIGS if row["name"] == "meta-llama/Meta-Llama-3.1-8B")


@pytest.mark.parametrize("row", CONFIGS, ids=lambda row: str(row["name"]))
def test_parameters_are_those_of_the_built_model(row: dict[str, Any]) -> None:
    shape, problems = from_hf_config(row["config"])
    assert shape is not None, problems
    assert all(problem.severity == "warning" for problem in problems)
    # Routers' correction biases are buffers, which counting parameters leaves out.
    assert shape.parameters == pytest.approx(row["parameters"], rel=2e-5)
    assert shape.active_parameters == row["active"]
    assert shape.kv_elements_per_token() == row["cache_elements_per_token"]
    assert "parameters" in shape.assumed


def test_experts_on_a_latent_leave_the_parameters_that_were_counted() -> None:
    """transformers counts 549,308,968,960 in Nemotron 3 Ultra, whose configuration has moe_latent_size 2048 of 8192."""
    name = "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"
    shape, _ = from_hf_config(next(row["config"] for row in CONFIGS if row["name"] == name))
    assert shape is not None
    assert (shape.hidden_size, shape.expert_latent_size) == (8192, 2048)
    assert shape.expert_parameters < shape.parameters
    assert shape.chosen_parameters < shape.active_parameters


def test_llama_3_1_8b_to_the_last_parameter() -> None:
    shape, problems = from_hf_config(LLAMA, name="Llama 3.1 8B")
    assert shape is not None
    assert not problems
    assert shape.parameters == 8_030_261_248  # sum of the safetensors index of meta-llama/Llama-3.1-8B
    assert (shape.name, shape.kv_heads, shape.head_dim, shape.gated_ffn) == ("Llama 3.1 8B", 8, 128, True)


@pytest.mark.parametrize(
    ("name", "state_layers", "attending"),
    [
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 23, 6),
        ("Qwen/Qwen3.5-27B", 48, 16),
        ("jamba (defaults)", 28, 4),
        ("mamba2 (defaults)", 64, 0),
    ],
)
def test_hybrids_cache_only_where_they_attend(name: str, state_layers: int, attending: int) -> None:
    shape, _ = from_hf_config(next(row["config"] for row in CONFIGS if row["name"] == name))
    assert shape is not None
    assert shape.state_layers == state_layers
    assert shape.state_elements > 0
    assert sum(group.layers for group in shape.kv_groups) == attending


def test_heads_that_differ_from_layer_to_layer() -> None:
    shape, _ = from_hf_config(next(row["config"] for row in CONFIGS if row["name"] == "google/gemma-4-26B-A4B"))
    assert shape is not None
    around, near = shape.kv_groups
    assert (around.layers, around.elements, around.window) == (5, 2 * 2 * 512, 0)
    assert (near.layers, near.elements, near.window) == (25, 2 * 8 * 256, 1024)


def test_an_unknown_architecture_is_taken_as_a_decoder_and_said_so() -> None:
    shape, problems = from_hf_config({**LLAMA, "model_type": "lama"})
    assert shape is not None
    assert shape.parameters == 8_030_261_248
    (problem,) = problems
    assert problem.severity == "warning"
    assert problem.path == "model.config.model_type"
    assert "did you mean 'llama'" in problem.help


def test_an_unknown_architecture_with_unusual_layers_is_not_counted() -> None:
    config = {**LLAMA, "model_type": "newt", "kv_lora_rank": 512}
    shape, problems = from_hf_config(config)
    assert shape is None
    assert "kv_lora_rank" in problems[0].message
    assert "525336576" in problems[0].help  # what can still be said: its token table
    shape, problems = from_hf_config(config, parameters=7_000_000_000)
    assert shape is not None
    assert shape.parameters == shape.active_parameters == 7_000_000_000
    assert "parameters" not in shape.assumed


def test_missing_sizes_are_named() -> None:
    shape, problems = from_hf_config({"model_type": "llama", "vocab_size": 100, "hidden_size": 64})
    assert shape is None
    (problem,) = problems
    assert "num_hidden_layers" in problem.message
    assert "num_attention_heads" in problem.message
    assert "6400 parameters" in problem.help


def test_experts_without_a_count_of_the_chosen() -> None:
    shape, problems = from_hf_config({**LLAMA, "model_type": "mixtral", "num_local_experts": 8})
    assert shape is None
    assert problems[0].path == "model.config.num_experts_per_tok"


def test_a_vision_transformer() -> None:
    config = {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
              "intermediate_size": 3072, "image_size": 224, "patch_size": 16}  # fmt: skip
    shape, problems = from_hf_config(config)
    assert shape is not None
    assert not problems
    assert shape.parameters == 85_798_656  # google/vit-base-patch16-224 without its classifier
    assert shape.positions == 197
    assert shape.flops_per_sample == pytest.approx(35e9, rel=0.05)  # 17.6 GMAC (torchvision, vit_b_16)


def test_the_language_model_of_a_multimodal_configuration() -> None:
    config = {"model_type": "llava", "text_config": LLAMA, "vision_config": {"model_type": "clip_vision_model"}}
    shape, problems = from_hf_config(config)
    assert shape is not None
    assert shape.parameters == 8_030_261_248
    assert [problem.severity for problem in problems] == ["warning"]


@pytest.mark.parametrize(
    ("vision", "beside", "tower"),
    [
        (  # qwen2.5-vl-tower
            {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "hidden_act": "silu", "patch_size": 14,
             "spatial_merge_size": 2, "fullatt_block_indexes": [7, 15, 23, 31]},
            {},
            ImageTower(32, 1280, 3420, gated_ffn=True, token_patches=4, whole_layers=4),
        ),
        (  # gemma-3-tower
            {"num_hidden_layers": 27, "hidden_size": 1152, "intermediate_size": 4304, "image_size": 896,
             "patch_size": 14},
            {"mm_tokens_per_image": 256},
            ImageTower(27, 1152, 4304, token_patches=16, whole_layers=27, tile_patches=4096),
        ),
        (  # pixtral-tower
            {"num_hidden_layers": 24, "hidden_size": 1024, "intermediate_size": 4096, "hidden_act": "silu",
             "image_size": 1540, "patch_size": 14},
            {"spatial_merge_size": 2},
            ImageTower(24, 1024, 4096, gated_ffn=True, token_patches=4, whole_layers=24),
        ),
        (  # internvl3.5-config
            {"num_hidden_layers": 24, "hidden_size": 1024, "intermediate_size": 4096, "image_size": 448,
             "patch_size": 14},
            {"downsample_ratio": 0.5},
            ImageTower(24, 1024, 4096, token_patches=4, whole_layers=24, tile_patches=1024),
        ),
    ],
)  # fmt: skip
def test_what_turns_images_into_tokens(vision: dict[str, Any], beside: dict[str, Any], tower: ImageTower) -> None:
    shape, _ = from_hf_config({"model_type": "llava", "text_config": LLAMA, "vision_config": vision, **beside})
    assert shape is not None
    assert shape.image_tower == tower
    assert shape.parameters > shape.active_parameters + tower.parameters


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4}, "awq-int4"),
        ({"quant_method": "gptq", "bits": 8}, "gptq-int8"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({}, ""),
        ("fp8", ""),
    ],
)
def test_the_format_it_is_published_in(quantization: object, expected: str) -> None:
    shape, problems = from_hf_config({**LLAMA, "quantization_config": quantization})
    assert shape is not None
    assert not problems
    assert shape.published_format == expected


def test_a_quantization_that_is_not_known_is_said() -> None:
    shape, problems = from_hf_config({**LLAMA, "quantization_config": {"quant_method": ["new"]}})
    assert shape is not None
    assert shape.published_format == ""
    assert [problem.path for problem in problems] == ["model.config.quantization_config"]


def test_a_language_model_inside_another_has_the_format_of_the_whole() -> None:
    nested = {"model_type": "llava", "text_config": LLAMA, "quantization_config": {"quant_method": "awq"}}
    shape, _ = from_hf_config(nested)
    assert shape is not None
    assert shape.published_format == "awq-int4"
    assert shape.model_type == "llava"


@pytest.mark.parametrize(
    ("beside", "within", "patches"),
    [
        ({}, {"pooling_kernel_size": 3}, 9),  # gemma-4-tower
        ({}, {"pixel_shuffle_ratio": 0.5}, 4),  # Llama 4
        ({"scale_factor": 4}, {}, 16),  # Idefics 3
        ({}, {}, None),
    ],
)
def test_patches_of_a_token_are_not_guessed(
    beside: dict[str, Any], within: dict[str, Any], patches: int | None
) -> None:
    vision = {"num_hidden_layers": 27, "hidden_size": 1152, "intermediate_size": 4304, "patch_size": 14, **within}
    shape, _ = from_hf_config({"model_type": "mistral3", "text_config": LLAMA, "vision_config": vision, **beside})
    assert shape is not None
    assert shape.parameters > 8_030_261_248  # in memory all the same
    assert (None if shape.image_tower is None else shape.image_tower.token_patches) == patches
