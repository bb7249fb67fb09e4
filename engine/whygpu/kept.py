"""What was found about knowledge bases, kept for the next question and forgotten when another one is loaded.

Each finding holds the whole knowledge base that it is about: a server whose files change would keep dozens of editions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
_FORGET: list[Callable[[], None]] = []


def kept(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the results for the last ``most`` arguments are kept until ``forget``."""

    def keep(function: Callable[P, R]) -> Callable[P, R]:
        found = lru_cache(maxsize=most)(function)
        clear_with_the_rest(found.cache_clear)
        return cast("Callable[P, R]", found)

    return keep


def clear_with_the_rest(clear: Callable[[], None]) -> None:
    """Have ``forget`` call this: for what is kept for as long as the process lasts."""
    _FORGET.append(clear)


def forget() -> None:
    """Forget all that is kept: it is found again where a knowledge base of before is still asked."""
    for clear in _FORGET:
        clear()
