"""Price lists as others publish them, read as machines with prices.

- SkyPilot's catalogues, ``vms.csv`` (github.com/skypilot-org/skypilot-catalog, catalogs/v8)
- gpuhunt's catalogues (github.com/dstackai/gpuhunt, gpuhunt/_internal/storage.py)
- AWS: an offer file or the output of ``aws pricing get-products`` (docs.aws.amazon.com/awsaccountbilling, "Reading the
  service price list file for an AWS service")
- Azure: pages of the Retail Prices API (learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices)
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whygpu.errors import Location, Problem
from whygpu.imports.offers import MOST_CARDS, MOST_USD_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_ROWS = 500_000
MOST_BYTES = 64 * 1024 * 1024
_SKYPILOT = frozenset({"InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region"})
_GPUHUNT = frozenset({"instance_name", "location", "price", "gpu_count", "gpu_name", "spot"})
_MIB = re.compile(r"'SizeInMiB': ([0-9.]+)")


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine at one price, as a list has it; ``count`` 0: the list does not say how many accelerators it has."""

    location: Location
    instance: str
    region: str
    usd_per_hour: float
    price_kind: str
    accelerator: str = ""
    count: int = 0
    memory_gb: float = math.nan
    """Memory of one of its accelerators; NaN where the list does not say."""


@dataclass(slots=True)
class Feed:
    """What was read of a list: machines, what is wrong with it, and the day it says it is of."""

    machines: list[Machine] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    as_of: str | None = None


def read_feed(text: str, name: str) -> Feed | None:
    """The list, whichever it is; None where the text is none of them."""
    start = text.lstrip()
    if start.startswith("{"):
        return _json(start, name)
    header = text.partition("\n")[0].strip().split(",")
    for columns, read in ((_SKYPILOT, _skypilot), (_GPUHUNT, _gpuhunt)):
        if columns <= set(header):
            return _csv(text, name, read)
    return None


def _csv(text: str, name: str, read: Callable[[Mapping[str, str], _Cells], Iterator[Machine]]) -> Feed:
    feed = Feed()
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for number, row in enumerate(reader, start=1):
            location = Location(name, reader.line_num)
            if number > MOST_ROWS:
                feed.problems.append(
                    Problem("too-many-rows", f"more than {MOST_ROWS:,} rows", location, "split the file")
                )
                break
            if None in row or None in row.values():
                message = f"the row has not the {len(reader.fieldnames or ())} cells of the first line"
                feed.problems.append(Problem("bad-row", message, location, "take the file as it was published"))
                continue
            feed.machines.extend(read(row, _Cells(row, location, feed.problems)))
    except csv.Error as error:
        problem = Problem(
            "bad-csv", f"not a CSV file: {error}", Location(name, reader.line_num), "take it as published"
        )
        feed.problems.append(problem)
    return feed


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of a row as numbers, with a problem for each that is none."""

    row: Mapping[str, str]
    location: Location
    problems: list[Problem]

    def number(self, key: str, most: float, code: str) -> float | None:
        """A number above zero; None where the cell is empty, is zero or holds no such number."""
        text = (self.row.get(key) or "").strip()
        if not text:
            return None
        value = _number(text)
        if value is None or not 0 <= value <= most:
            self.problems.append(Problem(code, f"{key} is '{text[:40]}'", self.location, "a number, such as 2.49"))
            return None
        return value or None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _skypilot(row: Mapping[str, str], cells: _Cells) -> Iterator[Machine]:
    count = cells.number("AcceleratorCount", MOST_CARDS, "bad-count")
    if count is None or not row["AcceleratorName"]:
        return
    sizes = _MIB.findall(row.get("GpuInfo") or "")
    size = (_number(sizes[0]) if sizes else None) or math.nan
    memory = size / 1024 if size > 1024 else size  # some clouds' lists have GB under that name
    for key, kind in (("Price", "on-demand"), ("SpotPrice", "spot")):
        usd = cells.number(key, MOST_USD_PER_HOUR, "bad-price")
        if usd is not None and count == int(count):
            yield Machine(
                cells.location,
                row["InstanceType"],
                row["Region"],
                usd,
                kind,
                row["AcceleratorName"],
                int(count),
                memory,
            )


def _gpuhunt(row: Mapping[str, str], cells: _Cells) -> Iterator[Machine]:
    count = cells.number("gpu_count", MOST_CARDS, "bad-count")
    usd = cells.number("price", MOST_USD_PER_HOUR, "bad-price")
    memory = cells.number("gpu_memory", 1e6, "bad-memory")
    spot = row["spot"].strip().lower()
    if spot not in ("true", "false"):
        cells.problems.append(Problem("bad-choice", f"spot is '{spot[:40]}'", cells.location, "True or False"))
    elif count is not None and usd is not None and count == int(count):
        kind = "spot" if spot == "true" else "on-demand"
        name, region = row["gpu_name"].removeprefix("tpu-"), row["location"]
        yield Machine(cells.location, row["instance_name"], region, usd, kind, name, int(count), memory or math.nan)


# ---- what the clouds themselves publish ----


def _json(text: str, name: str) -> Feed:
    feed = Feed()
    location = Location(name)
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        feed.problems.append(Problem("bad-json", f"not JSON: {str(error)[:120]}", location, "take it as published"))
        return feed
    if "products" in data and "terms" in data:
        feed.as_of = str(data.get("publicationDate") or "")[:10] or None
        terms = _mapping(_mapping(data["terms"]).get("OnDemand"))
        for sku, product in _mapping(data["products"]).items():
            _aws(feed, location, str(sku), _mapping(product), _mapping(terms.get(sku)))
    elif "PriceList" in data:
        for number, item in enumerate(_list(data["PriceList"]), start=1):
            _aws_item(feed, location, number, item)
    elif "Items" in data:
        for number, item in enumerate(_list(data["Items"]), start=1):
            _azure(feed, location, number, _mapping(item))
    elif "skus" in data:
        message = "Google Cloud's list has the prices of parts (cores, memory, accelerators), not of machines"
        hint = "import the catalogue of gpuhunt or SkyPilot for gcp, which add them up"
        feed.problems.append(Problem("parts-list", message, location, hint))
    else:
        message = "the file is none of the price lists that are known"
        hint = "an AWS offer file, the output of 'aws pricing get-products', or pages of Azure's Retail Prices API"
        feed.problems.append(Problem("unknown-list", message, location, hint))
    return feed


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _aws_item(feed: Feed, location: Location, number: int, item: object) -> None:
    """One product of a query, which is JSON in a text."""
    try:
        data = json.loads(item) if isinstance(item, str) else item
    except (ValueError, RecursionError):
        data = None
    product = _mapping(_mapping(data).get("product"))
    if not product:
        message = f"product {number} of PriceList is none"
        feed.problems.append(Problem("bad-product", message, location, "take the output as the command gives it"))
        return
    dates = [feed.as_of or "", str(_mapping(data).get("publicationDate") or "")[:10]]
    feed.as_of = max(dates) or None
    terms = _mapping(_mapping(_mapping(data).get("terms")).get("OnDemand"))
    _aws(feed, location, str(product.get("sku")), product, terms)


_AWS_PLAIN = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}
"""Attributes of the plain price: the others add licences, hosts of one's own or reserved capacity."""


def _aws(feed: Feed, location: Location, sku: str, product: Mapping[str, Any], terms: Mapping[str, Any]) -> None:
    said = _mapping(product.get("attributes"))
    instance, region = said.get("instanceType"), said.get("regionCode")
    plain = all(said.get(name, value) == value for name, value in _AWS_PLAIN.items())
    if not (isinstance(instance, str) and isinstance(region, str) and plain):
        return
    for term in terms.values():
        for dimension in map(_mapping, _mapping(_mapping(term).get("priceDimensions")).values()):
            usd = _number(_mapping(dimension.get("pricePerUnit")).get("USD"))
            if dimension.get("unit") != "Hrs" or usd == 0:
                continue
            if usd is None or not 0 < usd <= MOST_USD_PER_HOUR:
                feed.problems.append(
                    Problem("bad-price", f"sku {sku}: no price in USD", location, "take it as published")
                )
                continue
            count = _number(said.get("gpu")) or 0
            feed.machines.append(Machine(location, instance, region, usd, "on-demand", "", int(count)))


def _azure(feed: Feed, location: Location, number: int, item: Mapping[str, Any]) -> None:
    instance, region, product = (str(item.get(key) or "") for key in ("armSkuName", "armRegionName", "productName"))
    sku = str(item.get("skuName") or "")
    plain = item.get("type") == "Consumption" and item.get("unitOfMeasure") == "1 Hour" and instance
    if not plain or "Windows" in product or "Cloud Services" in product or "Low Priority" in sku:
        return
    usd = _number(item.get("retailPrice"))
    if item.get("currencyCode") != "USD":
        message = f"item {number} is priced in '{str(item.get('currencyCode'))[:20]}'"
        feed.problems.append(Problem("bad-currency", message, location, "ask the API for USD, its own currency"))
    elif usd is None or not 0 < usd <= MOST_USD_PER_HOUR:
        message = f"item {number}: retailPrice is '{str(item.get('retailPrice'))[:40]}'"
        feed.problems.append(Problem("bad-price", message, location, "take it as published"))
    else:
        feed.machines.append(Machine(location, instance, region, usd, "spot" if "Spot" in sku else "on-demand"))
