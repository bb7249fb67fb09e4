"""Run a command of the docs in this process, as if it were typed."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from whygpu.cli import explain_main, main

COLUMNS = 100
"""Width of the terminal that the docs show, in characters."""


class _Terminal(io.StringIO):
    """A stream that is coloured for."""

    def isatty(self) -> bool:
        """Whether programs may use colours."""
        return True


def run(words: list[str], *, colour: bool = False) -> tuple[int, str]:
    """The exit status of ``kb-explain`` or ``whygpu``, and both its streams as one text; ``colour``: for a terminal."""
    stream = _Terminal() if colour else io.StringIO()
    command = {"kb-explain": explain_main, "whygpu": main}[words[0]]
    environment = {"COLUMNS": str(COLUMNS), "NO_COLOR": "" if colour else "1", "TERM": "xterm"}
    with patch.dict(os.environ, environment), redirect_stdout(stream), redirect_stderr(stream):
        try:
            status = command(words[1:])
        except SystemExit as end:  # argparse: help, or a bad option
            status = end.code if isinstance(end.code, int) else 1
    return status, stream.getvalue()
