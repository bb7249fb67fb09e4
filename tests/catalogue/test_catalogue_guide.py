"""docs/how-to/edit-the-catalogues.md works as it stands there: each file is written, each command run, each output compared."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.cli import main
from whygpu.commands.catalogue import SECTIONS
from whygpu.imports.prices import COLUMNS, MOST_ROWS
from whygpu.loader.files import default_root

if TYPE_CHECKING:
    import pytest

    import whygpu

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "edit-the-catalogues.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(yaml|csv|json|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+)\n")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    commands = 0
    for language, text in _BLOCK.findall(TEXT):
        if language == "json":
            Path("config.json").write_text(text, encoding="utf-8")
        elif language == "console":
            for step in re.split(r"(?m)^\$ ", text)[1:]:
                command, _, expected = step.partition("\n")
                commands += 1
                _walk(command, expected, capsys)
        else:
            match = _FILE.match(text)
            assert match is not None, text
            held = text[match.end() :] if language == "csv" else text
            Path(match.group(1)).write_text(held, encoding="utf-8")
    assert commands >= 9


def _walk(command: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(command)
    if words[0] == "cp":
        shutil.copytree(default_root(), words[-1])
        return
    assert words[0] == "whygpu"
    main(words[1:])
    out, err = capsys.readouterr()
    assert doctest.OutputChecker().check_output(expected, out + err, _FLAGS), f"{command}\n{out}{err}"


def test_the_example_of_a_disagreement_is_real(kb: whygpu.KnowledgeBase) -> None:
    figure = kb.knowledge.catalogue.accelerators["a10g"].figures["fp16_tflops"]
    assert (figure.value, figure.sources, figure.others) == (
        70.0,
        ("llm-analysis",),
        ((125.0, ("lightning-throughput",)),),
    )


def test_every_field_is_explained(kb: whygpu.KnowledgeBase) -> None:
    for card in kb.knowledge.catalogue.accelerators.values():
        for name in card.figures:
            assert f"`{name}`" in TEXT or name in ("released", "memory_type") or name.endswith(("tflops", "tops")), name
    for word in (*SECTIONS, *COLUMNS, f"{MOST_ROWS:,}"):
        assert word in TEXT
