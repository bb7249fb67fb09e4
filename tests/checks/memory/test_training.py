"""Memory of training, against published figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.activations import sample_bytes
from whygpu.checks.memory.adapters import adapter_parameters
from whygpu.checks.memory.training import gathered_bytes, states_of, training_context
from whygpu.checks.setup import ParallelLayout, Setup

GIB = 2**30


@pytest.mark.parametrize(
    ("sharding", "ranks", "gigabytes"),
    [
        # Rajbhandari et al. 2020 (arXiv:1910.02054), table 1: model states of 7.5 billion parameters, GB
        ("none", 1, 120),
        ("zero1", 4, 52.5),
        ("zero1", 64, 31.4),
        ("zero2", 16, 21.6),
        ("zero2", 64, 16.6),
        ("zero3", 64, 1.88),
    ],
)
def test_model_states_under_zero(facts: Facts, sharding: str, ranks: int, gigabytes: float) -> None:
    setup = Setup(facts.formats["fp16"], phase="training", training_precision="mixed-fp16")
    layout = ParallelLayout(data=ranks, sharding=sharding)
    shape = facts.shape({"parameters": 7_500_000_000})
    done = memory.estimate(shape, setup, layout, facts.coefficients)
    context = training_context(shape, setup, layout)
    states = states_of(shape, setup, layout, facts.coefficients, context)
    gathered = gathered_bytes(shape, setup, layout, states).likely if sharding == "zero3" else 0
    # The table counts 16-bit gradients; without sharding ours are FP32, as under autocast.
    wide = 2 * 7.5e9 if sharding == "none" else 0
    assert (done.weights - gathered + done.gradients + done.optimizer - wide) / 1e9 == pytest.approx(
        gigabytes, rel=0.005
    )


@pytest.mark.parametrize(
    ("precision", "optimizer", "bytes_per_parameter"),
    [
        ("mixed-bf16", "adamw", 18),
        ("fp32", "adamw", 16),
        ("bf16", "adamw", 8),
        ("fp32", "sgd", 8),
        ("fp32", "sgd-momentum", 12),
        ("fp32", "lion", 12),
        ("mixed-bf16", "adamw-8bit", 12.03),
    ],
)
def test_states_per_parameter(facts: Facts, precision: str, optimizer: str, bytes_per_parameter: float) -> None:
    setup = Setup(facts.formats["bf16"], phase="training", training_precision=precision, optimizer=optimizer)
    shape = facts.shape("llama-3.1-8b")
    done = memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)
    held = (done.weights + done.gradients + done.optimizer) / shape.parameters
    assert held == pytest.approx(bytes_per_parameter, rel=1e-6)


def test_adapters_of_the_lora_paper(facts: Facts) -> None:
    # Hu et al. 2021, table 4: rank 4 on query and value of GPT-3 175B trains 18.9 M per... here all four matrices of a
    # square attention: 2 * 4 * hidden * rank a layer.
    shape = facts.shape("llama-2-7b")
    assert adapter_parameters(shape, 8, "attention") == 32 * 8 * 4 * (4096 + 4096)
    assert adapter_parameters(shape, 8, "all-linear") == 32 * 8 * (4 * 8192 + 3 * (4096 + 11008))


def test_low_rank_training_keeps_no_states_of_the_base(facts: Facts) -> None:
    shape = facts.shape("llama-2-7b")
    lora = Setup(facts.formats["bf16"], phase="fine-tuning", method="lora", batch_size=1, sequence_tokens=512)
    qlora = Setup(facts.formats["nf4"], phase="fine-tuning", method="qlora", batch_size=1, sequence_tokens=512)
    wide, small = (memory.estimate(shape, setup, ParallelLayout(), facts.coefficients) for setup in (lora, qlora))
    assert wide.weights == pytest.approx(2 * shape.parameters, rel=0.01)
    assert small.weights < 0.35 * wide.weights
    assert wide.gradients + wide.optimizer < 0.02 * wide.weights


@pytest.mark.parametrize(
    ("runtime", "checkpointing", "cross_entropy", "gib"),
    [
        # pytorch/torchtune@bd2a0fc README, optimization flags: Llama-3.2-3B, batch 2 of 4096 packed tokens, BF16, peak
        # active
        ("compiled", "full", "chunked", 24.9),
        ("compiled", "off", "chunked", 42.9),
        ("compiled", "off", "plain", 51.0),
        ("transformers", "off", "plain", 60.0),
    ],
)
def test_full_fine_tuning_with_torchtune(
    facts: Facts, runtime: str, checkpointing: str, cross_entropy: str, gib: float
) -> None:
    setup = Setup(
        facts.formats["bf16"],
        phase="fine-tuning",
        training_precision="bf16",
        batch_size=2,
        sequence_tokens=4096,
        gradient_checkpointing=checkpointing,
        cross_entropy=cross_entropy,
        runtime=runtime,
    )
    done = memory.estimate(facts.shape("llama-3.2-3b"), setup, ParallelLayout(), facts.coefficients)
    assert (done.total - done.overhead) / GIB == pytest.approx(gib, rel=0.15)
    assert done.low <= gib * GIB + done.overhead <= done.high


@pytest.mark.parametrize(("runtime", "measured"), [("transformers", 14), ("compiled", 8)])
def test_a_loss_over_all_logits(facts: Facts, runtime: str, measured: int) -> None:
    # apple/ml-cross-entropy@18e76ad README: a loss with its gradients over 8,192 x 256,000 logits takes 28,000 MiB in
    # eager PyTorch and 16,000 compiled; a training loop holds on to more than the loss does
    shape = facts.shape("gemma-2-2b")
    setup = Setup(facts.formats["bf16"], phase="fine-tuning", sequence_tokens=8192, runtime=runtime)
    done = memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)
    assert done.logits >= measured * 8192 * shape.vocab_size
    assert done.ranges.logits.low <= measured * 8192 * shape.vocab_size <= done.ranges.logits.high


def test_what_pretrains_may_fuse_the_loss(facts: Facts) -> None:
    # LLM Foundry's kernel writes over the logits, XLA compiles the loss; Hugging Face's Trainer and torchtitan need not
    shape, sizes = facts.shape("gemma-2-2b"), {}
    for phase in ("training", "fine-tuning"):
        setup = Setup(facts.formats["bf16"], phase=phase, sequence_tokens=8192)
        sizes[phase] = memory.estimate(shape, setup, ParallelLayout(), facts.coefficients).ranges.logits
    assert sizes["training"].low <= 4 * 8192 * shape.vocab_size
    assert sizes["training"].likely < sizes["fine-tuning"].likely
    assert sizes["training"].high == sizes["fine-tuning"].high


def test_checkpoints_under_autocast_are_wide(facts: Facts) -> None:
    # PyTorch, autocast: a sum of 16 and 32 bits is FP32; FSDP's and DeepSpeed's weights are 16-bit while they compute
    shape, tokens = facts.shape("llama-3.1-8b"), 65536
    inputs = shape.layers * shape.hidden_size * tokens
    kept = {}
    for name, sharding, method in (("bf16", "none", "full"), ("bf16", "fsdp", "full"), ("nf4", "none", "qlora")):
        setup = Setup(
            facts.formats[name],
            phase="fine-tuning",
            method=method,
            sequence_tokens=tokens,
            gradient_checkpointing="full",
        )
        done = memory.estimate(
            shape, setup, ParallelLayout(data=1 if sharding == "none" else 8, sharding=sharding), facts.coefficients
        )
        kept[sharding, method] = done.activations
    assert kept["none", "full"] - kept["fsdp", "full"] == pytest.approx(2 * inputs)
    assert kept["none", "qlora"] >= 4 * inputs


@pytest.mark.parametrize(("gigabytes", "tokens"), [(12, 932), (16, 2551), (24, 5789), (40, 12264), (48, 15502)])
def test_the_longest_contexts_of_transformers(facts: Facts, gigabytes: int, tokens: int) -> None:
    # docs.unsloth.ai/basics/unsloth-benchmarks: Llama 3.1 8B, QLoRA of rank 32 beside all projections, batch 1, with
    # transformers and FlashAttention 2, as long as it fits
    setup = Setup(
        facts.formats["nf4"],
        phase="fine-tuning",
        method="qlora",
        sequence_tokens=tokens,
        gradient_checkpointing="full",
        gradient_accumulation=4,
        lora_rank=32,
        lora_targets="all-linear",
        optimizer="adamw-8bit",
    )
    done = memory.estimate(facts.shape("llama-3.1-8b"), setup, ParallelLayout(), facts.coefficients)
    assert done.total / GIB == pytest.approx(gigabytes, rel=0.1)


@pytest.mark.parametrize(
    ("model", "kept_gb", "peak_gb"),
    [("faster-rcnn-r50", 1.64, 2.32), ("retinanet-r50", 2.65, 3.25)],
)
def test_a_detector_holds_more_than_it_keeps(facts: Facts, model: str, kept_gb: float, peak_gb: float) -> None:
    # memory events of PyTorch's profiler: two images of 800 x 1,333 with 63 boxes each, without workspaces of cuDNN
    shape = facts.shape(model)
    setup = Setup(
        facts.formats["fp32"], phase="training", training_precision="fp32", batch_size=2, pixels=(800 * 1333) ** 0.5
    )
    assert 2 * sample_bytes(shape, setup) == pytest.approx(kept_gb * 1e9, rel=0.03)
    done = memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)
    workspace = facts.coefficients.pick("training-workspace-bytes", {}).likely
    assert done.activations - workspace == pytest.approx(peak_gb * 1e9, rel=0.1)


def test_activations_of_a_plain_transformer(facts: Facts) -> None:
    # Korthikanti et al. 2022, section 4.1, without its 2 s b h of dropout masks: 32 s b h + 5 a s^2 b a layer for f = 4
    # h
    setup = Setup(
        facts.formats["fp16"],
        phase="training",
        training_precision="fp16",
        batch_size=4,
        sequence_tokens=1024,
        attention="eager",
    )
    shape = facts.shape("gpt2")
    done = memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)
    tokens = 4 * 1024
    assert done.activations == 12 * tokens * (32 * 768 + 5 * 12 * 1024)


@pytest.mark.parametrize(
    ("model", "precision", "mib"),
    [
        # counted with saved-tensor hooks on the built modules, per image of 224 pixels
        ("resnet-50", "fp32", 82),
        ("resnet-50", "mixed-fp16", 42),
        ("efficientnet-b0", "fp32", 84),
        ("convnext-b", "fp32", 221),
    ],
)
def test_activations_of_an_image(facts: Facts, model: str, precision: str, mib: float) -> None:
    eight, sixteen = (
        memory.estimate(
            facts.shape(model),
            Setup(facts.formats["fp16"], phase="training", training_precision=precision, batch_size=size),
            ParallelLayout(),
            facts.coefficients,
        )
        for size in (8, 16)
    )
    assert (sixteen.activations - eight.activations) / 8 / 2**20 == pytest.approx(mib, rel=0.02)
    assert eight.activations > 8 * mib * 2**20, "the libraries' workspace stands beside them"


def test_offloading_empties_the_card(facts: Facts) -> None:
    shape = facts.shape("llama-3.1-8b")
    done = [
        memory.estimate(
            shape, Setup(facts.formats["bf16"], phase="training", offload=where), ParallelLayout(), facts.coefficients
        )
        for where in ("none", "optimizer", "all")
    ]
    assert done[1].optimizer == done[2].optimizer == done[2].gradients == 0
    assert done[2].weights < done[1].weights == done[0].weights


@pytest.mark.parametrize(("tokens", "gigabytes"), [(16384, 4.295), (131072, 34.36)])
def test_offloaded_inputs_of_layers_leave_the_card(facts: Facts, tokens: int, gigabytes: float) -> None:
    """Layers x tokens x hidden x 2 bytes, as measured to the last megabyte (transformers, pull request 48444); 32
    layers of 4,096 here.
    """
    setup = Setup(
        facts.formats["bf16"],
        phase="fine-tuning",
        method="lora",
        sequence_tokens=tokens,
        gradient_checkpointing="full",
        cross_entropy="chunked",
    )
    kept, left = (
        memory.estimate(
            facts.shape("llama-3.1-8b"), replace(setup, offload=where), ParallelLayout(), facts.coefficients
        )
        for where in ("none", "activations")
    )
    assert (kept.total - left.total) / 1e9 == pytest.approx(gigabytes, rel=1e-3)


@pytest.mark.parametrize(
    ("tokens", "gigabytes"), [(1024, 5), (4096, 7), (8192, 8), (16384, 10), (32768, 16), (65536, 25), (100_000, 37)]
)
def test_long_samples_as_unsloth_trains_them(facts: Facts, tokens: int, gigabytes: float) -> None:
    """QLoRA of Llama 2 7B (LLaMA-Factory, performance comparison: printed in whole GB): what runs Unsloth keeps the
    inputs of layers in the host's memory and computes the loss in pieces.
    """
    setup = Setup(
        facts.formats["nf4"],
        phase="fine-tuning",
        method="qlora",
        lora_rank=8,
        sequence_tokens=tokens,
        gradient_checkpointing="full",
        cross_entropy="chunked",
        offload="activations",
    )
    need = memory.estimate(facts.shape("llama-2-7b"), setup, ParallelLayout(), facts.coefficients)
    assert need.total / 1e9 == pytest.approx(gigabytes, rel=0.15)


def test_adapters_of_a_pipeline_whose_captions_are_encoded_beforehand(facts: Facts) -> None:
    """A bit more than 30 GB for FLUX.1 with rank 16 in 16 bits (SimpleTuner's quickstart, with cached embeddings); with
    its text encoders it is 40 GB and more (diffusers, README_flux).
    """
    shape = facts.shape("flux.1-dev")
    setup = Setup(facts.formats["bf16"], phase="fine-tuning", method="lora", gradient_checkpointing="full")
    alone, whole = (
        memory.estimate(shape, replace(setup, offload=where), ParallelLayout(), facts.coefficients).total / 1e9
        for where in ("components", "none")
    )
    assert alone == pytest.approx(30, rel=0.1)
    assert whole == pytest.approx(40, rel=0.1)
    full = replace(setup, method="full", offload="components")
    frozen = memory.estimate(shape, full, ParallelLayout(), facts.coefficients)
    assert frozen.weights == pytest.approx(2 * shape.trained_parameters, rel=0.01)


def test_a_clip_is_trained_without_the_scores_of_its_attention(facts: Facts) -> None:
    """20.7 GiB reserved for adapters of rank 128 of CogVideoX 5B on 49 frames of 480 x 720, with conditions computed
    beforehand (a-r-r-o-w/finetrainers, docs/training/cogvideox.md, commit 9f2d5d06).
    """
    setup = Setup(
        facts.formats["bf16"],
        phase="fine-tuning",
        method="lora",
        lora_rank=128,
        gradient_checkpointing="full",
        offload="components",
    )
    fused, eager = (
        memory.estimate(
            facts.shape("cogvideox-5b"), replace(setup, attention=attention), ParallelLayout(), facts.coefficients
        ).total
        for attention in ("flash", "eager")
    )
    assert fused / 2**30 == pytest.approx(20.7, rel=0.1)
    assert eager > 4 * fused


def test_gradients_outlive_a_micro_batch_when_they_accumulate(facts: Facts) -> None:
    shape = facts.shape("llama-3.2-1b")
    once, more = (
        memory.estimate(
            shape,
            Setup(facts.formats["bf16"], phase="training", gradient_accumulation=n),
            ParallelLayout(),
            facts.coefficients,
        )
        for n in (1, 4)
    )
    assert once.reused < 0
    assert more.reused == 0
    assert more.total == pytest.approx(once.total - once.reused)


def test_sharded_gradients_stay_sharded_while_they_accumulate(facts: Facts) -> None:
    """PyTorch reduces and scatters the gradients of every micro-batch (pull request 126166); LitGPT asks it not to."""
    shape, layout = facts.shape("llama-3.1-70b"), ParallelLayout(data=64, sharding="fsdp")
    setup = Setup(facts.formats["bf16"], phase="training", batch_size=2)
    changes: list[dict[str, Any]] = [
        {"gradient_accumulation": 1},
        {"gradient_accumulation": 8},
        {"gradient_accumulation": 8, "runtime": "litgpt"},
    ]
    once, more, litgpt = (
        memory.estimate(shape, replace(setup, **changed), layout, facts.coefficients).gradients for changed in changes
    )
    assert more == once
    assert litgpt == pytest.approx(64 * once)


def test_blocks_of_a_diffusion_transformer_are_checkpoints_each(facts: Facts) -> None:
    """Korthikanti et al. 2022: of the 34 bytes an element that a block keeps its input is 2; FLUX has 57 blocks."""
    shape = facts.shape("flux.1-dev")
    setup = Setup(facts.formats["bf16"], phase="fine-tuning", method="lora")
    kept, full = (sample_bytes(shape, replace(setup, gradient_checkpointing=kind)) for kind in ("off", "full"))
    assert full == pytest.approx(kept * (2 / 34 + 1 / 57))
    unet = facts.shape("stable-diffusion-xl")
    kept, full = (sample_bytes(unet, replace(setup, gradient_checkpointing=kind)) for kind in ("off", "full"))
    assert full == pytest.approx(kept * 2 / unet.layers**0.5)
