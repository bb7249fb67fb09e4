"""Load on ``whygpu serve``: 50 clients at once, each answer held against the library's.

    python benchmarks/serve.py [--clients 50] [--requests 1000]

The clients ask the worked cases that name one phase, in another order each. Any answer that is not what ``kb.advise``
gives on the same answers, or any status but 200 (422 where the library refuses the answers too), fails.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import httpx
from benchmarks.batch import worked_cases

import whygpu
from whygpu.render.output import json_text


def expected(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> tuple[int, Any]:
    """The status and the advice that are due."""
    try:
        advice = kb.advise(answers, engine="evaluator")
    except whygpu.AnswerError:
        return 422, None
    return 200, json.loads(json_text(advice.to_dict(every=False, trace=False)))


def client(port: int, asked: list[int], cases: list[dict[str, Any]], due: list[tuple[int, Any]]) -> list[float]:
    """Ask one after the other; the seconds of each. Ends the benchmark where anything is wrong."""
    seconds = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as http:
        for number in asked:
            begun = time.perf_counter()
            found = http.post("/advise", json=cases[number])
            seconds.append(time.perf_counter() - begun)
            status, advice = due[number]
            if found.status_code != status or (advice is not None and found.json() != advice):
                raise SystemExit(f"wrong: case {number}, status {found.status_code}: {found.text[:500]}")
    return seconds


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=60, help="how many different ones are asked")
    options = parser.parse_args()
    cases = Random(17).sample(worked_cases(), options.cases)
    kb = whygpu.load()
    due = [expected(kb, answers) for answers in cases]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "whygpu.cli", "serve", "--port", str(port), "--timeout", "300"]
    with subprocess.Popen(command) as server:
        try:
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/health")
                    break
                except httpx.ConnectError:
                    time.sleep(0.2)
            each = options.requests // options.clients
            orders = [Random(number).choices(range(len(cases)), k=each) for number in range(options.clients)]
            begun = time.perf_counter()
            with ThreadPoolExecutor(options.clients) as pool:
                times = [s for found in pool.map(lambda order: client(port, order, cases, due), orders) for s in found]
            wall = time.perf_counter() - begun
        finally:
            server.terminate()
    print(
        f"{len(times)} answers to {options.clients} clients at once, none wrong: {len(times) / wall:.1f} a second, "
        f"median {statistics.median(times):.2f} s, 99 of 100 under {statistics.quantiles(times, n=100)[-1]:.2f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
