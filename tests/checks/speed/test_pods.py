"""Training on pods of TPUs against the step logs of Google's recipes, which no coefficient was taken from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from whygpu import KnowledgeBase


@pytest.mark.parametrize(
    ("model", "chips", "sequence", "tokens_per_chip_s"),
    [
        ("llama-3.1-8b", 8, 8192, 7138.890),  # Llama3.1-8B-MaxText/v6e-8
        ("llama-3.1-70b", 256, 8192, 948.086),  # Llama3.1-70B-MaxText
        ("llama-2-70b", 256, 4096, 943.086),  # Llama2-70B-MaxText
    ],
)
def test_trillium(model: str, chips: int, sequence: int, tokens_per_chip_s: float, kb: KnowledgeBase) -> None:
    """github.com/AI-Hypercomputer/tpu-recipes, training/trillium: tuned programs in JAX, with larger batches."""
    answers = {"phase": "training", "model": model, "accelerators": ["tpu-v6e"], "count": chips}
    plan = kb.estimate({**answers, "sequence_tokens": sequence, "dataset_tokens": 1e10}, engine="evaluator")
    found = plan.speed["train_tokens_per_s"]
    assert found is not None
    assert found.low < chips * tokens_per_chip_s < found.high
    assert found.likely == pytest.approx(chips * tokens_per_chip_s, rel=0.35)
