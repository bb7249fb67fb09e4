"""Models that are damaged, or made to mislead: a bounded, clear error on the command line and from Python."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import whygpu
from tests.effort import peak_mb, takes_less
from tests.intake.files import header_of, write_raw, write_safetensors
from tests.intake.pipelines import BUILT, write_pipeline
from whygpu.errors import AnswerError

Run = Callable[..., subprocess.CompletedProcess[str]]
TENSOR = {"dtype": "F16", "shape": [4, 4], "data_offsets": [0, 32]}


def two_to_the_sixty_tensors(folder: Path) -> Path:
    path = folder / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0))
    return path


def beyond_the_file(folder: Path) -> Path:
    return write_raw(folder / "m.safetensors", b"{}  ", length=2**60)


def header_of_100_megabytes(folder: Path) -> Path:
    return write_raw(folder / "m.safetensors", b"{", data_bytes=100_000_100, length=100_000_001)


def deep_nesting(folder: Path) -> Path:
    return write_raw(folder / "m.safetensors", b'{"a":' + b"[" * 200_000)


def not_utf8(folder: Path) -> Path:
    return write_raw(folder / "m.safetensors", b'{"\xff\xfe": 1}     ')


def overlapping(folder: Path) -> Path:
    return write_safetensors(folder / "m.safetensors", {"a": TENSOR, "b": TENSOR})


def huge_strings(folder: Path) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({"model_type": "x" * 3_000_000, "hidden_size": "y" * 500_000}), encoding="utf-8")
    return path


def ten_megabytes_of_configuration(folder: Path) -> Path:
    path = folder / "config.json"
    path.write_bytes(b'{"a":"' + b"x" * 10_000_000 + b'"}')
    return path


def nonsense_sizes(folder: Path) -> Path:
    path = folder / "config.json"
    path.write_text(
        '{"model_type": "llama", "num_hidden_layers": 1e99, "hidden_size": -1, "num_attention_heads": NaN,'
        ' "vocab_size": 5}'
    )
    return path


def an_index_to_elsewhere(folder: Path) -> Path:
    write_safetensors(folder / "m.safetensors", header_of({"t": (4,)}))
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"t": "../../etc/passwd.safetensors"}}), encoding="utf-8")
    return path


def a_pipeline_to_elsewhere(folder: Path) -> Path:
    write_pipeline(folder, *BUILT["stable-diffusion-1.5"])
    index = {"_class_name": "StableDiffusionPipeline", "../../etc": ["diffusers", "AutoencoderKL"]}
    (folder / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


HOSTILE: dict[Callable[[Path], Path], tuple[str, str]] = {
    two_to_the_sixty_tensors: ("gguf", "claims 1152921504606846976 tensors"),
    beyond_the_file: ("safetensors", "the header claims 1152921504606846976 bytes"),
    header_of_100_megabytes: ("safetensors", "the header claims 100000001 bytes, more than 32000000"),
    deep_nesting: ("safetensors", "nested too deeply"),
    not_utf8: ("safetensors", "not UTF-8"),
    overlapping: ("safetensors", "overlap"),
    huge_strings: ("config", "not a short text"),
    ten_megabytes_of_configuration: ("config", "is larger than 4194304 bytes"),
    nonsense_sizes: ("config", "outside 1 to 4,096"),
    an_index_to_elsewhere: ("safetensors", "which is not a file beside it"),
    a_pipeline_to_elsewhere: ("diffusers", "which is not a folder beside it"),
}


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_a_hostile_model_is_a_bounded_clear_error(
    run: Run, kb: whygpu.KnowledgeBase, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    path, (key, said) = make(tmp_path), HOSTILE[make]

    def refused() -> None:
        with pytest.raises(AnswerError) as caught:
            kb.estimate({"model": {key: str(path)}, "accelerators": ["l4"]})
        assert said in str(caught.value)

    assert takes_less(refused, 100)
    assert peak_mb(refused) < 120
    done = run("estimate", "--model", str(path), "--set", "accelerators=l4")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 6000
    assert done.stdout == ""


def test_a_model_that_is_nowhere_names_what_to_do(run: Run, tmp_path: Path) -> None:
    offline = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": "", "HUGGINGFACE_HUB_CACHE": ""}
    done = run("estimate", "--model", "some-org/some-model", "--set", "accelerators=l4", **offline)
    assert done.returncode == 2
    assert f"is not in the local cache ({tmp_path / 'hub'})" in done.stderr
    assert "unset HF_HUB_OFFLINE" in done.stderr
    assert "config.json" in done.stderr


def test_a_pipeline_is_sized(run: Run, tmp_path: Path) -> None:
    """The UNet, text encoder and autoencoder of Stable Diffusion 1.5 have 1.066B parameters."""
    folder = write_pipeline(tmp_path / "sd", *BUILT["stable-diffusion-1.5"])
    settings = ("--set", "accelerators=l4", "--set", "format=fp16", "--format", "json")
    done = run("estimate", "--model", str(folder), *settings)
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    preset = json.loads(run("estimate", "--model", "stable-diffusion-1.5", *settings).stdout)
    assert plan["memory"]["total_gib"] == pytest.approx(preset["memory"]["total_gib"], rel=0.001)
    # what its layers hand on is no part of a configuration: it is taken from the peak, which is more
    assert plan["speed"]["samples_per_s"]["likely"] == pytest.approx(
        preset["speed"]["samples_per_s"]["likely"], rel=0.5
    )
