"""What explanations take: how, why not, what if, flips, one screen. ``python benchmarks/explaining.py``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import yaml

import whygpu
from whygpu.explain import rerun
from whygpu.explain.flips import search
from whygpu.explain.proof import prove
from whygpu.render.view import view_of

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WORKS = ("serve-llama-70b", "watch-cameras", "fine-tune-8b", "train-7b")


def median_ms(work: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of processor time, the median of several runs after one."""
    work()
    taken = []
    for _ in range(times):
        begun = time.process_time()
        work()
        taken.append(1000 * (time.process_time() - begun))
    return statistics.median(taken)


def main() -> None:
    """Print one row for each example."""
    kb = whygpu.load()
    asked = ("work", "how", "why not a card that lost", "why not one never tried", "would win at", "what if", "flips")
    print(f"| {' | '.join(asked)} | one screen |")
    print("|---|---|---|---|---|---|---|---|")
    for name in WORKS:
        answers = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
        advice = kb.advise(answers, engine="evaluator")
        consultation = advice.consultation
        lost = advice.alternatives[0].accelerator.id
        _ = advice.trace
        figures = (
            median_ms(lambda: prove(advice, "plan.total_gib")),  # noqa: B023  called here
            median_ms(lambda: advice.why_not(lost)),  # noqa: B023
            median_ms(lambda: advice.why_not("3x L4 int8")),  # noqa: B023
            median_ms(lambda: advice.would_win(lost), 1),  # noqa: B023
            median_ms(lambda: rerun.rerun(consultation, {"criticality": "mission-critical"})),  # noqa: B023
            median_ms(lambda: search(consultation), 1),  # noqa: B023
            median_ms(lambda: view_of(kb.advise(answers, engine="evaluator"), flips="loads")),  # noqa: B023
        )
        print(f"| {name} | " + " | ".join(f"{value:,.1f}" for value in figures) + " |")


if __name__ == "__main__":
    main()
