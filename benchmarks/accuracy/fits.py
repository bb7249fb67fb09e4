"""Rows that say whether a model ran on a card or ran out of memory."""

from __future__ import annotations

from benchmarks.accuracy.rows import FitSeen, Row
from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError, layered

from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import ParallelLayout, Setup


def judge(row: Row, subjects: Subjects) -> FitSeen:
    """The verdict on one row: by the likely need against the card's usable memory."""
    ran = bool(row["fits"])
    try:
        setup, layout = _setup(row, subjects)
        shape = subjects.shape(row["model"])
        setup = subjects.on_card(shape, setup, row["gpu"])
        done = memory.estimate(shape, setup, layout, subjects.coefficients)
        return FitSeen(row["family"], row["id"], ran, subjects.held(done, row["gpu"]))
    except UnknownSubjectError as unknown:
        return FitSeen(row["family"], row["id"], ran, None, str(unknown))


def _setup(row: Row, subjects: Subjects) -> tuple[Setup, ParallelLayout]:
    number_format = subjects.format(row["precision"])
    cards = row["gpus"]
    if row["family"] == "xiongjie-dai-llamacpp":
        setup = Setup(number_format, context_tokens=1100, output_tokens=1024, runtime="llama.cpp")
        return setup, layered(cards)
    if row["family"] == "ft-gpt":
        setup = Setup(
            number_format,
            context_tokens=row["input_tokens"] + row["output_tokens"],
            output_tokens=row["output_tokens"],
            concurrency=row["batch"],
            runtime="fastertransformer",
        )
        return setup, ParallelLayout(tensor=cards)
    if row["family"] == "litgpt-inference":
        return Setup(number_format, context_tokens=60, output_tokens=50), ParallelLayout()
    raise UnknownSubjectError("a family this benchmark does not know how to set up")
