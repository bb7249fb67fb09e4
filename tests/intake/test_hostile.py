"""Whatever is given, intake answers with a shape or with problems, never with an exception."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.intake.test_hf_config import CONFIGS
from whygpu.checks.coefficients import Coefficients
from whygpu.intake import IntakeProblem, SizeTable, from_mapping, read
from whygpu.intake.huggingface.config import from_hf_config
from whygpu.intake.mapping import NUMBERS, OTHERS, WHOLE_NUMBERS

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
sizes_near_right = (
    st.integers(-1, 2**70) | st.floats() | st.booleans() | st.sampled_from((0, 1, 8, 64, 4096, "decoder"))
)
KEYS = sorted({key for row in CONFIGS for key in row["config"]} | {"text_config", "block_configs", "moe_layer_freq"})


def assert_answered(shape: object, problems: list[IntakeProblem]) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    assert (shape is None) == bool(errors)
    assert all(len(str(problem)) < 2000 for problem in problems)


@given(anything)
def test_anything_as_a_config(data: object) -> None:
    assert_answered(*from_hf_config(data))


@given(st.sampled_from(CONFIGS), st.dictionaries(st.sampled_from(KEYS), anything | sizes_near_right, max_size=3))
@settings(max_examples=300)
def test_a_good_config_with_bad_values(row: dict[str, Any], changes: dict[str, object]) -> None:
    assert_answered(*from_hf_config({**row["config"], **changes}))


def test_a_width_for_each_layer_that_is_no_number() -> None:
    """Found by the test above: lists in a list cannot be hashed."""
    config = {"model_type": "gpt_bigcode", "n_embd": 768, "n_head": 12, "n_layer": 12, "vocab_size": 50257}
    shape, problems = from_hf_config({**config, "d_ff": [[]]})
    assert shape is None
    assert [problem.path for problem in problems] == ["model.config.intermediate_size"]


def test_blocks_without_attention() -> None:
    """Found by the same test: an empty list of blocks has no first kind of attention."""
    config = {"model_type": "t5", "d_model": 1024, "num_heads": 128, "num_layers": 24, "vocab_size": 32128}
    shape, problems = from_hf_config({**config, "block_configs": []})
    assert shape is None
    assert "model.config.block_configs" in [problem.path for problem in problems]


@given(st.dictionaries(st.sampled_from(KEYS), sizes_near_right, max_size=12))
@settings(max_examples=300)
def test_any_keys_of_a_config(data: dict[str, object]) -> None:
    assert_answered(*from_hf_config(data))


@given(
    data=st.dictionaries(st.sampled_from([*WHOLE_NUMBERS, *NUMBERS, *OTHERS]), anything | sizes_near_right, max_size=12)
)
@settings(max_examples=300)
def test_any_mapping(sizes: SizeTable, data: dict[str, object]) -> None:
    assert_answered(*from_mapping(data, sizes))


@given(data=anything)
def test_anything_as_a_model(coefficients: Coefficients, data: object) -> None:
    assert_answered(*read(data, {}, coefficients))


def test_a_configuration_of_absurd_size_is_bounded() -> None:
    shape, problems = from_hf_config({str(number): number for number in range(100_000)})
    assert shape is None
    assert "100000 keys" in problems[0].message
    deep: Any = {}
    for _ in range(10_000):
        deep = {"text_config": deep}
    shape, problems = from_hf_config(deep)
    assert shape is None
    assert problems
