"""``whygpu serve``: the same answers over HTTP; ``whygpu mcp``: as tools for a program that speaks MCP."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from whygpu.chain.names import ENGINES
from whygpu.commands.inputs import add_kb
from whygpu.commands.status import OK
from whygpu.errors import AnswerError, Location, Problem

if TYPE_CHECKING:
    from whygpu.serve.work import Limits

DESCRIPTION = "The answers over HTTP, as JSON: POST /advise, /estimate, /why-not, /what-if; GET /catalogue, /health."
EXAMPLE = "curl -H 'Content-Type: application/json' -d '{\"model\": \"llama-3.1-8b\"}' http://127.0.0.1:8502/advise"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``serve``."""
    parser.description, parser.epilog = DESCRIPTION, f"example: {EXAMPLE}"
    _add_knowledge(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1: this machine)")
    parser.add_argument("--port", type=int, default=8502, help="port (default 8502)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name it may be called by; may be repeated",
    )
    parser.add_argument("--max-body", type=_positive, default=256, metavar="KIB", help="largest request (default 256)")
    parser.add_argument("--threads", type=_positive, default=4, metavar="N", help="consultations at once (default 4)")
    parser.add_argument("--queue", type=_positive, default=200, metavar="N", help="requests that wait (default 200)")
    parser.add_argument("--timeout", type=_positive, default=30, metavar="S", help="seconds for an answer (default 30)")


def add_mcp_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``mcp``."""
    parser.description = (
        "Tools of the Model Context Protocol over standard input and output: advise, why_not, what_if, estimate, "
        "catalogue."
    )
    _add_knowledge(parser)


def _add_knowledge(parser: argparse.ArgumentParser) -> None:
    add_kb(parser)
    parser.add_argument(
        "--engine", choices=ENGINES, default="evaluator", help="what fires the rules (default evaluator)"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:9]) == int(text):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a whole number above 0")
    return int(text)


def run(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Serve until it is stopped; raises AnswerError where it cannot, KnowledgeBaseError with every problem."""
    try:
        import uvicorn  # noqa: PLC0415  an extra

        from whygpu.serve.http import LOCAL, application  # noqa: PLC0415
    except ImportError as error:
        raise _missing("serve", error) from error
    from whygpu.serve.current import Current  # noqa: PLC0415

    current = Current(options.kb)
    current.get().chain(options.engine)
    app = application(current, options.engine, _limits(options), (*LOCAL, options.host, *options.allow_host))
    uvicorn.run(app, host=options.host, port=options.port, log_level="warning", server_header=False, access_log=False)
    return OK


def run_mcp(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Answer over standard input and output until it is closed; raises as ``run`` does."""
    try:
        from whygpu.serve.mcp import tools  # noqa: PLC0415  an extra
    except ImportError as error:
        raise _missing("mcp", error) from error
    from whygpu.serve.current import Current  # noqa: PLC0415

    current = Current(options.kb)
    current.get().chain(options.engine)
    tools(current, options.engine).run("stdio")
    return OK


def _limits(options: argparse.Namespace) -> Limits:
    from whygpu.serve.work import Limits  # noqa: PLC0415

    return Limits(options.max_body * 1024, options.threads, options.queue, float(options.timeout))


def _missing(extra: str, error: ImportError) -> AnswerError:
    message = f"it needs packages that are not installed: {error.name or error}"
    return AnswerError(
        [Problem("not-installed", message, Location(f"whygpu {extra}"), f"pip install 'whygpu[{extra}]'")]
    )
