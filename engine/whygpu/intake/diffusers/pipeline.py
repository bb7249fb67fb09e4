"""A diffusers pipeline: the folder with model_index.json, and in it a folder for each network.

Every network counts exactly where its safetensors files are there, else by its configuration
(huggingface/diffusers, docs: "Understanding pipelines, models and schedulers").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from whygpu.checks.model_shape import ModelShape
from whygpu.intake.diffusers.components import (
    AUTOENCODERS,
    DENOISERS,
    NO_SPEED,
    class_of,
    count_network,
    pipeline_shape,
)
from whygpu.intake.diffusers.network import Network
from whygpu.intake.files.safetensors import MOST_CONFIG_BYTES, open_regular, parse_json
from whygpu.intake.files.safetensors_shape import tally_of
from whygpu.intake.files.tensors import Tally, WeightsError
from whygpu.intake.huggingface.config import from_hf_config
from whygpu.intake.limits import Reader, shown
from whygpu.intake.problems import IntakeProblem, IntakeResult, has_errors

AT = "model.diffusers"
INDEX = "model_index.json"
MOST_NETWORKS = 32
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
# Entries of an index that hold no network.
_NO_NETWORK = re.compile(r"(Scheduler|Tokenizer|TokenizerFast|Processor|ImageProcessor|FeatureExtractor)$")
_STEMS = ("diffusion_pytorch_model", "model")
_VARIANTS = ("", ".fp16", ".bf16")


@dataclass(slots=True)
class _Found:
    """What the networks of a pipeline come to."""

    parameters: dict[str, int] = field(default_factory=dict)
    stored: dict[str, tuple[Tally, str]] = field(default_factory=dict)
    networks: dict[str, tuple[Mapping[Any, Any], Network]] = field(default_factory=dict)
    problems: list[IntakeProblem] = field(default_factory=list)


def from_pipeline(given: str, *, name: str = "", steps: int = 0) -> IntakeResult:
    """Read a pipeline by its folder, or by the model_index.json in it. Never raises on bad input."""
    path = Path(given)
    try:
        folder = path if path.is_dir() else path.parent
        index = read_index(folder / INDEX)
        networks = networks_of(index)
    except (WeightsError, OSError, ValueError, RuntimeError) as error:
        said = error.message if isinstance(error, WeightsError) else f"cannot be read: {str(error)[:200]}"
        return None, [IntakeProblem(AT, said, f"name a folder with {INDEX}")]
    found = _Found()
    for part, wanted in networks.items():
        _read_network(folder / part, part, wanted, found)
    if has_errors(found.problems):
        if found.parameters:
            counted = ", ".join(f"{part}: {count}" for part, count in found.parameters.items())
            hint = f"give them as a mapping: kind: diffusion, components: {{{counted}, ...}}"
            found.problems.append(IntakeProblem(AT, "what the other networks come to can be said", hint))
        return None, found.problems
    denoisers = [part for part, (config, _) in found.networks.items() if class_of(config) in DENOISERS]
    if not denoisers:
        denoisers = [part for part in networks if part in ("transformer", "unet")][:1]
    if not denoisers:
        return None, [IntakeProblem(AT, f"names no denoiser that is known here, of {', '.join(networks)[:200]}")]
    first = denoisers[0]
    config, network = found.networks.get(first, ({}, Network(found.parameters[first])))
    if first not in found.networks:
        found.problems.append(IntakeProblem(f"{AT}.{first}", NO_SPEED, "", "warning"))
    decoder = next((net for config, net in found.networks.values() if class_of(config) in AUTOENCODERS), None)
    trained = sum(found.parameters[part] for part in denoisers)
    label = name or _label(folder, index)
    shape = pipeline_shape(label, found.parameters, config, network, trained=trained, decoder=decoder, steps=steps)
    return _as_stored(shape, found, first), found.problems


def _as_stored(shape: ModelShape, found: _Found, denoiser: str) -> ModelShape:
    """The shape in the format and bytes of its files, where those of every network are there."""
    if set(found.stored) != set(found.parameters):
        return shape
    stored = sum(tally.stored_bytes for tally, _ in found.stored.values())
    return replace(
        shape,
        stored_format=found.stored[denoiser][1],
        stored_bits=(("other", stored * 8 / shape.parameters),),
        file_kind="safetensors",
        assumed=tuple(word for word in shape.assumed if word != "parameters"),
    )


def _label(folder: Path, index: Mapping[str, Any]) -> str:
    said = index.get("_name_or_path")
    return said if isinstance(said, str) and 0 < len(said) <= 80 else folder.resolve().name or "a pipeline"


def read_index(path: Path) -> Mapping[str, Any]:
    """A small JSON file that holds a mapping. Raises WeightsError."""
    with open_regular(path) as file:
        raw = file.read(MOST_CONFIG_BYTES + 1)
    if len(raw) > MOST_CONFIG_BYTES:
        raise WeightsError(f"{path.name}: is larger than {MOST_CONFIG_BYTES} bytes")
    data = parse_json(raw)
    if not isinstance(data, dict):
        raise WeightsError(f"{path.name}: is {shown(data)}, not a mapping")
    return data


def networks_of(index: Mapping[str, Any]) -> dict[str, str]:
    """Names of a pipeline's networks, which are those of their folders, and their classes. Raises WeightsError."""
    found: dict[str, str] = {}
    for part, entry in index.items():
        if part.startswith("_") or not isinstance(entry, list) or len(entry) != 2:
            continue  # a setting of the pipeline
        wanted = entry[1]
        if not isinstance(wanted, str) or _NO_NETWORK.search(wanted):
            continue
        if not _NAME.fullmatch(part):
            raise WeightsError(f"{INDEX}: names {shown(part)}, which is not a folder beside it")
        found[part] = wanted
    if not found or len(found) > MOST_NETWORKS:
        raise WeightsError(f"{INDEX}: names {len(found)} networks, not 1 to {MOST_NETWORKS}")
    return found


def _read_network(folder: Path, part: str, wanted: str, found: _Found) -> None:
    """Count one network; what is wrong is kept."""
    at = f"{AT}.{part}"
    try:
        config = read_index(folder / "config.json") if (folder / "config.json").is_file() else {}
    except WeightsError as error:
        found.problems.append(IntakeProblem(at, error.message, error.hint))
        return
    kept = len(found.problems)
    exact = _count_weights(folder, part, found, "warning" if config else "error")
    if not config and not exact and len(found.problems) == kept:
        hint = "download the whole pipeline; each network's config.json is enough"
        found.problems.append(IntakeProblem(at, f"has no config.json ({wanted})", hint))
    elif class_of(config):
        reader = Reader(config, at)
        network = count_network(reader)
        found.problems += [replace(item, severity="warning") if exact else item for item in reader.problems]
        if network is not None:
            found.networks[part] = (config, network)
            found.parameters.setdefault(part, network.parameters)
    elif config and not exact:
        counted, problems = from_hf_config({"architectures": [wanted]} | dict(config), at=at)
        found.problems += problems
        if counted is not None:
            found.parameters[part] = counted.parameters


def _count_weights(folder: Path, part: str, found: _Found, severity: str) -> bool:
    """Whether the network's weights are there, and counted; a damaged file is a problem so severe."""
    try:
        weights = _weights(folder)
        if weights is None:
            return False
        tally, kind = tally_of(weights)
    except WeightsError as error:
        instead = "; its configuration counts instead" if severity == "warning" else ""
        found.problems.append(IntakeProblem(f"{AT}.{part}", error.message + instead, error.hint, severity))
        return False
    found.stored[part], found.parameters[part] = (tally, kind), tally.parameters
    return True


def _weights(folder: Path) -> Path | None:
    """The safetensors file or index of a network; the whole one before its variants."""
    for variant in _VARIANTS:
        for stem in _STEMS:
            single = f"{stem}{variant}.safetensors"
            for name in (single, f"{single}.index.json", f"{stem}.safetensors.index{variant}.json"):
                if (folder / name).is_file():
                    return folder / name
    return None
