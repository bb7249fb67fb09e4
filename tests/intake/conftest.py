"""What the tests of intake share: the typical shapes of the knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from whygpu.checks.coefficients import Coefficients
from whygpu.intake import SizeTable

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def coefficients() -> Coefficients:
    """The coefficients of the knowledge base."""
    text = (ROOT / "kb" / "facts" / "coefficients.yaml").read_text(encoding="utf-8")
    return Coefficients.of(yaml.load(text, Loader=yaml.CSafeLoader)["coefficients"])


@pytest.fixture(scope="session")
def sizes(coefficients: Coefficients) -> SizeTable:
    """The table of typical shapes."""
    return SizeTable.of(coefficients.table("shape-by-parameters"))
