"""Rule engines side by side: the same rules over the same candidates, how long one consultation takes.

    python benchmarks/engines.py [--rules 100 500 2000] [--candidates 60 300] [--repeat 7] [--json FILE]

Each rule is a conjunction: one test of a session fact, and one or two of a candidate's figures against constants. About
a quarter of all instances fire. Every engine must report the same firings before its time counts. clipspy, experta and
zen-engine take part where they are installed (benchmarks/README.md); whygpu's two engines are asked as a consultation
asks them: compiled once, facts asserted, fired. Compiling is timed apart. zen-engine evaluates one decision table per
candidate, as its users do.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.chain.durable import DurableEngine
from whygpu.chain.engines import EvaluatorChain
from whygpu.chain.environment import PlanEnvironment, SessionEnvironment, known_value
from whygpu.chain.strata import stratify
from whygpu.errors import Location
from whygpu.knowledge.base import Knowledge
from whygpu.knowledge.rules import AllOf, AnyOf, Rule, Template, Verdict
from whygpu.language import tree as t
from whygpu.language import values as v
from whygpu.language.names import NameSpec

if TYPE_CHECKING:
    from collections.abc import Callable

PHASES = ("training", "inference", "batch")
CLASSES = ("consumer", "workstation", "data-centre", "edge")
FIGURES = ("memory", "rate", "price")
Firings = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Case:
    """Rules and candidates, as plain data."""

    phase: str
    rules: tuple[tuple[str, str, str, float, str | None], ...]
    """(phase, figure, < or >, threshold, class or None)"""
    candidates: tuple[tuple[dict[str, float], str], ...]


def make_case(rules: int, candidates: int, seed: int) -> Case:
    """Draw a case; thresholds are spread so that about a quarter of the instances fire."""
    draw = random.Random(seed)
    made = tuple(
        (
            draw.choices(PHASES, (2, 6, 2))[0],
            draw.choice(FIGURES),
            draw.choice("<>"),
            float(draw.randrange(20, 80)),
            draw.choice([*CLASSES, None, None, None, None, None]),
        )
        for _ in range(rules)
    )
    plans = tuple(
        ({name: round(draw.uniform(0, 100), 3) for name in FIGURES}, draw.choice(CLASSES)) for _ in range(candidates)
    )
    return Case("inference", made, plans)


def expected(case: Case) -> Firings:
    """What must fire, by plain Python."""
    return frozenset(
        (number, index)
        for number, (phase, figure, op, threshold, kind) in enumerate(case.rules)
        if phase == case.phase
        for index, (figures, own) in enumerate(case.candidates)
        if (figures[figure] > threshold if op == ">" else figures[figure] < threshold) and kind in (None, own)
    )


def whygpu_knowledge(case: Case) -> Knowledge:
    """The case as a knowledge base."""
    place = Location("benchmark")
    choice = MappingProxyType(dict.fromkeys(PHASES, ""))
    classes = MappingProxyType(dict.fromkeys(CLASSES, ""))
    vocabulary = {
        "workload.phase": NameSpec("workload.phase", "choice", "", place, values=choice, answer="phase"),
        "gpu.class": NameSpec("gpu.class", "choice", "", place, values=classes),
        **{f"plan.{name}": NameSpec(f"plan.{name}", "number", "", place) for name in FIGURES},
    }
    none = Template("", (("", None),))
    rules = []
    for number, (phase, figure, op, threshold, kind) in enumerate(case.rules):
        parts: list[t.Expression] = [t.Compare("==", t.Name("workload.phase"), t.Constant(phase))]
        parts.append(t.Compare("<" if op == "<" else ">", t.Name(f"plan.{figure}"), t.Constant(threshold)))
        if kind is not None:
            parts.append(t.Compare("==", t.Name("gpu.class"), t.Constant(kind)))
        verdict = Verdict(True, "cost", "mild")
        rule = Rule(
            f"r{number}",
            f"r{number}",
            "benchmark",
            AllOf(()),
            AnyOf(()),
            (verdict,),
            none,
            (),
            (),
            (),
            "plan",
            t.All(tuple(parts)),
            place,
        )
        rules.append(rule)
    strata, problems = stratify(rules, {})
    if problems:
        raise SystemExit(str(problems[0]))
    empty: Any = MappingProxyType({})
    return Knowledge("0", "0", "", empty, empty, vocabulary, (), empty, tuple(rules), empty, strata)


def whygpu_runner(case: Case, engine: str) -> Callable[[], Firings]:
    """A consultation's chaining over the case."""
    knowledge = whygpu_knowledge(case)
    durable = DurableEngine(knowledge) if engine == "durable" else None
    columns = {name: np.array([figures[name] for figures, _ in case.candidates]) for name in FIGURES}
    kinds = np.array([kind for _, kind in case.candidates])
    alive = np.ones(len(case.candidates), dtype=np.bool_)

    def run() -> Firings:
        session = SessionEnvironment(knowledge)
        session.set("workload.phase", known_value(case.phase))
        plans = PlanEnvironment(knowledge, session, len(case.candidates))
        for name, values in columns.items():
            plans.set(f"plan.{name}", v.column(values))
        plans.set("gpu.class", v.Word(kinds))
        found: set[tuple[int, int]] = set()
        with durable.chain() if durable is not None else EvaluatorChain() as chain:
            for stratum in knowledge.strata.soft:
                for rule, mask in chain.fired_plans(stratum, plans, alive).items():
                    number = int(rule[1:])
                    found.update((number, index) for index in np.flatnonzero(mask).tolist())
        return frozenset(found)

    return run


def clips_runner(case: Case) -> Callable[[], Firings]:
    """CLIPS through clipspy: templates, rules, assert, run, collect."""
    import clips  # noqa: PLC0415  optional

    environment = clips.Environment()
    environment.build("(deftemplate session (slot phase))")
    slots = " ".join(f"(slot {name})" for name in (*FIGURES, "kind"))
    environment.build(f"(deftemplate plan (slot id) {slots})")
    environment.build("(deftemplate fired (slot rule) (slot plan))")
    for number, (phase, figure, op, threshold, kind) in enumerate(case.rules):
        test = f"({figure} ?v&:({op} ?v {threshold}))"
        extra = "" if kind is None else f"(kind {kind})"
        environment.build(
            f"(defrule r{number} (session (phase {phase})) (plan (id ?i) {test} {extra}) "
            f"=> (assert (fired (rule {number}) (plan ?i))))"
        )

    def run() -> Firings:
        environment.reset()
        environment.find_template("session").assert_fact(phase=clips.Symbol(case.phase))
        template = environment.find_template("plan")
        for index, (figures, kind) in enumerate(case.candidates):
            template.assert_fact(id=index, kind=clips.Symbol(kind), **figures)
        environment.run()
        return frozenset((int(fact["rule"]), int(fact["plan"])) for fact in environment.find_template("fired").facts())

    return run


def experta_runner(case: Case) -> Callable[[], Firings]:
    """experta: a KnowledgeEngine with one method a rule."""
    import experta  # noqa: PLC0415  optional

    found: set[tuple[int, int]] = set()

    class Plan(experta.Fact):  # type: ignore[misc]
        pass

    class Session(experta.Fact):  # type: ignore[misc]
        pass

    def action(number: int) -> Callable[..., None]:
        def fire(self: Any, index: int) -> None:
            del self
            found.add((number, index))

        return fire

    methods: dict[str, Any] = {}
    for number, (phase, figure, op, threshold, kind) in enumerate(case.rules):
        above = op == ">"
        limit = experta.P(lambda value, above=above, at=threshold: value > at if above else value < at)
        tests: dict[str, Any] = {figure: limit} | ({} if kind is None else {"kind": kind})
        pattern = experta.AND(Session(phase=phase), Plan(index=experta.MATCH.index, **tests))
        methods[f"r{number}"] = experta.Rule(pattern)(action(number))
    engine = type("Engine", (experta.KnowledgeEngine,), methods)()

    def run() -> Firings:
        found.clear()
        engine.reset()
        engine.declare(Session(phase=case.phase))
        for index, (figures, kind) in enumerate(case.candidates):
            engine.declare(Plan(index=index, kind=kind, **figures))
        engine.run()
        return frozenset(found)

    return run


def zen_runner(case: Case) -> Callable[[], Firings]:
    """GoRules ZEN: one decision table with hit policy collect, evaluated for each candidate."""
    import zen  # noqa: PLC0415  optional

    names = ("phase", *FIGURES, "kind")
    rows = []
    for number, (phase, figure, op, threshold, kind) in enumerate(case.rules):
        row = {"_id": f"r{number}", "phase": f'"{phase}"', "rule": str(number)}
        row |= {name: f"{op} {threshold}" if name == figure else "" for name in FIGURES}
        row["kind"] = "" if kind is None else f'"{kind}"'
        rows.append(row)
    table = {
        "hitPolicy": "collect",
        "inputs": [{"id": name, "name": name, "type": "expression", "field": name} for name in names],
        "outputs": [{"id": "rule", "name": "rule", "type": "expression", "field": "rule"}],
        "rules": rows,
    }
    graph = {
        "nodes": [
            {"id": "in", "type": "inputNode", "name": "in", "position": {"x": 0, "y": 0}},
            {
                "id": "table",
                "type": "decisionTableNode",
                "name": "table",
                "position": {"x": 0, "y": 0},
                "content": table,
            },
            {"id": "out", "type": "outputNode", "name": "out", "position": {"x": 0, "y": 0}},
        ],
        "edges": [
            {"id": "a", "sourceId": "in", "targetId": "table", "type": "edge"},
            {"id": "b", "sourceId": "table", "targetId": "out", "type": "edge"},
        ],
    }
    decision = zen.ZenEngine().create_decision(json.dumps(graph))

    def run() -> Firings:
        found: set[tuple[int, int]] = set()
        for index, (figures, kind) in enumerate(case.candidates):
            result = decision.evaluate({"phase": case.phase, "kind": kind, **figures})["result"]
            found.update((int(row["rule"]), index) for row in result)
        return frozenset(found)

    return run


RUNNERS: dict[str, Callable[[Case], Callable[[], Firings]]] = {
    "whygpu durable": lambda case: whygpu_runner(case, "durable"),
    "whygpu evaluator": lambda case: whygpu_runner(case, "evaluator"),
    "clipspy": clips_runner,
    "experta": experta_runner,
    "zen-engine": zen_runner,
}


def measure(name: str, case: Case, repeat: int, limit_s: float) -> dict[str, Any]:
    """Median milliseconds of one run, after one that is checked; fewer repeats where a run is long."""
    start = time.perf_counter()
    run = RUNNERS[name](case)
    compiled = time.perf_counter() - start
    start = time.perf_counter()
    if run() != expected(case):
        raise SystemExit(f"{name} fires other rules than expected")
    first = time.perf_counter() - start
    times = [first]
    for _ in range(repeat if first < limit_s else 0):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return {"engine": name, "compile_ms": compiled * 1e3, "run_ms": statistics.median(times) * 1e3}


def main() -> int:
    """Run every engine on every size and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--candidates", type=int, nargs="+", default=[60, 300])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds: a longer first run is not repeated")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for rules in options.rules:
        for candidates in options.candidates:
            case = make_case(rules, candidates, seed=7)
            share = len(expected(case)) / (rules * candidates)
            print(f"\n{rules} rules x {candidates} candidates, {share:.0%} of instances fire")
            base: float | None = None
            for name in RUNNERS:
                try:
                    row = measure(name, case, options.repeat, options.limit)
                except ImportError:
                    print(f"  {name:18} not installed")
                    continue
                base = base or row["run_ms"]
                ratio = row["run_ms"] / base
                print(
                    f"  {name:18} {row['run_ms']:10.2f} ms  {ratio:8.2f}x   (compile {row['compile_ms']:.0f} ms)",
                    flush=True,
                )
                rows.append({"rules": rules, "candidates": candidates, "share": share, **row})
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
