"""Published configurations of every family count to what was published of them, and cache what their sizes say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from whygpu.checks.model_shape import ModelShape
from whygpu.intake.huggingface.config import from_hf_config

DATA = Path(__file__).parents[1] / "data" / "published.yaml"
ROWS: list[dict[str, Any]] = yaml.load(DATA.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["published"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["repository"]))
def test_parameters_and_cache_are_as_published(row: dict[str, Any]) -> None:
    shape, problems = from_hf_config(row["config"])
    assert shape is not None, problems
    assert not [problem for problem in problems if "is not known" in problem.message]
    assert shape.parameters == pytest.approx(row["parameters"], rel=row.get("within", 0.005))
    if "cache" in row:
        assert shape.kv_elements_per_token() == math.prod(row["cache"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["repository"]))
def test_given_parameters_stand_instead_of_the_count(row: dict[str, Any]) -> None:
    shape, problems = from_hf_config(row["config"], parameters=123_456_789)
    assert shape is not None, problems
    assert shape.parameters == sum(part.parameters for part in shape.parts) == 123_456_789
    assert shape.active_parameters <= shape.parameters
    assert "parameters" not in shape.assumed


def test_every_family_is_covered() -> None:
    families = " ".join(row["family"] for row in ROWS)
    wanted = ("MHA", "GQA", "MQA", "MLA", "sliding window", "hybrid", "state space", "tied embeddings", "mixture",
              "embedding", "reranker", "speech", "convolutional", "vision transformer", "detector", "denoiser",
              "autoencoder", "text encoder", "clips", "compressed sparse attention", "vision and language")  # fmt: skip
    assert [word for word in wanted if word not in families] == []
    assert len(ROWS) >= 40


def _shape(repository: str) -> ModelShape:
    shape, problems = from_hf_config(next(row["config"] for row in ROWS if row["repository"] == repository))
    assert shape is not None, problems
    return shape


@pytest.mark.parametrize(("repository", "share"), [("DeepSeek-V4-Pro", 0.10), ("DeepSeek-V4-Flash", 0.07)])
def test_a_compressed_cache_is_the_share_of_deepseek_v3_2_that_was_published(repository: str, share: float) -> None:
    """DeepSeek-V4, abstract and section 1: at a million tokens. It mixes FP8 and BF16, which are alike here."""
    compressed, tokens = _shape(f"deepseek-ai/{repository}"), 2**20
    before = 61 * (512 + 64 + 128) * tokens
    kept = sum(group.layers * group.elements * group.tokens(tokens) for group in compressed.kv_groups)
    assert kept / before == pytest.approx(share, rel=0.2)


def test_kimi_k3_keeps_a_state_in_69_layers_and_latents_in_24() -> None:
    """aiconfigurator: 69 layers of KDA and 24 of MLA; a state of 96 heads of 128 by 128, three short convolutions."""
    shape = _shape("moonshotai/Kimi-K3")
    assert (shape.state_layers, shape.attention_layers) == (69, 24)
    assert shape.state_elements == 96 * 128 * 128 + 3 * 96 * 128 * 4
    assert shape.kv_elements_per_token() == 24 * (512 + 64)


def test_layers_that_share_an_indexer_keep_its_keys_once() -> None:
    """GLM-5.2 states `indexer_types`: 21 of its 78 layers choose, the others attend to what was chosen."""
    assert {(group.layers, group.elements) for group in _shape("zai-org/GLM-5.2").kv_groups} == {(21, 704), (57, 576)}


@pytest.mark.parametrize(("layers", "ffn", "shared", "billions"), [(30, 8192, 10, 1.91), (35, 16384, 15, 3.98)])
def test_effective_parameters_of_gemma_3n(layers: int, ffn: int, shared: int, billions: float) -> None:
    """google/gemma3n-slicing-configs: effective parameters of E2B and E4B, which leave out both token tables."""
    pattern = ["sliding_attention"] * 4 + ["full_attention"]
    config = {
        **{"model_type": "gemma3n_text", "hidden_size": 2048, "num_hidden_layers": layers, "head_dim": 256},
        **{"intermediate_size": [ffn] * layers, "num_attention_heads": 8, "num_key_value_heads": 2},
        **{"vocab_size": 262400, "vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256},
        **{"laurel_rank": 64, "altup_num_inputs": 4, "num_kv_shared_layers": shared, "sliding_window": 512},
        "layer_types": (pattern * 7)[:layers],
    }
    shape, problems = from_hf_config(config)
    assert shape is not None, problems
    assert shape.active_parameters - shape.embedding_parameters == pytest.approx(billions * 1e9, rel=0.003)
    assert sum(group.layers for group in shape.kv_groups if group.elements) == layers - shared
    assert shape.attention_layers == layers
