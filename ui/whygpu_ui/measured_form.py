"""The form for measurements: files, pasted text, and figures typed into fields that the vocabulary describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from whygpu.errors import AnswerError, Location, Problem
from whygpu.measured.measurement import PREFIX
from whygpu.quantity import show as show_number
from whygpu.sizing.names import PREFIX as SIZING
from whygpu_ui.markdown import literal
from whygpu_ui.measured import MOST_BYTES, MOST_FILES, read_upload
from whygpu_ui.model_field import model_label
from whygpu_ui.session import drop_measured, refuse, state, take_measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whygpu import KnowledgeBase
    from whygpu.language.names import NameSpec
    from whygpu_ui.measured import Upload

PASTED = "pasted text"
_MOST_TEXT = 200
_COLUMNS = 3
_LISTS = {"accelerators": "Accelerator that was measured", "model": "Model, where its pace was not measured"}
"""What is chosen from the catalogue, and how it is asked for."""


@dataclass(frozen=True, slots=True)
class Group:
    """Fields under one heading, by the keys that ``--set`` takes; ``open``: they are seen at once."""

    title: str
    keys: tuple[str, ...]
    open: bool = True


def spec_of(key: str, knowledge_base: KnowledgeBase) -> NameSpec | None:
    """What the vocabulary says of a key: a figure, an answer of sizing, or any other answer; None for lists."""
    names = knowledge_base.knowledge.vocabulary
    return names.get(key) or names.get(SIZING + key) or knowledge_base.knowledge.name_by_answer.get(key)


def label_of(key: str, knowledge_base: KnowledgeBase) -> str:
    """What is asked for, with its unit."""
    if key in _LISTS:
        return _LISTS[key]
    spec = spec_of(key, knowledge_base)
    assert spec is not None
    text = spec.meaning[:1].upper() + spec.meaning[1:]
    told = spec.unit is None or spec.unit == "share" or spec.unit in text.lower().split()
    return text if told else f"{text}, in {spec.unit}"


def measured_form(knowledge_base: KnowledgeBase, groups: Sequence[Group], example: str, submit: str) -> None:
    """Files, a box to paste into, and the fields; what was given before stands in them."""
    now = state()
    key = f"{now.page}-{now.visit}"
    with st.form(f"form-{key}", border=False):
        files, box = st.columns(2)
        files.file_uploader(f"Files, at most {MOST_FILES}", accept_multiple_files=True, key=f"{key}-files")
        box.text_area("or paste one", "", 150, MOST_BYTES, f"{key}-box", placeholder=example)
        for group in groups:
            place = st.container() if group.open else st.expander(group.title)
            with place:
                if group.open:
                    st.markdown(f"**{group.title}**")
                _fields(knowledge_base, group.keys, key)
        keys = tuple(name for group in groups for name in group.keys)
        st.form_submit_button(submit, type="primary", key=f"take-{now.page}", on_click=_take, args=(key, keys))
    for number, item in enumerate(now.measured.uploads):
        st.button(literal(f"Remove {item.name}"), key=f"drop-{number}-{key}", on_click=drop_measured, args=(item.name,))
    st.markdown("Measurements last for this visit only: a link or a reload does not keep the files and figures.")


def _fields(knowledge_base: KnowledgeBase, keys: Iterable[str], form: str) -> None:
    columns = st.columns(_COLUMNS)
    known = (key for key in keys if key in _LISTS or spec_of(key, knowledge_base) is not None)
    for number, key in enumerate(known):
        with columns[number % _COLUMNS]:
            _field(knowledge_base, key, f"{form}-{key}", text_of(key))


def text_of(key: str) -> str:
    """What was typed for a key, else what the answers of this visit say."""
    now = state()
    given = dict(now.measured.typed).get(key)
    if given is not None:
        return given
    answer = now.answers.get(key)
    return str(answer) if isinstance(answer, str | int | float) and not isinstance(answer, bool) else ""


def _field(knowledge_base: KnowledgeBase, key: str, widget: str, text: str) -> None:
    label, catalogue = label_of(key, knowledge_base), knowledge_base.knowledge.catalogue
    spec = spec_of(key, knowledge_base)
    if key == "accelerators":
        cards = catalogue.accelerators
        _choice(label, list(cards), {name: card.name for name, card in cards.items()}, widget, text)
    elif key == "model":
        names = list(catalogue.models)
        _choice(label, names, {name: model_label(knowledge_base, name) for name in names}, widget, text)
    elif spec is not None and spec.kind == "choice":
        words = {word: f"{word}: {says}" for word, says in spec.values.items()}
        _choice(label, list(words), words, widget, text)
    else:
        share = "for example 30%" if spec is not None and spec.unit == "share" else None
        st.text_input(label, text, _MOST_TEXT, widget, help=_help(key, spec), autocomplete="off", placeholder=share)


def _choice(label: str, names: list[str], shown: dict[str, str], widget: str, text: str) -> None:
    index = names.index(text) if text in names else None
    st.selectbox(label, names, index, lambda name: shown[name], widget, placeholder="Choose, or type")


def _help(key: str, spec: NameSpec | None) -> str:
    name = key.removeprefix(PREFIX)
    where = f"`{name}` in a measurement file" if key != name else f"`{name}` on the command line"
    if spec is None or spec.minimum is None or spec.maximum is None:
        return where
    return f"{where}; from {show_number(spec.minimum, spec.unit)} to {show_number(spec.maximum, spec.unit)}"


# what was given


def _take(key: str, keys: Sequence[str]) -> None:
    """Keep what can be read; refuse with every problem of what cannot."""
    now = st.session_state
    texts = {name: str(now.get(f"{key}-{name}") or "").strip() for name in keys}
    given = [(item.name, item.getvalue()) for item in now.get(f"{key}-files") or ()]
    pasted = str(now.get(f"{key}-box") or "")
    if pasted.strip():
        given.append((PASTED, pasted.encode()))
    if not given and not any(texts.values()) and not state().measured.uploads:
        message = "There is nothing to read yet"
        refuse((Problem("empty", message, Location("form"), "upload or paste a file, or type figures"),))
        return
    found, problems = read_all(given, state().knowledge_base)
    if len(found) + len(state().measured.uploads) > MOST_FILES:
        problems.append(Problem("too-many", f"more than {MOST_FILES} files", Location("form"), "remove some"))
    if problems:
        refuse(tuple(problems))
        return
    take_measured(found, texts)


def read_all(given: Iterable[tuple[str, bytes]], knowledge_base: KnowledgeBase) -> tuple[list[Upload], list[Problem]]:
    """Every file by name and bytes, and the problems of all."""
    found: list[Upload] = []
    problems: list[Problem] = []
    for name, data in given:
        try:
            found.append(read_upload(name, data, knowledge_base))
        except AnswerError as error:
            problems += error.problems
    return found, problems
