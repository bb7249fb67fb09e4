"""What a part of a knowledge base says, as a digest: wherever in its file it stands."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whygpu.errors import Location
from whygpu.yamldoc import document as y

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def digest_of(item: object) -> str:
    """One digest for all that say the same; of what is neither plain nor a dataclass none is met twice."""
    words: list[str] = []
    _write(item, words)
    return hashlib.sha256("".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _write(item: Any, words: list[str]) -> None:
    _writer(item.__class__)(item, words)


def _plain(item: object, words: list[str]) -> None:
    words.append(f"{item!r},")


def _scalar(item: y.Scalar, words: list[str]) -> None:
    words.append(f"{item.text!r}={item.value!r},")


def _nothing(_: object, __: list[str]) -> None:
    """Of a place."""


def _listed(begin: str, items: Iterable[Any], words: list[str]) -> None:
    words.append(begin)
    for item in items:
        _writer(item.__class__)(item, words)
    words.append(")")


def _parts(kind: Any) -> Callable[[Any, list[str]], None]:
    """How a dataclass is written: by its fields."""
    begin, names = f"{kind.__name__}(", tuple(field.name for field in dataclasses.fields(kind))
    return lambda item, words: _listed(begin, [getattr(item, name) for name in names], words)


@lru_cache(maxsize=256)
def _writer(kind: Any) -> Callable[[Any, list[str]], None]:
    """How things of a kind are written: looked up once for all of it, for there are a hundred thousand."""
    if issubclass(kind, str | float | bool):
        return _plain
    if issubclass(kind, y.Scalar):
        return _scalar
    if issubclass(kind, tuple | list):
        return lambda item, words: _listed("(", item, words)
    if issubclass(kind, y.Sequence):
        return lambda item, words: _listed("s(", item.items, words)
    if issubclass(kind, y.Mapping):
        return lambda item, words: _listed("m(", item.items.items(), words)
    if issubclass(kind, Mapping):
        return lambda item, words: _listed("d(", item.items(), words)
    if issubclass(kind, frozenset):
        return lambda item, words: _listed("f(", sorted(map(digest_of, item)), words)
    if issubclass(kind, Location):
        return _nothing
    return _parts(kind) if dataclasses.is_dataclass(kind) else _plain
