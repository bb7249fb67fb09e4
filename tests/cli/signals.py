"""Signals as a shell in front of a terminal sets them."""

from __future__ import annotations

import signal


def as_on_a_terminal() -> None:
    """For a child: what runs the tests may ignore Ctrl-C, and what it starts inherits that."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
