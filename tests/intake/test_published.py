"""Published configurations of every family count to what was published of them, and cache what their sizes say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

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
              "autoencoder", "text encoder", "clips")  # fmt: skip
    assert [word for word in wanted if word not in families] == []
    assert len(ROWS) >= 40
