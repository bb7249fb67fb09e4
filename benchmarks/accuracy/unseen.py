"""What would be estimated of a family of measurements that no coefficient had been set from.

Every case of a coefficient that only the family's own source supports is taken out, so that the more general figure,
set from other families, holds in its place. A general figure that rests on the family alone stays, for want of
another: where that is so, the table says how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from benchmarks.accuracy.rows import KINDS, Compared, Outcome
from benchmarks.accuracy.score import Score, score
from benchmarks.accuracy.subjects import Subjects

from whygpu.checks.coefficients import Case, Coefficients

SOURCES: Mapping[str, frozenset[str]] = {
    family: frozenset(sources)
    for family, sources in {
        "qwen2.5-transformers": ("qwen-speed-benchmark",),
        "litgpt-inference": ("litgpt-resource-tables",),
        "fastertransformer-gpt": ("fastertransformer-gpt-guide",),
        "torchtune-ladder": ("torchtune-readme",),
        "litgpt-lora": ("litgpt-resource-tables",),
        "litgpt-config-hub": ("litgpt-config-hub",),
        "hf-bert-large": ("hf-training-memory",),
        "qwen3-sglang": ("qwen3-speed-benchmark",),
        "xiongjie-dai-llamacpp": ("llama-cpp-gpu-benchmarks",),
        "trtllm-0.6": ("tensorrt-llm-performance",),
        "ft-gpt": ("fastertransformer-gpt-guide",),
        "ft-vit": ("fastertransformer-vit-guide",),
        "yolov5": ("yolov5-readme",),
        "torchtune-readme": ("torchtune-readme",),
        "flash-attn-training": ("flash-attention-training",),
        "megatron": ("megatron-readme",),
        "litgpt-finetune": ("litgpt-resource-tables",),
        "megatron-bridge": ("megatron-bridge-moe", "nemo-automodel-performance"),
        **dict.fromkeys(("timm-train", "detectron2", "torchtitan", "qwen1-finetune", "ms-swift-scripts"), ()),
    }.items()
}
"""Of each family the references that coefficients cite it by; no coefficient was set from the others."""

TABLES = ("shape-by-parameters",)


@dataclass(frozen=True, slots=True)
class Unseen:
    """One family of one kind: its score as it is, and its rows without what was learned from it; how many cases that
    took out, and how many general figures had to stay.
    """

    kind: str
    family: str
    seen: Score
    rows: tuple[Compared, ...]
    taken_out: int
    stayed: int


def without(coefficients: Coefficients, sources: frozenset[str]) -> tuple[Coefficients, int, int]:
    """The coefficients without the cases that only these sources support; how many were taken out, and how many
    general figures with no other source stayed.
    """
    plain = {name: coefficients.pick(name, {}) for name in coefficients}
    kept: dict[str, tuple[Case, ...]] = {
        name: tuple(case for case in coefficients.cases(name) if not _only(case.figure.source, sources))
        for name in coefficients
    }
    taken = sum(len(coefficients.cases(name)) - len(cases) for name, cases in kept.items())
    stayed = sum(_only(figure.source, sources) for figure in plain.values())
    tables = {name: coefficients.table(name) for name in TABLES}
    return Coefficients(plain, kept, tables), taken, stayed


def _only(cited: Iterable[str], sources: frozenset[str]) -> bool:
    return set(cited) <= sources


def leave_out(
    compared: Iterable[Compared], subjects: Subjects, compare: Callable[[Subjects, frozenset[str]], list[Outcome]]
) -> list[Unseen]:
    """Each family of each kind without what was learned from it; `compare` gives the outcomes of some families."""
    seen: dict[tuple[str, str], list[Compared]] = {}
    for row in compared:
        seen.setdefault((row.kind, row.family), []).append(row)
    found = []
    for family in dict.fromkeys(family for _, family in seen):
        coefficients, taken, stayed = without(subjects.coefficients, SOURCES.get(family, frozenset()))
        again = compare(subjects.with_coefficients(coefficients), frozenset({family}))
        for (kind, name), rows in seen.items():
            now = tuple(row for row in again if isinstance(row, Compared) and row.kind == kind)
            if name == family and now:
                found.append(Unseen(kind, family, score(rows), now, taken, stayed))
    return sorted(found, key=lambda item: KINDS.index(item.kind))
