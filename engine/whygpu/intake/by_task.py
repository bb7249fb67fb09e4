"""A model of which little more is known than its parameters and its task: what works on a sample of that task is like.

A CNN of 25 million parameters is no decoder of that size: its work is counted in images, and follows from its
parameters and the area of an image. Tables and coefficients of the knowledge base say what is usual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from whygpu.checks.coefficients import Coefficients
from whygpu.checks.model_shape import TOKEN_KINDS

TABLE = "kind-by-task"
OPERATIONS = "operations-per-parameter"
_OF_TOKENS = ("vocab_size", "kv_heads", "kv_lora_rank", "experts")
_OF_A_LIKE = (
    *("layers", "hidden_size", "ffn_size", "heads", "kv_heads", "head_dim", "vocab_size", "encoder_layers"),
    *("source_tokens", "tied_embeddings", "gated_ffn", "active_parameters", "lookup_parameters", "flops_per_sample"),
)
"""What is taken from the preset of the kind that is nearest in size, where nothing of the shape is given."""
_COUNTED = ("active_parameters", "lookup_parameters")
"""Of these, what the model cannot have more of than it has parameters."""


def completed(
    data: Mapping[Any, Any], task: str, presets: Mapping[str, Mapping[str, Any]], coefficients: Coefficients
) -> tuple[Mapping[Any, Any], tuple[str, ...]]:
    """The sizes with what is usual for the task, or for the kind that is given, and the fields that were added.

    Sizes that speak for themselves, and tasks that the knowledge base has no row for, stay as they are.
    """
    parameters, row = data.get("parameters"), _row(data, task, coefficients)
    if row is None or isinstance(parameters, bool) or not isinstance(parameters, int | float) or not parameters > 0:
        return data, ()
    kind = str(row["kind"])
    found: dict[str, Any] = {"kind": kind}
    if kind == "recommender":
        found |= _recommender(data, _like(row, float(parameters), presets))
    elif kind in TOKEN_KINDS:
        if not any(data.get(key) is not None for key in _OF_A_LIKE):
            found |= _like(row, float(parameters), presets)
    else:
        found |= {key: row[key] for key in ("image_size", "steps") if key in row}
        each = coefficients.pick(OPERATIONS, {"kind": kind}).likely
        found["flops_per_sample"] = each * float(parameters) * _area(data.get("image_size"), row.get("image_size"))
    added = {key: value for key, value in found.items() if data.get(key) is None}
    return {**data, **added}, tuple(added)


def _recommender(data: Mapping[Any, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """What is not given of a recommender, as its kind has it; a sample takes a multiplication and an addition for each
    dense weight that is given (Naumov et al. 2019, arXiv:1906.00091, section 2: multilayer perceptrons).
    """
    active, looked_up = (data.get(key, like.get(key)) for key in ("active_parameters", "lookup_parameters"))
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (active, looked_up))
    if data.get("active_parameters") is None or not numbers:
        return dict(like)
    return {**like, "flops_per_sample": 2.0 * max(active - looked_up, 1)}


def _row(data: Mapping[Any, Any], task: str, coefficients: Coefficients) -> Mapping[str, Any] | None:
    """What is usual for the kind that is given, if it is none of tokens, or else for the task."""
    rows, kind = coefficients.table(TABLE), data.get("kind")
    if kind is not None:
        return None if kind in TOKEN_KINDS else next((row for row in rows if row["kind"] == kind), None)
    if any(data.get(key) is not None for key in _OF_TOKENS):
        return None
    wanted = data.get("task") or task
    return next((row for row in rows if row.get("task") == wanted), None)


def _area(size: object, usual: object) -> float:
    """The area of an image against the usual one; 1 where either is not known."""
    sides = [
        side for side in (size, usual) if isinstance(side, int | float) and not isinstance(side, bool) and side > 0
    ]
    return float((sides[0] / sides[1]) ** 2) if len(sides) == 2 else 1.0


def _like(row: Mapping[str, Any], parameters: float, presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The shape of the preset of the same kind and task that is nearest by the ratio of parameters."""
    alike = [item for item in presets.values() if (item.get("kind"), item.get("task")) == (row["kind"], row["task"])]
    if not alike:
        return {}
    near = min(alike, key=lambda item: abs(math.log(float(item["parameters"]) / parameters)))
    found = {key: near[key] for key in _OF_A_LIKE if key in near}
    return {key: min(value, int(parameters)) if key in _COUNTED else value for key, value in found.items()}
