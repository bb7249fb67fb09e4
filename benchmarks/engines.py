"""Rule engines side by side: the same rules over the same candidates, how long one consultation takes.

    python -m benchmarks.engines [--rules 100 200 500 1000 2000] [--candidates 60 600] [--repeat 20] [--plot FILE]

Each rule is a conjunction: one test of a session fact, and one or two of a candidate's figures against constants. About
a quarter of all instances fire. Every engine must report the same firings before its time counts. clipspy, experta and
zen-engine take part where they are installed (benchmarks/README.md); whygpu's two engines are asked as a consultation
asks them: compiled once, facts asserted, fired. Compiling is timed apart. zen-engine evaluates one decision table per
candidate, as its users do; the loop is plain Python over both. Each engine runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.engine_plot import draw

from whygpu.chain.durable import DurableEngine
from whygpu.chain.engines import EvaluatorChain
from whygpu.chain.environment import PlanEnvironment, SessionEnvironment, known_value
from whygpu.chain.strata import stratify
from whygpu.errors import Location
from whygpu.files import write_whole
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
    "plain loop": lambda case: lambda: expected(case),
}


@dataclass(frozen=True)
class Figures:
    """What one engine took for one case."""

    load_ms: float
    median_ms: float
    slow_ms: float
    """The 99th percentile, or the slowest of fewer than a hundred."""
    mib: float
    """Memory that rules and runs added to the process."""


def measure(name: str, rules: int, candidates: int, repeat: int, limit_s: float) -> Figures | None:
    """The processor time of one run, after one that is checked; None where the engine is not installed."""
    case = make_case(rules, candidates, seed=7)
    try:
        RUNNERS[name](make_case(1, 1, seed=1))()  # its imports are not its memory
    except ImportError:
        return None
    before, start = _peak_mib(), time.process_time()
    run = RUNNERS[name](case)
    load = time.process_time() - start
    if run() != expected(case):
        raise SystemExit(f"{name} fires other rules than expected")
    times: list[float] = []
    while len(times) < repeat and (not times or sum(times) < 1e3 * limit_s):
        start = time.process_time()
        run()
        times.append(1e3 * (time.process_time() - start))
    times.sort()
    slow = times[min(int(0.99 * len(times)), len(times) - 1)]
    return Figures(1e3 * load, statistics.median(times), slow, _peak_mib() - before)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> int:
    """Run every engine on every size, print a table, and draw it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=int, nargs="+", default=[100, 200, 500, 1000, 2000])
    parser.add_argument("--candidates", type=int, nargs="+", default=[60, 600])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds after which a case is not repeated")
    parser.add_argument("--plot", type=Path, help="draw the medians as SVG into this file")
    options = parser.parse_args()
    found: dict[tuple[int, int], dict[str, Figures]] = {}
    print("| rules x candidates | engine | load, ms | median, ms | 99th, ms | a second | MiB | times durable |")
    print("|---|---|---|---|---|---|---|---|")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as alone:
        for candidates in options.candidates:
            for rules in options.rules:
                row = found[candidates, rules] = {}
                for name in RUNNERS:
                    figures = alone.apply(measure, (name, rules, candidates, options.repeat, options.limit))
                    if figures is not None:
                        row[name] = figures
                        print(_line(rules, candidates, name, figures, row["whygpu durable"]), flush=True)
    if options.plot is not None:
        medians = {size: {name: one.median_ms for name, one in row.items()} for size, row in found.items()}
        write_whole(options.plot, draw(medians))
    return 0


def _line(rules: int, candidates: int, name: str, figures: Figures, base: Figures) -> str:
    cells = (
        f"{rules:,} x {candidates}",
        name,
        f"{figures.load_ms:,.0f}",
        f"{figures.median_ms:,.1f}",
        f"{figures.slow_ms:,.1f}",
        f"{1e3 / figures.median_ms:,.1f}",
        f"{figures.mib:,.0f}",
        f"{figures.median_ms / base.median_ms:.2g}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
