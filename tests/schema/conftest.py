"""As in tests/loader: files that a test leaves as they are need not be parsed again."""

from __future__ import annotations

from tests.loader.conftest import parse_once

__all__ = ["parse_once"]
