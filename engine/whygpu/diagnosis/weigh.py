"""Weighs signs: what each strength counts, and the causes in order of what speaks for them.

Weights of evidence add up, as logarithms of likelihood ratios do (Good 1985, "Weight of evidence: a brief survey");
what a strength counts is a fact (``sign-weight``). One more sign for a cause never puts it lower.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from whygpu.knowledge.rules import SIGN_WEIGHT, STRENGTHS, Rule, Sign

if TYPE_CHECKING:
    from whygpu.diagnosis.parts import Standing
    from whygpu.knowledge.base import Knowledge


def weights(knowledge: Knowledge) -> Mapping[str, float]:
    """What a sign of each strength counts."""
    pick = knowledge.catalogue.coefficients.pick
    return {strength: pick(SIGN_WEIGHT, {"strength": strength}).likely for strength in STRENGTHS}


def signs_of(rules: Iterable[Rule]) -> Iterable[tuple[Rule, Sign]]:
    """The signs that rules give."""
    return ((rule, effect) for rule in rules for effect in rule.effects if isinstance(effect, Sign))


def sums(fired: Iterable[Rule], worth: Mapping[str, float]) -> dict[str, float]:
    """The weight of each cause that some sign speaks of."""
    found: dict[str, float] = {}
    for _, sign in signs_of(fired):
        weight = worth[sign.strength] if sign.favourable else -worth[sign.strength]
        found[sign.cause] = found.get(sign.cause, 0.0) + weight
    return found


def ranked(causes: Iterable[str], found: Mapping[str, float]) -> list[str]:
    """The causes by weight, then in the order of their file; those without a sign after those with one above zero."""
    return sorted(causes, key=lambda cause: -found.get(cause, 0.0))


def leader(found: Mapping[str, float]) -> str | None:
    """The one cause with the most weight above zero; None where there is none or several share it."""
    most = max(found.values(), default=0.0)
    best = [cause for cause, weight in found.items() if weight == most]
    return best[0] if most > 0 and len(best) == 1 else None


def standing(cause: str, found: Mapping[str, float], worth: Mapping[str, float]) -> Standing:
    """How a cause stands."""
    weight = found.get(cause)
    if weight is None:
        return "no sign"
    if weight >= worth["strong"]:
        return "likely"
    return "possible" if weight >= worth["normal"] else "weak" if weight > 0 else "unlikely"
