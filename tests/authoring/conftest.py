"""These tests change one file of the small knowledge base at a time, too."""

from tests.loader.conftest import parse_once

__all__ = ["parse_once"]
