"""A preset of kb/facts/models: an entry as plain data becomes a shape."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from whygpu.intake.mapping import from_mapping
from whygpu.intake.problems import IntakeResult
from whygpu.intake.sizes import SizeTable
from whygpu.yamldoc.forms import ANYTHING, CALENDAR_DAY, FLAG, TEXT, TEXTS, Form, between

DESCRIPTIVE: Form = MappingProxyType(
    {
        **dict.fromkeys(("modality", "context_tokens", "licence", "family", "config"), ANYTHING),
        "released": CALENDAR_DAY,
        "conversational": FLAG,
        "converses": TEXT,
        "checkpoints": ANYTHING,
        "remote_code": FLAG,
        "weight_block": between(1, 4096, whole=True),
        "stands_for": TEXTS,
        "stands_in": TEXT,
        "downloads": between(0, 10**10, whole=True),
    }
)
"""Fields of an entry that say something of the model but nothing of its shape. ``downloads``: from the Hugging Face
Hub in the last 30 days. ``converses``: the repository that does, where the first alias only continues a text.
``checkpoints``: formats, each followed by the repository that has the model in it, made beforehand. ``remote_code``:
these hold Python that a stack has to be allowed to run. ``weight_block``: weights a side of the blocks that share a
scale in the published format, or else in the checkpoint in FP8. ``stands_for``: what people ask for that is
no network, and ``stands_in`` what to answer in its place."""


def from_preset(entry: Mapping[str, Any], sizes: SizeTable) -> IntakeResult:
    """Read a model of the knowledge base; fields of the form {is: value, source: ...} count as their value."""
    plain = {key: _value(value) for key, value in entry.items() if key not in DESCRIPTIVE}
    return from_mapping(plain, sizes, at=str(entry.get("id", "model"))[:80])


def _value(field: Any) -> Any:
    return field["is"] if isinstance(field, Mapping) and "is" in field else field
