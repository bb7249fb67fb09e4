"""What a row is about, in the knowledge base's terms: model shape, number format, accelerator."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from benchmarks.accuracy.rows import Held, LeftOut, Outcome, Row

from whygpu import intake
from whygpu.catalogue import Accelerator, Catalogue, fold
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.memory import MemoryEstimate
from whygpu.checks.setup import HALF, CardKind, Device, Format, Split, pcie_bytes_s
from whygpu.checks.shape import ModelShape

MODELS = {  # as the tables write it, folded: the preset
    "bertlargeuncased": "bert-large",
    "bloomz7b1": "bloom-7b1",
    "gemma22b": "gemma-2-2b",
    "llama27b": "llama-2-7b",
    "llama70b": "llama-2-70b",
    "llama7b": "llama-2-7b",
    "mistral7bv0.2": "mistral-7b",
    "phi1.51.3b": "phi-1.5",
    "phi3mini4kinstruct": "phi-3-mini",
    "stablelmalpha3b": "stablelm-base-alpha-3b",
    "stablelmalpha3b3b": "stablelm-base-alpha-3b",
    "tinyllama": "tinyllama-1.1b",
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
CARDS = {  # as the tables write it, folded: the accelerator
    "a100": "a100-sxm-80gb",
    "a10080gb": "a100-sxm-80gb",
    "a100sxm440gb": "a100-sxm-40gb",
    "h100": "h100-sxm",
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
    "awq": "awq-int4",
    "bnb.fp4": "nf4",
    "bnb.fp4-dq": "nf4-dq",
    "bnb.int8": "int8",
    "bnb.nf4": "nf4",
    "bnb.nf4-dq": "nf4-dq",
    "f16": "fp16",
    "none": "bf16",
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
        """The same names, reckoned with by other coefficients."""
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
        for label, (layers, heads, width, vocabulary) in GPT.items():
            if label in name:
                return self.gpt(layers, heads, width, vocabulary, name)
        raise UnknownSubjectError(f"no known shape of {name}")

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

    def held(self, estimate: MemoryEstimate, gpu: str | None) -> Held | None:
        """What is needed and what a named card has. Raises UnknownSubjectError where the card is not known."""
        usable = self.catalogue.usable_bytes(self.card(gpu)) if gpu else math.nan
        return None if math.isnan(usable) else Held(estimate.total, usable)


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

    def rate(names: tuple[str, ...]) -> float:
        return 1e12 * next((value for name in names if (value := card.number(name)) is not None), math.nan)

    link = card.text("link") or "none"
    generation, lanes = card.number("pcie_generation"), card.number("pcie_lanes")
    return Device.of(
        (card.number("bandwidth_gb_s") or math.nan) * 1e9,
        rate(form.rate),
        half_flops_s=rate(HALF),
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


def layered(cards: int) -> Split:
    """Layers divided over cards, as llama.cpp does."""
    return Split(pipeline=cards)


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
