"""Prices that source documents state, beside what the provider itself lists for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whygpu.knowledge.catalogue import Catalogue, Offering


def listed_beside(catalogue: Catalogue, stated: Offering) -> Offering | None:
    """The provider's own newest price of what a document states the price of, by the same kind of price.

    The same instance where there is one, else as many of the accelerator, the cheapest region first; None where the
    provider lists neither, and for what is no document's word.
    """
    if not stated.claims:
        return None
    own = [
        item
        for item in catalogue.offerings
        if item.provider == stated.provider
        and item.price_kind == stated.price_kind
        and not item.claims
        and item.suspect is None
    ]
    same = [item for item in own if item.instance is not None and item.instance == stated.instance]
    alike = same or [item for item in own if item.accelerator == stated.accelerator and item.count == stated.count]
    newest = max((item.as_of or "" for item in alike), default="")
    alike = [item for item in alike if (item.as_of or "") == newest]
    return min(alike, key=lambda item: (item.usd_per_hour, item.id), default=None)
