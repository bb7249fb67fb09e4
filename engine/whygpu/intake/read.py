"""The one door of intake: whatever an answer gives as `model`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from whygpu.checks.coefficients import Coefficients
from whygpu.intake.hf_config import from_hf_config
from whygpu.intake.limits import shown
from whygpu.intake.mapping import from_mapping
from whygpu.intake.preset import from_preset
from whygpu.intake.problems import IntakeProblem, IntakeResult
from whygpu.intake.sizes import SizeTable

SIZES_TABLE = "shape-by-parameters"
MOST_BYTES = 4 * 2**20


def read(model: object, presets: Mapping[str, Mapping[str, Any]], coefficients: Coefficients) -> IntakeResult:
    """Read a preset's id, a mapping of sizes, or {config: a config.json or its path} into a shape.

    Problems with severity warning leave the shape usable. Raises nothing on bad input, ValueError where the knowledge
    base lacks the table of typical shapes.
    """
    sizes = SizeTable.of(coefficients.table(SIZES_TABLE))
    if isinstance(model, str):
        entry = presets.get(model)
        if entry is None:
            near = get_close_matches(model[:80], presets, n=1)
            return None, [
                IntakeProblem("model", f"there is no preset {shown(model)}", f"did you mean {near[0]}?" if near else "")
            ]
        return from_preset({"id": model, **entry}, sizes)
    if isinstance(model, Mapping) and "config" in model:
        others = [str(key)[:40] for key in model if key not in ("config", "name")]
        problems = [
            IntakeProblem(f"model.{key}", "cannot stand beside config", "the configuration gives all sizes")
            for key in others[:8]
        ]
        config, found = _config(model["config"])
        if problems or found:
            return None, [*problems, *found]
        name = model.get("name")
        return from_hf_config(config, name=name[:200] if isinstance(name, str) else "")
    return from_mapping(model, sizes)


def _config(given: object) -> tuple[object, list[IntakeProblem]]:
    """The configuration itself, read from its file where a path is given."""
    if not isinstance(given, str):
        return given, []
    path = Path(given)
    try:
        if path.is_dir():
            path = path / "config.json"
        if path.stat().st_size > MOST_BYTES:
            return None, [
                IntakeProblem("model.config", f"{shown(given)} is larger than {MOST_BYTES} bytes", "name a config.json")
            ]
        return json.loads(path.read_bytes()), []
    except (OSError, ValueError, RecursionError) as error:
        # ValueError takes in bad JSON, bad UTF-8 and a null byte in the path.
        return None, [
            IntakeProblem(
                "model.config", f"{shown(given)} cannot be read: {str(error)[:200]}", "give the path of a config.json"
            )
        ]
