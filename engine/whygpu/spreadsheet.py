"""Texts that a spreadsheet would run as formulas when it opens a CSV file (OWASP: CSV Injection)."""

from __future__ import annotations

import re

_BEGINS = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # the last four are the full-width forms
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would read the text as a formula; a plain number is none."""
    return _BEGINS.match(text) is not None and _NUMBER.match(text) is None


def neutral(text: str) -> str:
    """The text as a CSV cell that stays text: with an apostrophe before what would be a formula."""
    return f"'{text}" if is_formula(text) else text
