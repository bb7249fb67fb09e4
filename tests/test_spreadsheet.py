"""No cell that is imported or exported runs as a formula (OWASP: CSV Injection)."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from whygpu.cli import main
from whygpu.spreadsheet import is_formula, neutral


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", "-", "+49 30"]
)
def test_what_a_spreadsheet_would_run_is_marked(text: str) -> None:
    assert is_formula(text)
    assert neutral(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "-5", "+2.5e3", "-.5", "l4", "'=1", "1-2"])
def test_other_texts_stay(text: str) -> None:
    assert neutral(text) == text


@pytest.mark.parametrize("column", ["region", "instance", "note"])
def test_prices_with_formulas_are_refused(column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(f"accelerator,usd_per_hour,as_of,{column}\nl4,0.7,2026-11-01,=HYPERLINK(1)\n", encoding="utf-8")
    assert main(["import-prices", str(path), "--provider", "aws", "--source", "primer"]) == 2
    assert f"formula: '{column}' is '=HYPERLINK(1)'" in capsys.readouterr().err


def test_the_catalogue_has_no_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "models", "--columns", "all", "--format", "csv"]) == 0
    cells = [cell for row in csv.reader(capsys.readouterr().out.splitlines()) for cell in row]
    assert cells
    assert not [cell for cell in cells if is_formula(cell)]
