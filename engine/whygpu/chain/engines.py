"""What a consultation needs of an engine: which rules of a stratum fire. The evaluator is the plain answer to that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.chain.names import EngineName
    from whygpu.knowledge.strata import Stratum

Mask = NDArray[np.bool_]


class Chain(Protocol):
    """One consultation's forward chaining; ask it stratum by stratum, in order, inside a ``with`` block."""

    @property
    def engine(self) -> EngineName:
        """Which engine it runs on: what a consultation on it reports."""

    def fired(self, stratum: Stratum, environment: SessionEnvironment) -> set[str]:
        """The ids of the session rules that fire."""

    def fired_plans(self, stratum: Stratum, environment: PlanEnvironment, alive: Mask) -> dict[str, Mask]:
        """The plan rules that fire, each with the plans it fires for (of those ``alive``)."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give everything back."""


class EvaluatorChain:
    """Fires every rule whose condition is surely true."""

    engine: EngineName = "evaluator"

    def fired(self, stratum: Stratum, environment: SessionEnvironment) -> set[str]:
        """The ids of the session rules that fire."""
        truth = environment.evaluator.truth
        return {rule.id for rule in stratum.rules if truth(rule.condition).true}

    def fired_plans(self, stratum: Stratum, environment: PlanEnvironment, alive: Mask) -> dict[str, Mask]:
        """The plan rules that fire, each with the plans it fires for."""
        found: dict[str, Mask] = {}
        if not alive.any():
            return found
        for rule in stratum.rules:
            true = environment.evaluator.truth(rule.condition).true
            if true is not False and (mask := alive & true).any():
                found[rule.id] = mask
        return found

    def __enter__(self) -> Self:
        """Nothing to begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to give back."""
