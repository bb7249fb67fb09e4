"""The knowledge base's facts, as plain data, for the tests of the numeric checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from whygpu import intake
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import Format

FACTS = Path(__file__).parents[2] / "kb" / "facts"


def read(path: Path) -> Any:
    """A YAML file as plain data."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


class Facts:
    """Coefficients, formats and models of the knowledge base."""

    def __init__(self) -> None:
        topics = [read(FACTS / f"{name}.yaml") for name in ("coefficients", "serving")]
        self.coefficients = Coefficients.of(entry for topic in topics for entry in topic["coefficients"])
        self.formats = {entry["id"]: Format.of(entry) for entry in read(FACTS / "formats.yaml")["formats"]}
        files = sorted((FACTS / "models").glob("*.yaml"))
        self.models = {entry["id"]: entry for path in files for entry in read(path)["models"]}

    def shape(self, model: object) -> ModelShape:
        """The shape of a preset or a mapping, which has to be without problems."""
        shape, problems = intake.read(model, self.models, self.coefficients)
        assert shape is not None, problems
        assert not problems
        return shape


@pytest.fixture(scope="session")
def facts() -> Facts:
    """The facts, read once."""
    return Facts()
