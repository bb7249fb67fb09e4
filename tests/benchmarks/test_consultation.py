"""The stages of a consultation that benchmarks time are those of the program."""

from __future__ import annotations

from benchmarks.consultation import STAGES


def test_each_stage_is_there() -> None:
    assert [name for owner, name, _ in STAGES if not callable(getattr(owner, name, None))] == []
