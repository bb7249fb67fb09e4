"""One consultation, stage by stage, on both engines, and the command line as a process.

    python benchmarks/consultation.py [--rules 100 150 500 1000 2000] [--plans 300] [--repeat 30] [--kb DIR]

First every worked case, asked once; then the knowledge base as it is, for several kinds of work. Then its rules are
repeated under new ids until there are as many as asked, and the catalogue is cut to as many accelerators as give about
that many plans. Times are medians in milliseconds of ``kb.advise`` up to the recommendation: with another budget each
time (the plans of the last works are kept, as in the wizard), and with another load each time, which sizes all plans
anew. Stages are those of the first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import whygpu
from whygpu.api import REGISTRY
from whygpu.chain.names import EngineName
from whygpu.chain.strata import stratify
from whygpu.consult import driver
from whygpu.consult.answering import Answering
from whygpu.consult.judging import Judging
from whygpu.consult.planning import Planning
from whygpu.consult.ranking import Ranker
from whygpu.loader.assemble import default_root, load_texts, read_texts

ENGINES: tuple[EngineName, ...] = ("durable", "evaluator")
ANSWERS = {"phase": "inference", "model": "llama-3.1-70b", "concurrency": 8}
WORKS: dict[str, dict[str, Any]] = {
    "serving a 70B model": ANSWERS,
    "fine-tuning an 8B model": {"phase": "fine-tuning", "model": "llama-3.1-8b"},
    "training ResNet-50": {"phase": "training", "task": "vision", "model": "resnet-50"},
    "detection in videos": {"phase": "inference", "task": "vision", "model": "yolo11m"},
}
STAGES: tuple[tuple[Any, str, str], ...] = (
    (Answering, "applied", "answers"),
    (Answering, "work", "answers"),
    (driver, "fire_session_rules", "session rules"),
    (Planning, "plan", "plans"),
    (Judging, "reject", "plan rules"),
    (Judging, "prefer", "plan rules"),
    (Judging, "compare", "field values"),
    (Judging, "aggregate", "field values"),
    (driver, "tally_of", "ranking"),
    (Ranker, "ranking", "ranking"),
    (Ranker, "objections", "ranking"),
)


def enlarged(kb: whygpu.KnowledgeBase, rules: int, plans: int) -> whygpu.KnowledgeBase:
    """The knowledge base with so many rules, and with the accelerators that give about so many plans."""
    knowledge = kb.knowledge
    own = knowledge.rules
    many = [
        rule if copy == 0 else replace(rule, id=f"{rule.id}.{copy}", title=f"{rule.title} ({copy})", overrides=())
        for copy in range(-(-rules // len(own)))
        for rule in own
    ][:rules]
    kept = {rule.id for rule in many}
    many = [replace(rule, overrides=tuple(other for other in rule.overrides if other in kept)) for rule in many]
    every = len(kb.consult(ANSWERS, engine="evaluator").plans)
    accelerators = list(knowledge.catalogue.accelerators.items())
    cards = dict(accelerators[: max(round(plans * len(accelerators) / every), 1)])
    offerings = tuple(item for item in knowledge.catalogue.offerings if item.accelerator in cards)
    catalogue = replace(knowledge.catalogue, accelerators=MappingProxyType(cards), offerings=offerings)
    strata, problems = stratify(many, knowledge.values)
    if problems:
        raise SystemExit(str(problems[0]))
    return whygpu.KnowledgeBase(replace(knowledge, rules=tuple(many), strata=strata, catalogue=catalogue))


def timed_stages() -> dict[str, float]:
    """Wrap what the driver calls so that each adds its time to the stage it belongs to."""
    spent: dict[str, float] = defaultdict(float)

    def wrap(owner: Any, name: str, stage: str) -> None:
        original = getattr(owner, name)

        def method(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return original(*arguments)
            finally:
                spent[stage] += time.perf_counter() - start

        setattr(owner, name, method)

    for stage in STAGES:
        wrap(*stage)
    return spent


def advise_ms(kb: whygpu.KnowledgeBase, engine: EngineName, answers: list[dict[str, Any]]) -> float:
    """Median milliseconds from each of the answers to its recommendation."""
    times: list[float] = []
    for item in answers:
        start = time.perf_counter()
        _ = kb.advise(item, engine=engine).recommendation
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def as_it_is(kb: whygpu.KnowledgeBase, repeat: int) -> list[dict[str, Any]]:
    """All rules and all plans, one row for each kind of work and engine."""
    rows: list[dict[str, Any]] = []
    for work, answers in WORKS.items():
        trains = answers["phase"] != "inference"
        budget, load = ("budget_total", "epochs") if trains else ("budget_per_hour", "concurrency")
        for first, engine in zip((1_000, 2_000), ENGINES, strict=True):  # plans of loads sized before are kept
            plans = len(kb.consult(answers, engine=engine).plans)
            median = advise_ms(kb, engine, [{**answers, budget: 100.0 + number} for number in range(repeat)])
            new_work = advise_ms(kb, engine, [{**answers, load: first + number} for number in range(repeat)])
            print(
                f"{work:24} {len(kb.knowledge.rules)} rules x {plans:3} plans, {engine:9} {median:6.1f} ms, "
                f"new work {new_work:6.1f} ms"
            )
            rows.append({"work": work, "plans": plans, "engine": engine, "median_ms": median, "new_work_ms": new_work})
    return rows


def over_cases(folder: str | None) -> list[dict[str, Any]]:
    """Every worked case of the knowledge base, asked once: nothing but the rules is kept from one to the next."""
    root = Path(folder) if folder else default_root()
    kb = whygpu.KnowledgeBase(load_texts(read_texts(root), str(root), REGISTRY))
    rows: list[dict[str, Any]] = []
    for engine in ENGINES:
        times: list[float] = []
        for case in kb.knowledge.cases:
            start = time.perf_counter()
            try:
                advice = kb.advise(case.answers, engine=engine)
            except whygpu.AnswerError:
                continue
            for phase in getattr(advice, "phases", (advice,)):
                _ = phase.recommendation
            times.append(1e3 * (time.perf_counter() - start))
        median, most = statistics.median(times), statistics.quantiles(times, n=10)[-1]
        print(f"{len(times)} cases, {engine:9} median {median:.1f} ms, nine of ten under {most:.1f} ms")
        rows.append({"cases": len(times), "engine": engine, "median_ms": median, "p90_ms": most})
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=int, nargs="+", default=[100, 150, 500, 1000, 2000])
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--kb", help="the knowledge base's folder")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    start = time.perf_counter()
    kb = whygpu.load(options.kb)
    print(f"load {1e3 * (time.perf_counter() - start):.0f} ms")
    rows = [*over_cases(options.kb), *as_it_is(kb, options.repeat)]
    spent = timed_stages()
    for rules in options.rules:
        for engine in ENGINES:
            base = enlarged(kb, rules, options.plans)
            start = time.perf_counter()
            plans = len(base.consult(ANSWERS, engine=engine).plans)
            first = time.perf_counter() - start
            spent.clear()
            budgets = [{**ANSWERS, "budget_per_hour": 20.0 + number} for number in range(options.repeat)]
            median = advise_ms(base, engine, budgets)
            stages = {stage: 1e3 * seconds / options.repeat for stage, seconds in spent.items()}
            loads = [{**ANSWERS, "concurrency": 9 + number} for number in range(options.repeat)]
            new_work = advise_ms(base, engine, loads)
            layout = ", ".join(f"{stage} {value:.1f}" for stage, value in stages.items())
            print(
                f"{rules:5} rules x {plans} plans, {engine:9} {median:6.1f} ms, new work {new_work:6.1f} ms "
                f"({layout}; first {1e3 * first:.0f})"
            )
            rows.append(
                {
                    "rules": rules,
                    "plans": plans,
                    "engine": engine,
                    "median_ms": median,
                    "new_work_ms": new_work,
                    "stages_ms": stages,
                }
            )
    command = [
        sys.executable,
        "-m",
        "whygpu.cli",
        "explain",
        *(f"--set={key}={value}" for key, value in ANSWERS.items()),
    ]
    process: list[float] = []
    installed = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # modules are compiled once
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=installed)
        process.append(time.perf_counter() - start)
    print(f"kb-explain as a process {statistics.median(process):.2f} s")
    rows.append({"process_s": statistics.median(process)})
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
