"""Where the installed commands begin: an interrupt while their modules are being imported ends them quietly, too."""

from __future__ import annotations

from whygpu.commands.status import INTERRUPTED


def kb_explain() -> int:
    """The ``kb-explain`` command."""
    try:
        from whygpu.cli import explain_main  # noqa: PLC0415

        return explain_main()
    except KeyboardInterrupt:
        return INTERRUPTED


def whygpu() -> int:
    """The ``whygpu`` command."""
    try:
        from whygpu.cli import main  # noqa: PLC0415

        return main()
    except KeyboardInterrupt:
        return INTERRUPTED
