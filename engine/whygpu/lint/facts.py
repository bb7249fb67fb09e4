"""Looks at facts that are well formed one by one and may still not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, did_you_mean
from whygpu.intake.resolve import shape_of
from whygpu.knowledge.catalogue import fold
from whygpu.language.tree import Constant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.checks.model_shape import ModelShape
    from whygpu.knowledge.base import Knowledge
    from whygpu.lint.finding import Finding

_NARROWER = "experts may work in a narrower width than the model: expert_latent_size"


def bad_models(knowledge: Knowledge) -> Iterator[Finding]:
    """Preset models that cannot be made a shape of, or whose experts are larger than they are."""
    for entry in knowledge.catalogue.models.values():
        try:
            shape = shape_of(entry.id, knowledge.catalogue, entry.location)[0]
        except AnswerError as error:
            for item in error.problems:
                yield item.location, f"model '{entry.id}': {item.message}", item.help or "compare with its neighbours"
        except (ValueError, TypeError) as error:  # the table of typical shapes, which every model is completed from
            yield entry.location, f"no model can be read: {error}", "fix it in kb/facts/coefficients.yaml"
            return
        else:
            yield from ((entry.location, f"model '{entry.id}': {said}", _NARROWER) for said in _too_large(shape))


def _too_large(shape: ModelShape) -> Iterator[str]:
    """What the sizes of the experts come to where that is more than the model has: a size of them is wrong."""
    if shape.expert_parameters > shape.parameters:
        yield f"its experts have {shape.expert_parameters} parameters, more than all {shape.parameters}"
    if shape.chosen_parameters > shape.active_parameters:
        active = f"the {shape.active_parameters} active ones"
        yield f"the experts that a token takes have {round(shape.chosen_parameters)} parameters, more than {active}"


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
