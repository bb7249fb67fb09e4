"""Whatever a visitor types, the wizard reads no file that it names, reaches no address, and runs none of it.

Held by the interpreter's own audit events, so by whatever way it would be done.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygpu.errors import AnswerError
from whygpu.intake.typed import typed_model
from whygpu_ui import knowledge as served
from whygpu_ui.answers_link import read_link
from whygpu_ui.start_page import read_pasted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whygpu import KnowledgeBase

ACTS = ("open", "os.", "socket.", "subprocess.", "exec", "compile", "shutil.", "urllib.", "ctypes.", "glob.")
_seen: list[str] | None = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None and event.startswith(ACTS):
        _seen.append(f"{event} {str(arguments)[:200]}")


@contextmanager
def heard() -> Iterator[list[str]]:
    """What the interpreter does meanwhile that reaches beyond it."""
    global _seen  # noqa: PLW0603  a hook cannot be taken away again, only stopped
    _seen = []
    try:
        yield _seen
    finally:
        _seen = None


sys.addaudithook(_hear)

TARGETS = (
    "/etc/passwd",
    "../../../../etc/passwd",
    "file:///etc/passwd",
    "~/.ssh/id_rsa",
    "\\\\host\\share",
    "https://evil.example/config.json",
    "evil/model",
    "http://169.254.169.254/latest/meta-data",
    "__import__('os').system('id')",
    "!!python/object/apply:os.system ['id']",
    "{{7*7}}",
    "$(id)",
    "`id`",
    "config.json\0",
    ".",
)
FILES = ("config", "safetensors", "gguf", "diffusers")
KEYS = (*FILES, "name", "steps", "parameters", "model_index", "_name_or_path", "x")
targets = st.sampled_from(TARGETS)
models = st.recursive(
    targets,
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=4,
)
lives = st.fixed_dictionaries({"train": st.fixed_dictionaries({"model": models}), "serve": st.just({})})
others = st.sampled_from(("measured", "owned", "regions", "providers", "include", "kb", "phase"))
answers = st.fixed_dictionaries({"model": models}) | st.fixed_dictionaries({"phases": lives})
answers |= st.dictionaries(others, models)


def ways(kb: KnowledgeBase, given_answers: dict[str, Any]) -> Iterator[Callable[[], object]]:
    """Every way in."""
    text = json.dumps(given_answers)
    link = {key: [value if isinstance(value, str) else json.dumps(value)] for key, value in given_answers.items()}
    yield lambda: read_link(link, kb)
    yield lambda: read_pasted(text.encode(), kb)
    yield lambda: read_pasted(text[1:-1].encode(), kb)
    for value in given_answers.values():
        if isinstance(value, str):
            yield lambda value=value: typed_model(value, kb.knowledge.catalogue)  # type: ignore[misc]


def test_the_watch_sees_what_it_is_for(tmp_path: Any) -> None:
    import socket  # noqa: PLC0415

    path = tmp_path / "config.json"
    path.write_text("{}", encoding="utf-8")
    with heard() as found:
        path.read_text(encoding="utf-8")
        with suppress(OSError), socket.socket() as client:
            client.connect(("127.0.0.1", 9))
        eval("1")
    assert {item.split()[0] for item in found} >= {"open", "socket.connect", "compile", "exec"}


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_named_is_read_or_reached(target: str, kb: KnowledgeBase) -> None:
    for key in FILES:
        _try(kb, {"model": {key: target}})
        _try(kb, {"phases": {"train": {"model": {key: target}}, "serve": {}}})
    _try(kb, {"model": target})


@settings(max_examples=60)
@given(given_answers=answers)
def test_nothing_named_anywhere_is_read_or_reached(kb: KnowledgeBase, given_answers: dict[str, Any]) -> None:
    _try(kb, given_answers)


def _try(kb: KnowledgeBase, given_answers: dict[str, Any]) -> None:
    for way in ways(kb, given_answers):

        def used(way: Callable[[], object] = way) -> None:
            with suppress(AnswerError):
                usable = way()
                if isinstance(usable, dict):
                    served._find.clear()
                    served.find(kb, usable)

        used()  # what it imports at first, it imports now
        with heard() as found:
            used()
        assert found == []
