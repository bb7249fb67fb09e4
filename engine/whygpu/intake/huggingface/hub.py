"""Where the model is that a command line names: a preset, a file or folder, or ORG/NAME on the Hugging Face Hub.

The Hub's local cache is read directly (its layout: huggingface_hub documentation, "Understand caching"). Beyond it only
config.json (of a pipeline, that of each network) and the counts of parameters are fetched, where huggingface_hub is
installed and may go online.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from whygpu.files import read_bounded
from whygpu.intake.diffusers.pipeline import INDEX as PIPELINE_INDEX
from whygpu.intake.diffusers.pipeline import networks_of, read_index
from whygpu.intake.files.tensors import WeightsError
from whygpu.intake.limits import shown

SECONDS = 30.0
MOST_SNAPSHOTS = 64
MOST_REF_BYTES = 1024
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_]|[.-](?![.-])){0,95}/[A-Za-z0-9](?:[A-Za-z0-9_]|[.-](?![.-])){0,95}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_FLOATS = frozenset({"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"})
Fetch = Callable[[str], dict[str, Any]]
Model = str | dict[str, Any]


def locate(text: str, presets: Mapping[str, object], *, fetch: Fetch | None = None) -> Model:
    """The ``model`` answer that the text stands for; ``presets`` are the names that are known (folded by the caller).

    A path gives {config | safetensors | gguf: path}. Raises WeightsError where nothing is found.
    """
    if text in presets:
        return text
    found = _path(text) if text else None
    if found is not None:
        return found
    if not _NAME.fullmatch(text):
        raise WeightsError(
            f"{shown(text)} is no preset, no file, and no ORG/NAME",
            "give a preset ('whygpu catalogue models' lists them), the path of a config.json, .safetensors or .gguf "
            "file, or ORG/NAME",
        )
    cached = _cached(text, os.environ)
    return cached if cached is not None else _online(text, fetch or fetch_from_hub)


def _path(text: str) -> dict[str, Any] | None:
    """What stands at the path, by its name; None where nothing does."""
    try:
        path = Path(text).expanduser()
        if not path.exists():
            return None
        inside = _in_folder(path) if path.is_dir() else _file(path)
    except (OSError, ValueError, RuntimeError):  # ValueError: a null byte; RuntimeError: no home folder
        return None
    if inside is None:
        wanted = "a config.json, .safetensors, .safetensors.index.json or .gguf file, or a folder with one"
        raise WeightsError(f"{shown(text)} is not a model's file", f"name {wanted}")
    return inside


def _file(path: Path) -> dict[str, Any] | None:
    if path.name.endswith((".safetensors", ".safetensors.index.json")):
        return {"safetensors": str(path)}
    if path.name == PIPELINE_INDEX:
        return {"diffusers": str(path.parent)}
    if path.suffix == ".gguf":
        return {"gguf": str(path)}
    return {"config": str(path)} if path.suffix == ".json" else None


def _in_folder(path: Path) -> dict[str, Any] | None:
    """The pipeline or the weights, where all of them are there; else the configuration."""
    if (path / PIPELINE_INDEX).is_file():
        return {"diffusers": str(path)}
    if _whole(path):
        return {"safetensors": str(path)}
    if (path / "config.json").is_file():
        return {"config": str(path / "config.json")}
    if any(path.glob("*.gguf")):
        return {"gguf": str(path)}
    return {"safetensors": str(path)} if any(path.glob("*.safetensors")) else None


def _whole(path: Path) -> bool:
    """Whether the folder holds all its weights: one file, or an index and every file of its numbering."""
    if (path / "model.safetensors").is_file():
        return True
    if not (path / "model.safetensors.index.json").is_file():
        return False
    numbered = [re.fullmatch(r"model-(\d{5})-of-(\d{5})\.safetensors", item.name) for item in path.iterdir()]
    counts = {int(match[2]) for match in numbered if match}
    return len(counts) == 1 and sum(match is not None for match in numbered) == next(iter(counts))


def cache_folder(environment: Mapping[str, str]) -> Path:
    """The Hub's local cache, by the same variables that huggingface_hub reads."""
    for key in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(key):
            return Path(environment[key]).expanduser()
    if environment.get("HF_HOME"):
        return Path(environment["HF_HOME"]).expanduser() / "hub"
    return Path(environment.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


def _cached(name: str, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """The newest snapshot of the model in the cache: that of its main branch, or else the latest."""
    try:
        folder = cache_folder(environment) / f"models--{name.replace('/', '--')}"
        snapshots = [item for item in (folder / "snapshots").iterdir() if item.is_dir()][:MOST_SNAPSHOTS]
        snapshots.sort(key=lambda item: item.stat().st_mtime, reverse=True)
        head = folder / "refs" / "main"
        commit = (read_bounded(head, MOST_REF_BYTES) or b"").decode("ascii").strip() if head.is_file() else ""
    except (OSError, ValueError, RuntimeError):
        return None
    if _COMMIT.fullmatch(commit):
        snapshots.sort(key=lambda item: item.name != commit)
    for snapshot in snapshots:
        try:
            found = _in_folder(snapshot)
        except OSError:
            continue
        if found is not None:
            return found | {"name": name}
    return None


def _online(name: str, fetch: Fetch) -> dict[str, Any]:
    """The model's configuration from the Hub, within a time limit."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        message = f"{name} is not in the local cache ({cache_folder(os.environ)}), and HF_HUB_OFFLINE is set"
        raise WeightsError(message, f"unset HF_HUB_OFFLINE, or {_OTHERWISE}")
    outcome: list[dict[str, Any] | WeightsError] = []

    def work() -> None:
        try:
            outcome.append(fetch(name))
        except WeightsError as error:
            outcome.append(error)
        except Exception as error:  # noqa: BLE001  whatever the network or the Hub's library raises is one message
            hint = f"fetch it where there is a network (hf download {name}), or {_OTHERWISE}"
            outcome.append(WeightsError(f"{name} cannot be had from the Hub: {_brief(error)}", hint))

    thread = threading.Thread(target=work, daemon=True)  # a daemon: one that hangs does not keep the process
    thread.start()
    thread.join(SECONDS)
    if not outcome:
        raise WeightsError(f"{name}: the Hub did not answer within {SECONDS:g} seconds", _OTHERWISE)
    if isinstance(outcome[0], WeightsError):
        raise outcome[0]
    return outcome[0]


_OTHERWISE = "give the path of its config.json, or its figures: --set model.parameters=8B"


def _brief(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:160]}" if lines else type(error).__name__


def fetch_from_hub(name: str) -> dict[str, Any]:
    """The ``model`` answer of a model on the Hub: its config.json, and its exact parameters where the Hub says them."""
    try:
        import huggingface_hub  # noqa: PLC0415  an optional package, and slow to import
    except ImportError as error:
        cache = cache_folder(os.environ)
        message = f"{name} is not in the local cache ({cache}), and huggingface_hub is not installed to fetch it"
        raise WeightsError(message, f"pip install huggingface_hub; or {_OTHERWISE}") from error
    absent = getattr(getattr(huggingface_hub, "errors", None), "EntryNotFoundError", ())
    try:
        # the newest revision is what is asked for, and only numbers are taken of it
        config = huggingface_hub.hf_hub_download(name, "config.json", etag_timeout=10)  # nosec B615
        found: dict[str, Any] = {"config": config}
    except absent:
        return {"diffusers": _fetch_pipeline(huggingface_hub, name), "name": name}
    found["name"] = name
    counts = _published_counts(huggingface_hub, name)
    if counts and set(counts) <= _FLOATS:  # numbers that hold several weights would be miscounted
        found["parameters"] = sum(counts.values())
    return found


def _fetch_pipeline(hub: Any, name: str) -> str:
    """The folder with a pipeline's index and the configurations of its networks. Raises WeightsError."""
    index = Path(hub.hf_hub_download(name, PIPELINE_INDEX, etag_timeout=10))
    for network in networks_of(read_index(index)):
        hub.hf_hub_download(name, f"{network}/config.json", etag_timeout=10)
    return str(index.parent)


def _published_counts(hub: Any, name: str) -> dict[str, int]:
    """Parameters by data type as the Hub counts them from the headers; empty where it does not."""
    published = getattr(hub.HfApi().model_info(name, timeout=10, expand=["safetensors"]), "safetensors", None)
    counts = getattr(published, "parameters", None)
    return {str(key): int(value) for key, value in counts.items()} if isinstance(counts, Mapping) else {}
