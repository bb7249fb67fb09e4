"""Random work for property tests: any model, format, setup and split that makes sense together."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from tests.checks.conftest import Facts
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import CACHE_SPLITS, CardKind, Device, ParallelLayout, Setup

MODELS = (
    "llama-3.1-8b", "qwen2.5-0.5b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b", "gemma-2-9b", "gpt2", "bert-large",
    "whisper-small", "flan-t5-base", "resnet-50", "vit-b-16", "yolov8n", "dlrm-criteo-1tb",
)  # fmt: skip
FORMATS = ("fp32", "bf16", "fp16", "fp8", "int8", "awq-int4", "nf4", "mxfp4", "q4_k_m", "q8_0")
FACTS = Facts()
CARDS = Device.of(
    [3.2e11, 1.008e12, 3.35e12],
    [65e12, 165e12, 989e12],
    link_bytes_s=[0, 0, 4.5e11],
    link_cards=[0, 0, 8],
    pcie_bytes_s=[1.6e10, 3.2e10, float("nan")],
    kinds=[
        CardKind("turing", "data-centre"),
        CardKind("ada", "consumer"),
        CardKind("hopper", "data-centre", memory="hbm3"),
    ],
)

shapes = st.sampled_from(MODELS).map(FACTS.shape)


@st.composite
def splits(draw: st.DrawFn, *, trains: bool) -> ParallelLayout:
    """Any spread over at most 512 cards."""
    power = st.integers(0, 3).map(lambda exponent: 2**exponent)
    sharding = draw(st.sampled_from(("none", "zero1", "zero2", "zero3", "fsdp"))) if trains else "none"
    tensor, pipeline, data = draw(power), draw(power), draw(power)
    nodes = draw(st.sampled_from([n for n in (1, 2, 4) if tensor * pipeline * data % n == 0]))
    split = "heads" if trains else draw(st.sampled_from(CACHE_SPLITS))
    expert = math.gcd(draw(power) if sharding in ("none", "zero1") and trains else 1, tensor * data)
    return ParallelLayout(tensor, pipeline, data, sharding, nodes, cache_split=split, expert=expert)


@st.composite
def setups(draw: st.DrawFn, *, trains: bool | None = None) -> Setup:
    """Any workload."""
    training = draw(st.booleans()) if trains is None else trains
    context = draw(st.integers(2, 131_072))
    return Setup(
        format=FACTS.formats[draw(st.sampled_from(FORMATS))],
        phase="training" if training else "inference",
        kv_format=FACTS.formats[draw(st.sampled_from(("fp8", "bf16")))] if draw(st.booleans()) else None,
        method=draw(st.sampled_from(("full", "lora", "qlora"))),
        context_tokens=context,
        output_tokens=draw(st.integers(1, context - 1)),
        concurrency=draw(st.integers(1, 512)),
        batch_size=draw(st.integers(1, 256)),
        sequence_tokens=draw(st.integers(1, 32_768)),
        optimizer=draw(st.sampled_from(("adamw", "adamw-8bit", "adafactor", "sgd", "sgd-momentum", "lion", "muon"))),
        training_precision=draw(st.sampled_from(("mixed-bf16", "mixed-fp16", "bf16", "fp16", "fp32"))),
        gradient_checkpointing=draw(st.sampled_from(("off", "selective", "full"))),
        gradient_accumulation=draw(st.sampled_from((1, 4))),
        attention=draw(st.sampled_from(("flash", "eager"))),
        cross_entropy=draw(st.sampled_from(("plain", "chunked"))),
        offload=draw(st.sampled_from(("none", "optimizer", "all", "activations", "experts", "components"))),
        lora_rank=draw(st.sampled_from((4, 64))),
        lora_targets=draw(st.sampled_from(("attention", "all-linear"))),
        runtime=draw(st.sampled_from(("transformers", "vllm", "sglang", "tensorrt-llm", "tensorrt", "llama.cpp"))),
        pixels=draw(st.sampled_from((0.0, 640.0, 1468.5))),
        dataset_samples=draw(st.sampled_from((0.0, 1e6))),
        average_context_tokens=draw(st.sampled_from((0, 1, context // 2, context, 200_000))),
        prefix_hit_rate=draw(st.sampled_from((0.0, 0.5, 1.0))),
        speculative=draw(st.sampled_from(("none", "draft", "eagle", "mtp", "ngram"))),
        adapters=draw(st.sampled_from((0, 1, 40))),
        algorithm=draw(st.sampled_from(("supervised", "supervised", "dpo", "grpo", "ppo"))),
        generations=draw(st.sampled_from((1, 8))),
    )


@st.composite
def works(draw: st.DrawFn, *, trains: bool | None = None) -> tuple[ModelShape, Setup, ParallelLayout]:
    """A shape, a setup and a split."""
    shape, setup = draw(shapes), draw(setups(trains=trains))
    return shape, setup, draw(splits(trains=setup.trains))
