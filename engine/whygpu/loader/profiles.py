"""Reads profiles.yaml: what each phase is like, in a few points with their claims."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.knowledge.questions import Point, Profile
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import TEXT, TEXTS, WORD, list_of, needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form

POINT: Form = MappingProxyType({"text": needed(TEXT), "source": needed(TEXTS)})
PROFILE: Form = MappingProxyType({"phase": needed(WORD), "title": needed(TEXT), "points": list_of(POINT)})


def read_profiles(nodes: list[Node], reading: Reading) -> dict[str, Profile]:
    """The profiles by phase."""
    phases = [phase for spec in reading.vocabulary.values() if spec.answer == "phase" for phase in spec.values]
    found: dict[str, Profile] = {}
    for node in nodes:
        fields = Fields.of(node, "a profile", reading.problems, PROFILE)
        phase = fields.choice("phase", phases) if fields is not None else None
        if fields is None or phase is None:
            continue
        fields.what = f"the profile of {phase}"
        title = fields.text("title") or phase
        before = len(reading.problems)
        points = tuple(_points(fields, reading))
        if not points and len(reading.problems) == before:
            problem(reading.problems, node, "missing-key", f"{fields.what} has no points", "add 'points: [...]'")
        fields.done()
        if phase in found:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is there twice", "merge the two")
            continue
        found[phase] = Profile(phase, title, points, node.location)
    return found


def _points(fields: Fields, reading: Reading) -> Iterator[Point]:
    for item in fields.mappings("points", f"a point of {fields.what}"):
        text = item.text("text")
        sources = reading.cited(item)
        item.done()
        if text is not None:
            yield Point(" ".join(text.split()), sources)
