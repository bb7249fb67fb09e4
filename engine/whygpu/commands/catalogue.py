"""``whygpu catalogue``: lists, searches, filters and sorts what is known; shows one entry whole with its sources."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from whygpu.commands.inputs import add_date, add_kb
from whygpu.commands.status import OK

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge
    from whygpu.listing import Listing, Whole

SECTIONS = ("accelerators", "offerings", "models")
PRICE_FILTERS = ("provider", "accelerator", "price_kind", "region", "dated")
DESCRIPTION = "What whygpu knows of accelerators, prices and models: every value with its source, date and place."
EXAMPLES = """examples:
  whygpu catalogue accelerators                                  all of them
  whygpu catalogue accelerators l40s                             one whole, every value with its source
  whygpu catalogue accelerators --where "gpu.usable_gib >= 40 and gpu.class == 'workstation'" --sort usd_per_hour
  whygpu catalogue offerings --accelerator h100 --price-kind spot --sort usd_per_card --limit 10
  whygpu catalogue models llama --columns id,parameters,context_tokens --format csv
"""
_WIDE = 100  # of a whole entry where the output is no terminal


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description, parser.epilog = DESCRIPTION, EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("section", choices=SECTIONS, metavar="accelerators|offerings|models", help="which catalogue")
    parser.add_argument("words", nargs="*", metavar="WORD", help="an id, name, alias or family, or words to search for")
    parser.add_argument(
        "--where", metavar="CONDITION", help="a condition as in rules, over gpu., offering. or model. and a column"
    )
    parser.add_argument("--sort", metavar="COLUMN", help="order by a column; unknown values come last")
    parser.add_argument("--descending", action="store_true", help="largest first")
    parser.add_argument("--columns", metavar="A,B,C", help="which columns, or 'all'")
    parser.add_argument("--limit", type=_whole, metavar="N", help="at most this many rows")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text")
    add_kb(parser)
    add_date(parser)
    prices = parser.add_argument_group("offerings only")
    prices.add_argument("--accelerator", metavar="CARD", help="of this card: an id, name, alias or family")
    prices.add_argument("--provider", metavar="ID", help="of this provider")
    prices.add_argument("--price-kind", choices=("on-demand", "spot", "reserved"))
    prices.add_argument("--region", metavar="REGION")
    prices.add_argument("--dated", action="store_true", help="only prices whose day is known")


def _whole(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:9]) == int(text):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number of rows, such as 20")
    return int(text)


def run(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Print what was asked for; raises InputError on input that cannot be used."""
    import whygpu  # noqa: PLC0415  --help needs no numpy
    from whygpu import listing as lists  # noqa: PLC0415

    knowledge = whygpu.load(options.kb).knowledge
    _refuse_idle_filters(options)
    found = lists.find(knowledge, lists.listing(knowledge, options.section, options.date), options.words)
    if len(found.rows) == 1 and _wants_whole(options):
        _print_whole(lists.whole(knowledge, options.section, found.rows[0].id, options.date), options.format)
        return OK
    if options.section == "offerings":
        found = lists.keep_offerings(knowledge, found, **{name: getattr(options, name) for name in PRICE_FILTERS})
    if options.where is not None:
        found = lists.where(knowledge, found, options.where)
    if options.sort is not None:
        found = lists.ordered(found, options.sort, descending=options.descending)
    columns = _columns(found, options.columns, options.format)
    if options.limit is not None:
        found = found.of(found.rows[: options.limit])
    _print_listing(knowledge, found, columns, options.format)
    return OK


def _wants_whole(options: argparse.Namespace) -> bool:
    """Whether words name the entry and nothing asks for a table of it."""
    asks_table = options.where or options.columns or any(getattr(options, name) for name in PRICE_FILTERS)
    return bool(options.words) and options.format != "csv" and not asks_table


def _refuse_idle_filters(options: argparse.Namespace) -> None:
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415

    idle = [name for name in PRICE_FILTERS if getattr(options, name)] if options.section != "offerings" else []
    if idle:
        hint = "use --where for accelerators and models"
        raise AnswerError(
            [
                Problem(
                    "idle-option", "only offerings are filtered by it", Location(f"--{name.replace('_', '-')}"), hint
                )
                for name in idle
            ]
        )


def _columns(found: Listing, text: str | None, form: str) -> tuple[str, ...]:
    from whygpu.listing import column_of  # noqa: PLC0415
    from whygpu.render.catalogue import USUAL  # noqa: PLC0415

    if text is None:
        wanted = USUAL[found.section] if form == "text" else found.columns
        return tuple(name for name in wanted if name in found.columns)
    if text.strip() == "all":
        return found.columns
    return tuple(dict.fromkeys(column_of(found, name) for name in text.split(",")))


def _print_listing(knowledge: Knowledge, found: Listing, columns: tuple[str, ...], form: str) -> None:
    from whygpu.listing import sources_of  # noqa: PLC0415
    from whygpu.render import catalogue as render  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    match form:
        case "json":
            sources = sources_of(knowledge, (source for row in found.rows for source in row.sources))
            sys.stdout.write(render.json_text(render.listing_data(found, columns, sources)))
        case "csv":
            sys.stdout.write(render.listing_csv(found, columns))
        case _:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
            sys.stdout.write(render.listing_text(found, columns, width, Style.of(sys.stdout)))


def _print_whole(entry: Whole, form: str) -> None:
    from whygpu.render import catalogue as render  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    if form == "json":
        sys.stdout.write(render.json_text(render.whole_data(entry)))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE
    sys.stdout.write(render.whole_text(entry, width, Style.of(sys.stdout)))
