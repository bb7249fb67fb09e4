"""Rows on the speed of training: what each family ran, and how its figure follows."""

from __future__ import annotations

from benchmarks.accuracy import recent_training
from benchmarks.accuracy.peers import training_roofline
from benchmarks.accuracy.rows import TRAINING_SPEED, Compared, LeftOut, Outcome, Row
from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError, by_family, device

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Band
from whygpu.checks.speed.estimate import SpeedEstimate
from whygpu.checks.speed.training import TrainingWork

ALPACA_TOKENS = 200
"""LitGPT's tables print the longest sample of Alpaca alone (1,304 tokens). A prompt with its template and answer is
some 130 tokens on average, and a micro-batch is padded to its longest."""


def _run(row: Row, subjects: Subjects, shape: ModelShape, setup: Setup, layout: ParallelLayout) -> SpeedEstimate:
    rates = device(subjects.card(row["gpu"]), subjects.format("bf16"))
    return speed.estimate(shape, setup, layout, rates, subjects.coefficients)


def _compared(
    row: Row,
    measured: float,
    figure: Range,
    subjects: Subjects,
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
) -> Compared:
    needed = memory.estimate(shape, setup, layout, subjects.coefficients)
    held = subjects.held(needed, row["gpu"])
    return Compared(
        TRAINING_SPEED, row["family"], row["id"], measured, figure.low, figure.likely, figure.high, held=held
    )


def _at(band: Band | None) -> Range:
    if band is None:
        raise UnknownSubjectError("no speed is estimated for such a model")
    return band.at(0)


def _torchtune(row: Row, subjects: Subjects) -> Outcome:
    """Tokens per second over all cards: compiled steps on packed batches with checkpoints; full training by an 8-bit
    Adam.
    """
    method = row["method"].split(" ")[0].lower()
    offloads = "offload" in row["method"]
    setup = Setup(
        subjects.format("nf4" if method == "qlora" else "bf16"),
        phase="fine-tuning",
        training_precision="bf16",
        method=method,
        batch_size=row["batch"],
        sequence_tokens=row["seq_len"],
        gradient_checkpointing="full",
        optimizer="adamw" if method != "full" or row["gpus"] > 1 else "adamw-8bit",
        offload="all" if offloads else "none",
        cross_entropy="chunked",
        lora_targets="all-linear",
        runtime="compiled",
    )
    cards = row["gpus"]
    layout = ParallelLayout(data=cards, sharding="fsdp" if cards > 1 else "none")
    shape = subjects.shape(row["model"])
    done = _run(row, subjects, shape, setup, layout)
    work = done.work
    if isinstance(work, TrainingWork):
        peak = float(work.columns.device.flops_s[0]) * cards
        if row["tok_per_s"] * work.batch.product_flops / (setup.batch_size * setup.sequence_tokens) > peak:
            return LeftOut(row["family"], row["id"], "more operations a second than the named card's peak rate")
    return _compared(row, row["tok_per_s"], _at(done.train_tokens_per_s), subjects, shape, setup, layout)


def _flash(row: Row, subjects: Subjects) -> Outcome:
    """Data parallel over one node, half a million or a million tokens a step."""
    if "tok_per_s" not in row:
        return LeftOut(row["family"], row["id"], "a best case of an unstated model")
    setup = Setup(
        subjects.format("bf16"),
        phase="training",
        batch_size=8,
        sequence_tokens=2048,
        gradient_accumulation=4,
        runtime="compiled",
    )
    layout = ParallelLayout(data=row["gpus"])
    shape = subjects.shape(row["model"])
    done = _run(row, subjects, shape, setup, layout)
    figure = _at(done.train_tokens_per_s)
    # What each card held is not stated (the batch may have been cut finer), so memory is not looked at.
    peers = {"roofline": training_roofline(done) * setup.sequence_tokens}
    return Compared(
        TRAINING_SPEED, row["family"], row["id"], row["tok_per_s"], figure.low, figure.likely, figure.high, peers
    )


def _megatron(row: Row, subjects: Subjects) -> Outcome:
    """The share of the peak rate over batches large enough to hide what the layout adds, which is not stated: one
    card with a layer's worth of the model stands for all.
    """
    if not isinstance(row["MFU_pct"], int | float):
        return LeftOut(row["family"], row["id"], "a span of shares over several runs")
    if "175B" not in row["model"]:
        return LeftOut(row["family"], row["id"], "a model of unstated shape")
    shape = subjects.shape(row["model"])
    setup = Setup(
        subjects.format("bf16"),
        phase="training",
        sequence_tokens=2048,
        gradient_accumulation=64,
        runtime="compiled",
    )
    done = _run(row, subjects, shape, setup, ParallelLayout(tensor=8, pipeline=1))
    work = done.work
    if not isinstance(work, TrainingWork):
        raise UnknownSubjectError("no training speed")
    model = 3 * (2 * shape.matmul_parameters + 4 * shape.layers * shape.query_width * setup.sequence_tokens)
    shares = _at(done.train_tokens_per_s).times(100 * model / (8 * float(work.columns.device.flops_s[0])))
    return Compared(TRAINING_SPEED, row["family"], row["id"], row["MFU_pct"], shares.low, shares.likely, shares.high)


def _litgpt(row: Row, subjects: Subjects) -> Outcome:
    """Minutes of 1,000 iterations of each card; adapter prompts are set up as LoRA, the nearest method there is."""
    number_format = subjects.format(str(row["quant"]))
    cards = row["gpus"]
    setup = Setup(
        number_format,
        phase="fine-tuning",
        training_precision="bf16",
        method="qlora" if number_format.quantized else "lora",
        batch_size=row["micro_batch"],
        sequence_tokens=ALPACA_TOKENS,
        lora_rank=8,
    )
    layout = ParallelLayout(data=cards, sharding="fsdp" if cards > 1 else "none")
    shape = subjects.shape(row["model"])
    rate = _at(_run(row, subjects, shape, setup, layout).samples_per_s)
    samples = 1000 * cards * row["micro_batch"] / 60
    minutes = Range(samples / rate.high, samples / rate.likely, samples / rate.low)
    return _compared(row, row["minutes_per_1k_iterations"], minutes, subjects, shape, setup, layout)


compare = by_family(
    recent_training.SPEED
    | {
        "torchtune-readme": _torchtune,
        "flash-attn-training": _flash,
        "megatron": _megatron,
        "litgpt-finetune": _litgpt,
    }
)
"""The estimate of one row, or why there is none."""
