"""A small knowledge base for tests: the real files, with a handful of accelerators, models and prices."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.loader.files import default_root, read_texts

ACCELERATORS = ("t4", "l4", "a100-sxm-80gb", "h100-sxm", "rtx-4090")
MODELS = ("llama-3.1-8b", "yolo11m")
if TYPE_CHECKING:
    from collections.abc import Callable

_ITEM = re.compile(r"(?m)^(?=- )")
_NAMED = re.compile(r"\{?\s*id: ([^\s,}]+)")


@lru_cache(maxsize=1)
def real_texts() -> dict[str, str]:
    """Every file of the real knowledge base."""
    return read_texts(default_root())


def case_ids() -> dict[str, list[str]]:
    """The ids of the worked cases by their topics, read from their text: to name tests takes no knowledge base."""
    files = {name: text for name, text in real_texts().items() if name.startswith("cases/")}
    cases = {Path(name).stem: text.partition("\ndiagnoses:\n")[0] for name, text in files.items()}
    return {topic: re.findall(r"(?m)^- id: (\S+)$", text) for topic, text in cases.items()}


@lru_cache(maxsize=1)
def _small() -> dict[str, str]:
    texts = ((name, _shortened(name, text)) for name, text in real_texts().items() if not name.startswith("cases/"))
    return {name: text for name, text in texts if text}


def _shortened(name: str, text: str) -> str:
    if name.startswith("facts/accelerators/"):
        return _keep(text, lambda item: _id(item) in ACCELERATORS)
    if name.startswith("facts/offerings/") or name == "facts/purchases.yaml":
        return _keep(text, lambda item: any(f"accelerator: {card}," in item for card in ACCELERATORS))
    if name.startswith("facts/models/"):
        return _keep(text, lambda item: _id(item) in MODELS)
    if name == "facts/launch.yaml":  # under 'cards' each accelerator is a line of its own
        return re.sub(rf"(?m)^    (?!(?:{'|'.join(ACCELERATORS)}):)[a-z0-9-]+: \S+\n", "", text)
    return text


def small_texts() -> dict[str, str]:
    """The small knowledge base's files, to change as a test likes."""
    return dict(_small())


def lean_texts() -> dict[str, str]:
    """The same without rules and tables, which take most of the time to load: names lack what concludes them."""
    return {name: text for name, text in _small().items() if not name.startswith(("rules/", "tables/"))}


def _id(item: str) -> str:
    match = _NAMED.search(item)
    return match.group(1) if match else ""


def _keep(text: str, wanted: Callable[[str], bool]) -> str:
    head, *items = _ITEM.split(text)
    kept = [item for item in items if wanted(item)]
    return head + "".join(kept) if kept else ""
