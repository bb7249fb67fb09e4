"""docs/reference/contract.md says what is written: its tables are current, and no key or status is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import pytest

import whygpu
from tests.schema.validators import ROOT, data_of
from tests.schema.write_contract import CONTRACT, document
from whygpu.cli import COMMANDS
from whygpu.commands import status
from whygpu.explain.parts import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = CONTRACT.read_text(encoding="utf-8")
OPEN = {"answers", "assumed", "speed"}
"""Mappings whose keys are names of the vocabulary or figures, not of the contract."""


def keys_of(data: Any) -> Iterator[str]:
    """Every key of the contract in the data."""
    if isinstance(data, list):
        for item in data:
            yield from keys_of(item)
    elif isinstance(data, dict):
        for key, value in data.items():
            yield key
            for inner in value.values() if key in OPEN and isinstance(value, dict) else [value]:
                yield from keys_of(inner) if key != "answers" else ()


def test_its_tables_are_current(kb: whygpu.KnowledgeBase) -> None:
    assert document(kb.knowledge, TEXT) == TEXT, "run: python -m tests.schema.write_contract"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_key_of_an_example_is_in_it(kb: whygpu.KnowledgeBase, path: Any) -> None:
    answers = data_of(path.read_text(encoding="utf-8"))
    assert isinstance(answers, dict)
    written = kb.advise(answers, engine="evaluator").to_dict()
    named = set(re.findall(r"`([A-Za-z_0-9]+)`", TEXT))
    assert set(keys_of(written)) - named == set()
    assert set(answers) - named == set()


def test_every_status_and_exit_code_is_in_it() -> None:
    assert [status for status in get_args(Status) if f"| `{status}` |" not in TEXT] == []
    codes = {value for name, value in vars(status).items() if name.isupper() and value != status.OK}
    part = TEXT.partition("## Exit codes")[2].partition("## ")[0]
    assert [code for code in codes if not re.search(rf"\b{code}\b", part)] == []
    assert [name for name in COMMANDS if name not in part] == []


def test_all_that_is_exported_is_there() -> None:
    assert [name for name in whygpu.__all__ if not hasattr(whygpu, name)] == []


def test_the_code_cites_it_where_it_is() -> None:
    citing = [path for path in (ROOT / "engine").rglob("*.py") if "contract.md" in path.read_text(encoding="utf-8")]
    assert citing
    for path in citing:
        cited = set(re.findall(r"[\w/]*contract\.md", path.read_text(encoding="utf-8")))
        assert cited == {"docs/reference/contract.md"}, path
