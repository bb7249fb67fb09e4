"""The model's question: a preset, a number of parameters, or a Hugging Face config.json, uploaded or pasted."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from whygpu.errors import AnswerError, Location, Problem
from whygpu.quantity import parse_number, show
from whygpu_ui.session import give, refuse, state

if TYPE_CHECKING:
    from collections.abc import Callable

    from whygpu import KnowledgeBase
    from whygpu.knowledge.questions import Question
    from whygpu_ui.answers_link import Given

PRESET, SIZE, CONFIG = "A known model", "Its number of parameters", "Its config.json"
MAX_CONFIG_BYTES = 1024 * 1024
MAX_ENTRY = 2000
"""Characters of one entry of a configuration; sizes are short, what is longer names labels."""


def model_field(
    knowledge_base: KnowledgeBase, question: Question, key: str, buttons: Callable[[Callable[[], None]], None]
) -> None:
    """Ask for the model; ``buttons`` draws the form's buttons around what submits it."""
    given = state().answers.get(question.id)
    configurations = (PRESET, SIZE, CONFIG)
    at = 0 if not isinstance(given, dict) else 2 if "config" in given else 1
    way = st.radio("How do you want to give it?", configurations, at, key=f"way-{key}", horizontal=True)
    with st.form(f"form-{key}-{configurations.index(way)}", border=False):
        with st.container(key="fields"):
            if way == PRESET:
                _preset(knowledge_base, given, key)
            elif way == SIZE:
                _size(given, key)
            else:
                _config(given, key)
        submit = {PRESET: _submit_preset, SIZE: _submit_size, CONFIG: _submit_config}[way]
        buttons(partial(submit, question.id, key))


def _preset(knowledge_base: KnowledgeBase, given: Given, key: str) -> None:
    models = knowledge_base.knowledge.catalogue.models
    found = knowledge_base.check({"model": given}).model if isinstance(given, str) else None
    options = list(models)

    def name(option: str) -> str:
        data = models[option].data
        size = data.get("parameters")
        parts = [str(data.get("task", ""))] + (
            [show(float(size), "parameters")] if isinstance(size, int | float) else []
        )
        return f"{models[option].name} ({', '.join(part for part in parts if part)})"

    st.selectbox(
        "Model",
        options,
        options.index(found) if found in options else None,
        name,
        f"{key}-preset",
        placeholder="Choose, or type to search",
    )


def _size(given: Given, key: str) -> None:
    size = given.get("parameters") if isinstance(given, dict) else None
    st.markdown("The shape is then taken from a typical language model of that size, and reported.")
    st.text_input(
        "Parameters, such as 8B or 350M", "" if size is None else str(size), 60, f"{key}-size", autocomplete="off"
    )


def _config(given: Given, key: str) -> None:
    config = given.get("config") if isinstance(given, dict) else None
    st.markdown("Give the file or its text. Entries too long to be sizes, such as lists of labels, are left out.")
    st.file_uploader("config.json", "json", key=f"{key}-file")
    st.text_area(
        "Its text", "" if config is None else json.dumps(config, indent=1), 200, MAX_CONFIG_BYTES, f"{key}-text"
    )


def _submit_preset(question: str, key: str) -> None:
    chosen = st.session_state.get(f"{key}-preset")
    if chosen is None:
        _nothing(question, "choose a model")
    else:
        give(question, chosen)


def _submit_size(question: str, key: str) -> None:
    text = str(st.session_state.get(f"{key}-size") or "").strip()
    if not text:
        _nothing(question, "enter its parameters")
    elif parse_number(text) is None:
        refuse(
            (
                Problem(
                    "wrong-type", f"'{text[:60]}' is not a number of parameters", Location(question), "for example 8B"
                ),
            )
        )
    else:
        give(question, {"parameters": text})


def _submit_config(question: str, key: str) -> None:
    upload = st.session_state.get(f"{key}-file")
    text = str(st.session_state.get(f"{key}-text") or "")
    data = text.encode() if upload is None else upload.getvalue()
    if not data.strip():
        _nothing(question, "upload the file, or paste its text")
        return
    try:
        give(question, {"config": read_config(data)})
    except AnswerError as error:
        refuse(error.problems)


def read_config(data: bytes) -> dict[str, Any]:
    """A configuration from JSON, without entries too long to be sizes; raises AnswerError."""
    location = "config.json"
    if len(data) > MAX_CONFIG_BYTES:
        raise AnswerError(
            [Problem("too-large", f"{len(data):,} bytes; the limit is {MAX_CONFIG_BYTES:,}", Location(location))]
        )
    try:
        config = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        at = Location(location, error.lineno, error.colno)
        message = f"not valid JSON in line {error.lineno}, column {error.colno}: {error.msg}"
        raise AnswerError([Problem("json-syntax", message, at, "paste the whole file")]) from error
    except (ValueError, RecursionError) as error:
        raise AnswerError([Problem("unreadable", "not readable as JSON text in UTF-8", Location(location))]) from error
    if not isinstance(config, dict):
        raise AnswerError([Problem("wrong-type", "a config.json holds an object in braces", Location(location))])
    return {
        key: value for key, value in config.items() if key.endswith("_config") or len(json.dumps(value)) <= MAX_ENTRY
    }


def _nothing(question: str, hint: str) -> None:
    refuse((Problem("empty", "There is no answer yet", Location(question), f'{hint}, or press "I don\'t know"'),))
