"""Python's collector of garbage: at rest while objects are made that stay, or that go without it."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_GARBAGE = 20_000  # objects, a few rows' worth


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No garbage is looked for; what was made meanwhile counts as old then, not as the first thing to look through."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if not gc.get_freeze_count():  # what somebody froze stays so
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()


def settle() -> None:
    """Look for garbage among what rows make and less often: the knowledge base stays, and is most of what there is."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, 20, 20)
