"""What is measured: a program, and the same work as answers of whygpu."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.card import diffusion, language, vision
from benchmarks.card.bench import Bench, Figures


@dataclass(frozen=True)
class Case:
    """One work: `answers` without the accelerator, and what runs it."""

    name: str
    answers: dict[str, Any]
    run: Callable[[Bench], Figures]


def _images(model: str, name: str, batch: int, pixels: int = 224) -> Case:
    answers = {
        "phase": "inference",
        "model": model,
        "batch_size": batch,
        "resolution": pixels,
        "format": "fp16",
        "runtime": "transformers",
    }
    done = partial(vision.images, name=name, batch=batch, pixels=pixels)
    return Case(f"{model}, {batch} images of {pixels}", answers, done)


def _encoder(model: str, kind: str, config: dict[str, Any], batch: int, tokens: int) -> Case:
    answers = {"phase": "inference", "model": model, "concurrency": batch, "context_tokens": tokens, "format": "fp16"}
    done = partial(language.encoder, config=config, kind=kind, batch=batch, tokens=tokens)
    return Case(f"{model}, {batch} texts of {tokens} tokens", {**answers, "runtime": "transformers"}, done)


def _speech(batch: int) -> Case:
    answers = {
        "phase": "inference",
        "model": "whisper-large-v3",
        "concurrency": batch,
        "output_tokens": 64,
        "format": "fp16",
        "runtime": "transformers",
    }
    return Case(f"whisper-large-v3, {batch} at once", answers, partial(language.speech, batch=batch, output=64))


def _text(model: str, kind: str, config: dict[str, Any], batch: int, prompt: int) -> Case:
    output = 48
    answers = {
        "phase": "inference",
        "model": model,
        "concurrency": batch,
        "context_tokens": prompt + output,
        "output_tokens": output,
        "format": "bf16",
        "runtime": "transformers",
    }
    done = partial(language.text, kind=kind, config=config, batch=batch, prompt=prompt, output=output)
    return Case(f"{model}, {batch} requests of {prompt} tokens", answers, done)


def _tuned(
    model: str,
    kind: str,
    config: dict[str, Any],
    method: str,
    batch: int,
    tokens: int,
    checkpoints: bool,
    precision: str,
) -> Case:
    answers = {
        "phase": "fine-tuning",
        "model": model,
        "method": method,
        "batch_size": batch,
        "sequence_tokens": tokens,
        "gradient_checkpointing": "full" if checkpoints else "off",
        "training_precision": precision,
        "cross_entropy": "plain",
        **({"lora_rank": 16, "lora_targets": "all-linear"} if method != "full" else {}),
    }
    done = partial(
        language.tuned,
        kind=kind,
        config=config,
        method=method,
        batch=batch,
        tokens=tokens,
        checkpoints=checkpoints,
        mixed=precision == "mixed-bf16",
    )
    kept = "checkpoints" if checkpoints else "no checkpoints"
    return Case(f"{model}, {method} {precision}, {batch} of {tokens} tokens, {kept}", answers, done)


def _classifier(model: str, name: str, batch: int) -> Case:
    answers = {
        "phase": "training",
        "model": model,
        "batch_size": batch,
        "training_precision": "mixed-bf16",
        "gradient_checkpointing": "off",
        "optimizer": "sgd-momentum" if "resnet" in name else "adamw",
    }
    return Case(f"{model} trained, {batch} images", answers, partial(vision.classifier, name=name, batch=batch))


def _labelled(model: str, kind: str, config: dict[str, Any], batch: int, tokens: int) -> Case:
    answers = {
        "phase": "fine-tuning",
        "model": model,
        "method": "full",
        "batch_size": batch,
        "sequence_tokens": tokens,
        "training_precision": "mixed-bf16",
        "gradient_checkpointing": "off",
    }
    done = partial(language.labelled, kind=kind, config=config, batch=batch, tokens=tokens)
    return Case(f"{model} trained, {batch} texts of {tokens} tokens", answers, done)


def _pictures(model: str, which: str) -> Case:
    answers = {"phase": "inference", "model": model, "batch_size": 1, "format": "bf16", "runtime": "transformers"}
    return Case(f"{model}, a picture", answers, partial(diffusion.pictures, which=which))


def _video(model: str, which: str) -> Case:
    answers = {"phase": "inference", "model": model, "batch_size": 1, "format": "bf16", "runtime": "transformers"}
    return Case(f"{model}, a video of 81 frames", answers, partial(diffusion.video, which=which))


def _drawn(model: str, which: str, side: int, checkpoints: bool) -> Case:
    answers = {
        "phase": "fine-tuning",
        "model": model,
        "method": "lora",
        "batch_size": 1,
        "resolution": side,
        "lora_rank": 16,
        "training_precision": "mixed-bf16",
        "gradient_checkpointing": "full" if checkpoints else "off",
    }
    kept = "checkpoints" if checkpoints else "no checkpoints"
    done = partial(diffusion.drawn, which=which, side=side, checkpoints=checkpoints)
    return Case(f"{model}, lora at {side}, {kept}", answers, done)


CASES = (
    _images("resnet-50", "resnet50", 256),
    _images("resnet-50", "resnet50", 1),
    _images("vit-l-16", "vit_large_patch16_224", 128),
    _images("convnext-b", "convnext_base", 128),
    _images("swin-b", "swin_base_patch4_window7_224", 128),
    _images("efficientnet-b4", "efficientnet_b4", 64, 380),
    _images("dinov2-large", "vit_large_patch14_dinov2", 16, 518),
    _encoder("bge-large-en-v1.5", "bert", language.BERT_LARGE, 32, 512),
    _encoder("bge-large-en-v1.5", "bert", language.BERT_LARGE, 1, 128),
    _speech(1),
    _speech(16),
    _text("qwen2.5-1.5b", "qwen2", language.QWEN25_1_5B, 1, 512),
    _text("llama-3.1-8b", "llama", language.LLAMA_8B, 1, 2048),
    _text("llama-3.1-8b", "llama", language.LLAMA_8B, 16, 2048),
    _text("qwen3-30b-a3b", "qwen3_moe", language.QWEN3_30B_A3B, 1, 1024),
    _tuned("llama-3.2-1b", "llama", language.LLAMA_1B, "full", 4, 2048, False, "mixed-bf16"),
    _tuned("llama-3.2-1b", "llama", language.LLAMA_1B, "full", 4, 2048, True, "mixed-bf16"),
    _tuned("qwen2.5-0.5b", "qwen2", language.QWEN25_HALF_B, "full", 4, 1024, False, "bf16"),
    _tuned("llama-3.1-8b", "llama", language.LLAMA_8B, "lora", 1, 2048, False, "mixed-bf16"),
    _tuned("llama-3.1-8b", "llama", language.LLAMA_8B, "lora", 4, 2048, True, "mixed-bf16"),
    _tuned("llama-3.1-8b", "llama", language.LLAMA_8B, "qlora", 2, 1024, True, "mixed-bf16"),
    _tuned("llama-3.1-8b", "llama", language.LLAMA_8B, "qlora", 1, 2048, False, "mixed-bf16"),
    _classifier("resnet-50", "resnet50", 256),
    _classifier("vit-b-16", "vit_base_patch16_224", 128),
    _classifier("convnext-t", "convnext_tiny", 128),
    _labelled("bert-large", "bert", language.BERT_LARGE, 32, 384),
    _labelled("roberta-base", "roberta", language.ROBERTA_BASE, 64, 128),
    _pictures("stable-diffusion-xl", "sdxl"),
    _pictures("stable-diffusion-3.5-large", "sd35"),
    _pictures("flux.1-dev", "flux"),
    _drawn("stable-diffusion-xl", "sdxl", 1024, False),
    _drawn("flux.1-dev", "flux", 512, True),
    _video("wan2.1-t2v-1.3b", "1.3b"),
    _video("wan2.1-t2v-14b", "14b"),
)
