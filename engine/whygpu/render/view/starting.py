"""How the recommendation is started, as sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.render.view.model import Evidence, Line, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.explain.advice import Advice
    from whygpu.explain.start import Start


def start_section(advice: Advice) -> Section | None:
    """By the tool that fits best, and which others there are; None where none can."""
    able = [item for item in advice.start if item.text is not None]
    if not able:
        return None
    first = _section(advice, able[0])
    return Section(first.title, (*first.lines, *_others(advice.start, able[0])), code=first.code)


def asked_section(advice: Advice, tool: str | None) -> Section:
    """By the tool that was asked for; raises AnswerError where it is not for such work."""
    if advice.recommendation is None:
        return Section("Nothing to start", (Line("No plan is recommended."),))
    if tool is None:
        found = start_section(advice)
        title = f"No known tool starts {advice.recommendation.label}"
        return Section(title, tuple(_others(advice.start, None))) if found is None else found
    for item in advice.start:
        if item.tool == tool:
            return _section(advice, item)
    known = [item.id for item in advice.consultation.knowledge.launches]
    message = f"'{tool[:40]}' is not a tool for such work" if tool in known else f"there is no tool '{tool[:40]}'"
    here = [item.tool for item in advice.start]
    hint = did_you_mean(tool, here) or f"for this work: {', '.join(here) or 'none'}"
    raise AnswerError([Problem("unknown-tool", message, Location("--tool"), hint)])


def _section(advice: Advice, item: Start) -> Section:
    plan = advice.recommendation
    label = "" if plan is None else plan.label
    evidence = Evidence(claims=item.claims)
    if item.text is None:
        return Section(f"{item.name} cannot start {label}", (Line(item.cannot or "", evidence=evidence),))
    lines = [Line(note) for note in item.notes]
    if item.file is not None:
        lines.insert(0, Line(f"Save it as {item.file}, then: {item.run}"))
    lines.append(Line(f"Options as of {item.name} {item.version}.", evidence=evidence))
    return Section(f"Start {label} with {item.name}", tuple(lines), code=item.text)


def _others(items: tuple[Start, ...], told: Start | None) -> Iterator[Line]:
    able = [item.tool for item in items if item.text is not None and item is not told]
    if able:
        yield Line(f"Others: --tool {', '.join(able)}.")
    for item in items:
        if item.cannot is not None:
            yield Line(f"Not {item.name}: {item.cannot}", 1)
