"""How many requests at once fit a replica's memory, where those of the service are longer than those of the load test.

The load test shows what fits at its own lengths. Memory grows with the tokens that are held (ai-rng-23): in flight
times prompt and output of each. That line is fitted to the loads, or the cache's size is known from a start-up log.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from whygpu.sizing.basis import Basis, refuse
from whygpu.sizing.loads import loads_of

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Accelerator
    from whygpu.measured.measurement import Measurement, Point
    from whygpu.sizing.asked import Asked

_GIB = 2**30


def room_of(asked: Asked, card: Accelerator | None, knowledge: Knowledge) -> Basis | None:
    """Requests of the length that is answered that fit at once; None where no length is answered, or nothing tells.

    Raises AnswerError where not one fits.
    """
    values = asked.answers.values
    context = values.get("average_context_tokens", values.get("context_tokens"))
    if not isinstance(context, float):
        return None
    tokens, how = asked.measured.number("kv_cache_tokens"), "by the tokens that the cache holds"
    if tokens is None:
        tokens, how = _tokens(asked.measured, card, knowledge), "by memory over the tokens in flight of each load"
    if tokens is None:
        return None
    room = math.floor(tokens / context + 1e-9)
    if room < 1:
        message = f"a replica's memory holds {tokens:,.0f} tokens, and a request has {context:,.0f}"
        raise refuse("does-not-fit", message, "context_tokens", "more accelerators to a replica, or a smaller cache")
    return Basis("memory_room", "requests that fit the memory at once", float(room), "requests", "measured", how)


def context_seen(measured: Measurement) -> float | None:
    """The longest requests of the load test, in tokens; None where they are not told."""
    return max((tokens for point in measured.points if (tokens := _context(point)) is not None), default=None)


def _context(point: Point) -> float | None:
    if point.context_tokens is not None:
        return point.context_tokens
    if point.input_tokens is None or point.output_tokens is None:
        return None
    return point.input_tokens + point.output_tokens


def _tokens(measured: Measurement, card: Accelerator | None, knowledge: Knowledge) -> float | None:
    """Tokens that fit, by the line of memory over tokens in flight; None where memory does not grow with them."""
    rows = [
        (load.in_flight * context, load.point.memory_gib)
        for load in loads_of(measured.points)
        if load.point.memory_gib is not None and (context := _context(load.point)) is not None
    ]
    usable = measured.number("memory_total_gib")
    if card is not None:
        usable = knowledge.catalogue.usable_bytes(card) / _GIB
    if usable is None or len({held for held, _ in rows}) < 2:
        return None
    slope, base = np.polyfit([held for held, _ in rows], [gib for _, gib in rows], 1)
    return float((usable - base) / slope) if slope * max(held for held, _ in rows) > _FLAT * usable else None


_FLAT = 0.01
"""Of the card's memory: a server that takes it all beforehand grows by no more, and shows nothing of its requests."""
