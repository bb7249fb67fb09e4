"""Gated feed-forwards and tied token tables, from sizes and parameters alone."""

from __future__ import annotations

import pytest

from tests.checks.strategies import FACTS

DECODERS = ("llama-3.1-8b", "llama-3.2-3b", "qwen2.5-0.5b", "qwen2.5-7b", "gemma-2-2b", "mistral-7b", "phi-2")
SIZES = ("parameters", "layers", "hidden_size", "heads", "kv_heads", "head_dim", "ffn_size", "vocab_size")


@pytest.mark.parametrize("model", DECODERS)
def test_sizes_and_parameters_identify_published_models(model: str) -> None:
    told = FACTS.shape(model)
    found = FACTS.shape({"kind": "decoder", **{key: getattr(told, key) for key in SIZES}})
    assert (found.gated_ffn, found.tied_embeddings) == (told.gated_ffn, told.tied_embeddings)


def test_what_is_said_holds_whatever_is_counted() -> None:
    told = FACTS.shape("llama-3.2-3b")
    sizes = {key: getattr(told, key) for key in SIZES}
    assert not FACTS.shape({"kind": "decoder", "tied_embeddings": False, **sizes}).tied_embeddings


def test_sizes_that_count_to_something_else_identify_nothing() -> None:
    told = FACTS.shape("llama-3.2-3b")
    sizes = {key: getattr(told, key) for key in SIZES} | {"parameters": 2 * told.parameters}
    found = FACTS.shape({"kind": "decoder", **sizes})
    assert (found.gated_ffn, found.tied_embeddings) == (True, False), "as where nothing is known"
