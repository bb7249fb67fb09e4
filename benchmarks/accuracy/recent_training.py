"""Rows of November 2026 on training, speed and memory: what each family ran.

No coefficient was set from any of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from benchmarks.accuracy.inference_memory import GB, GIB, allocated, compared
from benchmarks.accuracy.peers import training_roofline
from benchmarks.accuracy.rows import TRAINING_MEMORY, TRAINING_SPEED, Compared, Outcome, Row
from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError, device

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.estimate import MemoryEstimate
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Band
from whygpu.checks.speed.estimate import SpeedEstimate

QWEN1 = {  # layers, hidden size, heads, feed-forward and parameters, from the models' config.json; 151,936 tokens
    "Qwen-1.8B": (24, 2048, 16, 5504, 1_836_828_672),
    "Qwen-7B": (32, 4096, 32, 11008, 7_721_324_544),
    "Qwen-14B": (40, 5120, 40, 13696, 14_167_290_880),
    "Qwen-72B": (80, 8192, 64, 24576, 72_288_141_312),
}
TIMM = {  # as timm names it, folded: the preset
    "convnext_base": "convnext-b",
    "convnext_tiny": "convnext-t",
    "densenet121": "densenet-121",
    "efficientnet_b0": "efficientnet-b0",
    "efficientnet_b4": "efficientnet-b4",
    "mobilenetv3_large_100": "mobilenet-v3-large",
    "regnety_160": "regnet-y-16gf",
    "resnet18": "resnet-18",
    "resnet50": "resnet-50",
    "resnet101": "resnet-101",
    "swin_base_patch4_window7_224": "swin-b",
    "swin_tiny_patch4_window7_224": "swin-t",
    "tf_efficientnetv2_s": "efficientnet-v2-s",
    "vgg16": "vgg-16",
    "vit_base_patch16_224": "vit-b-16",
    "vit_large_patch16_224": "vit-l-16",
    "vit_small_patch16_224": "vit-s-16",
}
DETECTORS = {
    "faster_rcnn_R_50_FPN": "faster-rcnn-r50",
    "mask_rcnn_R_50_FPN": "mask-rcnn-r50",
    "retinanet_R_50_FPN": "retinanet-r50",
}
DETECTION_PIXELS = 852.0
"""Side of a square of a mean padded COCO image: the short side drawn from 640 to 800, the long one 1.4 times it."""
LARGEST_PIXELS = 1033.0
"""That of the largest image, 800 by 1,333: what a peak is of."""
POWER_LIMITED_H100 = (2.4e12, 500.0)
"""torchtitan's H100 with 96 GB: bytes per second and watts, as its reports state."""


def _figure(band: Band | None, index: int = 0) -> Range:
    if band is None:
        raise UnknownSubjectError("no speed is estimated for such a model")
    return band.at(index)


def _speed(row: Row, measured: float, figure: Range, done: SpeedEstimate, scale: float) -> Compared:
    """`scale` turns samples a second of the whole plan into the row's unit, of which the peers' figure is one too."""
    return Compared(
        TRAINING_SPEED,
        row["family"],
        row["id"],
        measured,
        figure.low * scale,
        figure.likely * scale,
        figure.high * scale,
        {"roofline": training_roofline(done) * scale},
    )


def _run(shape: ModelShape, setup: Setup, layout: ParallelLayout, rates: Device, subjects: Subjects) -> SpeedEstimate:
    return speed.estimate(shape, setup, layout, rates, subjects.coefficients)


def _timm(row: Row, subjects: Subjects) -> Outcome:
    """A step on images that lie in memory already: no loading, no decoding."""
    shape = subjects.shape(TIMM[row["model"]])
    setup = Setup(
        subjects.format("fp16"),
        phase="training",
        training_precision="mixed-fp16",
        batch_size=row["micro_batch"],
        pixels=row["image_px"],
        optimizer="sgd-momentum",
        attention="eager",  # PyTorch 1.12 has no fused attention
    )
    done = _run(shape, setup, ParallelLayout(), device(subjects.card(row["gpu"]), setup.format), subjects)
    return _speed(row, row["samples_per_s"], _figure(done.samples_per_s), done, 1.0)


def _detectron(row: Row, subjects: Subjects) -> tuple[ModelShape, Setup, ParallelLayout]:
    name = re.sub(r"_[13]x$", "", row["model"])
    if name not in DETECTORS or row.get("micro_batch", row.get("microbatch")) != 2:
        raise UnknownSubjectError("a variant of which there is no preset")
    setup = Setup(
        subjects.format("fp32"),
        phase="training",
        training_precision="fp32",
        batch_size=2,
        pixels=DETECTION_PIXELS,
        optimizer="sgd-momentum",
    )
    return subjects.shape(DETECTORS[name]), setup, ParallelLayout(data=row["gpus"])


def _detectron_speed(row: Row, subjects: Subjects) -> Outcome:
    shape, setup, layout = _detectron(row, subjects)
    done = _run(shape, setup, layout, device(subjects.card("V100"), setup.format), subjects)
    return _speed(row, row["samples_per_s"], _figure(done.samples_per_s), done, 1.0)


def _detectron_memory(row: Row, subjects: Subjects) -> Outcome:
    shape, setup, layout = _detectron(row, subjects)
    done = memory.estimate(shape, replace(setup, pixels=LARGEST_PIXELS), layout, subjects.coefficients)
    return compared(row, TRAINING_MEMORY, allocated(done), GIB, done)


def _layout(row: Row) -> dict[str, int]:
    """The degrees of a row's layout by their letters: TP, PP, CP, EP, VP and FSDP."""
    text = row.get("sharding") or ""
    return {name: int(count) for name, count in re.findall(r"\b(TP|PP|CP|EP|VP|FSDP)\s?(\d+)", text)}


def _titan(row: Row, subjects: Subjects) -> tuple[ModelShape, Setup, ParallelLayout, Device]:
    """FSDP2 with 16-bit computing on FP32 weights; `selective` saves every second product, so it keeps the others."""
    found = _layout(row)
    if found.get("CP", 1) > 1 or " x CP" in row.get("sharding", "") or "CP" in row["method"]:
        raise UnknownSubjectError("context parallelism, which is no layout of whygpu")
    if "rowwise" in row["precision"]:
        raise UnknownSubjectError("FP8 scaled by row, which is no format of whygpu")
    tensor, pipeline = found.get("TP", 1), found.get("PP", 1)
    cards = row["gpus"]
    data = cards // (tensor * pipeline)
    micro = int(row.get("micro_batch") or row["microbatch"])
    stages = pipeline if pipeline > 1 else 1
    checkpointing = str(row.get("activation_checkpointing") or row["grad_ckpt"])
    setup = Setup(
        subjects.format("fp8" if "fp8" in row["precision"] else "bf16"),
        phase="training",
        training_precision="mixed-bf16",
        batch_size=micro // stages if stages > 1 else micro,
        sequence_tokens=row["seq_len"],
        gradient_checkpointing=checkpointing,
        gradient_accumulation=stages,
        runtime="compiled" if "compile" in row["method"] or tensor > 1 else "transformers",
    )
    layout = ParallelLayout(
        tensor,
        pipeline,
        data,
        "fsdp",
        max(cards // 8, 1),
        interleave=2 if "Interleaved" in row["method"] else 1,
    )
    own = device(subjects.card("H100 SXM" if "96GB" in row["gpu"] else row["gpu"]), setup.format)
    if "96GB" in row["gpu"]:
        bandwidth, watts = POWER_LIMITED_H100
        own = replace(own, bandwidth_bytes_s=own.bandwidth_bytes_s * 0 + bandwidth, power_w=own.power_w * 0 + watts)
    return subjects.shape(row["model"]), setup, layout, own


def _titan_speed(row: Row, subjects: Subjects) -> Outcome:
    shape, setup, layout, own = _titan(row, subjects)
    done = _run(shape, setup, layout, own, subjects)
    scale = setup.sequence_tokens / row["gpus"]
    return _speed(row, row["tok_per_s_per_gpu"], _figure(done.samples_per_s), done, scale)


def _titan_memory(row: Row, subjects: Subjects) -> Outcome:
    shape, setup, layout, _ = _titan(row, subjects)
    done = memory.estimate(shape, setup, layout, subjects.coefficients)
    return compared(row, TRAINING_MEMORY, allocated(done), GIB, done)


def _bridge(row: Row, subjects: Subjects) -> Outcome:
    """Megatron's fused kernels (compiled stands for them), a sharded optimizer, and FP8 or FP4 products."""
    found = _layout(row)
    if found.get("CP", 1) > 1:
        raise UnknownSubjectError("context parallelism, which is no layout of whygpu")
    shape = subjects.shape(row["model"].removesuffix(" (w/o MTP)"))
    tensor, pipeline, cards = found.get("TP", 1), found.get("PP", 1), row["gpus"]
    data = cards // (tensor * pipeline)
    narrow = {"B": "bf16", "F": "fp8", "M": "fp8", "N": "nvfp4"}[row["precision"][0]]
    setup = Setup(
        subjects.format(narrow),
        phase="fine-tuning" if row["method"] != "pretrain" else "training",
        method="lora" if row["method"] == "lora" else "full",
        training_precision="mixed-bf16",
        batch_size=row["micro_batch"],
        sequence_tokens=row["seq_len"],
        gradient_accumulation=max(row["global_batch"] // (row["micro_batch"] * data), 1),
        lora_targets="all-linear",
        runtime="compiled",
    )
    card = subjects.card(row["gpu"])
    joined = int(card.number("link_cards") or 8)
    layout = ParallelLayout(
        tensor,
        pipeline,
        data,
        "fsdp" if "FSDP" in row["sharding"] else "zero1",
        -(-cards // joined),
        interleave=found.get("VP", 1),
        expert=found.get("EP", 1),
    )
    done = _run(shape, setup, layout, device(card, setup.format), subjects)
    scale = setup.sequence_tokens / cards
    return _speed(row, row["tok_per_s_per_gpu"], _figure(done.samples_per_s), done, scale)


def _qwen(row: Row, subjects: Subjects) -> tuple[ModelShape, Setup, ParallelLayout]:
    """Transformers and peft on DeepSpeed, with checkpoints and eight micro-batches a step; rank 64 beside all
    projections.
    """
    layers, hidden, heads, ffn, parameters = QWEN1[row["model"]]
    shape = subjects.read(
        {
            "name": row["model"],
            "kind": "decoder",
            "parameters": parameters,
            "layers": layers,
            "hidden_size": hidden,
            "heads": heads,
            "kv_heads": heads,
            "head_dim": hidden // heads,
            "ffn_size": ffn,
            "vocab_size": 151_936,
            "tied_embeddings": False,
        }
    )
    method: str = row["method"]
    if "emb" in method.lower():
        raise UnknownSubjectError("the token table trained beside adapters, which whygpu does not offer")
    quantized = "Q" in method and "LoRA" in method
    full = method.lower().startswith("full")
    cards = row["gpus"]
    setup = Setup(
        subjects.format("gptq-int4" if quantized else "bf16"),
        phase="fine-tuning",
        method="full" if full else "qlora" if quantized else "lora",
        training_precision="mixed-bf16",
        batch_size=1,
        sequence_tokens=row["seq_len"],
        gradient_accumulation=8,
        gradient_checkpointing="full",
        lora_rank=64,
        lora_targets="all-linear",
    )
    sharding = "zero3" if full or "zero3" in method.lower().replace("-", "") else "zero2" if cards > 1 else "none"
    nodes = 2 if "node" in method else 1
    return shape, setup, ParallelLayout(data=cards, sharding=sharding, nodes=nodes)


def _qwen_speed(row: Row, subjects: Subjects) -> Outcome:
    shape, setup, layout = _qwen(row, subjects)
    done = _run(shape, setup, layout, device(subjects.card(row["gpu"]), setup.format), subjects)
    measured = setup.gradient_accumulation * row["gpus"] / row["step_s"]
    return _speed(row, measured, _figure(done.samples_per_s), done, 1.0)


def _qwen_memory(row: Row, subjects: Subjects) -> Outcome:
    shape, setup, layout = _qwen(row, subjects)
    done = memory.estimate(shape, setup, layout, subjects.coefficients)
    return compared(row, TRAINING_MEMORY, _all(done).times(row["gpus"]), GB, done, subjects.held(done, row["gpu"]))


def _all(done: MemoryEstimate) -> Range:
    return Range(done.low, done.total, done.high)


def _swift(row: Row, subjects: Subjects) -> Outcome:
    """Packed samples of a stated length; Megatron's scripts keep gradients in FP32 and shard the optimizer."""
    found = _layout(row)
    if not row.get("packing"):
        raise UnknownSubjectError("samples are not packed and their lengths are not stated")
    if re.search(r"VL|Omni|V-|Ovis|gemma-4", row["model"]) or row["method"].split()[-1] in (
        "dpo",
        "kto",
        "rm",
        "simpo",
    ):
        raise UnknownSubjectError("images, or a second model beside the trained one, of unstated size")
    tensor, pipeline, cards = found.get("TP", 1), found.get("PP", 1), row["gpus"]
    data = cards // (tensor * pipeline)
    megatron = "megatron" in (row.get("sharding") or "")
    setup = Setup(
        subjects.format("bf16"),
        phase="fine-tuning",
        method="full" if row["method"].startswith("full") else "lora",
        training_precision="mixed-bf16" if row.get("sharding") else "bf16",  # weights are loaded in BF16
        batch_size=row["microbatch"],
        sequence_tokens=row["seq_len_max"],
        gradient_checkpointing=_recomputed(row["recompute"].split()[0], megatron),
        cross_entropy="chunked" if "liger" in row["source"] else "plain",
        gradient_accumulation=max(row.get("global_batch", 1) // (row["microbatch"] * data), 1),
        offload="optimizer" if row.get("cpu_offload") else "none",
        lora_rank=row.get("lora_r", 8),
        lora_targets="all-linear",
        runtime="compiled" if megatron else "transformers",
    )
    sharding = "zero1" if megatron else row.get("sharding") or "none"
    layout = ParallelLayout(tensor, pipeline, data, sharding, expert=found.get("EP", 1))
    done = memory.estimate(subjects.shape(row["model"]), setup, layout, subjects.coefficients)
    return compared(row, TRAINING_MEMORY, _all(done), GIB, done)


def _recomputed(word: str, megatron: bool) -> str:
    """Megatron's selective recomputation drops attention's scores alone, which fused attention does not keep."""
    return "off" if megatron and word == "selective" else word


SPEED: dict[str, Callable[[Row, Subjects], Outcome]] = {
    "timm-train": _timm,
    "detectron2": _detectron_speed,
    "torchtitan": _titan_speed,
    "megatron-bridge": _bridge,
    "qwen1-finetune": _qwen_speed,
}
MEMORY: dict[str, Callable[[Row, Subjects], Outcome]] = {
    "detectron2": _detectron_memory,
    "torchtitan": _titan_memory,
    "qwen1-finetune": _qwen_memory,
    "ms-swift-scripts": _swift,
}
