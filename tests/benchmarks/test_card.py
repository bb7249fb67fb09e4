"""What was measured on a card beside what is estimated of the same answers."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
from benchmarks.card import __main__ as card
from benchmarks.card.__main__ import KEPT, Compared, compare

import whygpu
from whygpu.checks.calculation import Range


@pytest.fixture(scope="module")
def compared(kb: whygpu.KnowledgeBase) -> list[Compared]:
    rows = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
    return list(compare(rows, kb, "h100-sxm"))


def test_memory_is_within_a_tenth_of_what_an_h100_held(compared: list[Compared]) -> None:
    errors = [abs(row.error) for row in compared if row.figure == "allocated_gib"]
    assert len(errors) >= 25
    assert statistics.median(errors) < 0.1


def test_most_figures_are_inside_the_stated_ranges(compared: list[Compared]) -> None:
    assert sum(row.inside for row in compared) >= 0.85 * len(compared)


def test_one_text_takes_an_encoder_no_longer_than_it_took_an_h100(compared: list[Compared]) -> None:
    """14 operators a layer, not a decoder's 40."""
    (row,) = (row for row in compared if row.work.startswith("bge-large-en-v1.5, 1 ") and row.figure == "ttft_ms")
    assert abs(row.error) < 0.3


def test_plans_of_attention_are_no_part_of_a_token(compared: list[Compared]) -> None:
    tokens = {row.work: row for row in compared if row.figure == "token_ms"}
    assert tokens
    assert all("FlashAttention" in work and row.inside for work, row in tokens.items())


def test_a_page_keeps_what_is_around_its_tables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{card.BEGIN}\nold\n{card.END}\nafter\n", encoding="utf-8")
    one = tmp_path / "one.jsonl"
    one.write_text(KEPT.read_text(encoding="utf-8").splitlines(keepends=True)[0], encoding="utf-8")
    assert card.main([str(one), "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "resnet-50, 256 images of 224" in text
    assert "old" not in text


def test_rows_that_cannot_be_read_end_in_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert card.main([str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_an_error_is_of_the_likely_figure() -> None:
    row = Compared("work", "token_ms", 10.0, Range(5.0, 8.0, 9.0), None)
    assert row.error == pytest.approx(-0.2)
    assert not row.inside
