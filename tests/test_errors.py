"""What is suggested in place of an unknown name."""

from __future__ import annotations

import pytest

from whygpu.errors import did_you_mean

KNOWN = ["t5-base", "dinov2-base", "sdxl", "llama-3.1-8b", "llama-3-8b", "RTX 4090"]


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("sdxl-base", "'sdxl'"),  # not t5-base, which has more letters in common
        ("lama-3.1-8b", "'llama-3.1-8b' or 'llama-3-8b'"),
        ("RTX 409", "'RTX 4090'"),
    ],
)
def test_the_names_that_begin_alike_come_first(word: str, near: str) -> None:
    assert did_you_mean(word, KNOWN) == f"did you mean {near}?"


def test_nothing_near_is_nothing_said() -> None:
    assert did_you_mean("qwen", KNOWN) is None
