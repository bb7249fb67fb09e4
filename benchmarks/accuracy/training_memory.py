"""Rows on memory in training: what each family ran, and which part of the estimate its figure is."""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.accuracy import recent_training
from benchmarks.accuracy.inference_memory import GB, GIB, MIB, allocated, compared
from benchmarks.accuracy.litgpt_recipes import RECIPES
from benchmarks.accuracy.rows import TRAINING_MEMORY, TRAINING_STATES, Compared, LeftOut, Outcome, Row
from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError, by_family, untied

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup

RENAMED = {"gemma2b": "gemma2-2b", "llama-3.2-1b": "llama-3.2-1B", "llama-3.2-3b": "llama-3.2-3B"}
GEMMA2 = {"gemma2-2b": "gemma-2-2b", "gemma2-9b": "gemma-2-9b"}
ZERO_MODELS = {"7.5B": 7.5e9, "128B": 128e9, "1T": 1e12}
LADDER = (  # torchtune's options, each on top of those before
    "baseline (unpacked)",
    "+ packed dataset",
    "+ compile",
    "+ chunked cross entropy",
    "+ activation checkpointing",
    "+ optimizer in backward",
    "+ activation offloading",
    "+ 8-bit AdamW",
)


def _zero(row: Row, subjects: Subjects) -> Outcome:
    """Model states of the ZeRO paper's table 1; the gathered layers are no model state there."""
    stage, ranks = row["method"][5], row["dp_degree"]
    layout = ParallelLayout(data=ranks, sharding=f"zero{stage}")
    shape = subjects.read({"parameters": int(ZERO_MODELS[row["model"]])})
    setup = Setup(subjects.format("bf16"), phase="training", training_precision="mixed-fp16")
    done = memory.estimate(shape, setup, layout, subjects.coefficients)
    # ZeRO gathers the same layers at any degree, so two degrees tell them from the share of the states.
    other = memory.estimate(shape, setup, replace(layout, data=2 * ranks), subjects.coefficients)
    gathered = 2 * other.weights - done.weights if stage == "3" and ranks > 1 else 0.0
    states = done.weights - gathered + done.gradients + done.optimizer
    return compared(row, TRAINING_STATES, Range(states, states, states), GB, done)


def _litgpt(row: Row, subjects: Subjects) -> Outcome:
    """max_memory_allocated of LitGPT's recipes in pure bf16; it keeps a head of its own."""
    method = row["method"]
    full = "full" in method
    number_format = "nf4-dq" if "nf4-dq" in method else "nf4" if "nf4" in method or "QLoRA" in method else "bf16"
    setup = Setup(
        subjects.format(number_format),
        phase="fine-tuning",
        method="full" if full else "lora" if number_format == "bf16" else "qlora",
        training_precision="bf16",
        batch_size=row["microbatch"],
        sequence_tokens=row.get("seq_len") or row["seq_len_max"],
        lora_rank=8,
        runtime="litgpt",
    )
    name: str = row["model"]
    layout = ParallelLayout()
    if row["family"] == "litgpt-config-hub":
        key = _recipe_name(row)
        recipe = RECIPES[key]
        name = GEMMA2.get(key.split("/")[0], name)
        sharded = full and recipe.devices > 1
        if full and not sharded and _states(subjects, name, setup) > row["memory"] * GB:
            return LeftOut(
                row["family"],
                row["id"],
                "less than the weights, gradients and Adam moments in bf16 alone; no recipe says why",
            )
        setup = replace(
            setup,
            lora_rank=recipe.rank or 8,
            lora_targets="all-linear" if "m" in recipe.adapted else "attention",
            gradient_checkpointing="full" if sharded else "off",
            gradient_accumulation=2 if recipe.accumulates(row["gpus"] if full else 1) else 1,
        )
        layout = ParallelLayout(data=recipe.devices, sharding="fsdp") if sharded else layout
    done = memory.estimate(untied(subjects.shape(name)), setup, layout, subjects.coefficients)
    return compared(row, TRAINING_MEMORY, allocated(done), GB, done, subjects.held(done, row.get("gpu")))


def _recipe_name(row: Row) -> str:
    found = re.search(r"README.md, (\S+)\.yaml", row["source"])
    if found is None:
        raise UnknownSubjectError("the source names no recipe")
    folder, recipe = found.group(1).split("/")
    return f"{RENAMED.get(folder, folder)}/{recipe}"


def _states(subjects: Subjects, name: str, setup: Setup) -> float:
    """Bytes that full training holds whatever the batch: weights and moments; gradients come and go."""
    done = memory.estimate(subjects.shape(name), setup, ParallelLayout(), subjects.coefficients)
    return done.weights + done.optimizer + done.gradients


def _torchtune(row: Row, subjects: Subjects) -> Outcome:
    """Peak active memory down torchtune's ladder of options: batch 2, 4,096 tokens, pure bf16, one A100."""
    method = row["method"]
    step = LADDER.index(method) if method in LADDER else len(LADDER)
    if method == LADDER[0]:
        return LeftOut(row["family"], row["id"], "samples are not packed and their lengths are not stated")
    adapters = step == len(LADDER)
    quantized = method.startswith("QLoRA")
    setup = Setup(
        subjects.format("nf4" if quantized else "bf16"),
        phase="fine-tuning",
        method=("qlora" if quantized else "lora") if adapters else "full",
        training_precision="bf16",
        batch_size=row["batch"],
        sequence_tokens=row["seq_len"],
        optimizer="adamw-8bit" if method == LADDER[7] else "adamw",
        cross_entropy="chunked" if step >= 3 else "plain",
        gradient_checkpointing="full" if step >= 4 else "off",
        offload="activations" if step in (6, 7) else "none",
        lora_rank=8,
        runtime="compiled" if step >= 2 else "transformers",
    )
    done = memory.estimate(subjects.shape(row["model"]), setup, ParallelLayout(), subjects.coefficients)
    figure = allocated(done)
    if step in (5, 6, 7):  # the optimizer runs inside the backward pass: the gradients are never all there
        figure = _less(figure, done.gradients + done.reused)
    return compared(row, TRAINING_MEMORY, figure, GIB, done, subjects.held(done, row["gpu"]))


def _less(figure: Range, amount: float) -> Range:
    return Range(figure.low - amount, figure.likely - amount, figure.high - amount)


def _bert(row: Row, subjects: Subjects) -> Outcome:
    """What NVML counts while transformers trains BERT-large on 512 tokens, on a PyTorch before 2.0.

    NVML counts what the driver keeps for itself as used, too. That PyTorch zeroed gradients instead of freeing them,
    so they outlive the step as under accumulation.
    """
    method = row["method"]
    shape = subjects.shape(row["model"])
    kept = subjects.catalogue.driver_bytes(subjects.card(row["gpu"]))
    if "microbatch" not in row:
        return _bert_idle(row, shape, subjects, kept)
    setup = Setup(
        subjects.format("fp32"),
        phase="fine-tuning",
        training_precision="mixed-fp16" if "fp16" in method else "fp32",
        batch_size=row["microbatch"],
        sequence_tokens=row["seq_len"],
        optimizer="adafactor" if "Adafactor" in method else "adamw-8bit" if "8-bit" in method else "adamw",
        gradient_accumulation=4 if row["microbatch"] == 1 else 2,
        gradient_checkpointing="full" if "checkpoint" in method else "off",
        attention="eager",
    )
    done = memory.estimate(shape, setup, ParallelLayout(), subjects.coefficients)
    figure = Range(done.low + kept, done.total + kept, done.high + kept)
    return compared(row, TRAINING_MEMORY, figure, MIB, done, subjects.held(done, row["gpu"]))


def _bert_idle(row: Row, shape: ModelShape, subjects: Subjects, kept: float) -> Outcome:
    """The two rows before training starts: the context, and the weights on top."""
    done = memory.estimate(shape, Setup(subjects.format("fp32")), ParallelLayout(), subjects.coefficients)
    figure = done.ranges.overhead + Range(kept, kept, kept)
    if "weights" in row["method"]:
        figure = figure + done.ranges.weights
    scaled = figure.times(1 / MIB)
    return Compared(TRAINING_MEMORY, row["family"], row["id"], row["memory"], scaled.low, scaled.likely, scaled.high)


def _unstated(row: Row, _: Subjects) -> Outcome:
    return LeftOut(row["family"], row["id"], "neither batch nor sequence length is stated")


def _lora_paper(row: Row, subjects: Subjects) -> Outcome:
    """Two totals, rounded, over a cluster of unstated size: the states in pure FP16, gradients or none."""
    setup = Setup(
        subjects.format("fp16"),
        phase="training",
        method="full" if "full" in row["method"] else "lora",
        training_precision="fp16",
        lora_rank=4,
    )
    done = memory.estimate(subjects.shape(row["model"]), setup, ParallelLayout(), subjects.coefficients)
    states = done.ranges.weights + done.ranges.optimizer
    return compared(row, TRAINING_MEMORY, Range(states.low, states.likely, states.high + done.gradients), GB, done)


compare = by_family(
    recent_training.MEMORY
    | {
        "zero-table1": _zero,
        "litgpt-lora": _litgpt,
        "litgpt-config-hub": _litgpt,
        "torchtune-ladder": _torchtune,
        "hf-bert-large": _bert,
        "peft": _unstated,
        "lora-paper": _lora_paper,
    }
)
"""The estimate of one row, or why there is none."""
