"""What the library supplies to a knowledge base that it loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as ReadOnly

    from whygpu.language.types import Signature


class Registry:
    """What the library supplies to the knowledge base: numeric checks for expressions, and names it gives values to."""

    def __init__(self, functions: ReadOnly[str, Signature], provided: Iterable[str]) -> None:
        """``provided``: vocabulary names whose values come from checks and plans."""
        self.functions = functions
        self.provided = frozenset(provided)
