"""Finds and reads the files of a knowledge base, as text, within bounds."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from whygpu.errors import KnowledgeBaseError, Location, Problem
from whygpu.files import read_bounded, unreadable
from whygpu.yamldoc.document import MAX_BYTES
from whygpu.yamldoc.spans import split_lines

MAX_FILES = 500
SUFFIXES = (".yaml", ".yml")
Stamp = tuple[tuple[str, int, int], ...]
"""Of each file its path, when it was written, and its bytes."""


def default_root() -> Path:
    """The knowledge base that comes with whygpu: inside the wheel, or the checkout's ``kb/`` in an editable install."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "kb"
    return inside if inside.is_dir() else package.parents[1] / "kb"


def yaml_files(root: Path) -> list[Path]:
    """The YAML files under a folder, in order; those that an editor keeps hidden are not among them."""
    found = (path for path in root.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts))


def stamp_of(root: Path) -> Stamp:
    """What tells one edition of a folder's files from another; what an editor is replacing just now is left out."""
    found = []
    for path in yaml_files(root):
        with suppress(OSError):
            state = path.stat()
            found.append((str(path), state.st_mtime_ns, state.st_size))
    return tuple(sorted(found))


def read_texts(root: Path) -> dict[str, str]:
    """Every YAML file under ``root`` as text, by its path from there; raises KnowledgeBaseError where that fails."""
    if not root.is_dir():
        help_text = "give the folder that holds vocabulary.yaml"
        raise KnowledgeBaseError([Problem("no-folder", "there is no such folder", Location(str(root)), help_text)])
    paths = yaml_files(root)
    if not paths or len(paths) > MAX_FILES:
        what = f"more than {MAX_FILES} files" if paths else "no YAML files"
        help_text = "give the folder that holds vocabulary.yaml"
        raise KnowledgeBaseError(
            [Problem("not-a-knowledge-base", f"the folder holds {what}", Location(str(root)), help_text)]
        )
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for path in paths:
        name = path.relative_to(root).as_posix()
        found = read_text(path, name)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            texts[name] = found
    if problems:
        raise KnowledgeBaseError(problems)
    return texts


def read_text(path: Path, name: str, most: int = MAX_BYTES) -> str | Problem:
    """The text of one file of at most ``most`` bytes, or what is wrong with it; ``name`` stands for it in messages."""
    try:
        data = read_bounded(path, most)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        return unreadable(name, error)
    if data is None:
        message = f"the file has more than {most:,} bytes, the limit"
        return Problem("too-large", message, Location(name, 1), "split it: any number of files may hold a section")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = split_lines(data[: error.start].decode("utf-8", errors="replace"))
        location = Location(name, len(before), len(before[-1]) + 1)
        return Problem("unreadable", f"is not UTF-8 text: {error.reason}", location, "save the file as UTF-8")
