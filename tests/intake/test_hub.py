"""``--model``: presets, paths, the local Hugging Face cache, and the Hub, which the tests stand in for."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.intake.files import CONFIG, PARAMETERS, header_of, llama_tensors, write_safetensors
from tests.intake.pipelines import BUILT, write_pipeline
from whygpu.checks.coefficients import Coefficients
from whygpu.intake import read
from whygpu.intake.files.tensors import WeightsError
from whygpu.intake.huggingface import hub

PRESETS = {"llama-3.1-8b": None}
COMMIT = "0123456789abcdef"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a current folder with nothing in it."""
    for key in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home" / "hub"


def snapshot(cache: Path, name: str, commit: str = COMMIT, *, main: bool = True) -> Path:
    """A snapshot of a model with its config.json."""
    folder = cache / f"models--{name.replace('/', '--')}"
    found = folder / "snapshots" / commit
    found.mkdir(parents=True)
    (found / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    if main:
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / "main").write_text(commit, encoding="ascii")
    return found


def published(cache: Path, name: str, files: dict[str, bytes], commit: str = COMMIT) -> Path:
    """A snapshot as huggingface_hub lays it out: blobs by their hash, and links to them."""
    folder = cache / f"models--{name.replace('/', '--')}"
    (folder / "blobs").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit, encoding="ascii")
    found = folder / "snapshots" / commit
    for path, data in files.items():
        digest = hashlib.sha256(data).hexdigest()
        (folder / "blobs" / digest).write_bytes(data)
        link = found / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path(*[".."] * (2 + path.count("/")), "blobs", digest))
    return found


def no_network(name: str) -> dict[str, Any]:
    """A fetch that must not be reached."""
    raise AssertionError(name)


def test_a_preset_comes_first() -> None:
    Path("llama-3.1-8b").mkdir()
    assert hub.locate("llama-3.1-8b", PRESETS, fetch=no_network) == "llama-3.1-8b"


def test_paths_by_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    write_safetensors(tmp_path / "m" / "x.safetensors", header_of(llama_tensors()))
    for name, key in (("a.gguf", "gguf"), ("config.json", "config"), ("a.safetensors", "safetensors"),
                      ("model.safetensors.index.json", "safetensors")):  # fmt: skip
        path = tmp_path / name
        path.touch()
        assert hub.locate(str(path), PRESETS, fetch=no_network) == {key: str(path)}
    assert hub.locate(str(tmp_path / "m"), PRESETS, fetch=no_network) == {"safetensors": str(tmp_path / "m")}
    for wrong in (tmp_path / "notes.txt", tmp_path / "empty"):
        wrong.mkdir() if wrong.name == "empty" else wrong.touch()
        with pytest.raises(WeightsError, match="is not a model's file"):
            hub.locate(str(wrong), PRESETS, fetch=no_network)


def test_a_folder_with_part_of_its_weights_is_read_by_its_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    for name in ("config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors"):
        (folder / name).touch()
    assert hub.locate(str(folder), PRESETS) == {"config": str(folder / "config.json")}
    (folder / "model-00002-of-00002.safetensors").touch()
    assert hub.locate(str(folder), PRESETS) == {"safetensors": str(folder)}


def test_the_cache_gives_the_main_branch(cache: Path) -> None:
    snapshot(cache, "meta/llama", "aaaaaaaa", main=False)
    wanted = snapshot(cache, "meta/llama", "bbbbbbbb")
    time.sleep(0.01)
    snapshot(cache, "meta/llama", "cccccccc", main=False)
    found = hub.locate("meta/llama", PRESETS, fetch=no_network)
    assert found == {"config": str(wanted / "config.json"), "name": "meta/llama"}
    (wanted.parent.parent / "refs" / "main").write_text("../../../etc", encoding="ascii")
    later = hub.locate("meta/llama", PRESETS, fetch=no_network)
    assert isinstance(later, dict)
    assert "cccccccc" in later["config"]


def test_links_to_blobs_are_followed(cache: Path, tmp_path: Path, coefficients: Coefficients) -> None:
    weights = write_safetensors(tmp_path / "w.safetensors", header_of(llama_tensors())).read_bytes()
    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": weights}
    found = published(cache, "meta/llama", files)
    model = hub.locate("meta/llama", PRESETS, fetch=no_network)
    assert model == {"safetensors": str(found), "name": "meta/llama"}
    shape, problems = read(model, {}, coefficients)
    assert shape is not None
    assert problems == []
    assert (shape.name, shape.parameters, shape.kv_heads) == ("meta/llama", PARAMETERS, 1)


def test_a_pipeline_in_the_cache(cache: Path, tmp_path: Path, coefficients: Coefficients) -> None:
    folder = write_pipeline(tmp_path / "sd", *BUILT["stable-diffusion-1.5"])
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.json")}
    found = published(cache, "sd/one", files)
    model = hub.locate("sd/one", PRESETS, fetch=no_network)
    assert model == {"diffusers": str(found), "name": "sd/one"}
    shape, problems = read(model, {}, coefficients)
    assert shape is not None, problems
    assert {item.name for item in shape.components} == {"unet", "text_encoder", "vae"}
    assert hub.locate(str(folder / "model_index.json"), PRESETS) == {"diffusers": str(folder)}


@pytest.mark.parametrize("damage", ["loop", "dangling", "emptied", "file", "endless"])
def test_a_damaged_cache_is_as_none(cache: Path, damage: str) -> None:
    folder = cache / "models--meta--llama"
    (folder / "snapshots").mkdir(parents=True)
    snapshot_folder = folder / "snapshots" / COMMIT
    if damage == "loop":
        snapshot_folder.symlink_to(snapshot_folder)
    elif damage == "endless":
        snapshot_folder.mkdir()
        (snapshot_folder / "config.json").symlink_to("config.json")
    elif damage == "dangling":
        snapshot_folder.mkdir()
        (snapshot_folder / "config.json").symlink_to("../../blobs/gone")
    elif damage == "file":
        snapshot_folder.touch()
    asked: list[str] = []

    def fetch(name: str) -> dict[str, Any]:
        asked.append(name)
        return {"config": {}}

    assert hub.locate("meta/llama", PRESETS, fetch=fetch) == {"config": {}}
    assert asked == ["meta/llama"]


@pytest.mark.parametrize("key", ["HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"])
def test_where_the_cache_is(key: str) -> None:
    folders = {"HF_HUB_CACHE": "/c", "HF_HOME": "/c/hub", "XDG_CACHE_HOME": "/c/huggingface/hub"}
    assert hub.cache_folder({key: "/c"}) == Path(folders[key])


@pytest.mark.parametrize(
    "name",
    ["../etc/passwd", "a/../b", "a/b/c", "/a/b", "a/..", "a/b--c", "a b/c", "a/b\0", "", "a", "-a/b", "a/" + "b" * 500,
     "a/b\n", "~root/x/y", "https://huggingface.co/a/b"],
)  # fmt: skip
def test_names_that_lead_astray(name: str) -> None:
    with pytest.raises(WeightsError, match="no preset, no file, and no ORG/NAME"):
        hub.locate(name, PRESETS, fetch=no_network)


def test_offline_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(WeightsError, match="HF_HUB_OFFLINE is set") as caught:
        hub.locate("meta/llama", PRESETS, fetch=no_network)
    assert str(hub.cache_folder(os.environ)) in caught.value.message
    for hint in ("unset HF_HUB_OFFLINE", "path of its config.json", "--set model.parameters=8B"):
        assert hint in caught.value.hint


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(WeightsError, match="huggingface_hub is not installed") as caught:
        hub.locate("meta/llama", PRESETS)
    assert "pip install huggingface_hub" in caught.value.hint
    assert "path of its config.json" in caught.value.hint


def test_the_hub_gives_configuration_and_parameters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = {"BF16": 70}

    class Api:
        def model_info(self, name: str, **_: object) -> SimpleNamespace:
            return SimpleNamespace(safetensors=SimpleNamespace(parameters=counts))

    package = SimpleNamespace(hf_hub_download=lambda *_, **__: str(tmp_path / "config.json"), HfApi=Api)
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)
    wanted = {"config": str(tmp_path / "config.json"), "name": "meta/llama"}
    assert hub.locate("meta/llama", PRESETS) == wanted | {"parameters": 70}
    counts["I32"] = 9  # packed weights: not as many numbers as parameters
    assert hub.locate("meta/llama", PRESETS) == wanted


def test_the_hub_gives_a_pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class EntryNotFoundError(Exception):
        pass

    folder = write_pipeline(tmp_path / "flux", *BUILT["flux.1-dev"])
    wanted: list[str] = []

    def download(_: str, file: str, **__: object) -> str:
        wanted.append(file)
        if not (folder / file).is_file():
            raise EntryNotFoundError(file)
        return str(folder / file)

    errors = SimpleNamespace(EntryNotFoundError=EntryNotFoundError)
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(hf_hub_download=download, errors=errors))
    assert hub.locate("bfl/flux", PRESETS) == {"diffusers": str(folder), "name": "bfl/flux"}
    assert wanted[:2] == ["config.json", "model_index.json"]
    assert {"transformer/config.json", "vae/config.json"} <= set(wanted)
    assert not [file for file in wanted if file.startswith(("scheduler", "tokenizer"))]


def test_failures_and_silence_of_the_hub_are_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> dict[str, Any]:
        raise ConnectionError("401 Client Error\nand a page of advice")

    with pytest.raises(WeightsError, match=r"ConnectionError: 401 Client Error$"):
        hub.locate("meta/llama", PRESETS, fetch=refused)
    monkeypatch.setattr(hub, "SECONDS", 0.05)
    with pytest.raises(WeightsError, match="did not answer within"):
        hub.locate("meta/llama", PRESETS, fetch=lambda _: time.sleep(1) or {})  # type: ignore[func-returns-value]
