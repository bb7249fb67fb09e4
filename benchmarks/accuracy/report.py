"""docs/explanation/accuracy.md: aggregate figures and ids of rows, nothing else of the measurements."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.accuracy import peers, roofline
from benchmarks.accuracy.known import KNOWN
from benchmarks.accuracy.rows import (
    DECODE,
    INFERENCE_MEMORY,
    TRAINING_MEMORY,
    WEIGHTS_AND_KV,
    Compared,
    FitSeen,
    LeftOut,
)
from benchmarks.accuracy.score import FitScore, fit_score, named_card_score, peer_score, score
from benchmarks.accuracy.unseen import Unseen

COMMAND = "python -m benchmarks.accuracy"


@dataclass(frozen=True, slots=True)
class Aim:
    """What is aimed for, as shares; None where there is no aim."""

    median: float | None
    ninetieth: float | None


AIMS = {
    WEIGHTS_AND_KV: Aim(0.02, 0.02),
    INFERENCE_MEMORY: Aim(0.05, 0.15),
    TRAINING_MEMORY: Aim(0.12, 0.30),
    DECODE: Aim(0.15, None),
}
FITS_AIM = 0.97
INSIDE_AIM = 0.85
WIDTH_AIM = 0.30
LEFT_OUT_LIMIT = 0.15


@dataclass(frozen=True, slots=True)
class Results:
    """All that the report says; `other` counts rows of kinds that are no measurement."""

    kinds: Mapping[str, Sequence[Compared]]
    left_out: tuple[LeftOut, ...]
    fits: tuple[FitSeen, ...]
    other: int
    unseen: Sequence[Unseen]

    @property
    def compared(self) -> list[Compared]:
        return [row for rows in self.kinds.values() for row in rows]


def summary(done: Results) -> str:
    """The table by kind as plain lines."""
    return "\n".join([*_kinds(done), "", *_fits(done), "", _count(done)])


def markdown(done: Results, day: datetime.date, plot: str) -> str:
    """The whole page."""
    blocks = [
        [
            "# Accuracy",
            "",
            f"Estimates beside published measurements, written by `{COMMAND}` on {day}. The measurements are",
            "not part of this repository: name the directory that holds them with `--data`. Errors are of the",
            "likely figure, relative to the measurement; *inside* is the share of rows that the low-high range",
            "holds, *half-width* the mean of half the range over the likely figure. Coefficients of the knowledge",
            "base were set from some of these families (their sources say so); what that flatters is told below.",
        ],
        ["## Families as if never seen", "", *_unseen(done)],
        ["## Does it fit", "", *_fits(done)],
        ["## By kind, coefficients set from some of it", "", *_kinds(done)],
        [f"![Estimates against measurements, by kind and family]({plot})"],
        ["## By family", "", *_families(done)],
        ["## Beside other tools", "", *_peers(done)],
        ["## What is known to be off, and why", "", *KNOWN],
        ["## Left out", "", _count(done), "", *_left_out(done)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table whose first column is of words and the others of figures."""
    align = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in [head, align, *rows]]


def _beside(value: float, aim: float | None, most: bool = True) -> str:
    """A figure, its aim and whether it is met."""
    if aim is None:
        return _percent(value)
    met = value <= aim if most else value >= aim
    return f"{_percent(value)} ({'aim' if met else '**missed**, aim'} {100 * aim:.0f}%)"


def _kinds(done: Results) -> list[str]:
    rows = []
    for kind, compared in done.kinds.items():
        found = score(compared)
        aim = AIMS.get(kind, Aim(None, None))
        rows.append(
            [
                kind,
                str(found.rows),
                _beside(found.median, aim.median),
                _beside(found.ninetieth, aim.ninetieth),
                f"{100 * found.bias:+.1f}%",
                _beside(found.inside, INSIDE_AIM, most=False),
                _beside(found.half_width, WIDTH_AIM),
            ]
        )
    return markdown_table(["kind", "rows", "median error", "90th percentile", "bias", "inside", "half-width"], rows)


def _families(done: Results) -> list[str]:
    rows = []
    for kind, compared in done.kinds.items():
        for family in dict.fromkeys(row.family for row in compared):
            found = score([row for row in compared if row.family == family])
            rows.append(
                [
                    kind,
                    family,
                    str(found.rows),
                    _percent(found.median),
                    _percent(found.ninetieth),
                    f"{100 * found.bias:+.1f}%",
                    f"{100 * found.inside:.0f}%",
                    f"{100 * found.half_width:.0f}%",
                ]
            )
    return markdown_table(["kind", "family", "rows", "median", "90th", "bias", "inside", "half-width"], rows)


def _unseen(done: Results) -> list[str]:
    text = (
        "Each family once more without what was learned from it: the cases of coefficients that only its own source "
        "supports are taken out, and the more general figure, set from others, holds instead. *Kept* counts general "
        "figures that rest on the family alone and have no substitute. It is a hard test, for a family is often all "
        "that is known of a runtime: llama.cpp is then taken for a fused server, FasterTransformer for a compiled one, "
        "and torchtune's pure bf16 for mixed precision. Of families with nothing taken out, no coefficient was set. "
        "*Roofline* is one line on the same rows: bytes over 0.65 of the bandwidth, operations over half of the peak."
    )
    rows = []
    for kind in dict.fromkeys(item.kind for item in done.unseen):
        mine = [item for item in done.unseen if item.kind == kind]
        everything = [row for item in mine for row in item.rows]
        rows.append([f"**{kind}**", "**all**", *_unseen_cells(everything), "", "", ""])
        rows += [
            [
                kind,
                item.family,
                *_unseen_cells(item.rows),
                f"{_percent(item.seen.median)} / {_percent(item.seen.ninetieth)}",
                f"{item.taken_out}",
                f"{item.stayed}",
            ]
            for item in mine
        ]
    head = ["kind", "family", "rows", "unseen", "inside", "roofline", "seen", "taken out", "kept"]
    return [text, "", *markdown_table(head, rows)]


def _unseen_cells(rows: Sequence[Compared]) -> list[str]:
    """Rows, median and 90th percentile, share inside, and the roofline's median and 90th percentile."""
    found, line = score(rows), peer_score(rows, roofline.NAME)
    return [
        str(found.rows),
        f"{_percent(found.median)} / {_percent(found.ninetieth)}",
        f"{100 * found.inside:.0f}%",
        f"{_percent(line.median)} / {_percent(line.ninetieth)}" if line else "",
    ]


def _fits(done: Results) -> list[str]:
    scores: dict[str, FitScore] = {}
    for ran, text in ((False, "ran out of memory"), (True, "ran, said so")):
        seen = [row for row in done.fits if row.ran is ran]
        if seen:
            scores[text] = fit_score(seen)
    scores["measured on a named card, so it ran"] = named_card_score(done.compared)
    rows = [
        [
            text,
            str(found.rows),
            str(found.right),
            _beside(found.right / found.rows, FITS_AIM, most=False),
            _ids(found.wrong),
        ]
        for text, found in scores.items()
        if found.rows
    ]
    unjudged = [row.id for row in done.fits if row.held is None]
    table = markdown_table(["what was seen", "rows", "right", "share", "wrong"], rows)
    return [*table, *(["", f"Not judged: {_ids(unjudged)}."] if unjudged else [])]


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids) if ids else "none"


def _peers(done: Results) -> list[str]:
    rows = []
    for kind, compared in done.kinds.items():
        for family in ["all", *dict.fromkeys(row.family for row in compared)]:
            mine = [row for row in compared if family in ("all", row.family)]
            for name in peers.NAMES:
                found = peer_score(mine, name)
                if found is not None:
                    rows.append(
                        [
                            kind,
                            family,
                            name,
                            str(found.rows),
                            f"{_percent(found.median)} / {_percent(found.ninetieth)}",
                            f"{_percent(found.ours_median)} / {_percent(found.ours_ninetieth)}",
                        ]
                    )
    text = (
        "Median and 90th percentile of the error of other tools' published rules, and of whygpu on the same rows. "
        "accelerate's rule is the weights, and four times them for training with Adam; hf-mem adds the cache to the "
        "weights of the file; DeepSpeed's estimators give the model states of full training. None says how fast."
    )
    return [text, "", *markdown_table(["kind", "family", "tool", "rows", "tool", "whygpu"], rows)]


def _count(done: Results) -> str:
    total = len(done.compared) + len(done.left_out)
    share = len(done.left_out) / total
    return (
        f"{len(done.compared)} of {total} rows are compared, {len(done.left_out)} left out "
        f"({_beside(share, LEFT_OUT_LIMIT)}); {done.other} more rows are rules of thumb or estimates of their authors."
    )


def _left_out(done: Results) -> list[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in done.left_out:
        reasons.setdefault((row.family, row.reason), []).append(row.id)
    rows = [[family, reason, _ids(ids)] for (family, reason), ids in reasons.items()]
    return ["| family | reason | rows |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
