"""``whygpu import-model`` and ``whygpu import-prices``: files of others as entries of a knowledge base, offline."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.commands.inputs import add_kb
from whygpu.commands.status import OK

if TYPE_CHECKING:
    from whygpu.imports import Entries, Target

MOST_PARAMETERS = 1e14


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``import-model``."""
    parser.description = (
        "A Hugging Face config.json as an entry of the catalogue of models, printed or put into a file."
    )
    parser.add_argument("path", metavar="CONFIG.json")
    parser.add_argument("--id", required=True, metavar="ID", help="the id of the entry, such as our-7b")
    parser.add_argument("--name", help="its name (by default what the configuration says)")
    parser.add_argument("--task", help="its task, such as language, vision or embedding")
    parser.add_argument("--alias", action="append", default=[], metavar="TEXT", help="another name; may be repeated")
    parser.add_argument("--parameters", metavar="N", help="parameters, such as 6.7B, where they are not to be counted")
    _common(parser)


def add_prices_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``import-prices``."""
    parser.description = (
        "Prices as offerings, printed or put into a file: a CSV with the columns accelerator, usd_per_hour (for the "
        "whole row), and where they apply count, price_kind, region, instance, as_of, note; or a list as published: "
        "SkyPilot's vms.csv, gpuhunt's CSV, AWS price list JSON, Azure retail prices JSON."
    )
    parser.add_argument("path", metavar="FILE")
    parser.add_argument("--provider", required=True, metavar="ID", help="a provider of the catalogue")
    parser.add_argument("--as-of", metavar="DATE", help="the day of rows that do not say theirs: 2026-11-21")
    parser.add_argument(
        "--region",
        action="append",
        default=[],
        metavar="REGION",
        help="of a published list keep this region or area (eu); may be repeated",
    )
    _common(parser)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--source", required=True, action="append", metavar="REF", help="the id of a reference; may be repeated"
    )
    parser.add_argument("--out", metavar="FILE", help="write it to this file, atomically (default: print it)")
    add_kb(parser)


def run_model(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Import a model; raises InputError."""
    from whygpu.imports import Target, model_entry  # noqa: PLC0415  --help needs no numpy
    from whygpu.quantity import parse_number  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    target = Target.of(options.kb, options.out, "imported-model.yaml")
    parameters = None if options.parameters is None else parse_number(options.parameters, "parameters")
    bad_count = options.parameters is not None and not (parameters and 1 <= parameters <= MOST_PARAMETERS)
    target.refuse_unknown(
        sources=options.source,
        new_model=options.id,
        wrong={"--parameters": "write a number of parameters, such as 6.7B"} if bad_count else {},
    )
    entries, doubts = model_entry(
        Path(options.path),
        target.knowledge.catalogue,
        identifier=options.id,
        sources=tuple(options.source),
        name=options.name,
        task=options.task,
        aliases=tuple(options.alias),
        parameters=None if parameters is None else round(parameters),
    )
    _deliver(entries, target)
    for doubt in doubts:
        print(Style(False).safe(f"note: {doubt}"), file=sys.stderr)
    return OK


def run_prices(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Import prices; raises InputError."""
    from whygpu.imports import Target, price_entries  # noqa: PLC0415

    target = Target.of(options.kb, options.out, "imported-prices.yaml")
    target.refuse_unknown(sources=options.source, provider=options.provider)
    entries = price_entries(
        Path(options.path),
        target.knowledge.catalogue,
        provider=options.provider,
        sources=tuple(options.source),
        as_of=options.as_of,
        today=date.today(),
        regions=tuple(options.region),
    )
    _deliver(entries, target)
    for note in entries.notes:
        print(f"note: {note}", file=sys.stderr)
    return OK


def _deliver(entries: Entries, target: Target) -> None:
    text = target.location(entries)
    if target.out is None:
        sys.stdout.write(text)
        return
    target.write(text)
    print(f"{len(entries.items)} {'entry' if len(entries.items) == 1 else 'entries'} put into {target.out}")
