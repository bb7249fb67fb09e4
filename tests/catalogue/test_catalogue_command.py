"""``whygpu catalogue``: what is listed, in which order, and how one entry is shown whole."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from whygpu.cli import main
from whygpu.listing import SECTIONS, find, listing, where
from whygpu.render.catalogue import USUAL, listing_text
from whygpu.render.style import Style

if TYPE_CHECKING:
    import whygpu

Capture = pytest.CaptureFixture[str]


def _out(capsys: Capture, *arguments: str) -> str:
    assert main(["catalogue", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def _json(capsys: Capture, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_out(capsys, *arguments, "--format", "json"))
    return found


def test_a_condition_filters_accelerators(capsys: Capture) -> None:
    found = _json(capsys, "accelerators", "--where", "gpu.usable_gib >= 40 and gpu.class == 'workstation'")
    assert {"rtx-a6000", "rtx-6000-ada"} <= {row["id"] for row in found["rows"]}
    assert all(row["usable_gib"] >= 40 and row["class"] == "workstation" for row in found["rows"])
    assert found["count"] == len(found["rows"])


def test_a_card_is_priced_as_of_the_day(capsys: Capture) -> None:
    """Prices fresh on the day count before older ones."""
    columns = ("accelerators", "--columns", "id,usd_per_hour", "--date")
    old, new = (
        {row["id"]: row["usd_per_hour"] for row in _json(capsys, *columns, day)["rows"]}
        for day in ("2024-01-01", "2026-11-22")
    )
    assert old.keys() == new.keys()
    assert old != new


def test_what_the_hardware_lacks_is_no_and_what_is_not_known_is_counted(kb: whygpu.KnowledgeBase) -> None:
    everything = listing(kb.knowledge, "accelerators")
    with_fp8 = where(kb.knowledge, everything, "gpu.fp8_tflops > 1")
    ids = {row.id for row in with_fp8.rows}
    assert "h100-sxm" in ids
    assert "a100-sxm-80gb" not in ids
    open_power = where(kb.knowledge, everything, "gpu.tdp_w > 1000")
    assert open_power.unknown == sum(row.values["tdp_w"] is None for row in everything.rows) > 0


def test_conditions_reach_offerings_and_models(capsys: Capture) -> None:
    cheap = _json(
        capsys, "offerings", "--where", "offering.usd_per_card < 0.5 and offering.provider_class != 'marketplace'"
    )
    assert cheap["rows"]
    assert all(row["usd_per_card"] < 0.5 and row["provider_class"] != "marketplace" for row in cheap["rows"])
    small = _json(capsys, "models", "--where", "model.parameters < 1e9 and model.task == 'embedding'")
    assert small["rows"]
    assert all(row["parameters"] < 1e9 for row in small["rows"])


def test_sorting_puts_the_unknown_last(capsys: Capture) -> None:
    for options in ((), ("--descending",)):
        prices = [
            row["usd_per_hour"] for row in _json(capsys, "accelerators", "--sort", "usd_per_hour", *options)["rows"]
        ]
        known = [price for price in prices if price is not None]
        assert prices[: len(known)] == sorted(known, reverse=bool(options))
        assert len(known) < len(prices)


def test_offerings_by_their_keys(capsys: Capture) -> None:
    found = _json(
        capsys,
        "offerings",
        "--accelerator",
        "h100",
        "--price-kind",
        "spot",
        "--dated",
        "--sort",
        "usd_per_card",
        "--limit",
        "3",
    )
    assert found["count"] == 3
    for row in found["rows"]:
        assert row["accelerator"].startswith("h100-")
        assert row["price_kind"] == "spot"
        assert row["as_of"]
        assert row["sources"]
        assert row["place"].startswith("facts/offerings/")
    one = _json(capsys, "offerings", "--provider", "aws", "--region", "us-east-1", "--accelerator", "t4")
    assert {row["provider"] for row in one["rows"]} == {"aws"}


def test_one_card_whole(capsys: Capture) -> None:
    found = _json(capsys, "accelerators", "A10G")
    assert found["id"] == "a10g"
    rate = found["facts"]["fp16_tflops"]
    assert rate["value"] == 70
    assert rate["others"] == [{"value": 125, "sources": ["lightning-throughput"]}]
    assert rate["because"]
    assert rate["place"].startswith("facts/accelerators/nvidia-data-centre.yaml:")
    assert found["facts"]["fp8_tflops"]["absent"] is True
    assert found["facts"]["int4_tops"]["estimate"]
    cited = {source for fact in found["facts"].values() for source in fact["sources"]}
    assert cited <= found["sources"].keys()
    assert found["sources"]["llm-analysis"]["where"].startswith("https://")
    assert any(item["suspect"] for item in found["offerings"])


def test_one_card_whole_as_text(capsys: Capture) -> None:
    out = _out(capsys, "accelerators", "a10g")
    assert "others say 125 TFLOPS [lightning-throughput]" in out
    assert "because: " in out
    assert "estimate: " in out
    assert "; never used" in out
    assert "llm-analysis: llm-analysis GPU configurations, 2026-11-21" in out
    assert "the hardware lacks it" in out
    assert "\x1b" not in out
    nobody = _out(capsys, "accelerators", "h20")
    assert "a plan has no hourly price: no provider in the price lists rents it out" in nobody


@pytest.mark.parametrize(("section", "identifier"), [("offerings", "aws-g4dn-xlarge"), ("models", "llama-3.1-8b")])
def test_other_entries_whole(capsys: Capture, section: str, identifier: str) -> None:
    found = _json(capsys, section, identifier)
    assert found["id"] == identifier
    assert found["sources"]
    assert identifier in _out(capsys, section, identifier)


def test_words_find_names_aliases_and_families(kb: whygpu.KnowledgeBase) -> None:
    cards = listing(kb.knowledge, "accelerators")
    assert {row.id for row in find(kb.knowledge, cards, ["A100"]).rows} == {
        row.id for row in cards.rows if row.values["family"] == "A100"
    }
    assert {"rtx-4090"} == {row.id for row in find(kb.knowledge, cards, ["geforce", "rtx", "4090"]).rows}
    assert {row.id for row in find(kb.knowledge, cards, ["jetson"]).rows} >= {"jetson-agx-thor"}
    models = listing(kb.knowledge, "models")
    assert [row.id for row in find(kb.knowledge, models, ["meta-llama/Llama-3.1-8B"]).rows] == ["llama-3.1-8b"]


def test_csv_is_a_table_with_sources(capsys: Capture) -> None:
    out = _out(capsys, "accelerators", "--columns", "id,gpu.fp8_tflops,ecc", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    by_id = {row["id"]: row for row in rows}
    assert by_id["a100-sxm-80gb"]["fp8_tflops"] == "absent"
    assert float(by_id["h100-sxm"]["fp8_tflops"]) == 1979
    assert by_id["h100-sxm"]["ecc"] == "true"
    assert by_id["h100-sxm"]["sources"].split()
    assert len(rows) == len(_json(capsys, "accelerators")["rows"])


def test_every_column_of_every_catalogue_can_be_shown(kb: whygpu.KnowledgeBase) -> None:
    for section in SECTIONS:
        found = listing(kb.knowledge, section)
        assert set(USUAL[section]) <= set(found.columns)
        text = listing_text(found, found.columns, None, Style(False))
        assert len(text.splitlines()) == len(found.rows) + 2


def test_a_narrow_terminal_drops_columns_and_says_so(kb: whygpu.KnowledgeBase) -> None:
    found = listing(kb.knowledge, "accelerators")
    text = listing_text(found, USUAL["accelerators"], 60, Style(False))
    *table, last = text.splitlines()
    assert max(map(len, table)) <= 60
    assert "too narrow for" in last
    assert "usd_per_hour" in last


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["accelerators", "h200x"], "not-found", "did you mean 'h200-sxm'"),
        (["models", "lamma-3.1-8b"], "not-found", "did you mean"),
        (["accelerators", "--where", "gpu.usable_gb > 4"], "unknown-name", "did you mean 'gpu.usable_gib'"),
        (["accelerators", "--where", "gpu.class > 4"], "", ""),
        (["accelerators", "--where", "gpu.class =="], "", ""),
        (["accelerators", "--where", "__import__('os')"], "", ""),
        (["accelerators", "--sort", "price"], "unknown-column", "columns:"),
        (["accelerators", "--columns", "id,usable_gb"], "unknown-column", "did you mean 'usable_gib'"),
        (["accelerators", "--provider", "aws"], "idle-option", "--where"),
        (["offerings", "--provider", "awz"], "unknown-provider", "did you mean 'aws'"),
        (["offerings", "--accelerator", "h10"], "unknown-accelerator", "did you mean"),
        (["offerings", "--region", "us-east-11"], "unknown-region", "did you mean 'us-east-1'"),
        (["accelerators", "--kb", "no/such/folder"], "no-folder", ""),
    ],
)
def test_bad_input_is_explained(capsys: Capture, arguments: list[str], code: str, hint: str) -> None:
    assert main(["catalogue", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert code in err
    assert hint in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments", [[], ["gpus"], ["accelerators", "--limit", "0"], ["accelerators", "--limit", "x"]]
)
def test_bad_usage(capsys: Capture, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["catalogue", *arguments])
    assert caught.value.code == 2


def test_nothing_found_by_a_condition_is_an_answer(capsys: Capture) -> None:
    assert "0 accelerators" in _out(capsys, "accelerators", "--where", "gpu.usable_gib > 100000")
