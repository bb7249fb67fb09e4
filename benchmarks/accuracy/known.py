"""What the figures are known to get wrong, by mechanism. Update it when a mechanism is mended or found."""

from __future__ import annotations

KNOWN = ("- to be written",)
