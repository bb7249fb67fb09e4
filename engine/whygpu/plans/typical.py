"""What an accelerator that nobody prices would cost to buy: estimated from priced ones of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whygpu.knowledge.catalogue import Accelerator, Catalogue

LEAST_PRICED = 3
"""Different prices that a kind needs for a level of its own: of two either may be the odd one, and one board that is
sold under two names says no more than one.
"""
REACH = 2.0
"""How far a size may lie beyond those of the priced ones of its kind, as a factor: a power law says little of what is
several times smaller or larger than all that it was fitted on.
"""
_SPREAD = (10, 90)
"""Percentiles of the errors that low and high stand for."""
_LEAST_FREEDOM = 1e-9
_RATES = ("bf16_tflops", "fp16_tflops", "fp32_tflops")


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated prices in USD, in columns; NaN where a figure is not known, or too few of the kind are priced."""

    low: NDArray[np.float64]
    likely: NDArray[np.float64]
    high: NDArray[np.float64]


def estimate_prices(sizes: NDArray[np.float64], kinds: Sequence[str], usd: NDArray[np.float64]) -> Estimates:
    """Fit log USD to the logs of ``sizes`` (rows x figures), a level for each kind, and estimate every row by it.

    ``usd``: NaN where not known. A kind of fewer than ``LEAST_PRICED`` different prices gets no estimate and bears on
    none, and neither does a row with a size more than ``REACH`` times beyond those priced of its kind: what is cut off
    at the dearest one would be told as a price, and be far from it. Low and high: the likely one times the 10th and the
    90th percentile of what rows cost over what the others say of them (leave-one-out residuals, by the leverage of each
    row: Allen 1974, "The relationship between variable selection and data augmentation and a method for prediction").
    """
    names = np.array(kinds)
    known = np.isfinite(sizes).all(axis=1) & (sizes > 0).all(axis=1)
    priced = known & np.isfinite(usd)
    levels = [kind for kind in dict.fromkeys(kinds) if len(np.unique(usd[priced & (names == kind)])) >= LEAST_PRICED]
    in_kind = np.isin(names, levels)
    nothing = np.full(len(usd), np.nan)
    fitted = priced & in_kind
    if fitted.sum() <= len(levels) + sizes.shape[1]:
        return Estimates(nothing, nothing, nothing)
    asked = known & in_kind & _within_reach(sizes, names, priced)
    terms = np.hstack([np.log(np.where(asked[:, None], sizes, 1.0)), names[:, None] == np.array(levels)])
    weights, *_ = np.linalg.lstsq(terms[fitted], np.log(usd[fitted]), rcond=None)
    leverage = np.einsum("ij,ji->i", terms[fitted], np.linalg.pinv(terms[fitted]))
    errors = (np.log(usd[fitted]) - terms[fitted] @ weights) / np.maximum(1 - leverage, _LEAST_FREEDOM)
    low, high = np.exp(_percentiles(errors))
    likely = np.where(asked, np.exp(terms @ weights), np.nan)
    return Estimates(likely * min(low, 1.0), likely, likely * max(high, 1.0))


def _within_reach(sizes: NDArray[np.float64], names: NDArray[np.str_], priced: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether no size of a row lies more than ``REACH`` times beyond those of the priced rows of its kind."""
    found = np.zeros(len(sizes), dtype=bool)
    for kind in np.unique(names[priced]):
        of_kind = names == kind
        least, most = sizes[priced & of_kind].min(axis=0), sizes[priced & of_kind].max(axis=0)
        with np.errstate(invalid="ignore"):
            found[of_kind] = ((sizes[of_kind] >= least / REACH) & (sizes[of_kind] <= most * REACH)).all(axis=1)
    return found


def _percentiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those of ``_SPREAD``, between neighbours by the line through them; numpy's own imports masked arrays, which takes
    longer than all else here.
    """
    ordered = np.sort(values)
    places = (len(values) - 1) * np.true_divide(_SPREAD, 100)
    before = np.floor(places).astype(np.int64)
    one, other, share = ordered[before], ordered[np.minimum(before + 1, len(values) - 1)], places - before
    step = other - one
    found: NDArray[np.float64] = np.where(share < 0.5, one + step * share, other - step * (1 - share))
    return found


def purchase_estimates(catalogue: Catalogue) -> tuple[Estimates, NDArray[np.bool_]]:
    """What each accelerator of the catalogue would cost to buy by what others of its kind cost, and with what.

    A kind is a class, those for a slot apart from those that are built in, and from those that bring a processor and
    its memory along. The flags: whether such a price is that of a whole machine, or a share of it, as most of the kind
    are sold.
    """
    cards = list(catalogue.accelerators.values())
    bought = [catalogue.purchase_by_accelerator.get(card.id) for card in cards]
    usd = np.array([np.nan if item is None else item.usd for item in bought])
    apart = {"pcie", "superchip"}
    kinds = [f"{card.text('class')} {card.text('form') if card.text('form') in apart else ''}" for card in cards]
    shares: dict[str, list[bool]] = {}
    for kind, item in zip(kinds, bought, strict=True):
        shares.setdefault(kind, []).extend([] if item is None else [item.whole_machine])
    whole = np.array([2 * sum(shares[kind]) > len(shares[kind]) for kind in kinds])
    return estimate_prices(np.array([_sizes(card) for card in cards]), kinds, usd), whole


def _sizes(card: Accelerator) -> tuple[float, float, float]:
    """Memory, bandwidth and the best dense rate at 16 bits; NaN where not known."""
    rates = [rate for name in _RATES if (rate := card.number(name)) is not None]
    memory = card.number("marketing_gb") or np.nan
    return memory, card.number("bandwidth_gb_s") or np.nan, max(rates, default=np.nan)
