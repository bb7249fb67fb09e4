"""What a part of a knowledge base says, as a digest: wherever in its file it stands."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whygpu.errors import Location
from whygpu.yamldoc import document as y

if TYPE_CHECKING:
    from collections.abc import Iterable


def digest_of(item: object) -> str:
    """One digest for all that say the same; of what is neither plain nor a dataclass none is met twice."""
    words: list[str] = []
    _write(item, words)
    return hashlib.sha256("".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _write(item: Any, words: list[str]) -> None:
    if isinstance(item, str | float | bool) or item is None:
        words.append(f"{item!r},")
    elif isinstance(item, y.Scalar):
        words.append(f"{item.text!r}={item.value!r},")
    elif isinstance(item, tuple | list):
        _listed("(", item, words)
    elif isinstance(item, y.Sequence):
        _listed("s(", item.items, words)
    elif isinstance(item, y.Mapping):
        _listed("m(", item.items.items(), words)
    elif isinstance(item, Mapping):
        _listed("d(", item.items(), words)
    elif isinstance(item, frozenset):
        _listed("f(", sorted(map(digest_of, item)), words)
    elif isinstance(item, Location):
        return
    elif (names := _fields(item.__class__)) is not None:
        _listed(f"{item.__class__.__name__}(", [getattr(item, name) for name in names], words)
    else:
        words.append(f"{item!r},")


def _listed(begin: str, items: Iterable[Any], words: list[str]) -> None:
    words.append(begin)
    for item in items:
        _write(item, words)
    words.append(")")


@lru_cache(maxsize=256)
def _fields(kind: Hashable) -> tuple[str, ...] | None:
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None
