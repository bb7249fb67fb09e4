"""Looks at facts that are well formed one by one and may still not go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import AnswerError
from whygpu.models import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.errors import Place
    from whygpu.knowledge import Knowledge

    Finding = tuple[Place, str, str]


def bad_models(knowledge: Knowledge) -> Iterator[Finding]:
    """Preset models that cannot be made a shape of."""
    for entry in knowledge.catalogue.models.values():
        try:
            shape_of(entry.id, knowledge.catalogue, entry.place)
        except AnswerError as error:
            for item in error.problems:
                yield item.place, f"model '{entry.id}': {item.message}", item.help or "compare with its neighbours"
