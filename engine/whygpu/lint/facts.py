"""Looks at facts that are well formed one by one and may still not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, did_you_mean
from whygpu.intake.resolve import shape_of
from whygpu.knowledge.catalogue import fold
from whygpu.language.tree import Constant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.errors import Location
    from whygpu.knowledge.base import Knowledge

    Finding = tuple[Location, str, str]


def bad_models(knowledge: Knowledge) -> Iterator[Finding]:
    """Preset models that cannot be made a shape of."""
    for entry in knowledge.catalogue.models.values():
        try:
            shape_of(entry.id, knowledge.catalogue, entry.location)
        except AnswerError as error:
            for item in error.problems:
                yield item.location, f"model '{entry.id}': {item.message}", item.help or "compare with its neighbours"
        except (ValueError, TypeError) as error:  # the table of typical shapes, which every model is completed from
            yield entry.location, f"no model can be read: {error}", "fix it in kb/facts/coefficients.yaml"
            return


def missing_models(knowledge: Knowledge) -> Iterator[Finding]:
    """Models that a question assumes and no preset is: whoever leaves the question open would get an error."""
    names = knowledge.catalogue.model_names
    for question in knowledge.questions:
        if question.id != "model":
            continue
        for assumption in question.assumptions:
            word = assumption.value.value if isinstance(assumption.value, Constant) else None
            if isinstance(word, str) and fold(word) not in names:
                near = did_you_mean(word, knowledge.catalogue.models) or "add it to kb/facts/models"
                yield question.location, f"question 'model' assumes '{word}', which is no preset", near
