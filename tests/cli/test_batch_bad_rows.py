"""A bad row of a batch says where it stands, under an id that no other row without one has; what is lost is counted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from whygpu.cli import main
from whygpu.commands.row import MAX_ID, Row
from whygpu.commands.rows import Source
from whygpu.commands.tally import Tally, is_error
from whygpu.errors import AnswerError

GOOD = {"model": "llama-3.1-8b", "accelerators": ["l4"]}


def rows_of(path: Path, content: str | bytes) -> list[Row]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(Source.of(str(path), spool=False).rows())


def answered(path: Path, content: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    path.write_text(content, encoding="utf-8")
    assert main(["estimate", "--batch", str(path), "--jobs", "1", *more]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_row_without_an_id_is_not_taken_for_one_with_a_number(tmp_path: Path) -> None:
    found = rows_of(tmp_path / "in.jsonl", '{"id": 2}\n[1]\n\n{"id": ""}\n{"id": " "}\n{"id": null}\n')
    assert [row.id for row in found] == [2, "line 2", "line 4", "line 5", "line 6"]


@pytest.mark.parametrize(
    "line",
    [
        '{"modle": "x"}',  # found in the answers
        "{}",  # found in what is missing
        '{"model": "lama-3.1-8b"}',
        '{"id": NaN}',
        "[1]",
        '{"model": "llama-3.1-8b", "accelerators": ["l4"], "count": -1}',
    ],
)
def test_every_problem_of_json_lines_names_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    path = tmp_path / "in.jsonl"
    (row,) = answered(path, f"\n{line}\n", capsys)
    assert row["id"] == "line 2"
    assert row["error"]
    assert all(problem["text"].startswith(f"{path}:2: ") for problem in row["error"])


def test_what_the_command_line_gets_wrong_names_the_line_and_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.jsonl"
    (row,) = answered(path, "{}", capsys, "--set", "modle=x")
    assert row["error"][0]["text"].startswith(f"{path}:1: --set modle: unknown-key")


def test_bad_json_is_at_a_character_of_its_line_and_not_in_line_1(tmp_path: Path) -> None:
    bad = rows_of(tmp_path / "in.jsonl", '{}\n{"model": nothing}\n')[1]
    assert str(bad.problem).endswith("Expecting value, at character 11")


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "\ufeff\n"])
def test_an_empty_file_has_no_rows(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(content, encoding="utf-8")
    assert main(["estimate", "--batch", str(path)]) == 0
    assert capsys.readouterr() == ("", "no rows\n")


def test_every_problem_of_csv_names_line_and_column_though_cells_and_gaps_take_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.csv"
    content = 'id,model,accelerators\n"two\nlines",llama-3.1-8b,l4\n\n,lama,l4\nlate,llama-3.1-8b\n,lama,l4,more\n'
    first, wrong, short, long = answered(path, content, capsys)
    assert (first["id"], "plan" in first) == ("two\nlines", True)
    assert [row["id"] for row in (wrong, short, long)] == ["line 5", "late", "line 7"]
    assert [row["error"][0]["text"].partition(" an ")[0].partition(" there")[0] for row in (wrong, short)] == [
        f"{path}:5: model: unknown-model:",
        f"{path}:6: one-accelerator:",
    ]
    assert long["error"][0]["text"] == f"{path}:7: bad-row: it has 4 cells, more than the 3 columns"


def test_long_ids_of_csv_are_not_cut_to_the_same_one(tmp_path: Path) -> None:
    long = "x" * MAX_ID
    found = rows_of(tmp_path / "in.csv", f"id,count\n{long},1\n{long}1,1\n{long}2,1\n")
    assert [row.id for row in found] == [long, "line 3", "line 4"]
    assert [row.problem is None for row in found] == [True, False, False]


def test_csv_of_another_encoding_is_not_answered_with_letters_lost(tmp_path: Path) -> None:
    found = rows_of(tmp_path / "in.csv", b"id,model\n\xe9,llama-3.1-8b\n\xe8,llama-3.1-8b\n\xc3\xa8,llama-3.1-8b\n")
    assert [(row.id, row.problem) for row in found] == [
        ("line 2", "it is not UTF-8 text"),
        ("line 3", "it is not UTF-8 text"),
        ("è", None),
    ]
    with pytest.raises(AnswerError, match="its header is not UTF-8 text"):
        rows_of(tmp_path / "in.csv", "id,model\na,llama-3.1-8b\n".encode("utf-16"))


def test_a_quote_that_is_never_closed_says_which_lines_it_took(tmp_path: Path) -> None:
    (bad,) = rows_of(tmp_path / "in.csv", 'id,model\na,"llama-3.1-8b\nb,llama-3.1-8b\n')
    assert bad.id == "line 2"
    assert str(bad.problem).endswith("(one row of lines 2 to 3)")


def test_a_cell_under_no_name_is_a_bad_row(tmp_path: Path) -> None:
    bad, good = rows_of(tmp_path / "in.csv", "id,,count\na,x,1\nb,,1\n")
    assert (bad.id, bad.problem) == ("line 2", "column 2 has a cell here, and no name in the header")
    assert (good.id, good.problem) == ("b", None)


def test_an_old_mac_ends_a_long_line_too(tmp_path: Path) -> None:
    found = rows_of(tmp_path / "in.csv", "id,count\ra," + "1" * 2_000_000 + "\rb,1\r")
    assert [row.id for row in found][-1] == "b"


def test_parquet_of_another_schema_names_each_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which comes with streamlit, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "in.parquet"
    parquet.write_table(pyarrow.table({"user": ["a", "b"], "id": [float("nan"), 1.0]}), path)
    assert main(["estimate", "--batch", str(path)]) == 0
    said = capsys.readouterr()
    first, second = map(json.loads, said.out.splitlines())
    assert [first["id"], second["id"]] == ["row 1", 1.0]
    assert first["error"][0]["text"].startswith(f"{path}: row 1: bad-row: 'id'")
    assert second["error"][0]["text"].startswith(f"{path}: row 2: unknown-key: ")
    assert said.err == "2 rows, none answered: each line of the results says why\n"


@pytest.mark.parametrize("names", [("model", "model.parameters"), ("model.parameters", "model")])
def test_no_column_of_parquet_takes_the_place_of_another(tmp_path: Path, names: tuple[str, str]) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which comes with streamlit, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({names[0]: ["8B", "8B"], names[1]: ["70B", None]}), tmp_path / "in.parquet")
    both, one = Source.of(str(tmp_path / "in.parquet"), spool=False).rows()
    assert both.id == "row 1"
    assert "both have a value" in str(both.problem)
    assert one.problem is None


def test_the_summary_counts_all_rows_and_those_whose_ids_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [
        GOOD | {"id": "a"},
        GOOD | {"id": "a", "count": 2},
        {"id": '", "error": ['},
        GOOD | {"id": '", "error": ['},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert main(["estimate", "--batch", str(path), "--out", str(out)]) == 0
    assert capsys.readouterr().err == "4 rows, 3 answered and 1 in error; 2 with the id of an earlier row\n"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    assert main(["estimate", "--batch", str(path), "--out", str(out)]) == 0
    assert capsys.readouterr().err == "1 row, all answered\n"


def test_the_summary_counts_what_an_earlier_run_has_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    path.write_text("\n".join(["{}", "[]", json.dumps(GOOD | {"id": "x"}), "[]"]), encoding="utf-8")
    assert main(["estimate", "--batch", str(path), "--out", str(out)]) == 0
    whole = out.read_bytes()
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Tally, "add", _stop)
        assert main(["estimate", "--batch", str(path), "--out", str(out.with_name("x"))]) == 130
    (part,) = tmp_path.glob("x.*.part")
    part.write_bytes(whole[: whole.index(b"\n", whole.index(b'"plan"')) + 1] + b'{"id": "line 4", "err')
    capsys.readouterr()
    assert main(["estimate", "--batch", str(path), "--out", str(out.with_name("x"))]) == 0
    assert capsys.readouterr().err == "continuing after 3 finished rows\n4 rows, 1 answered and 3 in error\n"
    assert out.with_name("x").read_bytes() == whole


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_batch_ends_with_0_once_every_line_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract: the lines say what could not be answered, not the exit status."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[1]\n[2]\n")))
    assert main(["explain", "--batch", "-"]) == 0
    said = capsys.readouterr()
    assert [json.loads(line)["id"] for line in said.out.splitlines()] == ["line 1", "line 2"]
    assert said.err == "2 rows, none answered: each line of the results says why\n"


@pytest.mark.parametrize("identifier", ["a", '"', '\\", "error": [', "\n", 1, -1.5e300, "é", ""])
def test_errors_are_told_from_answers(identifier: str | float) -> None:
    assert is_error(json.dumps({"id": identifier, "error": []}))
    assert not is_error(json.dumps({"id": identifier, "plan": {"id": "x", "error": []}}))
