"""A command as a process: its streams, and the status it ends with whatever happens."""

from __future__ import annotations

import io
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from whygpu.commands.status import BROKEN, INTERRUPTED, OK, UNWRITABLE

if TYPE_CHECKING:
    from collections.abc import Callable


def guarded(command: Callable[[], int]) -> int:
    """Run a command; returns its status. Whatever goes wrong with the streams or in whygpu is one line."""
    _prepare()
    try:
        status = command()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough
        _discard(sys.stdout)
        return OK
    except KeyboardInterrupt:
        _discard(sys.stdout)
        return INTERRUPTED
    except SystemExit:  # of argparse, which has printed its help or what is wrong
        if not _flush_or_discard():
            return UNWRITABLE
        raise
    except OSError as error:
        _discard(sys.stdout)
        return _failed(f"cannot be written or read: {error.strerror or error}", UNWRITABLE)
    except Exception as error:  # noqa: BLE001  a fault of whygpu: said in a line, with a status that means nothing else
        _flush_or_discard()
        frame = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"
        return _failed(f"an error of whygpu itself, please report it: {what}", BROKEN)
    return status


def _prepare() -> None:
    """Streams that are closed go nowhere; characters that an encoding lacks become question marks."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  while it runs
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _failed(message: str, status: int) -> int:
    from whygpu.render.style import Style  # noqa: PLC0415  only where something is wrong

    try:
        print(f"whygpu: {Style(False).safe(message)}", file=sys.stderr)
    except OSError:
        _discard(sys.stderr)
    return status


def _flush_or_discard() -> bool:
    """Whether everything could be written."""
    whole = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)
            whole = False
    return whole


def _discard(stream: TextIO) -> None:
    """Let what is still to be written go nowhere: Python would try, and complain, when it ends."""
    try:
        handle = stream.fileno()
    except (OSError, ValueError):  # no real stream: in a test, or replaced
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), handle)
