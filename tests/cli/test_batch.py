"""``--batch``: one result a row, in order; a bad row never stops the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from whygpu.commands import row, rows
from whygpu.errors import AnswerError

pytestmark = pytest.mark.slow

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
        b'{"id": NaN}',
        b'{"id": -Infinity, "model": "llama-3.1-8b"}',
        b'{"id": 1e999, "model": "llama-3.1-8b"}',
        b'{"id": "\\ud800", "model": "llama-3.1-8b"}',
        b'{"model": "\\udfff"}',
        b'{"\\ud9ff": 1}',
        b'{"long": "' + b"x" * row.MAX_LINE_BYTES + b'"}',
        json.dumps({"id": 12, "model": "llama-3.1-8b"}).encode(),
    ]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\n".join(lines))
    done = run("estimate", "--batch", str(source), "--out", str(out))
    assert done.returncode == 0, done.stderr
    found = results(out)
    assert [row["id"] for row in found] == [
        "first",
        "line 2",
        "line 3",
        "x",
        *(f"line {number}" for number in range(6, 18)),
        12,
    ]
    assert [("plan" in row, "error" in row) for row in found] == [
        (row["id"] in ("first", "line 6"), row["id"] not in ("first", "line 6")) for row in found
    ]
    assert found[0]["plan"]["accelerator"]["id"] == "l4"
    assert found[4]["plan"]["count"] == 2
    assert [problem["code"] for problem in found[3]["error"]] == ["unknown-key", "bad-choice"]
    said = [row["error"][0]["message"] for row in found[9:15]]
    assert ["NaN" in text or "Infinity" in text for text in said[:2]] == [True, True]
    assert "finite" in said[2]
    assert all("surrogate" in text or "texts" in text for text in said[3:])
    assert found[-1]["error"][0]["code"] == "one-accelerator"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_row_gives_what_the_same_answers_give_alone(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(GOOD), encoding="utf-8")
    alone = run("estimate", "-", "--format", "json", stdin=json.dumps(GOOD))
    batch = run("estimate", "--batch", str(source))
    assert json.loads(batch.stdout) == {"id": "line 1", "plan": json.loads(alone.stdout)}


def test_explain_gives_advice_and_settings_lie_over_every_row(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a", "concurrency": 4}\n{"id": "b", "budget_per_hour": 0.001}\n', encoding="utf-8")
    done = run("explain", "--batch", str(source), "--model", "llama-3.1-8b", "--set", "phase=inference")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in found] == ["a", "b"]
    assert [row["advice"]["status"] == "infeasible" for row in found] == [False, True]
    left_out = {"trace", "alternatives", "rejected", "profile", "conflicts", "comparisons", "open"}
    assert not left_out & found[0]["advice"].keys()
    assert {"recommendation", "shortlist", "techniques", "advice", "warnings"} <= found[0]["advice"].keys()
    assert "variants" not in found[0]["advice"]["recommendation"]
    assert all(len(line) < 25_000 for line in done.stdout.splitlines())  # 806 KB with everything
    assert found[0]["advice"]["answers"] == {"concurrency": 4, "phase": "inference", "model": "llama-3.1-8b"}


def _measured(token_ms: float) -> dict[str, Any]:
    setup = {"model": "llama-3.1-8b", "accelerator": "l40s", "format": "bf16", "runtime": "vllm"}
    point = {"concurrency": 16, "input_tokens": 3584, "output_tokens": 512, "tpot_p50_ms": token_ms}
    return {"measurement": 1, "setup": setup, "points": [point]}


def test_what_is_measured_corrects_every_row_and_a_rows_own_comes_first(run: Run, tmp_path: Path) -> None:
    common = {"model": "llama-3.1-8b", "format": "bf16", "concurrency": 16, "accelerators": ["l40s"], "count": 1}
    rows = [common, common | {"concurrency": 15}, common | {"measured": _measured(60)}, common | {"measured": "x.yaml"}]
    source, mine, out = tmp_path / "in.jsonl", tmp_path / "mine.yaml", tmp_path / "out.jsonl"
    source.write_text("\n".join(json.dumps({**row, "phase": "inference"}) for row in rows), encoding="utf-8")
    mine.write_text(json.dumps(_measured(45)), encoding="utf-8")
    done = run("estimate", "--batch", str(source), "--out", str(out), "--measured", str(mine))
    assert done.returncode == 0, done.stderr
    found = results(out)
    assert [row["plan"]["speed"]["token_ms"]["likely"] for row in found[:3:2]] == [45, 60]
    assert 40 < found[1]["plan"]["speed"]["token_ms"]["likely"] < 45
    (problem,) = found[3]["error"]
    assert "--measured" in problem["help"]


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
    assert [(row["id"], "plan" in row) for row in found] == [("a", True), ("b", True), ("c", False), ("line 5", False)]
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
    assert [(row["id"], "plan" in row) for row in found] == [("a", True), ("b", True), ("row 3", False)]


def test_parquet_decimals_and_dates(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which comes with streamlit, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    days = pyarrow.array([date(2026, 11, 21), None], pyarrow.date32())
    numbers = pyarrow.array([Decimal("8.00"), Decimal("0.25")], pyarrow.decimal128(10, 2))
    parquet.write_table(pyarrow.table({"id": days, "budget_per_hour": numbers}), tmp_path / "in.parquet")
    found = list(rows.Source.of(str(tmp_path / "in.parquet"), spool=False).rows())
    assert [(row.id, row.data) for row in found] == [
        ("2026-11-21", {"budget_per_hour": 8}),
        ("row 2", {"budget_per_hour": 0.25}),
    ]


def test_a_small_parquet_file_that_stands_for_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    """One long text, 256 times, took 6.9 GB; each row is then a bad one, beside a good one."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which comes with streamlit, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = pyarrow.array(["x" * 27_000_000, "llama-3.1-8b"]).dictionary_encode()
    once = pyarrow.DictionaryArray.from_arrays([0] * 256 + [1], texts.dictionary)
    lists = pyarrow.ListArray.from_arrays([*range(257), 100_256], pyarrow.array([1] * 100_256, pyarrow.int64()))
    path = tmp_path / "in.parquet"
    parquet.write_table(pyarrow.table({"model": once, "n": lists}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    program = (
        "import resource, sys; from whygpu.commands.rows import Source; from whygpu.commands import parquet;"
        "import pyarrow.parquet; before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "found = [row.problem for row in Source.of(sys.argv[1], spool=False).rows()];"
        "print(len(found), sum('longer than' in str(item) for item in found),"
        " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    count, bad, kib = map(int, done.stdout.split())
    assert (count, bad) == (257, 256)
    assert kib < 300 * 1024


@pytest.mark.parametrize(("size", "message"), [(21_000_000, "more than 20,000,000 cells"), (100, "")])
@pytest.mark.slow
def test_parquet_cells_are_bounded(tmp_path: Path, size: int, message: str) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which comes with streamlit, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    lists = pyarrow.ListArray.from_arrays([0, size], pyarrow.array([1] * size, pyarrow.int8()))
    parquet.write_table(pyarrow.table({"n": lists}), tmp_path / "in.parquet")
    source = rows.Source.of(str(tmp_path / "in.parquet"), spool=False)
    if message:
        with pytest.raises(AnswerError, match=message):
            list(source.rows())
    else:
        assert len(list(source.rows())) == 1


def test_standard_input(run: Run, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(GOOD | {"id": name}) for name in "ab")
    done = run("estimate", "--batch", "-", stdin=lines)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a", "b"]
    out = tmp_path / "out.jsonl"
    assert run("estimate", "--batch", "-", "--out", str(out), stdin=lines).returncode == 0
    assert out.read_text(encoding="utf-8") == done.stdout
    assert [item.name for item in tmp_path.iterdir()] == ["out.jsonl"]


def test_an_endless_line_is_one_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,a\na,1\nb," + "x," * row.MAX_LINE_BYTES + "\nc,1\n", encoding="utf-8")
    found = list(rows.Source.of(str(path), spool=False).rows())
    assert [row.id for row in found] == ["a", "line 3", "c"]
    assert "longer than" in str(found[1].problem)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.parquet", b"PAR1 and no more", "is not Parquet"),
        ("in.txt", b"{}", "none of .jsonl, .csv, .parquet"),
        ("in.csv", b"", "must name up to"),
        ("in.csv", b"a,a\n1,2\n", "different columns"),
        ("in.jsonl", b"\n" * (row.MAX_ROWS + 5), "more than 2,000,000 rows"),
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
    found = list(rows.Source.of(str(path), spool=False).rows())
    with pytest.raises(AnswerError, match="it is not CSV"):
        found[0].node()
    assert found[-1].id == "b"
