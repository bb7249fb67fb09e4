"""A server's knowledge follows its files, and outlives a wrong edit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from whygpu.api import KnowledgeBase
from whygpu.errors import KnowledgeBaseError, Location, Problem
from whygpu.loader.files import default_root
from whygpu.serve.current import Current


def test_files_that_change_are_loaded_anew_and_wrong_ones_leave_the_last(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str | None] = []
    wrong = False

    def load(root: str | None) -> KnowledgeBase:
        if wrong:
            raise KnowledgeBaseError([Problem("bad-type", "wrong", Location("values.yaml"))])
        loaded.append(root)
        return KnowledgeBase(kb.knowledge)

    monkeypatch.setattr("whygpu.load", load)
    shutil.copy(default_root() / "values.yaml", tmp_path)
    now = Current(str(tmp_path), seconds_between=0)
    first = now.get()
    assert now.get() is first
    with (tmp_path / "values.yaml").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    second = now.get()
    assert second is not first
    assert (now.reloads, now.problems) == (1, ())
    wrong = True
    (tmp_path / "more.yaml").write_text("x: 1", encoding="utf-8")
    assert now.get() is second
    assert [item.code for item in now.problems] == ["bad-type"]
    wrong = False
    (tmp_path / "more.yaml").unlink()
    assert now.get() is not second
    assert (now.reloads, now.problems, len(loaded)) == (2, (), 3)
