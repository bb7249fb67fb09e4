"""The published fine-tuning recipes of LitGPT whose memory and time its tables print.

Source: Lightning-AI/litgpt@2685705 config_hub/finetune/*: devices, global batch, micro-batch, LoRA rank and adapted
matrices (q, k, v, projection, MLP, head).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recipe; samples per optimizer step over all devices, and per device and micro-step."""

    devices: int
    global_batch: int
    micro_batch: int
    rank: int = 0
    adapted: str = ""

    def accumulates(self, cards: int) -> bool:
        """Whether gradients outlive a micro-batch."""
        return self.global_batch // cards > self.micro_batch


_ALL = "qkvpmh"

RECIPES = {
    "falcon-7b/lora": Recipe(1, 8, 1, 32, "qv"),
    "falcon-7b/qlora": Recipe(1, 8, 1, 32, "qv"),
    "gemma-2b/full": Recipe(4, 16, 1),
    "gemma-2b/lora": Recipe(1, 6, 2, 8, _ALL),
    "gemma-2b/qlora": Recipe(1, 6, 2, 16, _ALL),
    "gemma-7b/lora": Recipe(1, 6, 1, 16, _ALL),
    "gemma-7b/qlora": Recipe(1, 6, 1, 16, _ALL),
    "gemma2-2b/lora": Recipe(1, 6, 2, 8, _ALL),
    "gemma2-2b/qlora": Recipe(1, 6, 2, 16, _ALL),
    "gemma2-9b/lora": Recipe(1, 6, 1, 16, _ALL),
    "gemma2-9b/qlora": Recipe(1, 6, 1, 16, _ALL),
    "llama-2-7b/full": Recipe(4, 64, 4),
    "llama-2-7b/lora": Recipe(1, 8, 2, 32, "qv"),
    "llama-2-7b/qlora": Recipe(1, 8, 2, 32, "qv"),
    "llama-3-8b/full": Recipe(4, 64, 4),
    "llama-3-8b/lora": Recipe(1, 8, 1, 32, "qv"),
    "llama-3-8b/qlora": Recipe(1, 8, 2, 32, "qv"),
    "llama-3.1-8b/full": Recipe(4, 64, 4),
    "llama-3.1-8b/lora": Recipe(1, 8, 1, 32, "qv"),
    "llama-3.1-8b/qlora": Recipe(1, 8, 2, 32, "qv"),
    "llama-3.2-1B/full": Recipe(1, 64, 4),
    "llama-3.2-1B/lora": Recipe(1, 8, 1, 32, "qv"),
    "llama-3.2-1B/qlora": Recipe(1, 8, 2, 32, "qv"),
    "llama-3.2-3B/full": Recipe(1, 64, 4),
    "llama-3.2-3B/lora": Recipe(1, 8, 1, 32, "qv"),
    "llama-3.2-3B/qlora": Recipe(1, 8, 2, 32, "qv"),
    "mistral-7b-v0.2/lora": Recipe(1, 8, 2, 32, "qv"),
    "mistral-7b-v0.2/qlora": Recipe(1, 8, 2, 32, "qv"),
    "mistral-7b/lora": Recipe(1, 8, 2, 32, "qv"),
    "mistral-7b/qlora": Recipe(1, 8, 2, 32, "qv"),
    "phi-2/full": Recipe(2, 8, 4),
    "phi-2/lora": Recipe(1, 8, 4, 8, _ALL),
    "phi-2/qlora": Recipe(1, 8, 4, 8, _ALL),
    "phi-3/full": Recipe(1, 8, 4),
    "phi-3/lora": Recipe(1, 8, 4, 8, _ALL),
    "phi-3/qlora": Recipe(1, 8, 4, 8, _ALL),
    "stablelm-base-alpha-3b/full": Recipe(2, 8, 1),
    "stablelm-base-alpha-3b/lora": Recipe(1, 8, 1, 32, "qv"),
    "stablelm-base-alpha-3b/qlora": Recipe(1, 8, 1, 32, "qv"),
    "tiny-llama/full": Recipe(1, 32, 4),
    "tiny-llama/lora": Recipe(1, 8, 8, 32, _ALL),
    "tiny-llama/qlora": Recipe(1, 8, 8, 32, _ALL),
}
