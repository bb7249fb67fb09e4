"""Networks on tables: what a row takes grows with its columns, each of which is a token (arXiv:2106.11959)."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.setup import Setup


def _operations(facts: Facts, columns: int) -> float:
    return Setup(facts.formats["bf16"], dataset_columns=columns).operations_scale(facts.shape("ft-transformer"))


def test_rows_of_more_columns_take_more_arithmetic(facts: Facts) -> None:
    """In proportion, and more by attention, which grows with the square of the columns."""
    assert _operations(facts, 0) == _operations(facts, 40) == 1
    assert 0.4 < _operations(facts, 20) < 0.5
    assert 5 < _operations(facts, 200) < 7
    assert _operations(facts, 2000) > 2 * 50


def test_rows_of_more_columns_keep_more(facts: Facts) -> None:
    shape = facts.shape("ft-transformer")
    found = [Setup(facts.formats["bf16"], dataset_columns=columns).activation_bytes(shape) for columns in (40, 400)]
    assert found[1] == pytest.approx(10 * found[0])


def test_columns_bear_on_tables_alone(facts: Facts) -> None:
    assert Setup(facts.formats["bf16"], dataset_columns=400).operations_scale(facts.shape("resnet-50")) == 1
