"""A decision as a record that can be kept and checked again: what was asked and decided, why, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whygpu.errors import AnswerError, Location, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.explain.advice import Advice
    from whygpu.explain.contract import RecordJson
    from whygpu.render.view.model import View

SCHEMA = 1
KIND: Final = "whygpu decision record"
_SAME = 0.005
"""Numbers within this share of each other are the same."""
_ASIDE = ("date", "kb", "engine")
"""What may differ though the decision holds."""


def record(advice: Advice, view: View) -> RecordJson:
    """The record, as plain data."""
    consultation = advice.consultation
    plan = advice.recommendation
    head = view.headline
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "date": consultation.today.isoformat(),
        "kb": {"version": advice.knowledge_version, "hash": advice.knowledge_hash},
        "engine": advice.engine,
        "life": consultation.answers.life,
        "request": view.request.text,
        "answers": dict(advice.answers),
        "assumed": {item.answer: item.value for item in advice.assumed},
        "status": advice.status,
        "decision": {
            "plan": None if plan is None else plan.id,
            "text": head.text,
            "price": head.price,
            "confidence": head.confidence,
            "usd_per_hour": None if plan is None or plan.cost is None else plan.cost.compared.usd_per_hour,
            "counted": None if plan is None or plan.counted is None else plan.counted.value,
            "because": [item.text for item in view.because],
        },
        "alternatives": [
            {"role": row.role, "plan": row.id, "text": row.plan, "price": row.price} for row in view.shortlist[1:]
        ],
        "figures": {row.label: {"needs": row.needs, "gets": row.gets, "status": row.status} for row in view.meters},
        "consequences": [
            *(item.text for item in view.but),
            *(item.text for item in view.items if item.kind == "warning"),
        ],
        "reasons": {
            row.evidence.rule: {"for": row.favourable, "worth": row.worth, "says": row.text}
            for row in view.reasons
            if row.about is None and row.evidence.rule is not None
        },
        "sources": dict(view.claims),
    }


def checked(data: object, location: str) -> Mapping[str, Any]:
    """A record that this version reads; raises AnswerError."""
    if not isinstance(data, dict) or data.get("kind") != KIND:
        message = "is not a decision record: '--record FILE' writes one"
        raise AnswerError([Problem("no-record", message, Location(location))])
    if data.get("schema") != SCHEMA:
        message = f"is a record of schema {str(data.get('schema'))[:20]}, and this version reads schema {SCHEMA}"
        raise AnswerError([Problem("other-schema", message, Location(location), "record the decision again")])
    if not isinstance(data.get("answers"), dict) or not isinstance(data.get("decision"), dict):
        message = "is a decision record without its answers or its decision"
        raise AnswerError([Problem("no-record", message, Location(location))])
    return data


def holds(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the same is recommended."""
    return bool(old["decision"].get("plan") == new["decision"].get("plan"))


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Everything that the two say otherwise: where, before and after; without the day, the hash and the engine."""
    return [item for item in _changes(dict(old), dict(new), "") if item[0].partition(".")[0] not in _ASIDE]


def _changes(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _changes(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(old, int | float) and isinstance(new, int | float):
        if abs(old - new) > _SAME * max(abs(old), abs(new)):
            yield path, old, new
    elif old != new:
        yield path, old, new
