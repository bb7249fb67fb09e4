"""Sizes what is asked: limits and prices of the answers, choices of the rules, then the arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from whygpu.chain.environment import SessionEnvironment, known_value, plain
from whygpu.checks.cost.money import hours_a_month
from whygpu.consult.answering import assumption_of
from whygpu.consult.driver import judge
from whygpu.plans.price import price_list
from whygpu.sizing.basis import Basis, refuse
from whygpu.sizing.loads import knee_of, loads_of
from whygpu.sizing.memory import context_seen, room_of
from whygpu.sizing.names import PREFIX
from whygpu.sizing.pace import layout_of, pace_of
from whygpu.sizing.replicas import Objective
from whygpu.sizing.service import size_service
from whygpu.sizing.service_size import Demand
from whygpu.sizing.sized import Sized
from whygpu.sizing.training import Target, size_training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whygpu.chain.engines import Chain
    from whygpu.consult.consultation import SessionResult
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Accelerator
    from whygpu.plans.price import Price
    from whygpu.sizing.asked import Asked
    from whygpu.sizing.pace import Pace, Unit

_ASSUMED = ("criticality", "deployment")
_POLICY = ("target_utilisation", "spare_replicas", "zones")


def card_of(asked: Asked, knowledge: Knowledge) -> Accelerator | None:
    """The accelerator: the measured one, else the only one answered; raises AnswerError where both differ."""
    measured, named = asked.measured.setup.accelerator, asked.answers.accelerators
    cards = knowledge.catalogue.accelerators
    if measured is not None and named is not None and measured not in named:
        message = f"measured was {cards[measured].name}, and 'accelerators' is {', '.join(named)}"
        raise refuse("contradiction", message, "accelerators", "leave 'accelerators' out, or measure on it")
    if measured is not None:
        return cards[measured]
    return cards[named[0]] if named is not None and len(named) == 1 else None


class _Prices:
    """Prices of the one accelerator, under the answers' restrictions; an answered one comes first."""

    def __init__(self, asked: Asked, card: Accelerator | None, knowledge: Knowledge, today: date) -> None:
        self._own = asked.own.get("usd_per_hour")
        self._card, self._list = card, price_list(knowledge, asked.answers, today)

    def found(self, count: int, groups: int, together: int) -> Price | None:
        if self._card is None or self._own is not None:
            return None
        return self._list.price(self._card.id, count, groups, together)

    def usd_per_hour(self, count: int, groups: int, together: int) -> float | None:
        if self._own is not None:
            return self._own * count * groups
        price = self.found(count, groups, together)
        return None if price is None else price.usd_per_hour

    def why_none(self) -> str | None:
        if self._own is not None:
            return None
        if self._card is None:
            return "the measured accelerator is not named: add 'accelerators' or 'usd_per_hour'"
        return self._list.why_none(self._card.id)


def _facts(
    asked: Asked, figures: Mapping[str, float | bool | str], knowledge: Knowledge
) -> dict[str, float | bool | str]:
    """What the rules read: answers, figures measured and computed, and what is assumed where nobody answered."""
    names = knowledge.vocabulary
    found: dict[str, float | bool | str] = {f"{PREFIX}of": asked.of}
    found |= {knowledge.name_by_answer[key].name: value for key, value in asked.answers.values.items()}
    found |= {f"measured.{key}": value for key, value in asked.measured.figures.items()}
    found |= {PREFIX + key: value for key, value in {**asked.own, **figures}.items()}
    known = {name: value for name, value in found.items() if name in names}
    lightest = next(iter(loads_of(asked.measured.points)), None)
    peak = asked.answers.values.get("requests_per_second")
    if lightest is not None and isinstance(peak, float):  # by Little's law, for what is assumed by it
        known.setdefault(knowledge.name_by_answer["concurrency"].name, float(math.ceil(peak * lightest.mean_s)))
    environment = SessionEnvironment(knowledge)
    for name, value in known.items():
        environment.set(name, known_value(value))
    for question in knowledge.questions:
        assumption = assumption_of(environment, question) if question.id in _ASSUMED else None
        if assumption is not None and question.name not in known:
            assumed = plain(environment.evaluator.value(assumption.value))
            if assumed is not None:
                known[question.name] = assumed
    return known


def _said(asked: Asked, figures: Mapping[str, float | bool | str], knowledge: Knowledge, chain: Chain) -> SessionResult:
    facts = _facts(asked, figures, knowledge)
    return judge(knowledge, {name: known_value(value) for name, value in facts.items()}, chain)


def sized_service(asked: Asked, knowledge: Knowledge, chain: Callable[[], Chain], today: date | None = None) -> Sized:
    """Size a service; raises AnswerError where the peak or the load test is missing."""
    answers, own = asked.answers, asked.own
    peak = answers.values.get("requests_per_second")
    if not isinstance(peak, float):
        message = "the requests per second at the peak are not given"
        raise refuse("no-peak", message, "requests_per_second", "add requests_per_second=20")
    card = card_of(asked, knowledge)
    prices = _Prices(asked, card, knowledge, today or date.today())
    per_replica = _per_replica(asked)
    objective, assumed = _objective(asked, knowledge)
    policy = _policy(asked, peak, knowledge, chain())
    hours = answers.values.get("hours_per_day")
    demand = Demand(
        peak_per_s=peak,
        objective=objective,
        utilisation=policy["target_utilisation"],
        spares=policy["spare_replicas"],
        zones=policy["zones"],
        per_replica=per_replica,
        hours=hours_a_month(hours if isinstance(hours, float) else 24.0),
        burstiness=own.get("burstiness"),
        variation=own.get("variation"),
        room=room_of(asked, card, knowledge),
    )
    size = size_service(
        asked.measured.points, demand, knowledge, lambda groups, count: prices.usd_per_hour(count, groups, count)
    )
    if assumed is not None:
        size = replace(size, basis=(*size.basis, assumed))
    unlimited = ("no limit on latency is answered, and the loads show none: add p95_ms",) if not objective.any else ()
    size = replace(size, notes=(*unlimited, *size.notes, *_longer(asked)))
    price = None if size.replicas is None else prices.found(per_replica, size.replicas, per_replica)
    unpriced = prices.why_none() if size.usd_per_hour is None else None
    said = _said(asked, size.figures(), knowledge, chain())
    return Sized(asked, size, said, card, price, unpriced)


def _longer(asked: Asked) -> Iterator[str]:
    """What is said of requests that are longer than those of the load test."""
    values = asked.answers.values
    context, seen = values.get("average_context_tokens", values.get("context_tokens")), context_seen(asked.measured)
    if isinstance(context, float) and seen is not None and context > 1.1 * seen:
        yield f"requests have {context:,.0f} tokens and had {seen:,.0f} in the load test: they take longer than it says"


def _per_replica(asked: Asked) -> int:
    count = asked.answers.values.get("count")
    return asked.measured.setup.count or (int(count) if isinstance(count, float) else 1)


def _objective(asked: Asked, knowledge: Knowledge) -> tuple[Objective, Basis | None]:
    """The limits that are answered; where there is none, p95 at the knee is taken, and said to be assumed. Where the
    loads show no such p95 there is no limit.
    """
    limits = {
        "latency_s": asked.own.get("p95_ms"),
        "first_s": asked.answers.values.get("latency_ms"),
        "token_s": asked.answers.values.get("token_latency_ms"),
    }
    known = {name: value / 1000 for name, value in limits.items() if isinstance(value, float)}
    if known:
        return Objective(**known), None
    at = knee_of(loads_of(asked.measured.points)).at
    limit = None if at is None else at.tail_s
    if limit is None:
        return Objective(), None
    meaning = knowledge.vocabulary[f"{PREFIX}p95_ms"].meaning
    because = "no limit is answered: p95 where latency turns unstable is taken"
    claims = knowledge.claims_of("usable_per_s", "sizing")
    return Objective(latency_s=limit), Basis("p95_ms", meaning, limit * 1000, "ms", "assumed", because, claims)


def _policy(asked: Asked, peak: float, knowledge: Knowledge, chain: Chain) -> dict[str, Basis]:
    """What the rules conclude of utilisation and redundancy; an answer comes first."""
    said = _said(asked, {"peak_per_s": peak}, knowledge, chain)
    found: dict[str, Basis] = {}
    for name in _POLICY:
        spec = knowledge.vocabulary[PREFIX + name]
        answered = asked.own.get(name)
        concluded = plain(said.environment.value(spec.name))
        rule = knowledge.rule_by_id.get(said.origins.get(spec.name, ""))
        value = answered if answered is not None else concluded
        if not isinstance(value, float):
            value = float(spec.otherwise or 0)
        found[name] = Basis(
            name,
            spec.meaning,
            value,
            spec.unit or "",
            "answered" if answered is not None else "assumed",
            "" if answered is not None or rule is None else f"by rule {rule.id}",
            () if answered is not None or rule is None else rule.sources,
        )
    return found


def sized_training(
    asked: Asked,
    knowledge: Knowledge,
    chain: Callable[[], Chain],
    estimate: Callable[[Unit], Pace | None],
    today: date | None = None,
) -> Sized:
    """Size a training run. ``estimate``: the pace by whygpu's own estimate, where none was measured.

    Raises AnswerError where there is nothing to do, or no pace.
    """
    work, unit = _work(asked)
    card = card_of(asked, knowledge)
    prices = _Prices(asked, card, knowledge, today or date.today())
    pace = pace_of(asked.measured, unit)
    measured = pace is not None
    pace = pace or estimate(unit)
    if pace is None:
        message = f"neither a measured pace in {unit} a second is given, nor what one could be estimated from"
        hint = (
            "add measured.step_ms with batch_size, or measured.tokens_per_s; "
            "or 'model' and one accelerator as 'accelerators'"
        )
        raise refuse("no-pace", message, "measured", hint)
    per_node = _per_node(asked, pace, card, knowledge)
    because = "" if measured else "by whygpu's estimate: no pace was measured"
    paced = Basis(
        "per_s",
        "work a second, all accelerators together",
        pace.per_s,
        f"{unit}/s",
        "measured" if measured else "estimated",
        because,
    )
    values = asked.answers.values
    deadline = values.get("deadline_hours")
    target = Target(
        work=work,
        pace=pace,
        paced=paced,
        per_node=per_node,
        most=_most(values, per_node),
        deadline_days=deadline / 24 if isinstance(deadline, float) else None,
        headroom=asked.own.get("headroom"),
    )
    size = size_training(
        asked.measured, target, knowledge, lambda count: prices.usd_per_hour(count, 1, min(count, per_node))
    )
    price = prices.found(size.best.count, 1, min(size.best.count, per_node))
    unpriced = prices.why_none() if size.best.usd is None else None
    return Sized(asked, size, _said(asked, size.figures(), knowledge, chain()), card, price, unpriced)


def _work(asked: Asked) -> tuple[float, Unit]:
    """What there is to do, and in which unit."""
    values = asked.answers.values
    epochs = values.get("epochs")
    times = epochs if isinstance(epochs, float) else 1.0
    tokens, samples, steps = values.get("dataset_tokens"), values.get("dataset_samples"), asked.own.get("steps")
    told = [
        name for name, value in (("dataset_tokens", tokens), ("dataset_samples", samples), ("steps", steps)) if value
    ]
    if len(told) > 1:
        raise refuse("contradiction", f"{' and '.join(told)} both say how much there is to do", told[1], "keep one")
    if isinstance(tokens, float):
        return tokens * times, "tokens"
    if isinstance(samples, float):
        return samples * times, "samples"
    if steps is not None:
        return steps, "steps"
    raise refuse(
        "no-work", "the amount of training is not given", "answers", "add dataset_tokens, dataset_samples or steps"
    )


def _per_node(asked: Asked, pace: Pace, card: Accelerator | None, knowledge: Knowledge) -> int:
    """Accelerators of a machine: as measured, else the most that one offering has."""
    count, nodes = layout_of(asked.measured)
    rows = [int(row.accelerators) for row in asked.measured.scaling if (row.nodes or 1) == 1]
    told = [count // nodes] if nodes > 1 else []
    told += [int(row.accelerators / row.nodes) for row in asked.measured.scaling if row.nodes and row.nodes > 1]
    if told:
        return max(told)
    offered = knowledge.catalogue.offerings_by_accelerator.get(card.id, ()) if card is not None else ()
    return max([pace.count // pace.nodes, *rows, *(item.count for item in offered if item.never_used is None)])


def _most(values: Mapping[str, float | bool | str], per_node: int) -> int | None:
    """The most accelerators that the answers allow."""
    limits = [values.get("count"), values.get("max_count")]
    nodes = values.get("max_nodes")
    if isinstance(nodes, float):
        limits.append(nodes * per_node)
    known = [value for value in limits if isinstance(value, float) and math.isfinite(value)]
    return int(min(known)) if known else None
