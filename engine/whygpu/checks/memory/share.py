"""The share of a card's memory that a serving runtime is told to take: enough for the plan, and no more than is there.

The driver's context is there before the share is taken, and is no part of it. vLLM takes a share of the whole card, and
refuses more than is free (vllm/utils/mem_utils.py); SGLang one of what is free, for weights and cache alone, and works
in the rest (server arguments, mem_fraction_static).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.checks.memory.estimate import reserved_bytes
from whygpu.checks.model_shape import TOKEN_KINDS

if TYPE_CHECKING:
    from whygpu.checks.memory.estimate import MemoryEstimate


@dataclass(frozen=True, slots=True)
class _Given:
    """Bytes that a share is of, those it is to hold, and those beside it."""

    whole: float
    held: float
    beside: float


def memory_share(usable_bytes: float, need: MemoryEstimate, runtime: str, form: str | None) -> float:
    """The share that a runtime takes by itself, more where the plan needs more, and never what is not free: in
    hundredths, or in thousandths near the most that it can be given.
    """
    given = _given(usable_bytes, need, runtime)
    itself = reserved_bytes(usable_bytes, 0.0, runtime, form, need.coefficients) / usable_bytes
    wanted, most = max(itself, given.held / given.whole), (usable_bytes - given.beside) / given.whole
    for steps in (100, 1000):
        share = math.ceil(round(steps * wanted, 6)) / steps
        if share <= most:
            return share
    return math.floor(round(1000 * most, 6)) / 1000


def filled_bytes(usable_bytes: float, need: MemoryEstimate, runtime: str, form: str | None) -> float:
    """Bytes of the card that are in use when the runtime has taken that share, all that lies beside it included."""
    given = _given(usable_bytes, need, runtime)
    return memory_share(usable_bytes, need, runtime, form) * given.whole + given.beside


def takes_share(need: MemoryEstimate) -> bool:
    """Whether the runtime takes a share of the card when it starts, and gives what is left over to the cache."""
    setup = need.setup
    fills = need.coefficients.pick("reserved-share", {"runtime": setup.runtime}).likely > 0
    return fills and not setup.trains and need.shape.kind in TOKEN_KINDS


def _given(usable_bytes: float, need: MemoryEstimate, runtime: str) -> _Given:
    words = {**need.setup.context(need.shape), "runtime": runtime}
    pick = need.coefficients.pick
    if pick("share-holds-work", words).likely > 0:
        context = min(pick("context-bytes", words).likely, need.overhead)
        return _Given(usable_bytes, need.total - context, context)
    held = need.weights + need.kv_cache
    return _Given(usable_bytes - need.overhead, held, need.total - held)
