"""Files that others name: only regular ones are read, within a bound, and none but a regular one is ever replaced."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, Location, Problem

if TYPE_CHECKING:
    from typing import BinaryIO

NOT_REGULAR = "not a regular file but a folder, device, pipe or socket"


class NotRegularError(OSError):
    """What is named is no regular file."""

    def __init__(self) -> None:
        """The reason as an OSError says it."""
        super().__init__(errno.EINVAL, NOT_REGULAR)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read its bytes. A pipe without a writer does not block it.

    Raises OSError (NotRegularError where it is something else) and ValueError for a null byte in the path.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # a device may act on being opened
        raise NotRegularError
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # the name may stand for something else by now
        file.close()
        raise NotRegularError
    return file


def read_bounded(path: Path, most: int) -> bytes | None:
    """The bytes of a regular file; None where it has more than ``most``. Raises as ``open_regular`` does."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    return data if len(data) <= most else None


def check_target(path: Path) -> None:
    """Raise AnswerError where ``path`` cannot become a file: it is something else already, or its folder is not there.

    A symbolic link is refused too: to replace it, or what it points at, may not be what was meant.
    """
    location, message = Location(str(path)), None
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise AnswerError([Problem("unwritable", f"cannot be written: {reason(error)}", location)]) from error
    if mode is not None and stat.S_ISLNK(mode):
        message, hint = "is a symbolic link, which is not replaced", "name the file that it points at"
    elif mode is not None and not stat.S_ISREG(mode):
        message, hint = f"cannot be replaced: {NOT_REGULAR}", "name a file, or leave --out away"
    elif not path.parent.is_dir():
        message, hint = f"cannot be written: there is no folder '{path.parent}'", "make it first"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        message, hint = f"cannot be written: the folder '{path.parent}' is read-only", "name another"
    if message is not None:
        raise AnswerError([Problem("unwritable", message, location, hint)])


def write_whole(path: Path, text: str) -> None:
    """Put the text into the file at once: a reader sees the old file or the new one. Raises AnswerError."""
    check_target(path)
    scratch: str | None = None
    try:
        handle, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(scratch).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        Path(scratch).replace(path)
    except OSError as error:
        if scratch is not None:
            with suppress(OSError):
                Path(scratch).unlink()
        message = f"cannot be written: {error.strerror}"
        raise AnswerError([Problem("unwritable", message, Location(str(path)))]) from error


def unreadable(path: str, error: Exception, hint: str | None = None) -> Problem:
    """The problem of a file that cannot be read."""
    return Problem("unreadable", f"cannot be read: {reason(error)}", Location(path), hint)


def reason(error: Exception) -> str:
    """What the system says is wrong, in short."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)[:200]
