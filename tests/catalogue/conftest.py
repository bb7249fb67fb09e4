"""The same files are loaded once, however many commands read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whygpu.imports import target
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.knowledge.base import Knowledge
    from whygpu.loader.assemble import Registry

_LOADED: dict[tuple[tuple[str, str], ...], Knowledge] = {}


@pytest.fixture(autouse=True)
def _load_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def kept_texts(texts: Mapping[str, str], root: str, registry: Registry, *, cases: bool = True) -> Knowledge:
        key = tuple(sorted(texts.items()))
        if key not in _LOADED:
            _LOADED[key] = load_texts(texts, root, registry, cases=cases)
        return _LOADED[key]

    monkeypatch.setattr(target, "load_texts", kept_texts)
