"""The session rules: fired stratum by stratum, with their conclusions settled after each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.environment import known_value
from whygpu.consult.consultation import Clash, SessionResult
from whygpu.knowledge.rules import Conclude

if TYPE_CHECKING:
    from whygpu.chain.engines import Chain
    from whygpu.chain.environment import SessionEnvironment
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule
    from whygpu.knowledge.strata import Stratum


def fire_session_rules(knowledge: Knowledge, environment: SessionEnvironment, chain: Chain) -> SessionResult:
    """Fire every session rule on an engine's ``chain``; what they conclude is set in the environment."""
    rules = _SessionRules(knowledge, environment, chain)
    for stratum in knowledge.strata.session:
        rules.fire(stratum)
    return SessionResult(
        knowledge, environment, tuple(rules.fired), tuple(rules.defeated), tuple(rules.clashes), rules.origins
    )


class _SessionRules:
    def __init__(self, knowledge: Knowledge, environment: SessionEnvironment, chain: Chain) -> None:
        self._knowledge, self._environment, self._chain = knowledge, environment, chain
        self.fired: list[Rule] = []
        self.defeated: list[tuple[Rule, str]] = []
        self.clashes: list[Clash] = []
        self.origins: dict[str, str] = {}

    def fire(self, stratum: Stratum) -> None:
        names = self._chain.fired(stratum, self._environment)
        standing = {rule.id for rule in self.fired}
        for rule in stratum.rules:
            if rule.id not in names:
                continue
            by = next((other for other in self._knowledge.overriders.get(rule.id, ()) if other in standing), None)
            if by is not None:
                self.defeated.append((rule, by))
            else:
                self.fired.append(rule)
        for name in stratum.settles:
            self._settle(name)

    def _settle(self, name: str) -> None:
        """What the rules that stand conclude for a name, where they agree; else its ``otherwise``."""
        said = [
            (effect.value, rule.id)
            for rule in self.fired
            for effect in rule.effects
            if isinstance(effect, Conclude) and effect.name == name
        ]
        values = {value for value, _ in said}
        otherwise = self._knowledge.vocabulary[name].otherwise
        if len(values) > 1:
            self.clashes.append(Clash(name, tuple(rule for _, rule in said)))
        elif said:
            self._conclude(name, *said[0])
        elif otherwise is not None and not self._is_open(name):
            self._conclude(name, otherwise, "otherwise")

    def _conclude(self, name: str, value: float | bool | str, origin: str) -> None:
        self._environment.set(name, known_value(value))
        self.origins[name] = origin

    def _is_open(self, name: str) -> bool:
        """Whether a rule that could still conclude the name cannot be decided."""
        for rule in self._knowledge.concluders.get(name, ()):
            truth = self._environment.evaluator.truth(rule.condition)
            if not truth.true and not truth.false:
                return True
        return False
