"""What holds whatever is asked, tried on random answers: ``python -m benchmarks.invariants --sets 2000``.

No crash, no endless number; both engines and every order of the answers say the same; what is listed keeps the limits,
or says that it could not be checked; nothing stands before what is better on the same card; more never makes feasible
work infeasible. Each violation is printed with the seed of its answers; one is enough for exit status 1.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

from benchmarks.random_answers import draw, shuffled

import whygpu
from whygpu.explain.json_form import plan_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.chain.names import EngineName

CHUNK = 20
TODAY = date(2026, 11, 22)
SLIGHTLY = 1e-6
LAST_DIGITS = 1e-9
WHOLE = 10
"""Of so many sets one has everything told, with what is out and the trace: telling takes longer than deciding."""
ANYTHING = 0.01
"""What is better by less in a figure is not better."""
LIMITS = (
    "budget_per_hour",
    "budget_total",
    "max_count",
    "max_nodes",
    "deadline_hours",
    "latency_ms",
    "token_latency_ms",
    "power_watts",
)
"""Answers of which more can only help."""
FEASIBLE = ("recommended", "tied")


@dataclass(slots=True)
class Tally:
    """What was tried, and every violation."""

    sets: int = 0
    refused: int = 0
    consultations: int = 0
    plans: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    relaxed: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another process found."""
        self.sets += other.sets
        self.refused += other.refused
        self.consultations += other.consultations
        self.plans += other.plans
        self.statuses += other.statuses
        self.relaxed += other.relaxed
        self.violations += other.violations


@cache
def _knowledge() -> whygpu.KnowledgeBase:
    return whygpu.load()


def judge(seed: int, kb: whygpu.KnowledgeBase, tally: Tally) -> None:
    """Try every property on the answers of one seed."""
    rng = random.Random(seed)
    answers = draw(rng, kb)
    tally.sets += 1
    try:
        found = list(_violations(rng, answers, kb, tally))
    except whygpu.AnswerError as error:
        if not error.problems or not all(item.message for item in error.problems):
            tally.violations.append(f"seed {seed}: refused without a reason: {json.dumps(answers)}")
        tally.refused += 1
        return
    except Exception as error:  # noqa: BLE001  a crash is what is looked for
        found = [f"{type(error).__name__}: {error}"]
    tally.violations += [f"seed {seed}: {text}: {json.dumps(answers)}" for text in found]


def _violations(rng: random.Random, answers: dict[str, Any], kb: whygpu.KnowledgeBase, tally: Tally) -> Iterator[str]:
    whole = tally.sets % WHOLE == 1
    first = _ask(kb, answers, "durable", tally)
    second = _ask(kb, dict(shuffled(rng, list(answers.items()))), "evaluator", tally)
    texts, others = _texts(first, every=whole, trace=whole), _texts(second, every=whole)
    texts["alternatives"] = _text([plan_dict(plan) for plan in first.alternatives])
    for key in others.keys() - {"engine"}:
        if texts[key] != others[key]:
            yield f"the other engine, or another order of the answers, gives another '{key}'"
    advice = {key: json.loads(text) for key, text in texts.items() if key != "trace"}
    tally.statuses[advice["status"]] += 1
    yield from missing(advice)
    limits = stated(answers, advice)
    for group in listed(advice):
        tally.plans += len(group)
        for plan in group:
            yield from (f"{plan['id']} {text}" for text in broken(plan, limits, kb))
        yield from dominated(group)
    if advice["status"] not in FEASIBLE or advice["recommendation"]["unverified"]:
        return  # what could not be checked is not known to be feasible
    for key in [key for key in LIMITS if key in answers]:
        bound = kb.knowledge.name_by_answer[key].maximum or math.inf
        more = min(math.ceil(answers[key] * rng.choice((1.1, 3, 30))), bound)
        after = _ask(kb, {**answers, key: more}, "evaluator", tally)
        tally.relaxed[key] += 1
        if after.status not in FEASIBLE:
            yield f"{key} {more} instead of {answers[key]} leaves nothing"


def _ask(kb: whygpu.KnowledgeBase, answers: dict[str, Any], engine: EngineName, tally: Tally) -> whygpu.Advice:
    tally.consultations += 1
    return kb.advise(answers, engine=engine, today=TODAY)


def _texts(advice: whygpu.Advice, *, every: bool, trace: bool = False) -> dict[str, str]:
    return {key: _text(value) for key, value in advice.to_dict(every=every, trace=trace).items()}


def _text(value: object) -> str:
    """A part of the answer as JSON; raises ValueError where it holds a number without end."""
    return json.dumps(value, allow_nan=False)


def listed(advice: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """The plans that are shown, those of one accelerator together and in their order."""
    for plan in [advice["recommendation"], *advice["alternatives"], *(item["plan"] for item in advice["shortlist"])]:
        if plan is not None:
            yield [plan, *plan.get("variants", ())]


def stated(answers: dict[str, Any], advice: dict[str, Any]) -> dict[str, Any]:
    """The answers that count: not those that a warning says do not apply."""
    ignored = {item["id"].removeprefix("ignored-") for item in advice["warnings"] if item["id"].startswith("ignored-")}
    return {key: value for key, value in answers.items() if key not in ignored}


def missing(advice: dict[str, Any]) -> Iterator[str]:
    """Figures that a plan lacks, or that are none."""
    for plan in (plan for group in listed(advice) for plan in group):
        memory, speeds, cost = plan["memory"], plan["speed"], plan["cost"]
        for name, value in memory.items():
            if name not in ("verdict", "reused_gib") and (value is None or value < 0):
                yield f"{plan['id']} has {value} as {name}"
        if (
            None not in memory.values()
            and not memory["low_gib"]
            <= memory["total_gib"] * (1 + SLIGHTLY)
            <= memory["high_gib"] * (1 + SLIGHTLY) ** 2
        ):
            yield f"{plan['id']} needs {memory['low_gib']} to {memory['high_gib']}, likely {memory['total_gib']} GiB"
        for name, band in speeds.items():
            if band is not None and (None in band.values() or not band["low"] <= band["likely"] <= band["high"]):
                yield f"{plan['id']} has {band} as {name}"
        if cost is None and not plan["unpriced"]:
            yield f"{plan['id']} has no price, and no reason for it"
        if cost is not None and not cost["usd_per_hour"] >= 0:
            yield f"{plan['id']} costs {cost['usd_per_hour']}"


def broken(plan: dict[str, Any], limits: dict[str, Any], kb: whygpu.KnowledgeBase) -> Iterator[str]:
    """The limits that a plan is beyond."""
    for name, (figure, most) in _held(plan, limits, kb).items():
        if figure is None:
            if not plan["unverified"]:
                yield f"has no figure for {name} and is not called unverified"
        elif figure > most + SLIGHTLY * abs(most):
            yield f"misses {name}: {figure} beyond {most}"
    card = plan["accelerator"]["id"]
    if card in _cards(limits.get("exclude_accelerators", ()), kb):
        yield "is on an excluded card"
    if "accelerators" in limits and card not in _cards(limits["accelerators"], kb):
        yield "is on a card that was not asked for"
    if "count" in limits and plan["count"] != limits["count"]:
        yield f"has {plan['count']} accelerators"
    cost = plan["cost"]
    if cost is not None and cost["basis"] == "renting":
        offering = next(item for item in kb.knowledge.catalogue.offerings if item.id == cost["offering"])
        regions = {cost["region"]} if cost["region"] else kb.knowledge.catalogue.locations.get(cost["provider"], {})
        if "regions" in limits and not {*regions, *kb.knowledge.catalogue.areas_of(offering)} & {*limits["regions"]}:
            yield f"is offered in {cost['region']}"
        for key, word in (("providers", "provider"), ("provider_classes", "provider_class")):
            if key in limits and cost[word] not in limits[key]:
                yield f"is offered by {cost[word]}"
        if cost["price_kind"] not in limits.get("price_kinds", ("on-demand",)):
            yield f"is offered {cost['price_kind']}"


def _held(
    plan: dict[str, Any], limits: dict[str, Any], kb: whygpu.KnowledgeBase
) -> dict[str, tuple[float | None, float]]:
    """Each limit, with the figure of the plan that it is held against; what must not be less is negative."""
    cost, speed = plan["cost"], plan["speed"]
    compared = None if cost is None else cost["buying"] if cost["basis"] == "buying" else cost
    watts = kb.knowledge.catalogue.accelerators[plan["accelerator"]["id"]].number("tdp_w")
    job = limits.get("phase") in ("training", "fine-tuning", "batch-inference")
    figures: dict[str, float | None] = {
        "max_count": plan["count"],
        "max_nodes": plan["nodes"],
        "latency_ms": _likely(speed, "ttft_ms"),
        "token_latency_ms": _likely(speed, "token_ms"),
        "deadline_hours": _likely(speed, "train_hours"),
        "power_watts": None if watts is None else watts * plan["count"],
        "budget_per_hour": None if compared is None else compared["usd_per_hour"],
    }
    if job and limits.get("deployment", "cloud") == "cloud" and cost is not None and cost["basis"] != "buying":
        figures["budget_total"] = cost["usd_total"]
    elif compared is not None and cost["basis"] == "buying":
        figures["budget_total"] = compared["usd_purchase"]
    found = {name: (value, float(limits[name])) for name, value in figures.items() if name in limits}
    if "requests_per_second" in limits:
        rate = _likely(speed, "requests_per_s")
        found["requests_per_second"] = (None if rate is None else -rate, -float(limits["requests_per_second"]))
    return found


def _likely(speed: dict[str, Any], name: str) -> float | None:
    band = speed.get(name)
    return None if band is None else band["likely"]


def _cards(names: Iterable[str], kb: whygpu.KnowledgeBase) -> set[str]:
    return {card for name in names for card in kb.knowledge.catalogue.find_accelerators(name)}


LESS = ("token_ms", "ttft_ms", "train_hours")
MORE = ("tokens_per_s", "requests_per_s", "frames_per_s", "train_tokens_per_s", "samples_per_s")


def dominated(group: list[dict[str, Any]]) -> Iterator[str]:
    """Plans before one of the same accelerator and format, spread and recomputing alike, that is worse in no figure,
    better in one, and of which no rule says less good.
    """
    for place, plan in enumerate(group):
        for other in group[place + 1 :]:
            like = _way(plan) == _way(other) and _no_worse_spoken_of(other, plan)
            if like and _is_better(_figures(other), _figures(plan)):
                yield f"{plan['id']} is no better in anything than {other['id']} listed below it"


def _spoken(plan: dict[str, Any]) -> set[tuple[bool, str]]:
    """What rules say of a plan: those for it, and those against it."""
    return {(item["for"], rule) for item in plan["verdicts"] for rule in item["rules"]}


def _no_worse_spoken_of(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if one["counted"] is not None and other["counted"] is not None:
        mine, theirs = _factors(one), _factors(other)
        return all(mine.get(name, 1.0) <= theirs.get(name, 1.0) * (1 + SLIGHTLY) for name in mine.keys() | theirs)
    return all(favourable for favourable, _ in _spoken(one) - _spoken(other)) and not any(
        favourable for favourable, _ in _spoken(other) - _spoken(one)
    )


def _factors(plan: dict[str, Any]) -> dict[str, float]:
    """What the verdicts on a plan are worth, by criterion."""
    return {item["criterion"]: item["worth"] for item in plan["counted"]["factors"] if item["rules"]}


def _way(plan: dict[str, Any]) -> tuple[object, ...]:
    """What rules judge beside the figures."""
    recomputes = "gradient-checkpointing" in plan["techniques"]
    return (*(plan[key] for key in ("format", "kv_format", "method")), plan["parallelism"]["sharding"], recomputes)


def _figures(plan: dict[str, Any]) -> dict[str, float]:
    """What one wants less of."""
    cost, speed, layout = plan["cost"], plan["speed"], plan["parallelism"]
    money = math.inf if cost is None or cost["objective"] is None else cost["objective"]
    return {
        "money": money,
        "cards": plan["count"],
        "memory": plan["memory"]["high_gib"],
        "coupled": layout["tensor"] * layout["pipeline"],
        "shards": layout["tensor"],  # which exchange every layer's results: rules judge them beside their speed
        "copies": layout["data"] if plan["method"] else 0,  # which exchange gradients: likewise
        "unverified": plan["unverified"],
        **{name: math.inf if (value := _likely(speed, name)) is None else value for name in LESS},
        **{name: -(_likely(speed, name) or 0.0) for name in MORE},
    }


def _is_better(one: dict[str, float], other: dict[str, float]) -> bool:
    no_worse = all(one[name] <= value + LAST_DIGITS * abs(value) for name, value in other.items())
    known = [(one[name], value) for name, value in other.items() if value < math.inf]
    return no_worse and any(mine < value - ANYTHING * abs(value) for mine, value in known)


def judge_chunk(seeds: range) -> Tally:
    """The tally of the answers with these seeds."""
    tally = Tally()
    for seed in seeds:
        judge(seed, _knowledge(), tally)
    return tally


def main() -> int:
    """Run, print, and tell whether everything held."""
    parser = argparse.ArgumentParser(description="Try what must hold on random answers.")
    parser.add_argument("--sets", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1, help="the first set's seed; the others follow")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    end = options.seed + options.sets
    chunks = [range(start, min(start + CHUNK, end)) for start in range(options.seed, end, CHUNK)]
    total, began = Tally(), time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=50) as pool:
        for tally in pool.imap(judge_chunk, chunks):
            total.add(tally)
            for line in tally.violations:
                print(line, flush=True)
    print(f"date:           {date.today()}")
    print(f"seeds:          {options.seed} to {end - 1}")
    print(f"answer sets:    {total.sets:,} ({total.refused:,} refused with a reason)")
    print(f"consultations:  {total.consultations:,}, on both engines")
    print(f"outcomes:       {', '.join(f'{name} {number:,}' for name, number in sorted(total.statuses.items()))}")
    print(f"plans listed:   {total.plans:,}")
    print(f"limits raised:  {', '.join(f'{name} {number:,}' for name, number in sorted(total.relaxed.items()))}")
    print(f"violations:     {len(total.violations):,}")
    print(f"time:           {time.monotonic() - began:,.0f} s with {options.jobs} process(es)")
    return 1 if total.violations else 0


if __name__ == "__main__":
    sys.exit(main())
