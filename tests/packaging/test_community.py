"""The files that hosts and tools read: each parses, and says what it must."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import whygpu

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def _read(name: str) -> dict[str, Any]:
    found = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]  # type: ignore[no-any-return]


def test_the_citation_is_of_this_version() -> None:
    """The keys that the Citation File Format 1.2.0 requires, and the version that is released."""
    found = _read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= found.keys()
    assert all("name" in author or "family-names" in author for author in found["authors"])
    assert (found["cff-version"], str(found["version"])) == ("1.2.0", whygpu.__version__)
    assert isinstance(found["date-released"], date)
    assert found["license"] == _project()["license"]


@pytest.mark.parametrize("path", [path for path in TEMPLATES if path.stem != "config"], ids=lambda path: path.stem)
def test_issue_forms_ask_for_what_is_needed(path: Path) -> None:
    """GitHub ignores a form without a name, a description, or unique ids of its fields."""
    found = _read(str(path.relative_to(ROOT)))
    assert {"name", "description", "body"} <= found.keys()
    fields = [field for field in found["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert {path.stem for path in TEMPLATES} == {"bug", "config", "fact", "wrong-recommendation"}


def test_the_workflow_runs_what_must_hold() -> None:
    found = _read(".github/workflows/ci.yml")
    commands = [step["run"] for job in found["jobs"].values() for step in job["steps"] if "run" in step]
    assert {".ci/run", "whygpu check kb", "mkdocs build"} <= set(commands)
    extras = set(re.findall(r"\[([a-z,]+)\]", " ".join(commands)))
    assert {extra for names in extras for extra in names.split(",")} <= _project()["optional-dependencies"].keys()


def test_hooks_are_local_and_their_tools_installed() -> None:
    hooks = [hook for repo in _read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert {"ruff", "ruff-format", "mypy", "whygpu-check"} <= {hook["id"] for hook in hooks}
    assert all({"id", "name", "entry", "language"} <= hook.keys() for hook in hooks)
    project = _project()
    installed = {re.split(r"\W", name)[0] for name in project["optional-dependencies"]["dev"]}
    assert {hook["entry"].split()[0] for hook in hooks} <= {*project["scripts"], *installed, "python"}
