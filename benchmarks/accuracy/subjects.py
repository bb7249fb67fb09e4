"""What a row is about, in the knowledge base's terms: model shape, number format, accelerator."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from benchmarks.accuracy.rows import Held, LeftOut, Outcome, Row

from whygpu import intake
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.memory.estimate import MemoryEstimate
from whygpu.checks.memory.weights import leaves_table
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import HALF, TF32, CardKind, Device, Format, ParallelLayout, Setup, first_rate, pcie_bytes_s
from whygpu.knowledge.catalogue import Accelerator, Catalogue, fold

MODELS = {  # as the tables write it, folded: the preset
    "bertlargeuncased": "bert-large",
    "deepseekr1distillllama8b": "llama-3.1-8b",
    "deepseekr1distillqwen14b": "qwen2.5-14b",
    "deepseekr1distillqwen7b": "qwen2.5-7b",
    "deepseekr10528qwen38b": "qwen3-8b",
    "deepseekv3.1": "deepseek-v3",
    "bloomz7b1": "bloom-7b1",
    "gemma22b": "gemma-2-2b",
    "gptoss20bmxfp4": "gpt-oss-20b",
    "hermes3llama3.18b": "llama-3.1-8b",
    "llama3.1nemotronnano8bv1": "llama-3.1-8b",
    "llama3.1tulu38b": "llama-3.1-8b",
    "llama27b": "llama-2-7b",
    "llama70b": "llama-2-70b",
    "llama7b": "llama-2-7b",
    "mistral7bv0.2": "mistral-7b",
    "phi1.51.3b": "phi-1.5",
    "mobilenetv3large100": "mobilenet-v3-large",
    "nousresearchnouscoder14b": "qwen3-14b",
    "phi3mini4kinstruct": "phi-3-mini",
    "phi4reasoningplus": "phi-4",
    "qwen2.5coder14b": "qwen2.5-14b",
    "qwen2.5coder32binstructawq": "qwen2.5-32b",
    "qwen2.5coder3b": "qwen2.5-3b",
    "qwen3coder30ba3b": "qwen3-30b-a3b",
    "qwen3omni30ba3b": "qwen3-30b-a3b",
    "qwen3vl30ba3bthinkingawq": "qwen3-vl-30b-a3b",
    "regnety160": "regnet-y-16gf",
    "stablelmalpha3b": "stablelm-base-alpha-3b",
    "stablelmalpha3b3b": "stablelm-base-alpha-3b",
    "swinbasepatch4window7224": "swin-b",
    "swintinypatch4window7224": "swin-t",
    "tfefficientnetv2s": "efficientnet-v2-s",
    "tinyllama": "tinyllama-1.1b",
    "vicuna7b": "llama-2-7b",
    "vila13b": "llama-2-13b",
    "vila7b": "llama-2-7b",
    "vithugepatch14224": "vit-h-14",
    "vitsmallpatch16224": "vit-s-16",
    "whisperlargev2": "whisper-large-v2",
}
GPT = {  # layers, heads, head width and vocabulary of the GPT series, from the sources of the rows that use them
    "GPT3-125M": (12, 12, 64, 50257),
    "GPT3-355M": (24, 16, 64, 50257),
    "GPT3-760M": (24, 16, 96, 50257),
    "GPT3-1.3B": (24, 32, 64, 50257),
    "GPT3-2.7B": (32, 32, 80, 50257),
    "GPT-350M": (24, 16, 64, 51200),
    "GPT-1.3B": (24, 32, 64, 51200),
    "GPT-6.7B": (32, 32, 128, 51200),
    "GPT-20B": (44, 64, 96, 51200),
    "GPT-89B": (48, 96, 128, 51200),
    "GPT-175B": (96, 96, 128, 51200),
    "GPT-3 175B": (96, 96, 128, 51200),
    "Megatron-530B": (105, 128, 160, 51200),
    "GPT-J": (28, 16, 256, 50400),
}
GATED = {  # layers, hidden size, width, heads, key heads, vocabulary of models with a head of their own (config.json)
    "Qwen-1.8B": (24, 2048, 5504, 16, 16, 151936),
    "Qwen-7B": (32, 4096, 11008, 32, 32, 151936),
    "Qwen-14B": (40, 5120, 13696, 40, 40, 152064),
    "Qwen-72B": (80, 8192, 24576, 64, 64, 152064),
    "DeepSeek-LLM-7B": (30, 4096, 11008, 32, 32, 102400),
    "DeepSeek-LLM-67B": (95, 8192, 22016, 64, 8, 102400),
}
CARDS = {  # as the tables write it, folded: the accelerator
    "a100": "a100-sxm-80gb",
    "a10080gb": "a100-sxm-80gb",
    "a100sxm440gb": "a100-sxm-40gb",
    "h100": "h100-sxm",
    "h10080gb": "h100-sxm",
    "h2096gb": "h20",
    "v100": "v100-sxm-16gb",
    "v10016gb": "v100-sxm-16gb",
    "v10016gbp3.2xlarge": "v100-sxm-16gb",
    "m17coregpu8gb": "apple-m1-8gb",
    "m1max32coregpu64gb": "apple-m1-max",
    "m2ultra76coregpu192gb": "apple-m2-ultra",
    "m3max40coregpu64gb": "apple-m3-max-64gb",
    "rtxa600048gb": "rtx-a6000",
    "a10g24gb": "a10g",
    "rtx3070ti8gb": "rtx-3070-ti",
}
FORMATS = {
    "4-bit (mlx)": "q4_0",  # 4 bits and a 16-bit scale and bias for each 64: 4.5, as Q4_0 has
    "amp (fp16)": "fp16",
    "awq": "awq-int4",
    "bnb.fp4": "nf4",
    "bnb.fp4-dq": "nf4-dq",
    "bnb.int8": "int8",
    "bnb.nf4": "nf4",
    "bnb.nf4-dq": "nf4-dq",
    "f16": "fp16",
    "fp4": "nvfp4",
    "fp8dq": "fp8",
    "fp8dqrow": "fp8",
    "fp8wo": "gptq-int8",  # weights alone: multiplied in 16 bits
    "int4 g32": "int4",
    "int8dq": "int8",
    "int8wo": "gptq-int8",
    "mlx 4-bit": "q4_0",
    "mlx 5-bit": "q5_0",
    "mlx 6-bit": "q6_k",
    "mlx 8-bit": "q8_0",
    "none": "bf16",
    "ollama default (not printed)": "q4_k_m",
    "q4": "q4_0",
}


class UnknownSubjectError(Exception):
    """The knowledge base has nothing of this name; the message is the reason a row is left out."""


class Subjects:
    """Looks rows' names up in one knowledge base."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    @property
    def coefficients(self) -> Coefficients:
        return self.catalogue.coefficients

    def with_coefficients(self, coefficients: Coefficients) -> Subjects:
        """The same names, computed with by other coefficients."""
        return Subjects(replace(self.catalogue, coefficients=coefficients))

    @cached_property
    def _presets(self) -> dict[str, Any]:
        return {name: entry.data for name, entry in self.catalogue.models.items()}

    @cached_property
    def _model_names(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, entry in self.catalogue.models.items():
            for text in (name, entry.name, *entry.aliases):
                found.setdefault(fold(text), name)
                found.setdefault(fold(text.rsplit("/", 1)[-1]), name)
        return found

    def preset(self, name: str) -> str:
        """The preset a row names. Raises UnknownSubjectError."""
        text = fold(name)
        preset = MODELS.get(text) or self._model_names.get(text) or self._model_names.get(text.removesuffix("instruct"))
        if preset is None:
            raise UnknownSubjectError(f"no preset {name}")
        return preset

    def shape(self, name: str) -> ModelShape:
        """The shape of the model a row names. Raises UnknownSubjectError."""
        try:
            return self.read(self.preset(name))
        except UnknownSubjectError:
            pass
        if name in GATED:
            return self.gated(name)
        for label, (layers, heads, width, vocabulary) in GPT.items():
            if label in name:
                return self.gpt(layers, heads, width, vocabulary, name)
        found = self.catalogue.find_models(name)  # short for one, as an answer may be
        if len(found) != 1:
            raise UnknownSubjectError(f"no known shape of {name}")
        return self.read(found[0])

    def gpt(self, layers: int, heads: int, head_dim: int, vocabulary: int, name: str) -> ModelShape:
        """A GPT-3 shaped model: 12 layers * hidden^2, tied token table, 2,048 learned positions (Brown et al. 2020)."""
        hidden = heads * head_dim
        return self.read(
            {
                "name": name,
                "kind": "decoder",
                "parameters": 12 * layers * hidden**2 + (vocabulary + 2048) * hidden,
                "layers": layers,
                "hidden_size": hidden,
                "heads": heads,
                "kv_heads": heads,
                "head_dim": head_dim,
                "ffn_size": 4 * hidden,
                "vocab_size": vocabulary,
                "gated_ffn": False,
                "tied_embeddings": True,
            }
        )

    def gated(self, name: str) -> ModelShape:
        """A model like Llama, of the sizes in its config.json: gated feed-forward, a head of its own."""
        layers, hidden, width, heads, kv_heads, vocabulary = GATED[name]
        attention = 2 * hidden**2 + 2 * hidden * hidden // heads * kv_heads
        return self.read(
            {
                "name": name,
                "kind": "decoder",
                "parameters": layers * (attention + 3 * hidden * width) + 2 * vocabulary * hidden,
                "layers": layers,
                "hidden_size": hidden,
                "heads": heads,
                "kv_heads": kv_heads,
                "head_dim": hidden // heads,
                "ffn_size": width,
                "vocab_size": vocabulary,
                "gated_ffn": True,
                "tied_embeddings": False,
            }
        )

    def read(self, model: object) -> ModelShape:
        """A preset or mapping. Raises UnknownSubjectError with what is wrong with it."""
        shape, problems = intake.read(model, self._presets, self.coefficients)
        if shape is None:
            raise UnknownSubjectError("; ".join(map(str, problems)))
        return shape

    def format(self, precision: str) -> Format:
        """The number format a row names. Raises UnknownSubjectError."""
        text = precision.lower()
        for name in (FORMATS.get(text, text), text.replace("_", "-")):
            if name in self.catalogue.formats:
                return self.catalogue.formats[name]
        raise UnknownSubjectError(f"no number format {precision}")

    def card(self, name: str) -> Accelerator:
        """The accelerator a row names. Raises UnknownSubjectError."""
        text = fold(name)
        for candidate in (CARDS.get(text, text), re.sub(r"\s\d+GB$", "", name), f"RTX {name}", *_shorter(name)):
            found = self.catalogue.find_accelerators(candidate)
            if len(found) == 1:
                return self.catalogue.accelerators[found[0]]
        raise UnknownSubjectError(f"no accelerator {name}")

    def on_card(self, shape: ModelShape, setup: Setup, gpu: str | None) -> Setup:
        """The setup as a runtime lays the model out beside a named card. Raises UnknownSubjectError."""
        form = self.card(gpu).text("form") if gpu else None
        return setup.but(token_table="host") if form and leaves_table(shape, setup, form, self.coefficients) else setup

    def held(self, estimate: MemoryEstimate, gpu: str | None) -> Held | None:
        """What is needed and what a named card has. Raises UnknownSubjectError where the card is not known."""
        usable = self.catalogue.usable_bytes(self.card(gpu)) if gpu else math.nan
        return None if math.isnan(usable) else Held(estimate.total, usable, estimate.high)


def _shorter(name: str) -> tuple[str, ...]:
    """`3070 8GB` is written `rtx-3070`, `4080 16GB` `rtx-4080`."""
    without = re.sub(r"\s\d+GB$", "", name)
    return (f"RTX {without}", without.replace(" ", "-"))


def untied(shape: ModelShape) -> ModelShape:
    """The same model in a framework that keeps the head apart from the token table (LitGPT)."""
    if not shape.tied_embeddings:
        return shape
    extra = shape.embedding_parameters
    return replace(
        shape,
        parameters=shape.parameters + extra,
        active_parameters=shape.active_parameters + extra,
        tied_embeddings=False,
        parts=(),
        kv_groups=(),
    )


def device(card: Accelerator, form: Format, network_bytes_s: float = math.nan) -> Device:
    """The card's rates for this format, as the plans have them; the network per card where a source states it."""

    names = dict.fromkeys((*form.rate, *HALF, *TF32))
    rates = {name: np.array([1e12 * (card.number(name) or 0.0)]) for name in names}
    link = card.text("link") or "none"
    generation, lanes = card.number("pcie_generation"), card.number("pcie_lanes")
    return Device.of(
        (card.number("bandwidth_gb_s") or math.nan) * 1e9,
        first_rate(form.rate, rates),
        half_flops_s=first_rate(HALF, rates),
        tf32_flops_s=rates[TF32[0]],
        power_w=card.number("tdp_w") or math.nan,
        link_bytes_s=(card.number("link_gb_s") or 0.0) * 1e9 / 2 if link != "none" else 0.0,
        link_cards=card.number("link_cards") or 0.0,
        pcie_bytes_s=pcie_bytes_s(generation, lanes) if generation and lanes else math.nan,
        network_bytes_s=network_bytes_s,
        kinds=CardKind(
            card.text("generation") or "",
            card.text("class") or "",
            card.text("software") or "",
            link,
            card.text("memory_type") or "",
        ),
    )


def layered(cards: int) -> ParallelLayout:
    """Layers divided over cards, as llama.cpp does."""
    return ParallelLayout(pipeline=cards)


def by_family(readers: Mapping[str, Callable[[Row, Subjects], Outcome]]) -> Callable[[Row, Subjects], Outcome]:
    """What compares a row: the reader of its family; left out, with the reason, where none can set it up."""

    def compare(row: Row, subjects: Subjects) -> Outcome:
        reader = readers.get(row["family"])
        if reader is None:
            return LeftOut(row["family"], row["id"], "a family this benchmark does not know how to set up")
        try:
            return reader(row, subjects)
        except UnknownSubjectError as unknown:
            return LeftOut(row["family"], row["id"], str(unknown))

    return compare
