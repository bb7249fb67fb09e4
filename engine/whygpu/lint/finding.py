"""What a check finds."""

from __future__ import annotations

from whygpu.errors import Location

Finding = tuple[Location, str, str]
"""Where, what is suspect, and what may be done about it."""
