"""Models as a visitor picks them: those of the task first, and what is downloaded most before the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygpu.answers import check, node_of
from whygpu.chain.engines import EvaluatorChain
from whygpu.consult.driver import consult
from whygpu.errors import AnswerError
from whygpu.intake.typed import typed_model
from whygpu.kept import kept
from whygpu.knowledge.models import downloads_text, offered, sized_name
from whygpu_ui.markdown import literal

ANOTHER_MODEL = "Another model: its name, the Hub's org/name, or a size such as 7B"
"""What a field for a model is called beside the most downloaded ones."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu import KnowledgeBase
    from whygpu.knowledge.base import Knowledge


def popular(knowledge_base: KnowledgeBase, phase: str, task: str) -> list[str]:
    """Every model: those for the task first, the one that is assumed for it at the head, then the most downloaded."""
    return list(_popular(knowledge_base.knowledge, phase, task))


@kept(64)
def _popular(knowledge: Knowledge, phase: str, task: str) -> tuple[str, ...]:
    answers = check(node_of({"phase": phase, "task": task}), knowledge)
    consultation = consult(knowledge, answers, EvaluatorChain())
    assumed = next((str(item.value) for item in consultation.applied.assumed if item.question.id == "model"), "")
    return offered(knowledge.catalogue.models, task, assumed)


def picked(text: str, options: Sequence[str], knowledge_base: KnowledgeBase) -> str | dict[str, Any]:
    """The model that was chosen or typed: by its name, its size or its configuration, or else the first of the
    ``options`` that the text begins, or whose words it is made of, as Enter takes it from a list. Raises AnswerError.
    """
    catalogue = knowledge_base.knowledge.catalogue
    try:
        found = typed_model(text, catalogue)
    except AnswerError:
        first = _first(text, options, knowledge_base)
        if first is None:
            raise
        return first
    if isinstance(found, dict) or found in catalogue.models:
        return found
    return _first(text, options, knowledge_base) or found  # one of several


def _first(text: str, options: Sequence[str], knowledge_base: KnowledgeBase) -> str | None:
    labels = {name: model_label(knowledge_base, name).lower() for name in options}
    typed = " ".join(text.lower().split())
    begun = (name for name, label in labels.items() if typed and label.startswith(typed))
    within = (name for name, label in labels.items() if typed and all(word in label.split() for word in typed.split()))
    return next(begun, None) or next(within, None)


def model_label(knowledge_base: KnowledgeBase, name: str) -> str:
    """A model's name and size."""
    entry = knowledge_base.knowledge.catalogue.models.get(name)
    return literal(name) if entry is None else sized_name(entry)


def model_tile(knowledge_base: KnowledgeBase, name: str) -> str:
    """The same, and how often it is downloaded, in Markdown."""
    entry = knowledge_base.knowledge.catalogue.models[name]
    return "  \n".join(filter(None, (f"**{literal(sized_name(entry))}**", downloads_text(entry))))
