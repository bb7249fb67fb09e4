"""Texts of the knowledge base with the values of one consultation, or one plan of it, put in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whygpu.chain.environment import PlanEnvironment, plain
from whygpu.explain.figures import show_value

if TYPE_CHECKING:
    from whygpu.chain.environment import SessionEnvironment
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Template

# What could turn a name into a link, an image or code where texts are rendered as Markdown
_MARKUP = re.compile(r"([\\`*\[\]<>!|])")


def fill_template(
    template: Template,
    environment: SessionEnvironment | PlanEnvironment,
    knowledge: Knowledge,
    index: int | None = None,
) -> str:
    """The template with its names' values put in, with their units, times in one that suits all; of plan ``index``
    where it is judged per plan.
    """
    values = {
        name: environment.at(name, index)
        if isinstance(environment, PlanEnvironment) and index is not None
        else environment.value(name)
        for _, name in template.parts
        if name is not None
    }
    figures: dict[str | None, list[float]] = {}
    for shown, value in values.items():
        if isinstance(figure := plain(value), float):
            figures.setdefault(knowledge.vocabulary[shown].unit, []).append(figure)
    found: list[str] = []
    for literal, name in template.parts:
        found.append(literal)
        if name is not None:
            spec = knowledge.vocabulary[name]
            text = show_value(values[name], spec, figures.get(spec.unit, ()))
            found.append(_MARKUP.sub(r"\\\1", text) if spec.kind == "text" else text)
    text = "".join(found).strip()
    begins = not template.parts[0][0].strip() if template.parts else False
    return text[:1].upper() + text[1:] if begins and text.startswith("a ") else text  # a model without a name
