"""The price of a plan, as the design's section 4 says it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygpu.errors import Location
from whygpu.knowledge.catalogue import PRICE_KINDS, PROVIDER_CLASSES, Area, Catalogue, Offering, Provider
from whygpu.plans.price import PriceList, first_fresh_days

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

PLACE = Location("prices.yaml", 1)
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
        "location": PLACE,
    }
    return Offering(**{**values, **more})


AREAS = {
    "eu": Area("eu", "Europe", (), {"big": ("eu-west-1",), "gpu-one": ("FIN-01",), "gpu-two": ()}, PLACE),
    "us": Area("us", "United States", (), {"big": ("us-east-1",)}, PLACE),
}


def prices(*offerings: Offering, since: str = "", **restrictions: Any) -> PriceList:
    """A price list over these offerings alone; ``since``: the first day whose prices pass as today's, of any class."""
    empty: Any = MappingProxyType({})
    catalogue = Catalogue(empty, empty, PROVIDERS, offerings, (), empty, empty, empty, AREAS)
    return PriceList(catalogue, since=dict.fromkeys(PROVIDER_CLASSES, since), **restrictions)


def usd(found: PriceList, shard: int = 1, replicas: int = 1, together: int | None = None) -> float | None:
    """The price alone."""
    price = found.price("a100", shard, replicas, together)
    return None if price is None else price.usd_per_hour


def test_why_there_is_none() -> None:
    # the reasons that docs/explanation/money.md lists
    assert prices().why_none("a100") == "no provider is known to rent it out"
    assert prices(offering("gpu-one", 1, suspect="old")).why_none("a100") == "every price of it is suspect"
    assert prices(offering("gpu-one", 1, price_kind="spot")).why_none("a100").startswith("its prices are spot only")
    restricted = prices(offering("gpu-one", 1), offering("big", 2), providers=("bazaar",))
    assert restricted.why_none("a100") == "no provider that the answers allow rents it out; others do: big, gpu-one"
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


def test_of_two_providers_the_more_expensive_which_is_a_real_offering_and_no_bargain() -> None:
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
    assert found.providers == 1, "who listed it half a year ago may have sold out since"
    assert usd(prices(old, since="2025-06-01")) == 0.4


def test_fresh_and_stale_prices_share_no_median() -> None:
    stale = [offering(name, 9, as_of="2025-01-01") for name in ("gpu-one", "gpu-two")]
    assert usd(prices(*stale, offering("gpu-three", 1), offering("big", 3), since="2025-06-01")) == 3


def test_on_the_first_day_of_all_every_price_is_fresh(kb: KnowledgeBase) -> None:
    days = first_fresh_days(kb.knowledge.catalogue, date.min)
    assert set(days.values()) == {"0001-01-01"}


def test_each_class_of_providers_has_its_own_age() -> None:
    # a large cloud's list stands for longer: price-fresh-days by provider_class
    empty: Any = MappingProxyType({})
    items = (offering("big", 3, as_of="2026-06-01"), offering("gpu-one", 1, as_of="2026-06-01"), offering("gpu-two", 2))
    catalogue = Catalogue(empty, empty, PROVIDERS, items, (), empty, empty, empty)
    found = PriceList(catalogue, since={"hyperscaler": "2026-05-01", "specialised": "2026-08-01"}).price("a100", 1, 1)
    assert found is not None
    assert (found.usd_per_hour, found.providers, found.large_providers) == (3, 2, 1)


def test_providers_are_counted_for_the_size_and_by_class() -> None:
    items = [offering("big", 16, count=8), offering("gpu-one", 2), offering("gpu-two", 2.5), offering("bazaar", 1)]
    one, eight = (prices(*items).price("a100", shard, 1) for shard in (1, 8))
    assert one is not None
    assert eight is not None
    assert (one.providers, one.large_providers) == (2, 0), "a machine of eight is no offer of one"
    assert (eight.providers, eight.large_providers) == (3, 1)


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
    spot = offering("gpu-one", 0.7, price_kind="spot", region="FIN-01")
    assert usd(prices(spot)) is None
    assert usd(prices(spot, kinds=("spot",))) == 0.7
    assert usd(prices(spot, kinds=("spot",), regions=("us",))) is None
    assert usd(prices(spot, kinds=("spot",), regions=("FIN-01",))) == 0.7
    assert usd(prices(spot, kinds=("spot",), regions=("us", "eu"))) == 0.7


def test_an_offer_without_a_region_counts_where_its_provider_is_known_to_be() -> None:
    assert usd(prices(offering("gpu-one", 1), regions=("eu",))) == 1
    assert usd(prices(offering("gpu-one", 1), regions=("FIN-01",))) == 1
    assert usd(prices(offering("gpu-one", 1), regions=("us",))) is None
    assert usd(prices(offering("gpu-two", 1), regions=("eu",))) == 1
    assert usd(prices(offering("gpu-three", 1), regions=("eu",))) is None, "nobody says where it is"
    assert usd(prices(offering("gpu-three", 1))) == 1


def test_who_offers_it_elsewhere_is_named() -> None:
    found = prices(offering("big", 1, region="us-east-1"), offering("gpu-three", 2), regions=("eu",))
    assert usd(found) is None
    assert found.offered_by("a100") == "big (us), gpu-three"
    assert found.restricted
    assert not prices().restricted


def test_who_offers_it_by_other_kinds_of_price_is_named_with_the_kinds() -> None:
    usual = offering("big", 1, region="us-east-1")
    assert prices(usual, kinds=("spot",)).offered_by("a100") == "big, as on-demand only"
    assert prices(usual, offering("gpu-one", 1, price_kind="spot"), kinds=("spot",)).offered_by("a100") == "gpu-one"
    assert prices(kinds=("spot",)).offered_by("a100") == ""


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
def test_more_kinds_of_prices_make_no_plan_more_expensive(
    items: list[Offering], few: set[str], more: set[str], shard: int, replicas: int
) -> None:
    narrow, wide = (
        usd(prices(*items, kinds=tuple(kinds), since="2026-05-25"), shard, replicas) for kinds in (few, few | more)
    )
    if narrow is not None:
        assert wide is not None
        assert wide <= narrow


@pytest.mark.parametrize(
    ("shard", "replicas", "together", "cost"),
    [
        (1, 1, 1, 10),  # one accelerator of a machine of four is the whole machine
        (2, 1, 2, 10),  # and so are two
        (4, 1, 4, 10),
        (1, 4, 1, 10),
        (1, 5, 1, 20),
        (3, 2, 3, 20),  # a group of three does not share a machine of four with another
        (8, 1, 4, 20),  # a group over two machines, four in each
        (6, 1, 4, 20),  # two stay idle
        (8, 1, 8, None),  # eight that must stand together do not in machines of four
        (6, 1, 6, None),
    ],
)
def test_machines_are_rented_whole(shard: int, replicas: int, together: int, cost: float | None) -> None:
    assert usd(prices(offering("big", 10, count=4)), shard, replicas, together) == cost


def test_what_is_paid_for_is_said() -> None:
    price = prices(offering("big", 80, count=8)).price("a100", 2, 1)
    assert price is not None
    assert (price.machines, price.rented) == (1, 8)


def test_a_price_per_accelerator_joins_as_many_as_asked_but_not_at_hyperscalers() -> None:
    assert usd(prices(offering("gpu-one", 2)), 8) == 16
    assert usd(prices(offering("big", 2)), 8) is None
    assert usd(prices(offering("big", 2)), 1, 3) == 6


SHAPES = {"shard": st.sampled_from([1, 2, 4, 8]), "replicas": st.integers(1, 3)}


@given(items=st.lists(OFFERINGS, max_size=8), factor=st.sampled_from([0.5, 2, 10]), **SHAPES)
def test_scaling_all_prices_scales_every_plans_price(
    items: list[Offering], factor: float, shard: int, replicas: int
) -> None:
    scaled = [replace(item, usd_per_hour=item.usd_per_hour * factor) for item in items]
    before, after = (prices(*each, since="2026-05-25").price("a100", shard, replicas) for each in (items, scaled))
    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert after.usd_per_hour == pytest.approx(before.usd_per_hour * factor)
        assert (after.offering.id, after.providers, after.large_providers, after.machines) == (
            before.offering.id,
            before.providers,
            before.large_providers,
            before.machines,
        )


@given(items=st.lists(OFFERINGS, min_size=1, max_size=8), which=st.integers(0, 7), **SHAPES)
def test_a_cheaper_offer_never_makes_its_plan_more_expensive(
    items: list[Offering], which: int, shard: int, replicas: int
) -> None:
    index = which % len(items)
    cheaper = [
        replace(item, usd_per_hour=item.usd_per_hour / 2) if k == index else item for k, item in enumerate(items)
    ]
    before, after = (usd(prices(*each, since="2026-05-25"), shard, replicas) for each in (items, cheaper))
    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert after <= before


@given(
    items=st.lists(OFFERINGS, max_size=8),
    provider=st.sampled_from(sorted(PROVIDERS)),
    count=st.sampled_from([1, 2, 8]),
    share=st.sampled_from([0.1, 0.5, 1]),
    **SHAPES,
)
def test_another_offer_that_is_no_more_expensive_never_hurts(
    items: list[Offering], provider: str, count: int, share: float, shard: int, replicas: int
) -> None:
    """One more fresh offer, at most at what the plan pays: the plan pays no more, and its price is no older."""
    old = prices(*items, since="2026-05-25").price("a100", shard, replicas)
    if old is None:
        return
    alone = prices(offering(provider, 1, count=count), classes=PROVIDER_CLASSES).price("a100", shard, replicas)
    if alone is None:
        return
    more = offering(provider, old.usd_per_hour * share / alone.machines, count=count, as_of="2026-11-01", id="more")
    new = prices(*items, more, since="2026-05-25").price("a100", shard, replicas)
    assert new is not None
    assert new.usd_per_hour <= old.usd_per_hour * (1 + 1e-9)
