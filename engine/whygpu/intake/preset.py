"""A preset of kb/facts/models: an entry as plain data becomes a shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whygpu.intake.mapping import from_mapping
from whygpu.intake.problems import IntakeResult
from whygpu.intake.sizes import SizeTable

# Fields of an entry that say something of the model but nothing of its shape.
DESCRIPTIVE = frozenset({"modality", "context_tokens", "licence", "released", "family", "config"})


def from_preset(entry: Mapping[str, Any], sizes: SizeTable) -> IntakeResult:
    """Read a model of the knowledge base; fields of the form {is: value, source: ...} count as their value."""
    plain = {key: _value(value) for key, value in entry.items() if key not in DESCRIPTIVE}
    return from_mapping(plain, sizes, at=str(entry.get("id", "model"))[:80])


def _value(field: Any) -> Any:
    return field["is"] if isinstance(field, Mapping) and "is" in field else field
