"""Diffusers pipelines: each network counted, figures as torch measured them, clear problems for what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.intake.files import header_of, write_safetensors
from tests.intake.pipelines import BUILT, COGVIDEOX, FLUX, FLUX2_KLEIN, FLUX2_VAE, QWEN3_4B, SD3, WAN, write_pipeline
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import Format
from whygpu.intake import IntakeProblem, read
from whygpu.intake.diffusers.pipeline import from_pipeline
from whygpu.intake.huggingface.config import from_hf_config

FACTS = Path(__file__).parents[2] / "kb" / "facts" / "models"
PRESETS: dict[str, dict[str, Any]] = {
    entry["id"]: entry
    for name in ("image-generation", "video-generation")
    for entry in yaml.load((FACTS / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["models"]
}
UNET = BUILT["stable-diffusion-1.5"][1]["unet"]


def shape_of(folder: Path, **beside: Any) -> ModelShape:
    shape, problems = from_pipeline(str(folder), **beside)
    assert shape is not None, problems
    return shape


def test_flux_2_comes_to_what_diffusers_builds(tmp_path: Path, coefficients: Coefficients) -> None:
    """FLUX.2 klein 4B (scripts/convert_flux2_to_diffusers.py), built and passed through by diffusers 0.42.1."""
    wanted = PRESETS["flux.2-klein-4b"]
    parts = {"transformer": FLUX2_KLEIN, "text_encoder": QWEN3_4B, "vae": FLUX2_VAE}
    shape = shape_of(write_pipeline(tmp_path / "klein", "Flux2KleinPipeline", parts), steps=4)
    assert shape.parameters == sum(wanted["components"].values())
    assert shape.trained_parameters == wanted["trained_parameters"] == 3_875_544_576
    assert (shape.layers, shape.steps, shape.image_size) == (wanted["layers"], 4, 1024)
    assert shape.flops_per_sample == pytest.approx(wanted["flops_per_sample"], rel=0.001)
    dev, problems = read({"config": {"_class_name": "Flux2Transformer2DModel"}}, {}, coefficients)
    assert dev is not None, problems
    assert dev.parameters == 32_223_281_152
    assert dev.flops_per_sample == pytest.approx(2.826e14, rel=0.001)


def problems_of(folder: Path) -> str:
    shape, problems = from_pipeline(str(folder))
    assert shape is None
    assert all(len(str(problem)) < 1000 for problem in problems)
    return "\n".join(str(problem) for problem in problems)


@pytest.mark.parametrize("preset", BUILT)
def test_a_pipeline_comes_to_what_was_measured_of_it(tmp_path: Path, preset: str) -> None:
    wanted = PRESETS[preset]
    shape = shape_of(write_pipeline(tmp_path / "model", *BUILT[preset]))
    assert shape.kind == "diffusion"
    assert shape.parameters == pytest.approx(sum(wanted["components"].values()), rel=0.002)
    assert shape.trained_parameters == wanted["trained_parameters"]
    assert (shape.layers, shape.steps) == (wanted["layers"], wanted["steps"])
    assert shape.denoiser_passes == wanted.get("denoiser_passes", 1)
    assert shape.image_size == pytest.approx(wanted["image_size"], rel=0.01)
    assert shape.frames == wanted.get("frames", 0)
    # SD3 was measured with 154 tokens of prompt; its pipeline takes 77 of CLIP and 256 of T5.
    within = 0.035 if preset == "stable-diffusion-3-medium" else 0.001
    assert shape.flops_per_sample == pytest.approx(wanted["flops_per_sample"], rel=within)
    within = 0.1 if preset == "stable-diffusion-3-medium" else 0.001
    assert shape.square_flops_per_sample == pytest.approx(wanted["square_flops_per_sample"], rel=within)
    assert shape.peak_bytes_per_sample == pytest.approx(wanted["peak_bytes_per_sample"], rel=0.001)
    assert "parameters" in shape.assumed
    assert "steps" in shape.assumed


def test_steps_and_name_may_stand_beside(tmp_path: Path, coefficients: Coefficients) -> None:
    folder = write_pipeline(tmp_path / "m", *BUILT["flux.1-dev"])
    shape, problems = read(
        {"diffusers": str(folder / "model_index.json"), "steps": 4, "name": "quick"}, {}, coefficients
    )
    assert shape is not None
    assert problems == []
    assert (shape.steps, shape.name) == (4, "quick")
    assert "steps" not in shape.assumed
    _, problems = read({"diffusers": str(folder), "parameters": 4}, {}, coefficients)
    assert "cannot stand beside diffusers" in str(problems[0])


def test_weights_that_are_there_count_exactly(tmp_path: Path) -> None:
    """Networks of 4 x 8 numbers each, in 16 bits: less than any configuration says."""
    folder = write_pipeline(tmp_path / "m", *BUILT["stable-diffusion-1.5"])
    for part, name in (("unet", "diffusion_pytorch_model.fp16"), ("vae", "diffusion_pytorch_model")):
        write_safetensors(folder / part / f"{name}.safetensors", header_of({"w": (4, 8)}, "F16"))
    mixed = shape_of(folder)
    assert {item.name: item.parameters for item in mixed.components}["unet"] == 32
    assert (mixed.stored_format, mixed.trained_parameters) == ("", 32)
    write_safetensors(folder / "text_encoder" / "model.safetensors", header_of({"w": (4, 8)}, "F16"))
    exact = shape_of(folder)
    assert (exact.parameters, exact.stored_format, exact.file_kind) == (96, "fp16", "safetensors")
    assert Format("fp16", "FP16", 16).weight_bytes(exact) == 192
    assert "parameters" not in exact.assumed


def test_weights_that_are_not_whole_leave_the_configuration(tmp_path: Path) -> None:
    folder = write_pipeline(tmp_path / "m", *BUILT["stable-diffusion-1.5"])
    index = {"weight_map": {"w": "diffusion_pytorch_model-00001-of-00002.safetensors"}}
    (folder / "unet" / "diffusion_pytorch_model.safetensors.index.json").write_text(json.dumps(index))
    shape, problems = from_pipeline(str(folder))
    assert shape is not None
    assert "its configuration counts instead" in str(problems[0])
    assert problems[0].severity == "warning"
    assert shape.trained_parameters == PRESETS["stable-diffusion-1.5"]["trained_parameters"]


def test_a_network_of_an_unknown_class(tmp_path: Path) -> None:
    new = {
        "_class_name": "NewTransformer2DModel",
        "num_layers": 36,
        "num_attention_heads": 48,
        "attention_head_dim": 64,
    }
    name, networks = BUILT["flux.1-dev"]
    folder = write_pipeline(tmp_path / "m", name, networks | {"transformer": new})
    said = problems_of(folder)
    assert "'NewTransformer2DModel', which is not counted here: 36 layers, 3072 wide" in said
    assert "text_encoder_2: 4762310656" in said  # what can still be said
    write_safetensors(folder / "transformer" / "diffusion_pytorch_model.safetensors", header_of({"w": (64, 64)}))
    shape, problems = from_pipeline(str(folder))
    assert shape is not None
    assert (shape.trained_parameters, shape.flops_per_sample, shape.steps) == (4096, 0.0, 1)
    assert "there is no speed" in " ".join(map(str, problems))


def test_every_network_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = write_pipeline(tmp_path / "m", *BUILT["flux.1-dev"])
    for part in ("transformer", "vae"):
        (folder / part / "config.json").unlink()
    said = problems_of(folder)
    assert "model.diffusers.transformer: has no config.json (FluxTransformer2DModel)" in said
    assert "model.diffusers.vae: has no config.json (AutoencoderKL)" in said


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (b"", "not JSON"),
        (b"[1]", "not a mapping"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"a":' * 50_000, "nested too deeply"),
        (b" " * 5_000_000, "larger than"),
        (b"{}", "names 0 networks"),
        (b'{"../../etc": ["diffusers", "AutoencoderKL"]}', "not a folder beside it"),
        (b'{"/etc": ["diffusers", "AutoencoderKL"]}', "not a folder beside it"),
        (json.dumps({f"n{i}": ["diffusers", "AutoencoderKL"] for i in range(99)}).encode(), "names 99 networks"),
        (b'{"vae": ["diffusers", "AutoencoderKL"]}', "has no config.json"),
        (b'{"vae": ["diffusers", 7], "unet": "x"}', "names 0 networks"),
    ],
)
def test_hostile_indices(tmp_path: Path, index: bytes, message: str) -> None:
    (tmp_path / "model_index.json").write_bytes(index)
    assert message in problems_of(tmp_path)


def test_paths_that_are_no_pipeline(tmp_path: Path) -> None:
    assert "cannot be read" in problems_of(tmp_path)
    assert "cannot be read" in problems_of(tmp_path / "none")
    assert problems_of(Path("a\0b"))


def test_one_network_alone(coefficients: Coefficients) -> None:
    shape, problems = read({"config": UNET}, {}, coefficients)
    assert shape is not None
    assert (shape.kind, shape.parameters, shape.image_size) == ("diffusion", 859_520_964, 512)
    assert "text encoders" in str(problems[0])
    shape, problems = from_hf_config({"_class_name": "FluxPipeline"})
    assert shape is None
    assert problems[0].help == "name its folder: diffusers: FOLDER"
    shape, problems = from_hf_config({"_class_name": "OddModel"}, parameters=1_000)
    assert shape is not None
    assert (shape.parameters, shape.flops_per_sample) == (1_000, 0)
    assert "there is no speed" in str(problems[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"block_out_channels": [320] * 99}, "not 1 to 16 numbers"),
        ({"block_out_channels": 320}, "not a list of numbers"),
        ({"block_out_channels": [2**60, 1, 1, 1]}, "outside"),
        ({"transformer_layers_per_block": [1, 2]}, "not 4 numbers"),
        ({"down_block_types": ["CrossAttnDownBlock2D"] * 3 + ["NewBlock"]}, "NewBlock"),
        ({"down_block_types": "CrossAttnDownBlock2D"}, "not a list of names"),
        ({"addition_embed_type": "image"}, "image"),
        ({"sample_size": -4}, "outside"),
        ({"cross_attention_dim": "wide"}, "not a number"),
    ],
)
def test_a_denoiser_with_bad_or_odd_sizes(changes: dict[str, Any], message: str) -> None:
    shape, problems = from_hf_config({**UNET, **changes})
    assert shape is None
    assert message in " ".join(map(str, problems))


def test_a_denoiser_that_has_guidance_built_in_runs_once() -> None:
    """Latent consistency models take the guidance as an input (Luo et al. 2023, arXiv:2310.04378)."""
    plain, _ = from_hf_config(UNET)
    distilled, _ = from_hf_config({**UNET, "time_cond_proj_dim": 256})
    assert plain is not None
    assert distilled is not None
    assert distilled.parameters - plain.parameters == 256 * 320
    assert distilled.flops_per_sample == pytest.approx(plain.flops_per_sample / 2, rel=1e-6)


numbers = st.integers(-2, 2**70) | st.floats() | st.sampled_from((0, 1, 2, 8, 64, 1280, None, "x", True, [], [4, 4]))


@given(
    config=st.sampled_from(
        (UNET, FLUX, SD3, WAN, COGVIDEOX, *(net for _, nets in BUILT.values() for net in nets.values()))
    ),
    data=st.data(),
)
@settings(max_examples=300)
def test_any_sizes_are_a_problem_or_a_shape(config: dict[str, Any], data: st.DataObject) -> None:
    keys = st.sampled_from(
        [*sorted({*config} - {"_class_name"}), "patch_size_t", "mlp_ratio", "dim_mult", "num_layers"]
    )
    changed = {**config, **data.draw(st.dictionaries(keys, numbers, max_size=4))}
    shape, problems = from_hf_config(changed)
    assert (shape is None) == any(problem.severity == "error" for problem in problems)
    assert all(isinstance(problem, IntakeProblem) and len(str(problem)) < 2000 for problem in problems)
