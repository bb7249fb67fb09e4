"""``--batch``: one result a row, in order; a bad row never stops the rest."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whygpu.commands import rows
from whygpu.errors import AnswerError

Run = Callable[..., subprocess.CompletedProcess[str]]
GOOD = {"model": "llama-3.1-8b", "accelerators": ["l4"]}


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_in_order_and_bad_ones_among_them(run: Run, tmp_path: Path) -> None:
    lines: list[bytes] = [
        json.dumps(GOOD | {"id": "first"}).encode(),
        b"not json",
        b"[1]",
        b'{"id": "x", "modle": 1, "phase": "trainning"}',
        b"",
        json.dumps(GOOD | {"count": 2}).encode(),
        b"\xff\xfe",
        b'{"id": "deep", "model": ' + b"[" * 50_000,
        b'{"id": {"no": 1}}',
        b'{"phase": "training", "phase": "inference"}',
        b'{"long": "' + b"x" * rows.MAX_LINE_BYTES + b'"}',
        json.dumps({"id": 12, "model": "llama-3.1-8b"}).encode(),
    ]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\n".join(lines))
    done = run("estimate", "--batch", str(source), "--out", str(out))
    assert done.returncode == 0, done.stderr
    found = results(out)
    assert [row["id"] for row in found] == ["first", 2, 3, "x", 6, 7, 8, 9, 10, 11, 12]
    assert [("plan" in row, "error" in row) for row in found] == [
        (row["id"] in ("first", 6), row["id"] not in ("first", 6)) for row in found
    ]
    assert found[0]["plan"]["accelerator"]["id"] == "l4"
    assert found[4]["plan"]["count"] == 2
    assert [problem["code"] for problem in found[3]["error"]] == ["unknown-key", "bad-choice"]
    assert found[-1]["error"][0]["code"] == "one-accelerator"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_row_gives_what_the_same_answers_give_alone(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(GOOD), encoding="utf-8")
    alone = run("estimate", "-", "--format", "json", stdin=json.dumps(GOOD))
    batch = run("estimate", "--batch", str(source))
    assert json.loads(batch.stdout) == {"id": 1, "plan": json.loads(alone.stdout)}


def test_explain_gives_advice_and_settings_lie_over_every_row(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a", "concurrency": 4}\n{"id": "b", "budget_per_hour": 0.001}\n', encoding="utf-8")
    done = run("explain", "--batch", str(source), "--model", "llama-3.1-8b", "--set", "phase=inference")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in found] == ["a", "b"]
    assert [row["advice"]["status"] == "infeasible" for row in found] == [False, True]
    assert found[0]["advice"]["answers"] == {"concurrency": 4, "phase": "inference", "model": "llama-3.1-8b"}


def test_csv_columns_are_dotted_keys(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(
        "id,model,model.parameters,accelerators,context_tokens\n"
        'a,llama-3.1-8b,,"[l4]",32k\n'
        "b,,70B,a100-sxm-80gb,\n"
        "c,,,l4,lots\n"
        "d,llama-3.1-8b,,l4,1,too,many\n",
        encoding="utf-8-sig",
    )
    done = run("estimate", "--batch", str(source))
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["id"], "plan" in row) for row in found] == [("a", True), ("b", True), ("c", False), (4, False)]
    assert found[1]["plan"]["memory"]["weights_gib"] == pytest.approx(140e9 / 2**30, rel=0.02)


def test_parquet(run: Run, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which comes with streamlit, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table(
        {
            "id": ["a", "b", None],
            "model": ["llama-3.1-8b", None, "no-such"],
            "model.parameters": [None, 7_000_000_000, None],
            "accelerators": [["l4"], ["l4"], ["l4"]],
        }
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    done = run("estimate", "--batch", str(tmp_path / "in.parquet"))
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["id"], "plan" in row) for row in found] == [("a", True), ("b", True), (3, False)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.parquet", b"PAR1 and no more", "is not Parquet"),
        ("in.txt", b"{}", "none of .jsonl, .csv, .parquet"),
        ("in.csv", b"", "must name up to"),
        ("in.csv", b"a,a\n1,2\n", "different columns"),
        ("in.jsonl", b"\n" * (rows.MAX_ROWS + 5), "more than 100,000 rows"),
    ],
)
def test_what_cannot_be_read_leaves_no_output(
    run: Run, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    source, out = tmp_path / name, tmp_path / "out.jsonl"
    source.write_bytes(content)
    out.write_text("what was there", encoding="utf-8")
    done = run("estimate", "--batch", str(source), "--out", str(out))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_text(encoding="utf-8") == "what was there"
    assert len(list(tmp_path.iterdir())) == 2


def test_options_that_do_not_go_together(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("{}\n", encoding="utf-8")
    assert "takes no answers file" in run("estimate", "a.yaml", "--batch", str(source)).stderr
    assert run("estimate", "--batch", str(tmp_path / "none.jsonl")).returncode == 2
    assert run("estimate", "--batch", str(source), "--out", str(tmp_path / "no" / "out")).returncode == 2
    assert run("estimate", "--batch", str(source), "--set", "modle=x").returncode == 0  # every row says so


def test_an_endless_cell_is_one_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,model\na," + "x" * 200_000 + "\nb,llama-3.1-8b\n", encoding="utf-8")
    found = list(rows.read_rows(path))
    with pytest.raises(AnswerError, match="it is not CSV"):
        found[0].node()
    assert found[-1].id == "b"
