"""Starts the wizard's server: on this machine only, and asking nothing of any other."""

from __future__ import annotations

import errno
import os
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING

from whygpu.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from whygpu import KnowledgeBase
    from whygpu.chain.names import EngineName

ADDRESS = "127.0.0.1"
BAD_INPUT = 2

# Streamlit's pages have inline styles, Vega compiles charts, components are blobs; nothing comes from elsewhere.
_CONTENT_POLICY = (
    "default-src 'self' blob: data:; script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; connect-src 'self' ws://127.0.0.1:* ws://localhost:* blob: data:; "
    "frame-ancestors 'none'; form-action 'self'; base-uri 'self'; object-src 'none'"
)
_HEADERS = (
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


def serve(kb: str | None, port: int, engine: EngineName = "evaluator", public: str | None = None) -> int:
    """Serve the wizard on 127.0.0.1 until interrupted; returns the exit status.

    Raises KnowledgeBaseError (every problem) or EngineUnavailableError before anything listens. Port 0 takes a free
    one. ``public``: the host name by which a reverse proxy on this machine is reached.
    """
    import streamlit as st  # noqa: PLC0415  slow, and needed only here
    from starlette.middleware import Middleware  # noqa: PLC0415  comes with streamlit

    from whygpu_ui.knowledge import ENGINE_VARIABLE, ROOT_VARIABLE, served  # noqa: PLC0415  imports streamlit

    if kb is not None:
        os.environ[ROOT_VARIABLE] = str(Path(kb).resolve())
    os.environ[ENGINE_VARIABLE] = engine
    knowledge_base = served()
    knowledge_base.chain(engine)
    try:
        port = _free(port)
    except (OSError, OverflowError) as error:
        print(f"whygpu ui: {_refused(port, error)}", file=sys.stderr)
        return BAD_INPUT
    Thread(target=_announce_and_warm, args=(knowledge_base, port), daemon=True).start()
    script = Path(__file__).with_name("app.py")
    app = st.App(str(script), middleware=[Middleware(_Headers, public=public)])
    try:
        app.run(config=configuration(port, public))
    except KeyboardInterrupt:
        return 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    return 0


def configuration(port: int, public: str | None = None) -> Mapping[str, object]:
    """Streamlit's options, over whatever files and variables say."""
    names = [] if public is None else [public]
    return {
        "server.address": ADDRESS,
        "server.port": port,
        "server.headless": True,
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.allowedHosts": [ADDRESS, "localhost", *names],
        "server.corsAllowedOrigins": [f"https://{name}" for name in names],
        "server.maxUploadSize": 1,
        "server.enableStaticServing": False,
        "server.fileWatcherType": "none",
        "server.enableAgentApi": False,
        "browser.gatherUsageStats": False,
        "client.showErrorDetails": "none",
        "client.toolbarMode": "minimal",
        "logger.hideWelcomeMessage": True,
        "global.developmentMode": False,
        "theme.headingFontSizes": ["1.75rem", "1.375rem", "1.125rem", "1rem", "1rem", "1rem"],
        "theme.paddingTop": "2rem",
        "theme.light.primaryColor": "#0B5CAD",
        "theme.dark.primaryColor": "#2A76C8",
        "theme.light.linkColor": "#0B5CAD",
        "theme.dark.linkColor": "#8FC1F5",
    }


def _free(port: int) -> int:
    """The port, or a free one for 0; raises OSError where it cannot be had, OverflowError where there is none such."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: a port just left is free
        probe.bind((ADDRESS, port))
        return int(probe.getsockname()[1])


def _refused(port: int, error: Exception) -> str:
    if isinstance(error, OverflowError):
        return f"there is no port {port}; choose one from 1024 to 65535 with --port"
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} of {ADDRESS} is in use; choose another with --port"
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot listen on port {port} of {ADDRESS}: {reason}; choose another with --port"


def _announce_and_warm(knowledge_base: KnowledgeBase, port: int) -> None:
    """Print the address once it answers; then load what the first answer page needs."""
    while not _answers(port):
        sleep(0.02)
    print(f"whygpu: http://{ADDRESS}:{port} (Ctrl+C stops it)", flush=True)
    from whygpu_ui.knowledge import find  # noqa: PLC0415  imports streamlit

    for name in ("pandas", "pyarrow", "altair"):
        import_module(name)
    with suppress(EngineError):  # the page says so, when it asks
        find(knowledge_base, {})


def _answers(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        return client.connect_ex((ADDRESS, port)) == 0


class _Headers:
    """Adds the headers that hold a page to this server to every response."""

    def __init__(self, app: ASGIApp, public: str | None = None) -> None:
        self._app = app
        more = "" if public is None else f" wss://{public}"
        policy = _CONTENT_POLICY.replace("ws://localhost:*", f"ws://localhost:*{more}")
        self._headers = ((b"content-security-policy", policy.encode()), *_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)
