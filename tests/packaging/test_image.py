"""The image of the wizard: what it is built of."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def test_it_has_a_python_that_durable_rules_runs_on_and_a_compiler_where_it_is_built() -> None:
    """The slim image has none, and durable-rules is published as source."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    durable = next(item for item in map(Requirement, project["dependencies"]) if item.name == "durable-rules")
    built, served = re.findall(r"^FROM python:(\S+)", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.M)
    assert served == f"{built}-slim"
    assert durable.marker is not None
    assert durable.marker.evaluate({"python_version": built})
    assert not durable.marker.evaluate({"python_version": "3.13"})


def test_it_is_built_of_what_the_build_reads_and_nothing_else() -> None:
    """A whole checkout has histories, environments and answers of somebody's in it."""
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    kept = {line.removeprefix("!") for line in rules if line.startswith("!")}
    assert kept == {"LICENSE", "README.md", "hatch_build.py", "pyproject.toml", "engine", "kb", "ui"}
    assert all((ROOT / name).exists() for name in kept)
