"""What is kept of a knowledge base is forgotten when another one is loaded."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from tests.loader.small import small_texts
from whygpu.api import load


def test_an_edition_that_nobody_asks_is_let_go(tmp_path: Path) -> None:
    """Each reload kept the edition before, with all that was found on it: 15 MB each, for dozens of them."""
    for name, text in small_texts().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    first = load(tmp_path)
    card = next(iter(first.knowledge.catalogue.accelerators))
    first.advise({"model": "llama-3.1-8b", "accelerators": [card]}, engine="evaluator")
    gone = weakref.ref(first.consult({"model": "llama-3.1-8b"}, engine="evaluator").plans.plan_set.cards.usable_bytes)
    del first
    load(tmp_path)
    gc.collect()
    assert gone() is None
