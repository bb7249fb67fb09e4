"""``--batch``: one set of answers a line or row, one JSON result a line, in the same order."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from whygpu.commands import inputs
from whygpu.commands.rows import FORMATS, Row, read_rows

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from whygpu.api import KnowledgeBase
    from whygpu.load.document import Node

OK = 0


def run(
    options: argparse.Namespace, knowledge: KnowledgeBase, key: str, answer: Callable[[Node], dict[str, Any]]
) -> int:
    """Answer every row; the result stands under ``key``. A bad row becomes an error and never stops the rest.

    Raises AnswerError where the input as a whole cannot be read; then nothing is written.
    """
    from whygpu.errors import AnswerError, Place, Problem  # noqa: PLC0415  --help needs no more

    path = Path(options.batch)
    if options.answers is not None:
        mend = "lay what all rows share over them with --set and --model"
        raise AnswerError([Problem("bad-option", "--batch takes no answers file beside it", Place("--batch"), mend)])
    if path.suffix.lower() not in FORMATS:
        raise AnswerError(
            [Problem("bad-option", f"'{options.batch}' is none of {', '.join(FORMATS)}", Place("--batch"))]
        )
    common = inputs.read_answers(options, knowledge)  # what is wrong with it is wrong with every row
    rows = read_rows(path)
    with _output(options.out) as out:
        for row in rows:
            json.dump(_result(row, common, key, answer), out, ensure_ascii=False)
            out.write("\n")
    return OK


def _result(row: Row, common: Node | None, key: str, answer: Callable[[Node], dict[str, Any]]) -> dict[str, Any]:
    from whygpu.errors import EngineError, InputError  # noqa: PLC0415
    from whygpu.load.document import Mapping  # noqa: PLC0415
    from whygpu.render.problems import problems_data  # noqa: PLC0415

    try:
        node = row.node()
        if isinstance(common, Mapping) and isinstance(node, Mapping):
            node = _laid_over(node, common)
        return {"id": row.id, key: answer(node)}
    except InputError as error:
        return {"id": row.id, "error": problems_data(error.problems)}
    except EngineError as error:
        return {"id": row.id, "error": [{"code": "engine", "severity": "error", "message": str(error)}]}


def _laid_over(node: Any, common: Any) -> Any:
    """The row with the command line's settings over it, mappings merged."""
    from whygpu.load.document import Mapping  # noqa: PLC0415

    items = dict(node.items)
    for key, value in common.items.items():
        below = items.get(key)
        merge = key != "model" and isinstance(below, Mapping) and isinstance(value, Mapping)
        items[key] = _laid_over(below, value) if merge else value
    return Mapping(items, node.keys | common.keys, node.document, node.line, node.column)


@contextmanager
def _output(name: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is there whole or not at all. Raises AnswerError where it cannot be written."""
    import tempfile  # noqa: PLC0415  of use to no other command

    from whygpu.errors import AnswerError, Place, Problem  # noqa: PLC0415

    if name is None:
        yield sys.stdout
        return
    path = Path(name)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise AnswerError([Problem("unwritable", f"cannot be written: {error.strerror}", Place(name))]) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except OSError as error:
        raise AnswerError([Problem("unwritable", f"cannot be written: {error.strerror}", Place(name))]) from error
    finally:
        Path(temporary).unlink(missing_ok=True)
