"""Every command in the docs works as it stands there: pages are walked from top to bottom.

A ``console`` block holds commands and what they print (``...`` for what is left out), an ``sh`` block commands that
succeed, a ``python`` block a program. A block whose first line names a file is written to it. ``<!-- not run: why -->``
above a block leaves it out; the README's two marked commands are run by .ci/run.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from docs.tools.command import run
from tests.docs.pages import PAGES, ROOT, Block, blocks, named

import whygpu
from whygpu.imports import target
from whygpu.loader import assemble
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whygpu.knowledge.base import Knowledge

pytestmark = pytest.mark.slow

_LOADED: dict[tuple[object, ...], Knowledge] = {}
_RUN = {"console", "sh", "python"}
_ELSEWHERE = ("not run: ", "main command", "test command")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_STATUS = re.compile(r"# exit status (\d+)")


@pytest.fixture
def checkout(kb: whygpu.KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what a checkout has for readers; the shipped knowledge base is loaded once."""
    for name in ("kb", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    load = whygpu.load
    monkeypatch.setattr(whygpu, "load", lambda path=None: kb if path in (None, "kb") else load(path))
    for module in (assemble, target):
        monkeypatch.setattr(module, "load_texts", _load_once(load_texts))
    return tmp_path


def _load_once(load: Callable[..., Knowledge]) -> Callable[..., Knowledge]:
    """The same files are loaded once, however many commands read them."""

    def loaded(texts: Mapping[str, str], *rest: Any, **options: Any) -> Knowledge:
        key = (tuple(sorted(texts.items())), *rest, *options.items())
        if key not in _LOADED:
            _LOADED[key] = load(texts, *rest, **options)
        return _LOADED[key]

    return loaded


WALKED = [page for page in PAGES if any(block.language in _RUN for block in blocks(page))]


@pytest.mark.parametrize("page", WALKED, ids=named)
def test_walk(page: Path, checkout: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page):
        at = f"{named(page)}:{block.line}"
        if block.note.startswith(_ELSEWHERE):
            continue
        if block.file:
            _write(checkout / block.file, block)
        elif block.language == "python":
            with redirect_stdout(io.StringIO()):
                exec(compile(block.text, at, "exec"), names)
        elif block.language == "console":
            for command, expected in _steps(block.text):
                _, printed = _do(command, at)
                assert doctest.OutputChecker().check_output(expected, printed, _FLAGS), f"{at}\n$ {command}\n{printed}"
        elif block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                wanted = _STATUS.search(line)
                status, printed = _do(line, at)
                assert status == (int(wanted[1]) if wanted else 0), f"{at}\n$ {line}\n{printed}"


def _write(path: Path, block: Block) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    first, _, rest = block.text.partition("\n")
    path.write_text(rest if first.startswith("# ") and path.suffix == ".csv" else block.text, encoding="utf-8")


def _steps(text: str) -> Iterator[tuple[str, str]]:
    for step in re.split(r"(?m)^\$ ", text)[1:]:
        command, _, expected = step.partition("\n")
        yield command, expected


def _do(command: str, at: str) -> tuple[int, str]:
    """Run one line: our own commands in this process, and the copy that pages begin with."""
    words = shlex.split(command, comments=True)
    match words:
        case []:
            return 0, ""
        case ["cp", "-r", "kb", target]:
            shutil.copytree(ROOT / "kb", target)
            return 0, ""
        case ["kb-explain" | "whygpu", *_]:
            return run(words)
    pytest.fail(f"{at}: say '<!-- not run: why -->' above '{command}'")
