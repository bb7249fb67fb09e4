"""Where a batch's results go: to standard output, or into a file that grows beside its name and takes it once whole.

Lines are appended as they come. Whatever ends the process, what was written stays, and the same command goes on behind
it: the file's name holds a digest of all that the results rest on.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from whygpu.commands.tally import is_error
from whygpu.errors import AnswerError, Location, Problem
from whygpu.files import check_target, reason
from whygpu.render.output import in_ascii, is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CHUNK = 1024 * 1024
_BEGINNING = 4096  # bytes of a line that hold its id


class Output(Protocol):
    """What takes result lines."""

    done: int
    """How many were there before."""
    errors: int
    """How many of them are errors."""

    def write(self, lines: Iterable[str]) -> None:
        """Take lines, whole: they are kept once this returns."""


class Screen:
    """Standard output."""

    done = errors = 0

    def write(self, lines: Iterable[str]) -> None:
        """Print the lines."""
        text = "".join(f"{line}\n" for line in lines)
        sys.stdout.write(text if is_utf8(sys.stdout) else in_ascii(text))
        sys.stdout.flush()


class Journal:
    """A file of whole lines that grows; what stands behind its last whole line is cut off."""

    def __init__(self, path: Path) -> None:
        """Open or make it; raises AnswerError where that fails or another process writes it."""
        self.path = path
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            self._file = os.fdopen(os.open(path, flags, 0o666), "r+b", buffering=0)
        except OSError as error:
            raise _unwritable(path, error) from error
        _lock(self._file.fileno(), path)
        self.done, self.errors, end = self._whole_lines()
        self._file.truncate(end)
        self._file.seek(end)

    def _whole_lines(self) -> tuple[int, int, int]:
        """How many lines are whole, how many of these are errors, and where the last of them ends."""
        count = errors = end = at = 0
        is_whole, is_bad = True, False
        reader = BufferedReader(self._file, _CHUNK)
        while piece := reader.readline(_CHUNK):  # a line may be longer
            at += len(piece)
            if is_whole:
                is_bad = is_error(piece[:_BEGINNING].decode(errors="replace"))
            is_whole = piece.endswith(b"\n")
            if is_whole:
                count, errors, end = count + 1, errors + is_bad, at
        reader.detach()
        return count, errors, end

    def write(self, lines: Iterable[str]) -> None:
        """Append the lines; raises AnswerError where there is no room, and what was there stays."""
        data = memoryview("".join(f"{line}\n" for line in lines).encode())
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise _unwritable(self.path, error, "what is done is kept: the same command goes on from there") from error

    def become(self, path: Path) -> None:
        """Be the file of that name from now on; raises AnswerError."""
        try:
            os.fsync(self._file.fileno())
            self.path.replace(path)
        except OSError as error:
            raise _unwritable(path, error) from error

    def close(self) -> None:
        """Let go of it; where nothing was ever written it is gone."""
        if not os.fstat(self._file.fileno()).st_size:
            with suppress(OSError):
                self.path.unlink()
        self._file.close()


@contextmanager
def output(name: str | None, digest: str) -> Iterator[Output]:
    """Where lines go until the block ends; then the file is there, whole. Raises AnswerError where it cannot be."""
    if name is None:
        yield Screen()
        return
    path = Path(name)
    part = path.with_name(f"{path.name}.{digest[:12]}.part")
    check_target(path)
    check_target(part)
    journal = Journal(part)
    try:
        yield journal
        journal.become(path)
    finally:
        journal.close()


def _lock(handle: int, path: Path) -> None:
    """Keep other processes from writing the same file; it is free again whatever ends this one. Raises AnswerError."""
    try:
        import fcntl  # noqa: PLC0415  Unix has it
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        message = "another process is answering the same batch into it"
        raise AnswerError([Problem("unwritable", message, Location(str(path)), "wait until it ends")]) from error


def _unwritable(path: Path, error: OSError, hint: str | None = None) -> AnswerError:
    return AnswerError([Problem("unwritable", f"cannot be written: {reason(error)}", Location(str(path)), hint)])
