"""Makes the advice on a lifecycle out of its two consultations: what both cost, and what the rules say of that."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from whygpu.chain.environment import known_value
from whygpu.checks.cost.lifecycle import LifecycleCost
from whygpu.consult.driver import judge
from whygpu.explain.advice import Advice
from whygpu.lifecycle.advice import LifecycleAdvice, Unknown
from whygpu.lifecycle.machines import machines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.chain.engines import Chain
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan
    from whygpu.lifecycle.machines import Again

SAME = "life.same_accelerator"
ONE = "life.one_machine"
APART = "life.apart_usd_total"
_COSTS = tuple(f"life.{item.name}" for item in fields(LifecycleCost) if item.name != "calculations")
RENTED = "life.rented_usd_total"
LIFE_NAMES = (*_COSTS, SAME, ONE, APART, RENTED)
"""Names that get their values from the cost of a life."""
_SIZES = ("dataset_tokens", "dataset_samples")


def conclude_lifecycle(
    given: Mapping[str, Any], train: Consultation, serve: Consultation, again: Again, chain: Chain
) -> LifecycleAdvice:
    """The advice on a life; ``again`` consults on the serving phase as before, ``chain`` fires what is said of cost."""
    machines, apart = machines_of(train, serve, again)
    advice = machines.advice
    same, no_same = _same(advice, machines.serve, again)
    unknown = Unknown(_untold_training(advice[0]), _untold(advice[1].recommendation, "serve"), no_same)
    cost, apart_cost = machines.cost(same), apart.cost() if apart else None
    figures: dict[str, float | bool] = {
        f"life.{name}": value for name, value in (cost.figures() if cost else {}).items()
    }
    best = [item.recommendation for item in advice]
    if best[0] is not None and best[1] is not None:
        figures[SAME] = best[0].accelerator.id == best[1].accelerator.id
        figures[ONE] = machines.both is not None
    if apart_cost is not None and apart_cost.usd_total is not None:
        figures[APART] = apart_cost.usd_total
    own = apart_cost or cost
    if own is not None and own.rented_train_usd is not None and own.serve_usd is not None:
        figures[RENTED] = own.rented_train_usd + own.serve_usd
    names = serve.knowledge.vocabulary
    facts = {name: known_value(value) for name, value in figures.items() if name in names}
    said = judge(serve.knowledge, facts, chain)
    return LifecycleAdvice(given, machines, apart, same, cost, apart_cost, unknown, said)


def _same(advice: tuple[Advice, Advice], serve: Consultation, again: Again) -> tuple[Plan | None, str | None]:
    """The best plan to serve on the accelerator that trains, or why there is none or no price."""
    best, serving = (item.recommendation for item in advice)
    if best is None:
        return None, "there is no plan to train on"
    card = best.accelerator
    if serving is not None and serving.accelerator.id == card.id:
        return serving, _untold(serving, "serve")
    answers = replace(serve.answers, accelerators=(card.id,), exclude_accelerators=())
    found = Advice(again(answers))
    plan = found.recommendation
    if plan is not None:
        return plan, _untold(plan, "serve")
    texts = [reason.text for rejection in found.rejected for reason in rejection.because[:1]]
    return None, " ".join([f"{card.name} cannot serve it.", *texts])


def _untold(plan: Plan | None, verb: str) -> str | None:
    """Why a plan's hours have no price; None where they have."""
    if plan is None:
        return f"no plan to {verb} satisfies every constraint"
    return None if plan.cost else f"no price is known for {plan.label}"


def _untold_training(advice: Advice) -> str | None:
    """Why a training run has no cost; None where it has."""
    plan = advice.recommendation
    if plan is None or plan.cost is None or plan.cost.usd_total is not None:
        return _untold(plan, "train")
    sizes = [item.question for item in advice.open if item.question in _SIZES]
    if sizes:
        return f"the size of the data set is not known: answer {' or '.join(sizes)}"
    return f"how long {plan.label} takes is not known"
