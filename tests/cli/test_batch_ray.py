"""A batch on a real Ray of this machine: the results are those of its own processes, and a killed actor is replaced."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from whygpu.api import KnowledgeBase
from whygpu.chain.names import EngineName
from whygpu.cli import main
from whygpu.commands.cluster import LOCAL, Cluster
from whygpu.commands.estimate import answer
from whygpu.commands.job import Detail, Job
from whygpu.commands.row import Row


def test_without_ray_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.jsonl").write_text("{}\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["estimate", "--batch", str(tmp_path / "in.jsonl"), "--ray"]) == 2
    assert "pip install 'whygpu[ray]'" in capsys.readouterr().err


def die_once(knowledge: KnowledgeBase, node: Any, engine: EngineName | None, detail: Detail) -> dict[str, Any]:
    """An answer that ends its process at the eighth accelerator, the first time."""
    flag = Path(os.environ["WHYGPU_TEST_FLAG"])
    if str(node.items["count"].value) == "8" and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(knowledge, node, engine, detail)


@pytest.mark.slow
def test_two_workers_answer_as_this_process_does_and_a_killed_one_is_replaced(
    tmp_path: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    flag = tmp_path / "killed"
    monkeypatch.setenv("WHYGPU_TEST_FLAG", str(flag))
    job = Job(die_once, "plan", "evaluator", None, kb.knowledge.hash, None, Detail())
    given = [
        {"model": "no-such" if n % 5 == 0 else "llama-3.1-8b", "accelerators": ["l4"], "count": n} for n in range(1, 33)
    ]
    rows = [Row(f"r{number}", f"row {number}", data) for number, data in enumerate(given)]
    found = [line for lines in Cluster(job, LOCAL, 2).lines(rows) for line in lines]
    assert flag.exists()
    assert found == [job.line(row, kb) for row in rows]
    assert sum('"plan"' in line for line in found) == 26
