"""Measurement files on this machine: those that are named, and the folder where one's own are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.answers import node_of
from whygpu.errors import AnswerError, Location, Problem
from whygpu.files import read_bounded, unreadable
from whygpu.measured.read import is_measurement
from whygpu.measured.readers.detect import read_any
from whygpu.measured.write import plain
from whygpu.yamldoc.document import Document, Mapping, Node, Scalar, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.knowledge.base import Knowledge

KEPT = "kept"
"""The word that stands for the folder."""
MOST_BYTES = 4 * 1024 * 1024
MOST_FILES = 200
SUFFIXES = (".yaml", ".yml", ".json", ".log", ".csv", ".txt")


def kept_folder() -> Path:
    """Where one's own measurements are kept (XDG Base Directory Specification: data of a user)."""
    home = os.environ.get("XDG_DATA_HOME") or ""
    root = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return root / "whygpu" / "measurements"


def read_named(name: str, knowledge: Knowledge) -> list[Node]:
    """The measurements of a file, of a folder's files, or of those that are kept; raises AnswerError.

    Each says where it comes from: where a file names no source, that is the file.
    """
    path = kept_folder() if name == KEPT else Path(name)
    try:
        paths = sorted(item for item in path.iterdir() if item.suffix in SUFFIXES) if path.is_dir() else [path]
    except (OSError, ValueError) as error:
        raise AnswerError([unreadable(name, error)]) from error
    if not paths or len(paths) > MOST_FILES:
        found = "no measurement file" if not paths else f"more than {MOST_FILES} files"
        raise AnswerError([Problem("no-measurement", f"there is {found} in it", Location(str(path)))])
    problems: list[Problem] = []
    nodes = [node for item in paths for node in _read(item, knowledge, problems)]
    if problems:
        raise AnswerError(problems)
    return nodes


def _read(path: Path, knowledge: Knowledge, problems: list[Problem]) -> Iterator[Node]:
    try:
        data = read_bounded(path, MOST_BYTES)
        text = None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.append(Problem("unreadable", f"is not UTF-8 text: {error.reason}", Location(str(path))))
        return
    except (OSError, ValueError) as error:
        problems.append(unreadable(str(path), error, "'whygpu measure' writes such files"))
        return
    if text is None:
        problems.append(Problem("too-large", f"more than {MOST_BYTES:,} bytes", Location(str(path))))
        return
    trouble: list[Problem] = []
    node = parse(text, str(path), trouble)
    if node is None or not is_measurement(node):  # of another tool, or nothing that is known: it says so
        try:
            node = node_of(plain(read_any(text, str(path), knowledge)), str(path))
        except AnswerError as error:
            problems.extend(error.problems)
            return
    if isinstance(node, Mapping) and "source" not in node.items:
        document = Document(str(path), text)
        source = Scalar(str(path), str(path), document, node.line, node.column)
        keys = {**node.keys, "source": Scalar("source", "source", document, node.line, node.column)}
        node = Mapping({**node.items, "source": source}, keys, node.document, node.line, node.column)
    yield node
