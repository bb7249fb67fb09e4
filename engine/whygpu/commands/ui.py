"""``whygpu ui``: the wizard in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.names import ENGINES
from whygpu.commands.inputs import add_kb

if TYPE_CHECKING:
    import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_kb(parser)
    parser.add_argument("--port", type=int, default=8501, help="port on 127.0.0.1 (default 8501)")
    parser.add_argument(
        "--public", metavar="HOST", help="the host name under which a reverse proxy on this machine publishes it"
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="evaluator",
        help="which engine fires the rules (default evaluator: a crash of durable-rules would end every visit)",
    )


def run(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Serve until it is stopped."""
    from whygpu_ui.serve import serve  # noqa: PLC0415  streamlit is slow to import

    return serve(options.kb, options.port, options.engine, options.public)
