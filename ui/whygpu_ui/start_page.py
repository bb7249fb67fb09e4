"""Where one begins: tiles for usual work, its usual models, and one box that takes whatever is at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from whygpu.answers import read_text
from whygpu.errors import AnswerError, Location, Problem
from whygpu.intake.owned import typed_owned
from whygpu.intake.sentence import Sentence, not_read, not_sized, read_sentence
from whygpu.intake.typed import MAX_CONFIG_BYTES, read_config, typed_model
from whygpu.lifecycle.answers import KEY
from whygpu.render.view.asking import MODELS_SHOWN
from whygpu.yamldoc.document import plain_data
from whygpu_ui.answers_link import check_answer
from whygpu_ui.knowledge import find
from whygpu_ui.model_field import ANOTHER_MODEL, model_label, model_tile, picked, popular
from whygpu_ui.problems import show_problems
from whygpu_ui.session import DIAGNOSE, SIZE, START, go, refuse, replace_all, state

if TYPE_CHECKING:
    from whygpu import KnowledgeBase
    from whygpu.knowledge.questions import Work

_OWNED = "owned"
_SERVING = "inference"
"""What a model alone is taken for."""
_KINDS_OWNED = (
    ("Which", "How many"),
    ("A second kind, if any", "How many of the second"),
    ("A third kind, if any", "How many of the third"),
)


def start_page(knowledge_base: KnowledgeBase) -> None:
    """Begin: a tile and a model are an answer."""
    works = knowledge_base.knowledge.works
    work = next((item for item in works if item.id == state().item), None)
    if work is not None:
        _models(knowledge_base, work)
        return
    st.title("What is the hardware for?", anchor=False)
    columns = [column for _ in range(0, len(works), 4) for column in st.columns(4)]
    for number, item in enumerate(works):
        with columns[number]:
            label = f"**{item.title}**  \n{item.says}"
            st.button(label, key=f"tile-{item.id}", width="stretch", on_click=go, args=(START, item.id))
    _box(knowledge_base)
    _owned(knowledge_base)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("I have measurements:", width="content")
        st.button("Size from them", key="to-size", on_click=go, args=(SIZE,))
        st.button("Diagnose what is slow", key="to-diagnose", on_click=go, args=(DIAGNOSE,))


def _models(knowledge_base: KnowledgeBase, work: Work) -> None:
    st.title(f"{work.title}: which model?", anchor=False)
    show_problems(state().problems)
    st.markdown("The usual model first, then the most downloaded from the Hugging Face Hub.")
    best = popular(knowledge_base, work.phase, work.task)
    columns = [column for _ in range(0, MODELS_SHOWN, 3) for column in st.columns(3)]
    for number, name in enumerate(best[:MODELS_SHOWN]):
        label = model_tile(knowledge_base, name)
        given = {"phase": work.phase, "task": work.task, "model": name}
        with columns[number]:
            st.button(label, key=f"model-{name}", width="stretch", on_click=replace_all, args=(given,))
    key = f"tile-model-{state().visit}"
    with st.form("tile-model", border=False):
        st.selectbox(
            ANOTHER_MODEL,
            best,
            None,
            lambda name: model_label(knowledge_base, name),
            key,
            placeholder="Choose, or type",
            accept_new_options=True,
        )
        st.form_submit_button("Show the answer", type="primary", key="next", on_click=_take_model, args=(work, key))
    st.button("Back", key="back", on_click=go, args=(START,))


def _take_model(work: Work, key: str) -> None:
    text = str(st.session_state.get(key) or "").strip()
    if not text:
        refuse((Problem("empty", "No model is chosen yet", Location("model"), "choose one, or type a size"),))
        return
    knowledge_base = state().knowledge_base
    try:
        model = picked(text, popular(knowledge_base, work.phase, work.task), knowledge_base)
        check_answer("model", model, knowledge_base)
    except AnswerError as error:
        refuse(error.problems)
        return
    _usable({"phase": work.phase, "task": work.task, "model": model})


def _usable(given: dict[str, Any], about: str = "") -> None:
    found = find(state().knowledge_base, given)
    if found.problems:
        refuse(found.problems, about)
        state().entered = given if any(item.code == "ambiguous-model" for item in found.problems) else None
    else:
        replace_all(given)


def _settle(given: dict[str, Any], left: tuple[Problem, ...]) -> None:
    _usable(given)
    state().problems = state().problems or left


def _which(knowledge_base: KnowledgeBase) -> None:
    """The models that a name may mean, to choose from."""
    entered = state().entered
    if entered is None:
        return
    models = knowledge_base.knowledge.catalogue
    names = [models.models[name] for name in models.find_models(str(entered["model"]))]
    task = entered.get("task") or names[0].data["task"]
    order = popular(knowledge_base, entered.get("phase", _SERVING), task)
    with st.container(horizontal=True):
        for entry in sorted(names, key=lambda entry: order.index(entry.id))[:MODELS_SHOWN]:
            label = model_label(knowledge_base, entry.id)
            given = {**entered, "model": entry.id}
            st.button(label, key=f"which-{entry.id}", on_click=_settle, args=(given, state().left))


# the box


def _box(knowledge_base: KnowledgeBase) -> None:
    st.header("Or say it, or paste what you have", anchor=False)
    if state().refused != _OWNED:
        show_problems(state().problems)
        _which(knowledge_base)
    st.markdown(
        "A sentence, such as: caption 5 million product photos in 3 days; serve a 7B chatbot on Azure for $500 a "
        "month. Or a model's name, the Hub's org/name, or a size such as 7B; what you own, such as 4x RTX 3090; a "
        "config.json or saved answers, pasted or as a file."
    )
    key = f"box-{state().visit}"
    with st.container():  # or it stays at the foot of the window
        st.chat_input(
            "For example: run a 70B model at home, or Qwen/Qwen3-8B, or 4x RTX 3090",
            key=key,
            max_upload_size=1,
            accept_file=True,
            file_type=["json", "yaml", "yml"],
            on_submit=_take_box,
            args=(key,),
        )


def _take_box(key: str) -> None:
    entered = st.session_state[key]
    data = entered.files[0].getvalue() if entered.files else entered.text.encode(errors="replace")
    knowledge_base = state().knowledge_base
    try:
        _usable(read_pasted(data, knowledge_base))
    except AnswerError as error:
        said = None if entered.files or _has_answers(entered.text, knowledge_base) else _sentence(entered.text)
        if said is None:
            note = "" if entered.files else not_sized(entered.text, knowledge_base.knowledge)
            unsized = Problem("unreadable", "It is not answered as it stands", Location("box"), note)
            refuse((unsized,) if note else error.problems)
        else:
            _usable(said.answers)
            left = not_read(said, knowledge_base.knowledge, "add it with 'Say more'")
            state().left = () if left is None else (left,)  # what counts is what the page says of the request
            state().problems = state().problems or state().left
    if any(item.severity == "error" for item in state().problems) and not entered.files:
        st.session_state[key] = entered.text  # to be corrected, not typed anew


def _sentence(text: str) -> Sentence | None:
    return read_sentence(" ".join(text.split()), state().knowledge_base.knowledge)


def _has_answers(text: str, knowledge_base: KnowledgeBase) -> bool:
    """Whether a line begins with an answer's name: these are answers, and no sentence."""
    known = {*knowledge_base.knowledge.name_by_answer, "model", "owned"}
    return any(line.partition(":")[0].strip() in known for line in text.splitlines() if ":" in line)


def read_pasted(data: bytes, knowledge_base: KnowledgeBase) -> dict[str, Any]:
    """Answers from a model's name or size, owned cards, a config.json, or saved answers; no file is read by name.

    Raises AnswerError.
    """
    if len(data) > MAX_CONFIG_BYTES:
        raise AnswerError([Problem("too-large", f"more than {MAX_CONFIG_BYTES:,} bytes", Location("box"))])
    try:
        text = data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise AnswerError([Problem("unreadable", "not readable as text in UTF-8", Location("box"))]) from error
    if not text:
        raise AnswerError([Problem("empty", "There is nothing to read in it", Location("box"))])
    if text.startswith("{"):
        config = read_config(data)
        if not _answers_of(config, knowledge_base):
            return {"model": {"config": config}}
    elif "\n" not in text:
        owned = typed_owned(text, knowledge_base.knowledge.catalogue)
        if owned is not None:
            check_answer(_OWNED, owned, knowledge_base)
            return {_OWNED: owned}
        if ":" not in text or "://" in text:
            return _typed(text, knowledge_base)
    found = plain_data(read_text(text, "the pasted answers"))
    if not isinstance(found, dict):
        message = "these are not answers: they must map keys to values"
        raise AnswerError([Problem("wrong-type", message, Location("box"), "for example model: llama-3.1-8b")])
    for name, value in found.items():
        check_answer(str(name), value, knowledge_base)
    return found


def _typed(text: str, knowledge_base: KnowledgeBase) -> dict[str, Any]:
    """A model, or what is owned and a model on both sides of a comma ("4x RTX 3090, 70B"). Raises AnswerError."""
    catalogue = knowledge_base.knowledge.catalogue
    first, comma, second = text.rpartition(",")
    for cards, model in ((first, second), (second, first)) if comma else ():
        owned = typed_owned(cards, catalogue)
        if owned is not None:
            check_answer(_OWNED, owned, knowledge_base)
            return {_OWNED: owned, "model": typed_model(model, catalogue)}
    return {"model": typed_model(text, catalogue)}


def _answers_of(data: dict[str, Any], knowledge_base: KnowledgeBase) -> bool:
    """Whether these are answers, and no configuration: every key is one of ours."""
    known = (
        {item.id for item in knowledge_base.knowledge.questions} | {KEY} | set(knowledge_base.knowledge.name_by_answer)
    )
    return bool(data) and set(data) <= known | {"model", "owned", "accelerators", "exclude_accelerators", "providers"}


# what is there already


def _owned(knowledge_base: KnowledgeBase) -> None:
    cards = knowledge_base.knowledge.catalogue.accelerators
    works = {work.id: work.title for work in knowledge_base.knowledge.works}
    with st.expander("I own accelerators already", expanded=state().refused == _OWNED):
        if state().refused == _OWNED:
            show_problems(state().problems)
        key = f"own-{state().visit}"
        with st.form("own", border=False):
            for number, (kind, count) in enumerate(_KINDS_OWNED):
                which, many = st.columns([3, 1])
                which.selectbox(
                    kind,
                    list(cards),
                    None,
                    lambda name: cards[name].name,
                    f"{key}-card-{number}",
                    placeholder="Choose, or type",
                )
                many.number_input(count, 1, 1024, 1, key=f"{key}-count-{number}")
            st.selectbox("For what", list(works), 0, works.__getitem__, f"{key}-tile")
            st.form_submit_button("Show the answer", type="primary", key="own-next", on_click=_take_owned, args=(key,))


def _take_owned(key: str) -> None:
    now = st.session_state
    rows = [(now.get(f"{key}-card-{row}"), now.get(f"{key}-count-{row}")) for row in range(len(_KINDS_OWNED))]
    owned = [{"accelerator": card, "count": int(count or 1)} for card, count in rows if card is not None]
    if not owned:
        refuse((Problem("empty", "No accelerator is chosen yet", Location(_OWNED), "choose one"),), _OWNED)
        return
    name = now.get(f"{key}-tile")
    work = next(item for item in state().knowledge_base.knowledge.works if item.id == name)
    _usable({"phase": work.phase, "task": work.task, _OWNED: owned}, _OWNED)
