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
    from collections.abc import Iterator


def digest_of(item: object) -> str:
    """One digest for all that say the same; of what is neither plain nor a dataclass none is met twice."""
    return hashlib.sha256("".join(_words(item)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _words(item: Any) -> Iterator[str]:
    match item:
        case Location():
            return
        case y.Scalar():
            yield f"{item.text!r}={item.value!r},"
        case y.Sequence():
            yield from _listed("s[", item.items)
        case y.Mapping():
            yield from _listed("m[", item.items.items())
        case tuple() | list():
            yield from _listed("(", item)
        case Mapping():
            yield from _listed("{", item.items())
        case frozenset():
            yield from _listed("<", sorted(map(digest_of, item)))
        case _ if (names := _fields(item.__class__)) is not None:
            yield from _listed(f"{type(item).__name__}(", (getattr(item, name) for name in names))
        case _:
            yield f"{item!r},"


def _listed(begin: str, items: Any) -> Iterator[str]:
    yield begin
    for item in items:
        yield from _words(item)
    yield ")"


@lru_cache(maxsize=256)
def _fields(kind: Hashable) -> tuple[str, ...] | None:
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None
