"""What experts recommend for a described work, beside what whygpu says of the same work.

    python -m benchmarks.recommendations [--data DIR] [--kb DIR] [--rows]

Three questions of every row: does whygpu put a recommended accelerator first, or among its first three, of all in the
catalogue; does it size a recommended accelerator as the expert does (count, where one is named); does it rank what is
recommended before what is advised against. Experts differ (a vendor names its own cards, an example is no minimum), so
this is a mirror, not a target. Exits 2 where there are no recommendations to compare with.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError

import whygpu

ROOT = Path(__file__).parents[1]
FILE = "expert_recommendations.yaml"
AT_LEAST = re.compile(r">=\s*(\d+)\s*GB")
MEMORY_ALONE = re.compile(r"(?:consumer GPU with )?(\d+)\s*GB")
FORMATS = {"fp16": "fp16", "fp16/bf16": "bf16", "bf16": "bf16", "fp8": "fp8", "int8": "int8"}


@dataclass(frozen=True, slots=True)
class Scored:
    """One row: whether a recommended card is first, or of the first three; counts; and the order (None: not asked)."""

    id: str
    family: str
    first: bool
    third: bool
    counts: tuple[tuple[str, int, int, int | None], ...]
    """Accelerator, least and most of the expert's count, whygpu's (None: it finds no way)."""
    order: bool | None
    says: str


class NotComparableError(Exception):
    """Why a row cannot be put as a question."""


def answers_of(row: dict[str, Any], subjects: Subjects) -> dict[str, Any]:
    """The row's work as answers. Raises NotComparableError where it describes none."""
    if str(row.get("method")) == "GRPO":
        raise NotComparableError("reinforcement learning, which whygpu does not size")
    phase = str(row["phase"]).split("+")[0]
    method = str(row.get("method", "")).lower()
    if "lora" in method:
        phase = "fine-tuning"
    answers: dict[str, Any] = {"phase": phase}
    if "lora" in method:
        answers["method"] = "qlora" if "qlora" in method else "lora"
    answers["model"] = _model(row, subjects)
    precision = str(row.get("precision", "")).split(" ")[0].lower()
    if phase == "inference" and precision in FORMATS:
        answers["format"] = FORMATS[precision]
    batch = [int(number) for number in re.findall(r"\d+", str(row.get("concurrency", "")))]
    if batch:
        answers["concurrency"] = round(math.sqrt(batch[0] * batch[-1]))
    if "throughput_need" in row:
        answers["priority"] = "throughput"
    if "latency_need" in row:
        answers["priority"] = "latency"
    return answers


def _model(row: dict[str, Any], subjects: Subjects) -> Any:
    if "model" in row:
        try:
            return subjects.preset(str(row["model"]))
        except UnknownSubjectError:
            pass  # its size will do
    if "params_b" in row:
        figures = [float(number) for number in re.findall(r"[\d.]+", str(row["params_b"]))]
        return {"parameters": round(math.prod(figures) ** (1 / len(figures)) * 1e9)}
    raise NotComparableError("no model and no size is named")


def cards_of(text: str, subjects: Subjects) -> frozenset[str]:
    """The accelerators a recommendation names. Raises NotComparableError."""
    catalogue = subjects.catalogue
    least, exact = AT_LEAST.search(text), MEMORY_ALONE.fullmatch(text)
    sizes = {name: card.number("marketing_gb") or 0 for name, card in catalogue.accelerators.items()}
    if least:
        return frozenset(name for name, size in sizes.items() if size >= float(least[1]))
    if exact:
        return frozenset(name for name, size in sizes.items() if size == float(exact[1]))
    bare = text.removesuffix("-class")
    whole = catalogue.find_accelerators(bare)
    if whole:
        return frozenset(whole)
    try:
        return frozenset({subjects.card(bare).id})
    except UnknownSubjectError as unknown:
        raise NotComparableError(str(unknown)) from unknown


def score(row: dict[str, Any], kb: whygpu.KnowledgeBase, subjects: Subjects) -> Scored:
    """What whygpu says beside the row. Raises NotComparableError."""
    answers = answers_of(row, subjects)
    named = [(cards_of(str(option["gpu"]), subjects), option) for option in row["recommended_any_of"]]
    every = frozenset().union(*(cards for cards, _ in named))
    plans = kb.advise(answers).plans
    right = [plan.accelerator.id in every for plan in plans[:3]]
    counts: list[tuple[str, int, int, int | None]] = []
    for cards, option in named:
        if "n" not in option or len(cards) > 8:
            continue
        sized = kb.advise({**answers, "accelerators": sorted(cards)}).recommendation
        counts.append((option["gpu"], option["n"], option.get("n_max", option["n"]), sized.count if sized else None))
    order = None
    against = row.get("advised_against", ())
    if against and all("mixed" not in str(option["gpu"]) for option in against):
        worse = frozenset().union(*(cards_of(str(option["gpu"]), subjects) for option in against)) - every
        if worse:
            both = kb.advise({**answers, "accelerators": sorted(every | worse)}).plans
            order = bool(both) and both[0].accelerator.id in every
    says = ", ".join(f"{plan.count}x {plan.accelerator.id} {plan.format}" for plan in plans[:3]) or "no plan"
    return Scored(row["id"], row["family"], any(right[:1]), any(right), tuple(counts), order, says)


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0, or 2 where there is nothing to compare with."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recommendations", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "calibration")
    parser.add_argument("--kb", type=Path, default=ROOT / "kb")
    parser.add_argument("--rows", action="store_true", help="print every row")
    asked = parser.parse_args(arguments)
    path = asked.data / FILE
    if not path.is_file():
        print(f"no recommendations at {path}: name their directory with --data", file=sys.stderr)
        return 2
    kb = whygpu.load(asked.kb)
    subjects = Subjects(kb.knowledge.catalogue)
    done: list[Scored] = []
    left: list[tuple[str, str]] = []
    for row in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["rows"]:
        try:
            done.append(score(row, kb, subjects))
        except NotComparableError as unlike:
            left.append((row["id"], str(unlike)))
    if asked.rows:
        for one in done:
            counts = "; ".join(f"{c} {a}-{b} says {n}" for c, a, b, n in one.counts)
            right = f"first {one.first} three {one.third} order {one.order}"
            print(f"{one.id} {one.family:20} {right} | {counts} | {one.says}")
        for name, reason in left:
            print(f"{name} left out: {reason}")
    print(summary(done, left))
    return 0


def summary(done: list[Scored], left: list[tuple[str, str]]) -> str:
    """Shares by family and over all."""
    groups: dict[str, list[Scored]] = defaultdict(list)
    for one in done:
        groups[one.family].append(one)
    lines = [f"{'family':22} rows  first  first 3  same count  within 2x  order"]
    for name, rows in [*sorted(groups.items()), ("all", done)]:
        counts = [count for one in rows for count in one.counts]
        same = sum(1 for _, least, most, got in counts if got is not None and least <= got <= most)
        near = sum(1 for _, least, most, got in counts if got is not None and least / 2 <= got <= most * 2)
        orders = [one.order for one in rows if one.order is not None]
        lines.append(
            f"{name:22} {len(rows):4} {sum(r.first for r in rows):6} {sum(r.third for r in rows):8} "
            f"{same:5} of {len(counts):3} {near:5} of {len(counts):3} {sum(orders):3} of {len(orders)}"
        )
    lines.append(f"left out: {len(left)}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
