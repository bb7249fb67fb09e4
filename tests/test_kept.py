"""What is kept of a knowledge base is forgotten when another one is loaded, and what is not kept goes at once."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from tests.loader.small import small_texts
from whygpu.api import KnowledgeBase, load
from whygpu.collector import collector_at_rest
from whygpu.kept import forget
from whygpu_ui import model_field


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


def test_a_consultation_goes_with_who_asked_for_it(kb: KnowledgeBase) -> None:
    """Without the collector: what stood in a circle was looked through again and again, and stayed until it came."""
    consultation = kb.consult({"phase": "inference", "model": "llama-3.1-8b"}, engine="evaluator")
    session, plans = weakref.ref(consultation.session.environment), weakref.ref(consultation.plans.environment)
    with collector_at_rest():
        del consultation
        assert (session(), plans()) == (None, None)


def test_the_wizards_pickers_keep_no_edition(kb: KnowledgeBase) -> None:
    assert model_field.popular(kb, "inference", "language")
    forget()
    assert model_field._popular.cache_info().currsize == 0  # type: ignore[attr-defined]
