"""The one door of intake: whatever an answer gives as `model`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from whygpu.checks.coefficients import Coefficients
from whygpu.errors import did_you_mean
from whygpu.files import read_bounded, reason
from whygpu.intake.by_task import completed
from whygpu.intake.limits import Reader, shown
from whygpu.intake.mapping import from_mapping
from whygpu.intake.preset import from_preset
from whygpu.intake.problems import IntakeProblem, IntakeResult
from whygpu.intake.sizes import SizeTable

SIZES_TABLE = "shape-by-parameters"
BESIDE_CONFIG = ("config", "name", "parameters", "active_parameters")
MOST_BYTES = 4 * 2**20
MOST_PATH = 4096
MOST_LAYER_KINDS = 64  # each is sized apart in every plan; models have up to a dozen

FILES = ("safetensors", "gguf")
PIPELINE = "diffusers"


def read(
    model: object, presets: Mapping[str, Mapping[str, Any]], coefficients: Coefficients, task: str = ""
) -> IntakeResult:
    """Read a preset, a mapping, a configuration or a file into a shape, as ``_read`` does, within what can be sized."""
    shape, problems = _read(model, presets, coefficients, task)
    if shape is None or len(shape.kv_groups) <= MOST_LAYER_KINDS:
        return shape, problems
    message = f"has {len(shape.kv_groups)} kinds of layers by their heads, more than {MOST_LAYER_KINDS}"
    return None, [*problems, IntakeProblem("model", message, "is the file damaged, or made to mislead?")]


def _read(
    model: object, presets: Mapping[str, Mapping[str, Any]], coefficients: Coefficients, task: str
) -> IntakeResult:
    """Read a preset's id, a mapping of sizes, {config: a config.json or its path} or a weights file into a shape.

    A file is {safetensors: a file, an index or a folder} or {gguf: a file or a folder}; {diffusers: a folder} is a
    pipeline. `task`: what a mapping that does not say it is for.

    Problems with severity warning leave the shape usable. Raises nothing on bad input, ValueError where the knowledge
    base lacks the table of typical shapes.
    """
    rows = coefficients.table(SIZES_TABLE)
    if not rows:
        return None, [IntakeProblem("model", f"cannot be read: the knowledge base has no table '{SIZES_TABLE}'")]
    sizes = SizeTable.of(rows)
    if isinstance(model, str):
        entry = presets.get(model)
        if entry is None:
            return None, [
                IntakeProblem("model", f"there is no preset {shown(model)}", did_you_mean(model, presets) or "")
            ]
        return from_preset({"id": model, **entry}, sizes)
    if isinstance(model, Mapping) and "config" in model:
        return _from_config(model)
    if isinstance(model, Mapping):
        for key in (*FILES, PIPELINE):
            if key in model:
                return _from_file(model, key, sizes)
        model, added = completed(model, task, presets, coefficients)
        shape, problems = from_mapping(model, sizes)
        return shape and replace(shape, assumed=(*shape.assumed, *added)), problems
    return from_mapping(model, sizes)


def _from_file(model: Mapping[Any, Any], key: str, sizes: SizeTable) -> IntakeResult:
    """A weights file or a pipeline, with a name beside it where one is given, and the steps of a pipeline."""
    beside = Reader(model, "model")
    may = ("name", "steps") if key == PIPELINE else ("name",)
    for other in [other for other in model if other not in (key, *may)][:8]:
        hint = f"only {' and '.join(may)} can; the file gives the rest"
        beside.complain(shown(other).strip("'"), f"cannot stand beside {key}", hint)
    path, name = model[key], beside.text("name")
    steps = beside.count("steps", "steps") if key == PIPELINE else 0
    if not isinstance(path, str) or not path or len(path) > MOST_PATH:
        beside.complain(key, f"is {shown(path)}, not the path of a file", f"{key}: path of a file or its folder")
    if beside.problems:
        return None, beside.problems
    # each reader is imported where it is asked for: most answers name a preset
    if key == PIPELINE:
        from whygpu.intake.diffusers.pipeline import from_pipeline  # noqa: PLC0415

        return from_pipeline(path, name=name, steps=steps)
    if key == "gguf":
        from whygpu.intake.files.gguf_shape import from_gguf  # noqa: PLC0415

        return from_gguf(path, sizes, name=name)
    from whygpu.intake.files.safetensors_shape import from_safetensors  # noqa: PLC0415

    return from_safetensors(path, sizes, name=name)


def _from_config(model: Mapping[Any, Any]) -> IntakeResult:
    """A configuration, with a name and counts beside it where they are given."""
    beside = Reader(model, "model")
    for key in [key for key in model if key not in BESIDE_CONFIG][:8]:
        hint = f"only {', '.join(BESIDE_CONFIG[1:])} can; the configuration gives the rest"
        beside.complain(shown(key).strip("'"), "cannot stand beside config", hint)
    name = beside.text("name")
    parameters = beside.count("parameters", "parameters")
    active = beside.count("parameters", "active_parameters")
    config, found = _config(model["config"])
    problems = [*beside.problems, *found]
    if problems:
        return None, problems
    from whygpu.intake.huggingface.config import from_hf_config  # noqa: PLC0415

    return from_hf_config(config, name=name, parameters=parameters, active_parameters=active)


def _config(given: object) -> tuple[object, list[IntakeProblem]]:
    """The configuration itself, read from its file where a path is given."""
    if not isinstance(given, str):
        return given, []
    path = Path(given)
    try:
        if path.is_dir():
            path = path / "config.json"
        data = read_bounded(path, MOST_BYTES)
        if data is None:
            return None, [
                IntakeProblem("model.config", f"{shown(given)} is larger than {MOST_BYTES} bytes", "name a config.json")
            ]
        return json.loads(data), []
    except (OSError, ValueError, RecursionError) as error:
        # ValueError takes in bad JSON, bad UTF-8 and a null byte in the path.
        return None, [
            IntakeProblem(
                "model.config", f"{shown(given)} cannot be read: {reason(error)}", "give the path of a config.json"
            )
        ]
