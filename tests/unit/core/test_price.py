"""The price of a plan, as the design's section 4 says it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygpu.catalogue import PRICE_KINDS, Catalogue, Offering, Provider
from whygpu.errors import Place
from whygpu.plans.price import PriceList

PLACE = Place("prices.yaml", 1)
PROVIDERS = {
    "big": Provider("big", "Big", "hyperscaler"),
    "gpu-one": Provider("gpu-one", "GPU One", "specialised"),
    "gpu-two": Provider("gpu-two", "GPU Two", "specialised"),
    "gpu-three": Provider("gpu-three", "GPU Three", "specialised"),
    "bazaar": Provider("bazaar", "Bazaar", "marketplace"),
}


def offering(provider: str, usd: float, **more: Any) -> Offering:
    """One A100 of the provider at that price, as of this autumn, unless said otherwise."""
    values: dict[str, Any] = {
        "id": f"{provider}-{usd}-{more.get('as_of', '')}",
        "provider": provider,
        "accelerator": "a100",
        "count": 1,
        "usd_per_hour": usd,
        "price_kind": "on-demand",
        "region": None,
        "instance": None,
        "as_of": "2026-10-01",
        "source": ("x",),
        "suspect": None,
        "note": None,
        "place": PLACE,
    }
    return Offering(**{**values, **more})


def prices(*offerings: Offering, **restrictions: Any) -> PriceList:
    """A price list over these offerings alone."""
    empty: Any = MappingProxyType({})
    catalogue = Catalogue(empty, empty, PROVIDERS, offerings, (), empty, empty, empty)
    return PriceList(catalogue, **restrictions)


def usd(found: PriceList, shard: int = 1, replicas: int = 1) -> float | None:
    """The price alone."""
    price = found.price("a100", shard, replicas)
    return None if price is None else price.usd_per_hour


def test_why_there_is_none() -> None:
    # the reasons that docs/catalogue.md lists
    assert prices().why_none("a100") == "nobody is known to rent it out"
    assert prices(offering("gpu-one", 1, suspect="old")).why_none("a100") == "every price of it is suspect"
    assert prices(offering("gpu-one", 1, price_kind="spot")).why_none("a100").startswith("its prices are spot only")
    restricted = prices(offering("gpu-one", 1), offering("big", 2), providers=("bazaar",))
    assert restricted.why_none("a100") == "nobody that the answers allow rents it out; others do: big, gpu-one"
    whole = prices(offering("big", 8, count=8))
    assert whole.price("a100", 12, 1) is None
    assert whole.why_none("a100") == "it is rented only in machines of 8"


def test_an_undated_price_of_a_document_is_never_used() -> None:
    stated = {"claims": ("griddly-12",)}
    assert usd(prices(offering("gpu-one", 1, as_of=None, **stated))) is None
    assert usd(prices(offering("gpu-one", 1, as_of=None))) == 1
    assert usd(prices(offering("gpu-one", 1, **stated))) == 1


def test_the_median_over_providers() -> None:
    assert usd(prices(offering("gpu-one", 1), offering("gpu-two", 5), offering("gpu-three", 2))) == 2


def test_of_two_providers_the_dearer_which_is_a_real_offering_and_no_bargain() -> None:
    assert usd(prices(offering("gpu-one", 1), offering("gpu-two", 5))) == 5
    four = [offering("gpu-one", 1), offering("gpu-two", 5), offering("gpu-three", 2), offering("big", 3)]
    assert usd(prices(*four)) == 3


def test_each_providers_newest_price_counts() -> None:
    assert usd(prices(offering("gpu-one", 1, as_of="2025-01-01"), offering("gpu-one", 3))) == 3


def test_old_prices_only_where_none_passes_as_todays() -> None:
    old, new = offering("gpu-one", 0.4, as_of="2025-01-01"), offering("gpu-two", 1)
    found = prices(old, new, since="2025-06-01").price("a100", 1, 1)
    assert found is not None
    assert found.usd_per_hour == 1
    assert found.providers == 2, "who listed it half a year ago rents it out still"
    assert usd(prices(old, since="2025-06-01")) == 0.4


def test_machines_left_partly_idle_only_where_nobody_rents_what_is_needed() -> None:
    whole = [offering("big", 24, count=8), offering("gpu-two", 22, count=8), offering("gpu-three", 20, count=8)]
    assert usd(prices(offering("gpu-one", 2), *whole)) == 2
    assert usd(prices(*whole)) == 22
    assert usd(prices(offering("gpu-one", 2), *whole), shard=8) == 22


def test_undated_prices_only_where_nothing_is_dated() -> None:
    undated = offering("gpu-two", 0.5, as_of=None)
    assert usd(prices(offering("gpu-one", 3), undated)) == 3
    assert usd(prices(undated)) == 0.5


def test_suspect_prices_are_never_used() -> None:
    assert usd(prices(offering("gpu-one", 0.01, suspect="contradicted"))) is None


def test_marketplaces_only_where_nothing_else_exists_or_where_asked_for() -> None:
    cheap, usual = offering("bazaar", 0.4), offering("gpu-one", 2)
    assert usd(prices(cheap, usual)) == 2
    assert usd(prices(cheap)) == 0.4
    assert usd(prices(cheap, usual, classes=("marketplace",))) == 0.4
    assert usd(prices(cheap, usual, providers=("bazaar",))) == 0.4
    assert usd(prices(cheap, classes=("hyperscaler",))) is None


def test_price_kinds_and_regions() -> None:
    spot = offering("gpu-one", 0.7, price_kind="spot", region="eu")
    assert usd(prices(spot)) is None
    assert usd(prices(spot, kinds=("spot",))) == 0.7
    assert usd(prices(spot, kinds=("spot",), regions=("us",))) is None
    assert usd(prices(offering("gpu-one", 1, region=None), regions=("us",))) == 1


def test_an_old_spot_price_counts_beside_a_fresh_one_on_demand() -> None:
    spot = offering("gpu-one", 0.4, price_kind="spot", as_of="2025-01-01")
    usual = offering("gpu-one", 2)
    assert usd(prices(spot, usual, kinds=("spot", "on-demand"), since="2025-06-01")) == 0.4
    assert usd(prices(spot, usual, since="2025-06-01")) == 2


OFFERINGS = st.builds(
    offering,
    st.sampled_from(sorted(PROVIDERS)),
    st.sampled_from([0.5, 1, 2, 3, 8, 9]),
    price_kind=st.sampled_from(PRICE_KINDS),
    count=st.sampled_from([1, 2, 8]),
    as_of=st.sampled_from([None, "2025-01-01", "2026-05-24", "2026-10-01"]),
    region=st.sampled_from([None, "eu"]),
)


@given(
    items=st.lists(OFFERINGS, max_size=8),
    few=st.sets(st.sampled_from(PRICE_KINDS), min_size=1),
    more=st.sets(st.sampled_from(PRICE_KINDS)),
    shard=st.sampled_from([1, 2, 8]),
    replicas=st.integers(1, 3),
)
def test_more_kinds_of_prices_make_no_plan_dearer(
    items: list[Offering], few: set[str], more: set[str], shard: int, replicas: int
) -> None:
    narrow, wide = (
        usd(prices(*items, kinds=tuple(kinds), since="2026-05-25"), shard, replicas) for kinds in (few, few | more)
    )
    if narrow is not None:
        assert wide is not None
        assert wide <= narrow


@pytest.mark.parametrize(
    ("shard", "replicas", "cost"),
    [
        (1, 1, 10),  # one accelerator of a machine of four is the whole machine
        (4, 1, 10),
        (1, 4, 10),
        (1, 5, 20),
        (3, 2, 20),  # a group of three does not share a machine of four with another
        (8, 1, 20),  # a shard over two whole machines
        (6, 1, None),  # and never over a machine and a half
    ],
)
def test_machines_are_rented_whole(shard: int, replicas: int, cost: float | None) -> None:
    assert usd(prices(offering("big", 10, count=4)), shard, replicas) == cost


def test_a_price_per_accelerator_joins_as_many_as_asked_but_not_at_hyperscalers() -> None:
    assert usd(prices(offering("gpu-one", 2)), 8) == 16
    assert usd(prices(offering("big", 2)), 8) is None
    assert usd(prices(offering("big", 2)), 1, 3) == 6
