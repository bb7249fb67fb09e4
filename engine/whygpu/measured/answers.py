"""Checks answers that may hold measurements, which are themselves of a setup that is answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.answers import check

if TYPE_CHECKING:
    from whygpu.answers import Answers
    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement
    from whygpu.yamldoc.document import Node


def check_answers(node: Node, knowledge: Knowledge) -> Answers:
    """Check answers against the knowledge base; raises AnswerError with every problem."""

    def read(item: Node) -> Measurement:
        from whygpu.measured.read import measurement_of  # noqa: PLC0415  most answers hold no measurement

        return measurement_of(item, item.document.name, knowledge)

    return check(node, knowledge, read)
