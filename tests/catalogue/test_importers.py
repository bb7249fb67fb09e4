"""Importers: good files become entries that load; bad ones are explained line by line, and nothing is written."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whygpu
from whygpu.cli import main
from whygpu.errors import AnswerError, Location
from whygpu.imports import Entries, model_entry, price_entries
from whygpu.intake.resolve import shape_of
from whygpu.loader.files import default_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu.knowledge.catalogue import Catalogue

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
CONFIGS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).resolve().parents[1] / "data" / "configs.yaml").read_text(encoding="utf-8")
)["configs"]
LLAMA = CONFIGS[0]["config"]
GOOD = """accelerator,count,usd_per_hour,price_kind,region,instance,as_of
H100 SXM,8,"$15.20",reserved,eu-west-1,contract-7,2026-10-01
l40s,1,1.05,,,,
"""
OWN = """# What we have negotiated.
references:
- {id: our-contract, title: Our contract of 2026, where: the shared drive, as_of: 2026-10-01}
providers:
- {id: our-host, name: Our host, class: own, source: our-contract}
offerings:
- {id: our-t4, provider: our-host, accelerator: t4, count: 1, price_kind: reserved, usd_per_hour: 0.2,
    as_of: 2026-10-01,
    source: our-contract}

# Bought, too.
purchases:
- {id: our-a2, accelerator: a2, usd: 1200, kind: street, as_of: 2026-10-01, source: our-contract}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A private copy of the knowledge base."""
    return Path(shutil.copytree(default_root(), tmp_path / "mykb"))


def _prices(path: Path, *more: str) -> int:
    return main(["import-prices", str(path), "--provider", "lambda", "--source", "gpu-price-index", *more])


def _model(path: Path, *more: str) -> int:
    return main(["import-model", str(path), "--id", "our-model", "--source", "litgpt-config", *more])


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_prices_are_printed_as_offerings(tmp_path: Path, capsys: Capture) -> None:
    assert _prices(_written(tmp_path / "p.csv", GOOD), "--as-of", "2026-11-20") == 0
    out, err = capsys.readouterr()
    assert err == ""
    first, second = yaml.safe_load(out)["offerings"]
    assert first | {"as_of": str(first["as_of"])} == {
        "id": "lambda-contract-7-x8-reserved-eu-west-1-2026-10-01",
        "provider": "lambda",
        "instance": "contract-7",
        "accelerator": "h100-sxm",
        "count": 8,
        "region": "eu-west-1",
        "price_kind": "reserved",
        "usd_per_hour": 15.2,
        "as_of": "2026-10-01",
        "source": "gpu-price-index",
    }
    assert (second["accelerator"], second["price_kind"], str(second["as_of"])) == ("l40s", "on-demand", "2026-11-20")


def test_prices_go_to_the_end_of_their_section(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    own = _written(folder / "own.yaml", OWN)
    good = _written(tmp_path / "p.csv", GOOD)
    options = ("--as-of", "2026-11-20", "--kb", str(folder), "--out", str(own))
    arguments = ["import-prices", str(good), "--provider", "our-host", "--source", "our-contract", *options]
    assert main(arguments) == 0
    assert "2 entries put into" in capsys.readouterr().out
    text = own.read_text(encoding="utf-8")
    assert text.index("our-t4") < text.index("our-host-l40s") < text.index("# Bought, too.") < text.index("purchases:")
    assert text.startswith(OWN[: OWN.index("\n# Bought")])
    offerings = {item.id: item for item in whygpu.load(folder).knowledge.catalogue.offerings}
    assert offerings["our-host-l40s-2026-11-20"].usd_per_hour == 1.05
    assert main(arguments) == 2, "the same prices twice"
    assert "duplicate-price" in capsys.readouterr().err
    assert own.read_text(encoding="utf-8") == text


def test_a_new_file_outside_the_knowledge_base(tmp_path: Path) -> None:
    out = tmp_path / "new.yaml"
    assert _prices(_written(tmp_path / "p.csv", GOOD), "--as-of", "2026-11-20", "--out", str(out)) == 0
    assert len(yaml.safe_load(out.read_text(encoding="utf-8"))["offerings"]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.yaml", "p.csv"]


BAD = """accelerator,count,usd_per_hour,price_kind,region,instance,as_of
H100,8,15.20,reserved,eu,,2026-10-01
l40x,1,1,,,,2026-10-01
l40s,0,1,,,,2026-10-01
l40s,1,free,,,,2026-10-01
l40s,1,-1,,,,2026-10-01
l40s,1,1,sopt,,,2026-10-01
l40s,1,1,,,,2999-01-01
l40s,1,1,,,,01.02.2026
l40s,1,1,,,,2026-02-30
l40s,1
l40s,1,1,,,,
"""


def test_every_bad_row_is_told_with_its_line(tmp_path: Path, capsys: Capture) -> None:
    path, out = _written(tmp_path / "p.csv", BAD), tmp_path / "out.yaml"
    assert _prices(path, "--out", str(out)) == 2
    printed, err = capsys.readouterr()
    assert printed == ""
    assert not out.exists()
    found = [line.removeprefix(f"{path}:").split(": ")[:2] for line in err.splitlines() if line.startswith(str(path))]
    assert found == [
        ["2", "several-accelerators"],
        ["3", "unknown-accelerator"],
        ["4", "bad-count"],
        ["5", "bad-price"],
        ["6", "bad-price"],
        ["7", "bad-choice"],
        ["8", "bad-date"],
        ["9", "bad-date"],
        ["10", "bad-date"],
        ["11", "bad-row"],
        ["12", "no-date"],
    ]
    assert err.count("help: ") == len(found)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "missing-column"),
        ("accelerator,usd_per_hour\n", "no-rows"),
        ("accelerator,price\nt4,1\n", "unknown-column"),
        ("accelerator,usd_per_hour,usd_per_hour\nt4,1,1\n", "repeated-column"),
        ('accelerator,usd_per_hour\n"t4,1\n', "bad-csv"),
        ("accelerator,usd_per_hour\n" + "t4,1\n" * 5001, "too-many-rows"),
        ("accelerator,usd_per_hour\n" + "t" * 300 + ",1\n", "too-long"),
        ("accelerator,usd_per_hour\nt4,1\nt4,2\n", "duplicate-price"),
        ("accelerator,usd_per_hour\nt4," + "9" * 400 + "\n", "bad-price"),
    ],
)
def test_bad_files_of_prices(tmp_path: Path, capsys: Capture, text: str, code: str) -> None:
    assert _prices(_written(tmp_path / "p.csv", text), "--as-of", "2026-11-20") == 2
    assert code in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--provider", "lamda"], "unknown-provider"),
        (["--source", "no-such-thing"], "unknown-source"),
        (["--as-of", "yesterday"], "bad-date"),
        (["--kb", "no/such/folder"], "no-folder"),
        (["--out", "prices.txt"], "bad-target"),
        (["--out", "no/such/folder/prices.yaml"], "unwritable"),
    ],
)
def test_bad_options_of_prices(tmp_path: Path, capsys: Capture, more: Sequence[str], code: str) -> None:
    assert _prices(_written(tmp_path / "p.csv", GOOD), "--as-of", "2026-11-20", *more) == 2
    err = capsys.readouterr().err
    assert code in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("held", "code"),
    [("- 1\n", "bad-target"), ("offerings: []\n", "bad-target"), ("offerings: [\n", "yaml-syntax")],
)
def test_a_file_that_cannot_take_entries_stays_as_it_is(tmp_path: Path, capsys: Capture, held: str, code: str) -> None:
    out = _written(tmp_path / "out.yaml", held)
    assert _prices(_written(tmp_path / "p.csv", GOOD), "--as-of", "2026-11-20", "--out", str(out)) == 2
    assert out.read_text(encoding="utf-8") == held
    assert code in capsys.readouterr().err or code == "bad-target"


@given(data=st.binary(max_size=400))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_bytes_are_refused(kb: whygpu.KnowledgeBase, tmp_path: Path, data: bytes) -> None:
    """Whatever the bytes, they become entries or problems."""
    catalogue, path = kb.knowledge.catalogue, tmp_path / "hostile"
    day = date(2026, 11, 21)
    path.write_bytes(b"accelerator,usd_per_hour\n" + data)
    with suppress(AnswerError):
        price_entries(path, catalogue, provider="lambda", sources=("x",), as_of=day.isoformat(), today=day)
    path.write_bytes(data)
    with suppress(AnswerError):
        model_entry(path, catalogue, identifier="our-model", sources=("x",))


def test_a_config_becomes_a_model_that_reads_back(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    path, out = _written(tmp_path / "config.json", json.dumps(LLAMA)), folder / "facts" / "models" / "ours.yaml"
    options = ("--name", "Our 8B: tuned", "--alias", "ours/8b", "--kb", str(folder), "--out", str(out))
    assert _model(path, *options) == 0
    capsys.readouterr()
    catalogue = whygpu.load(folder).knowledge.catalogue
    entry = catalogue.models["our-model"]
    assert entry.name == "Our 8B: tuned"
    assert entry.sources == ("litgpt-config",)
    assert catalogue.model_names["ours8b"] == ("our-model",)
    ours, _ = shape_of("our-model", catalogue, entry.location)
    theirs, _ = shape_of("llama-3.1-8b", catalogue, entry.location)
    assert (ours.parameters, ours.kv_groups) == (CONFIGS[0]["parameters"], theirs.kv_groups)


def _imported(config: dict[str, Any], folder: Path, catalogue: Catalogue) -> Entries | None:
    """The entry of a configuration; None where it is refused."""
    path = _written(folder / "config.json", json.dumps(config))
    try:
        return model_entry(path, catalogue, identifier="our-model", sources=("litgpt-config",))[0]
    except AnswerError as error:
        if {problem.code for problem in error.problems} <= {"not-expressible", "bad-model"}:
            return None
        raise


@pytest.mark.parametrize("config", CONFIGS, ids=[str(item["name"]) for item in CONFIGS])
def test_each_published_config_is_written_right_or_refused(
    kb: whygpu.KnowledgeBase, tmp_path: Path, config: dict[str, Any]
) -> None:
    """An entry either gives the parameters and the cache of the configuration, or is not made."""
    catalogue = kb.knowledge.catalogue
    entries = _imported(config["config"], tmp_path, catalogue)
    if entries is None:
        return
    fields = yaml.safe_load(entries.text())["models"][0]
    plain = {key: value for key, value in fields.items() if key not in ("id", "source")}
    written, _ = shape_of(plain, catalogue, Location("test"))
    read, _ = shape_of({"config": str(tmp_path / "config.json")}, catalogue, Location("test"))
    assert (written.parameters, written.active_parameters) == (read.parameters, read.active_parameters)
    assert written.kv_elements_per_token() == read.kv_elements_per_token()


def test_the_format_that_a_model_is_published_in_is_written(kb: whygpu.KnowledgeBase, tmp_path: Path) -> None:
    config = {**LLAMA, "quantization_config": {"quant_method": "fp8"}}
    entries = _imported(config, tmp_path, kb.knowledge.catalogue)
    assert entries is not None
    assert yaml.safe_load(entries.text())["models"][0]["published_format"] == "fp8"


def test_a_format_that_no_catalogue_has_is_refused_or_said(kb: whygpu.KnowledgeBase) -> None:
    """A typing error is an error; what a configuration says is reported, and the model is usable."""
    catalogue = kb.knowledge.catalogue
    with pytest.raises(AnswerError) as raised:
        shape_of({"parameters": 8e9, "published_format": "mxpf4"}, catalogue, Location("answers"))
    assert raised.value.problems[0].help == "did you mean 'mxfp4'?"
    config = {**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 3}}
    shape, said = shape_of({"config": config}, catalogue, Location("answers"))
    assert shape.published_format == ""
    assert any("gptq-int3" in line for line in said)


def test_most_published_configs_can_be_written(kb: whygpu.KnowledgeBase, tmp_path: Path) -> None:
    written = [_imported(config["config"], tmp_path, kb.knowledge.catalogue) for config in CONFIGS]
    assert sum(entries is not None for entries in written) >= 0.6 * len(CONFIGS)


@pytest.mark.parametrize(
    ("text", "more", "code"),
    [
        ("{}", [], "bad-model"),
        ("[1]", [], "bad-model"),
        ("{", [], "bad-model"),
        (json.dumps({**LLAMA, "hidden_size": "wide"}), [], "bad-model"),
        (json.dumps({**LLAMA, "hidden_size": -1}), [], "bad-model"),
        ("[" * 100_000, [], "bad-model"),
        (json.dumps(LLAMA), ["--id", "Our Model"], "bad-id"),
        (json.dumps(LLAMA), ["--id", "llama-3.1-8b"], "duplicate-id"),
        (json.dumps(LLAMA), ["--source", "litgpt-confg"], "did you mean 'litgpt-config'"),
        (json.dumps(LLAMA), ["--parameters", "many"], "bad-option"),
    ],
)
def test_bad_models(tmp_path: Path, capsys: Capture, text: str, more: list[str], code: str) -> None:
    out = tmp_path / "out.yaml"
    assert _model(_written(tmp_path / "config.json", text), *more, "--out", str(out)) == 2
    err = capsys.readouterr().err
    assert code in err
    assert "Traceback" not in err
    assert not out.exists()


def test_layers_that_differ_in_their_heads_are_written_with_what_each_kind_keeps(
    kb: whygpu.KnowledgeBase, tmp_path: Path
) -> None:
    uneven = next(item["config"] for item in CONFIGS if item["config"].get("model_type") == "gemma4")
    entries = _imported(uneven, tmp_path, kb.knowledge.catalogue)
    assert entries is not None
    near = {"layers": 25, "elements": 4096, "heads": 8, "window": 1024}
    assert yaml.safe_load(entries.text())["models"][0]["kv_groups"] == [
        {"layers": 5, "elements": 2048, "heads": 2},
        near,
    ]


def test_a_model_that_an_entry_cannot_hold_is_refused(tmp_path: Path, capsys: Capture) -> None:
    """Layers that are a state and nothing else: better no entry than a wrong one."""
    states = next(item["config"] for item in CONFIGS if item["config"].get("model_type") == "mamba")
    assert _model(_written(tmp_path / "config.json", json.dumps(states))) == 2
    err = capsys.readouterr().err
    assert "not-expressible" in err
    assert "model.config=" in err
