"""The same files are loaded once, however many commands read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import whygpu
from whygpu.imports import target
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from whygpu.knowledge.base import Knowledge
    from whygpu.loader.assemble import Registry

_LOADED: dict[tuple[tuple[str, str], ...], Knowledge] = {}


@pytest.fixture(autouse=True)
def _load_once(kb: whygpu.KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    load = whygpu.load

    def kept(path: str | Path | None = None) -> whygpu.KnowledgeBase:
        return kb if path is None else load(path)

    def kept_texts(texts: Mapping[str, str], root: str, registry: Registry) -> Knowledge:
        key = tuple(sorted(texts.items()))
        if key not in _LOADED:
            _LOADED[key] = load_texts(texts, root, registry)
        return _LOADED[key]

    monkeypatch.setattr(whygpu, "load", kept)
    monkeypatch.setattr(target, "load_texts", kept_texts)
