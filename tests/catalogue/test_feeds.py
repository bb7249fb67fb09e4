"""Price lists as the clouds, SkyPilot and gpuhunt publish them become offerings; what is bad in them is told."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whygpu.cli import main
from whygpu.errors import AnswerError
from whygpu.imports import price_entries

if TYPE_CHECKING:
    from pathlib import Path

    import whygpu

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]

# Heads and rows as in skypilot-org/skypilot-catalog, catalogs/v8 at 0082b043 (nebius) and 01acdfd4 (runpod)
SKYPILOT = """InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice
cpu-d3_4vcpu-16gb,,0,4,16,0.0992,eu-north1,,
gpu-h200-sxm_8gpu-128vcpu-1600gb,H200,8,128,1600,28.00,eu-north1,"{'Gpus': [{'Name': 'H200', 'Manufacturer': 'NVIDIA', \
'Count': 8, 'MemoryInfo': {'SizeInMiB': 144384}}], 'TotalGpuMemoryInMiB': 1155072}",11.60
gpu-l40s-a_1gpu-8vcpu-32gb,L40S,1,8,32,1.5484,eu-north1,"{'Gpus': [{'Name': 'L40S', 'Manufacturer': 'NVIDIA', \
'Count': 1, 'MemoryInfo': {'SizeInMiB': 49152}}], 'TotalGpuMemoryInMiB': 49152}",
gpu-l40s-a_1gpu-8vcpu-32gb,L40S,1,8,32,1.60,us-central1,"{'Gpus': [{'Name': 'L40S', 'Manufacturer': 'NVIDIA', \
'Count': 1, 'MemoryInfo': {'SizeInMiB': 49152}}], 'TotalGpuMemoryInMiB': 49152}",
gpu-h100,H100,1,16,200,2.95,eu-north1,"{'Gpus': [{'Name': 'H100', 'Manufacturer': 'NVIDIA', \
'Count': 1, 'MemoryInfo': {'SizeInMiB': 81920}}], 'TotalGpuMemoryInMiB': 81920}",1.25
"""
# The columns of gpuhunt's catalogue files, gpuhunt/_internal/storage.py at 3584151 (CATALOG_V2_FIELDS)
GPUHUNT = """instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags,\
cpu_arch,provider_data
cpu,us-midwest-1,0.2,4,16.0,0,,,False,,,,x86,{}
gpu_1x_a6000,us-midwest-1,1.09,14,100.0,1,A6000,48.0,False,,nvidia,,x86,{}
gpu_8x_b200,us-midwest-1,60.0,200,2900.0,8,B200,180.0,True,,nvidia,,x86,{}
"""


def aws(price: str = "0.5260000000", **attributes: str) -> dict[str, Any]:
    """A product and its term, as an AWS offer file and the Price List Query API have them."""
    said = {
        "instanceType": "g4dn.xlarge",
        "regionCode": "eu-central-1",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "gpu": "1",
    }
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": price}, "description": "$0.526 per On Demand Linux g4dn.xlarge"}
    return {
        "product": {"productFamily": "Compute Instance", "sku": "ABC", "attributes": {**said, **attributes}},
        "terms": {"OnDemand": {"ABC.JRTCKXETXF": {"priceDimensions": {"ABC.JRTCKXETXF.6YS6EN2CT7": dimension}}}},
        "publicationDate": "2026-11-18T20:01:09Z",
    }


def offer_file(*items: dict[str, Any]) -> dict[str, Any]:
    """The same as a bulk offer file."""
    return {
        "formatVersion": "v1.0",
        "offerCode": "AmazonEC2",
        "publicationDate": "2026-11-18T20:01:09Z",
        "products": {str(number): item["product"] for number, item in enumerate(items)},
        "terms": {"OnDemand": {str(number): item["terms"]["OnDemand"] for number, item in enumerate(items)}},
    }


def azure(**more: Any) -> dict[str, Any]:
    """An item of the Azure Retail Prices API, by its reference page."""
    return {
        "currencyCode": "USD",
        "retailPrice": 4.591,
        "armRegionName": "uksouth",
        "productName": "Virtual Machines NCadsA100v4 Series",
        "skuName": "NC24ads A100 v4",
        "armSkuName": "Standard_NC24ads_A100_v4",
        "serviceName": "Virtual Machines",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "effectiveStartDate": "2023-06-01T00:00:00Z",
        **more,
    }


def imported(tmp_path: Path, text: object, *more: str, provider: str = "nebius") -> int:
    """The exit status of ``import-prices`` on a file of that text."""
    path = tmp_path / "list"
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return main(["import-prices", str(path), "--provider", provider, "--source", "gpu-price-index", *more])


def written(capsys: Capture) -> dict[str, dict[str, Any]]:
    """The printed offerings by id, without the source."""
    items = yaml.safe_load(capsys.readouterr().out)["offerings"]
    return {item["id"]: item for item in items}


def test_a_skypilot_catalogue(tmp_path: Path, capsys: Capture) -> None:
    assert imported(tmp_path, SKYPILOT, "--as-of", "2026-11-20", "--region", "eu") == 0
    out, err = capsys.readouterr()
    found = {item["id"]: item for item in yaml.safe_load(out)["offerings"]}
    prices = {(item["accelerator"], item["count"], item["price_kind"]): item["usd_per_hour"] for item in found.values()}
    assert prices == {
        ("h200-sxm", 8, "on-demand"): 28.0,
        ("h200-sxm", 8, "spot"): 11.6,
        ("l40s", 1, "on-demand"): 1.5484,
    }
    assert {item["region"] for item in found.values()} == {"eu-north1"}
    assert "gpu-h100 (H100)" in err, "which form it is decides its speed by half: a price does not guess"


def test_a_gpuhunt_catalogue(tmp_path: Path, capsys: Capture) -> None:
    assert imported(tmp_path, GPUHUNT, "--as-of", "2026-11-20", provider="lambda") == 0
    found = written(capsys)
    assert {(item["accelerator"], item["count"], item["price_kind"]) for item in found.values()} == {
        ("rtx-a6000", 1, "on-demand"),
        ("b200", 8, "spot"),
    }


@pytest.mark.parametrize("bulk", [True, False])
def test_a_list_of_aws(tmp_path: Path, capsys: Capture, bulk: bool) -> None:
    items = [aws(), aws(operatingSystem="Windows"), aws(instanceType="p9.48xlarge"), aws("0.0000000000")]
    text = offer_file(*items) if bulk else {"FormatVersion": "aws_v1", "PriceList": [json.dumps(one) for one in items]}
    assert imported(tmp_path, text, provider="aws") == 0
    out, err = capsys.readouterr()
    (item,) = yaml.safe_load(out)["offerings"]
    assert (item["accelerator"], item["count"], item["usd_per_hour"]) == ("t4", 1, 0.526)
    assert (item["region"], str(item["as_of"])) == ("eu-central-1", "2026-11-18"), "the day that the list says"
    assert "p9.48xlarge" in err


def test_a_list_of_azure(tmp_path: Path, capsys: Capture) -> None:
    items = [
        azure(),
        azure(skuName="NC24ads A100 v4 Spot", retailPrice=0.9),
        azure(productName="Virtual Machines NCadsA100v4 Series Windows", retailPrice=9.0),
        azure(type="Reservation", retailPrice=20000.0),
        azure(armSkuName="Standard_D2_v5", retailPrice=0.1),
    ]
    assert imported(tmp_path, {"Items": items}, "--as-of", "2026-11-20", provider="azure") == 0
    prices = {item["price_kind"]: item["usd_per_hour"] for item in written(capsys).values()}
    assert prices == {"on-demand": 4.591, "spot": 0.9}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "bad-json"),
        ('{"a": 1}', "unknown-list"),
        ({"skus": []}, "parts-list"),
        ({"Items": [azure(currencyCode="EUR")]}, "bad-currency"),
        ({"Items": [azure(retailPrice=-1)]}, "bad-price"),
        ({"Items": [azure(retailPrice="free")]}, "bad-price"),
        ({"Items": [azure(armSkuName="Standard_D2_v5")]}, "no-rows"),
        ({"PriceList": ["{"]}, "bad-product"),
        (offer_file(aws("none")), "bad-price"),
        (SKYPILOT.replace("1.5484", "cheap"), "bad-price"),
        (SKYPILOT.replace("1.5484", "-1"), "bad-price"),
        (SKYPILOT.replace("L40S,1,8", "L40S,one,8"), "bad-count"),
        (SKYPILOT + "a,b\n", "bad-row"),
        (GPUHUNT.replace("True", "maybe"), "bad-choice"),
        (GPUHUNT + '"', "bad-csv"),
    ],
)
def test_what_is_bad_is_told_and_nothing_is_written(tmp_path: Path, capsys: Capture, text: object, code: str) -> None:
    out = tmp_path / "out.yaml"
    assert imported(tmp_path, text, "--as-of", "2026-11-20", "--out", str(out), provider="azure") == 2
    printed, err = capsys.readouterr()
    assert code in err
    assert printed == ""
    assert not out.exists()


def test_a_bad_row_is_told_with_its_line(tmp_path: Path, capsys: Capture) -> None:
    assert imported(tmp_path, SKYPILOT.replace("1.60,us", "x,us"), "--as-of", "2026-11-20") == 2
    assert f"{tmp_path / 'list'}:5: bad-price" in capsys.readouterr().err


def test_a_list_without_a_day_wants_one(tmp_path: Path, capsys: Capture) -> None:
    assert imported(tmp_path, GPUHUNT) == 2
    assert "no-date" in capsys.readouterr().err


@given(
    data=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["products", "terms", "PriceList", "Items", "OnDemand", "attributes", "x"]), inner
            )
        ),
        max_leaves=12,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_lists_are_refused(kb: whygpu.KnowledgeBase, tmp_path: Path, data: object) -> None:
    """Whatever the JSON, it becomes entries or problems."""
    path, day = tmp_path / "hostile", date(2026, 11, 21)
    path.write_text(json.dumps({"products": data, "terms": data, "Items": data}), encoding="utf-8")
    with suppress(AnswerError):
        catalogue = kb.knowledge.catalogue
        price_entries(path, catalogue, provider="aws", sources=("x",), as_of=day.isoformat(), today=day)
