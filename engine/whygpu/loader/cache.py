"""What was loaded before, kept in the user's own cache: parsing a knowledge base takes most of a short command.
``whygpu check`` keeps there, too, which cases passed (``lint/passed.py``).

Nothing in it is believed because it is there. The folder and the file must belong to who runs this, and nobody else may
write to them or to a folder above; the file is asked for by a hash of every text, of the library's own code and of the
Python it runs on, so that another one is never read; and of what it holds only the plain classes of a knowledge base
are made, whatever it says. A file that is damaged, foreign or open to others is passed over and written anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import pickle
import stat
import sys
import tempfile
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whygpu.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SWITCH = "WHYGPU_CACHE"
"""The environment variable that turns it off."""
KNOWLEDGE = "kb"
"""The kind of what is loaded: how its files end."""
_OFF = ("off", "0", "no", "false")
_MAGIC = b"whygpu cache 1\n"
_MOST_BYTES = 64 << 20
_MOST_FILES = 4
_LEFT_S = 3600.0
"""After so many seconds a half-written file has nobody who goes on with it: its process was killed."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MODULES = (
    "whygpu.errors",
    "whygpu.knowledge.",
    "whygpu.language.",
    "whygpu.checks.",
    "whygpu.chain.durable",
    "whygpu.chain.normal",
)
"""Where the classes of a loaded knowledge base are defined."""
_PLAIN = frozenset({"Coefficients", "Program"})
"""Those that are no dataclasses."""


def folder() -> Path | None:
    """Where things are kept; None where that is turned off, or who owns a file cannot be told."""
    if os.environ.get(SWITCH, "").lower() in _OFF or sys.platform == "win32" or os.geteuid() != os.getuid():
        return None
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    with suppress(RuntimeError):  # nobody's home
        return (given if given.is_absolute() else Path.home() / ".cache") / "whygpu"
    return None


def key_of(texts: Mapping[str, str], *others: str) -> str:
    """What something about texts is asked for by: every text and what else it rests on (of a knowledge base where it
    lies), the library's own files, and the Python.
    """
    digest = hashlib.sha256()
    for part in (*others, sys.version, str(sys.implementation.cache_tag), *_own_files()):
        digest.update(f"{len(part)}\0{part}".encode())
    for name, text in sorted(texts.items()):
        digest.update(f"{name}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _own_files() -> tuple[str, ...]:
    """The library's version, and its files with their sizes and times: in a checkout they change without a version."""
    found = [__version__]
    for path, folders, names in os.walk(Path(__file__).resolve().parents[1]):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "kb"))
        for name in sorted(names):
            if name.endswith(".py"):
                status = Path(path, name).stat()
                found.append(f"{path}/{name} {status.st_size} {status.st_mtime_ns}")
    return tuple(found)


def read(key: str) -> Any | None:
    """What was kept by the key; None where nothing is that can be trusted."""
    body = read_bytes(key, KNOWLEDGE)
    if body is None:
        return None
    try:
        return _Reader(io.BytesIO(body)).load()
    except Exception:  # noqa: BLE001  bytes that were put there can raise anything; whatever it is, they are no use
        return None


def write(key: str, value: object) -> None:
    """Keep something by the key, where it can be read again; that it cannot be kept is no failure."""
    if folder() is None:
        return
    with suppress(pickle.PicklingError, TypeError, AttributeError, RecursionError):
        buffer = io.BytesIO()
        _Writer(buffer, 5).dump(value)
        write_bytes(key, KNOWLEDGE, buffer.getvalue())


def read_bytes(key: str, kind: str) -> bytes | None:
    """The bytes of a kind that were kept by the key; None where there are none that can be trusted."""
    where = folder()
    if where is None or not _is_own(where):
        return None
    try:
        data = _bytes_of(where / f"{key}.{kind}")
    except (OSError, ValueError):
        return None
    if data is None or not data.startswith(_MAGIC):
        return None
    digest, _, body = data[len(_MAGIC) :].partition(b"\n")
    whole = digest.decode("ascii", "replace") == hashlib.sha256(key.encode() + body).hexdigest()
    return body if whole else None


def write_bytes(key: str, kind: str, body: bytes) -> None:
    """Keep bytes of a kind by the key, and of that kind the last few; that they cannot be kept is no failure."""
    where = folder()
    if where is None:
        return
    with suppress(OSError):
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(where):
            return
        digest = hashlib.sha256(key.encode() + body).hexdigest()
        _replace(where / f"{key}.{kind}", _MAGIC + digest.encode() + b"\n" + body)
        _tidy(where, kind)


def _is_own(where: Path) -> bool:
    """Whether the folder is this user's alone, and nobody else may put another in its place."""
    try:
        status = where.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
            return False
        return all(_is_safe(above.stat()) for above in where.resolve(strict=True).parents)
    except (OSError, RuntimeError):
        return False


def _is_safe(status: os.stat_result) -> bool:
    """Whether nobody but this user and root may rename what lies in a folder; a sticky one lets only owners do so."""
    if status.st_uid not in (0, os.geteuid()):
        return False
    return not status.st_mode & _WRITABLE_BY_OTHERS or bool(status.st_mode & stat.S_ISVTX)


def _bytes_of(path: Path) -> bytes | None:
    """The bytes of a file that is this user's alone; None where it is not, or too large. Raises OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and status.st_nlink == 1
        if not own or status.st_mode & _OTHERS or status.st_size > _MOST_BYTES:
            return None
        return file.read(_MOST_BYTES)


def _replace(path: Path, data: bytes) -> None:
    """Put the bytes into the file at once: a reader sees the old ones or the new. Raises OSError."""
    handle, scratch = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)  # nobody else's: mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _tidy(where: Path, kind: str) -> None:
    """Keep the files of a kind that were written last, and nothing that was left half-written."""
    found = sorted(where.glob(f"*.{kind}"), key=lambda path: path.lstat().st_mtime_ns, reverse=True)
    left = [path for path in where.glob(".*.part") if path.lstat().st_mtime < time.time() - _LEFT_S]
    for path in (*found[_MOST_FILES:], *left):
        path.unlink(missing_ok=True)


class _Writer(pickle.Pickler):
    """Dataclasses as calls of their classes, which are made twice as fast as by setting their fields."""

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, MappingProxyType):
            return _view, (dict(item),)
        names = _fields_of(item.__class__)
        return NotImplemented if names is None else (type(item), tuple(getattr(item, name) for name in names))


class _Reader(pickle.Unpickler):
    """Makes nothing but the classes of a loaded knowledge base."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) == (__name__, _view.__name__):
            return _view
        if not module.startswith(_MODULES):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a knowledge base")
        found: Any = super().find_class(module, name)
        if (
            not isinstance(found, type)
            or found.__module__ != module
            or not (dataclasses.is_dataclass(found) or name in _PLAIN)
        ):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a knowledge base")
        return found


@lru_cache(maxsize=256)
def _fields_of(kind: Any) -> tuple[str, ...] | None:
    """The fields by which a dataclass is made; None where it is none, or computes some of them."""
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__"):
        return None
    fields = dataclasses.fields(kind)
    return tuple(field.name for field in fields) if all(field.init and not field.kw_only for field in fields) else None


def _view(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)
