"""Models as people are offered them: what they are called, how often they are downloaded, and in which order."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from whygpu.quantity import parse_number, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.knowledge.catalogue import Entry

_ROUNDED = 0.15
"""How far the size in a name may be from the size."""


def offered(models: Mapping[str, Entry], task: str, assumed: str) -> tuple[str, ...]:
    """Every model, by id: those for the task before the others, the one that is assumed at their head.

    Then come the kind of the one assumed (decoders before encoders, detectors before backbones), what is made for
    conversation before what only continues a text, and the most downloaded; of those whose downloads are not known
    the newest, where that is known. What is equal by all of this stays in the order of the files.
    """
    kind = models[assumed].data.get("kind") if assumed in models else None

    def order(name: str) -> tuple[bool, bool, bool, bool, bool, float, int]:
        data = models[name].data
        downloads, released = data.get("downloads"), data.get("released")
        return (
            data.get("task") != task,
            name != assumed,
            data.get("kind") != kind,
            data.get("conversational") is False,
            downloads is None,
            -(downloads or 0),
            -date.fromisoformat(released).toordinal() if released else 0,
        )

    return tuple(sorted(models, key=order))


def sized_name(entry: Entry) -> str:
    """A model's name, and its size where the name does not say it."""
    size = entry.data.get("parameters")
    if not isinstance(size, int | float) or _says_size(entry.name, size):
        return entry.name
    return f"{entry.name} ({show(float(size), 'parameters')})"


def _says_size(name: str, size: float) -> bool:
    """Whether a word of the name is the size, as rounded as names have it: 8B of 8,030,261,248, 7B of 7,615,616,512."""
    said = (parse_number(word) for word in re.split(r"[ -]", name) if word[-1:] in "BMT")
    return any(number is not None and abs(number - size) < _ROUNDED * size for number in said)


def downloads_text(entry: Entry) -> str:
    """How often it is downloaded, in three digits; empty where that is not known."""
    downloads = entry.data.get("downloads")
    return "" if downloads is None else f"{show(float(f'{downloads:.3g}'))} downloads a month"
