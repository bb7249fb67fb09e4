"""What is run, on what: number format, workload, parallelism and the cards' rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from whygpu.checks.model_shape import GENERATIVE, TOKEN_KINDS, ModelShape
from whygpu.checks.row_lengths import row_lengths

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

TRAINING_PHASES = frozenset({"training", "fine-tuning"})
BESIDE = "beside"
"""The part of a pipeline that quantizing leaves as it is: text encoders and the autoencoder."""
GATHERING = frozenset({"zero3", "fsdp", "fsdp1"})
"""Shardings that also divide the weights, and gather each layer when it is used."""
SHARDS_GRADIENTS = frozenset({"zero2"}) | GATHERING
"""Shardings that divide the gradients, and so add them up over the ranks after each micro-batch."""
FUSED = "compiled"
"""The runtime of training frameworks with fused kernels, such as Megatron-LM, which spread experts."""
TABLES = "tables"
"""The sharding that spreads a recommender's tables over the cards and copies its dense layers (torchrec)."""
CacheSplit = Literal["heads", "tokens", "requests"]
"""What the cards of a tensor group divide the cache by: key/value heads, of which each card beyond as many keeps a
copy; also the tokens of a context (decode context parallelism); or requests (attention data parallelism).
"""
CACHE_SPLITS: tuple[CacheSplit, ...] = get_args(CacheSplit)


@dataclass(frozen=True, slots=True)
class Format:
    """A number format of weights.

    `bits_per_weight` counts scales and zero points. `parts` gives other bits for some parts of a model (a Part's
    name), as quantized files keep the token table and the head wider. `compute_bits` is the width of activations
    beside it. `rate` lists the accelerator rates that can do its arithmetic, the best first. A card that lacks the
    rate `needs` runs the format `instead` in its place, if there is one. `trains`: whether all weights can be trained
    with products of it, beside weights of 16 bits. Rows of weights whose length `block` does not divide (0: all can be)
    take the bits of `otherwise`.
    """

    id: str
    name: str
    bits_per_weight: float
    kind: str = "float"
    quantized: bool = False
    trains: bool = False
    parts: tuple[tuple[str, float], ...] = ()
    block: int = 0
    otherwise: tuple[tuple[str, float], ...] = ()
    compute_bits: int = 16
    rate: tuple[str, ...] = ()
    needs: str = ""
    instead: str = ""
    group: int = 0
    runtimes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    meaning: str = ""
    source: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Format:
        """Build from an entry of kb/facts/formats.yaml as plain data. Raises KeyError or ValueError on a malformed
        one.
        """
        parts = {str(name): float(bits) for name, bits in (entry.get("parts") or {}).items()}
        for name in entry.get("unquantized") or ():
            parts.setdefault(str(name), 16.0)
        source = entry.get("source", ())
        return cls(
            id=str(entry["id"]),
            name=str(entry["name"]),
            bits_per_weight=float(entry["bits_per_weight"]),
            kind=str(entry.get("kind", "float")),
            quantized=bool(entry.get("quantized", False)),
            trains=bool(entry.get("trains", False)),
            parts=tuple(sorted(parts.items())),
            block=int(entry.get("block") or 0),
            otherwise=tuple(sorted((str(name), float(bits)) for name, bits in (entry.get("otherwise") or {}).items())),
            compute_bits=int(entry.get("compute_bits", 16)),
            rate=tuple(entry.get("rate") or ()),
            needs=str(entry.get("needs") or ""),
            instead=str(entry.get("instead") or ""),
            group=int(entry.get("group") or 0),
            runtimes=tuple(entry.get("runtimes") or ()),
            aliases=tuple(entry.get("aliases") or ()),
            meaning=str(entry.get("meaning", "")),
            source=(source,) if isinstance(source, str) else tuple(source),
        )

    def runs_on(self, runtime: str) -> bool:
        """Whether a serving stack runs it; a format that names no stacks is run by all of them."""
        return not self.runtimes or runtime in self.runtimes

    def bits_of(self, part: str) -> float:
        """Bits of one weight of the part."""
        for name, bits in self.parts:
            if name == part:
                return bits
        return 16.0 if part == BESIDE and self.quantized else self.bits_per_weight

    def weight_bytes(self, shape: ModelShape) -> float:
        """Bytes of all weights of a model in this format, unsharded: sum over the parts of parameters * bits / 8."""
        mixed = self.parts or self.block or shape.components or self.id in (shape.stored_format, shape.published_format)
        if not mixed:
            return shape.parameters * self.bits_per_weight / 8
        return sum(part.parameters * self.bits_in(shape, part.name) for part in shape.parts) / 8

    def bits_in(self, shape: ModelShape, part: str) -> float:
        """Bits of one weight of the part in this model: as its file has it, or its makers publish it, where that is in
        this format.

        A tied token table is the head too, so it has the head's.
        """
        stored = shape.stored_bits if shape.stored_format == self.id else ()
        published = shape.published_bits if shape.published_format == self.id else ()
        for name, bits in (*stored, *published):
            if name == part:
                return bits
        name = "head" if part == "embedding" and shape.tied_embeddings else part
        rows = row_lengths(shape, name) if self.block else ()
        if all(row.length % self.block == 0 for row in rows):
            return self.bits_of(name)
        packed = {row.part: self.bits_of(row.part) for row in rows}
        wider = {**packed, **dict(self.otherwise)}
        return sum(row.share * (wider if row.length % self.block else packed)[row.part] for row in rows)

    def effective_bits(self, shape: ModelShape) -> float:
        """Bits per weight over the whole model, mixture included."""
        return self.weight_bytes(shape) * 8 / shape.parameters if shape.parameters else self.bits_per_weight


@dataclass(frozen=True)
class Setup:
    """A workload on a model, without the cards. Sizes are per accelerator in training, of the whole service in
    inference.

    `context_tokens` is prompt plus output, `concurrency` the requests in flight over all replicas, `batch_size` the
    samples per accelerator in training and per step in vision, `pixels` the side of a square image of the same area
    as the model reads (0: the model's own), `frame_pixels` that of the image or frame it is scaled from (0: the same).
    `dataset_columns` are those of a table's rows (0: as many as the model's figures are for).
    `average_context_tokens` is the average of what `context_tokens` limits (0: all are that long), `prefix_hit_rate`
    the share of prompt tokens found in the cache, `image_tokens` those that the prompt's images become, `speculative`
    how tokens are guessed ahead, `adapters` how many low-rank adapters are served at once and `streams` how many
    cameras are watched (0: none).
    `decoding` is what turns files into what the model reads: the video decoders, the `host`, the `card`, or `none`, for
    that was done before; `host_vcpus` the threads of the host's processors for each accelerator (0: not known), `host`
    the board that its memory asks for: `desktop` or `server`. `algorithm` is what is learned from: given answers
    (`supervised`), pairs (`dpo`) or rewards (`grpo`, `ppo`), with `generations` sequences for each sample of the data.
    `token_table` is where the token table lies: on the `card`, or in the memory of the `host` where that is apart.
    `task` is what the model is for here, as answered; empty for what it was made for.
    """

    format: Format
    phase: str = "inference"
    kv_format: Format | None = None
    method: str = "full"
    context_tokens: int = 4096
    output_tokens: int = 512
    concurrency: int = 1
    batch_size: int = 1
    sequence_tokens: int = 2048
    optimizer: str = "adamw"
    training_precision: str = "mixed-bf16"
    gradient_checkpointing: str = "off"
    gradient_accumulation: int = 1
    attention: str = "flash"
    cross_entropy: str = "plain"
    offload: str = "none"
    lora_rank: int = 16
    lora_targets: str = "attention"
    runtime: str = "transformers"
    pixels: float = 0.0
    frame_pixels: float = 0.0
    dataset_columns: int = 0
    dataset_tokens: float = 0.0
    dataset_samples: float = 0.0
    epochs: float = 1.0
    average_context_tokens: int = 0
    prefix_hit_rate: float = 0.0
    image_tokens: int = 0
    speculative: str = "none"
    adapters: int = 0
    streams: int = 0
    decoding: str = "video"
    host_vcpus: int = 0
    host: str = "desktop"
    algorithm: str = "supervised"
    task: str = ""
    generations: int = 1
    token_table: str = "card"

    def __hash__(self) -> int:
        """By what differs from one way to the next: to hash all thirty fields takes several times as long."""
        samples = (self.concurrency, self.batch_size, self.gradient_accumulation, self.gradient_checkpointing)
        return hash((self.format.id, self.method, *samples))

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal."""
        return isinstance(other, Setup) and self.__dict__ == other.__dict__

    def but(self, **values: Any) -> Setup:
        """The same with other values in these fields: as ``dataclasses.replace``, which sets all thirty of them one
        after another and takes ten times as long; a search makes hundreds. Raises TypeError where one is no field.
        """
        if not values.keys() <= self.__dict__.keys():
            raise TypeError(f"no fields: {values.keys() - self.__dict__.keys()}")
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **values)
        return other

    @property
    def trains(self) -> bool:
        """Whether weights are updated."""
        return self.phase in TRAINING_PHASES

    @property
    def prompt_tokens(self) -> int:
        """Tokens read before the first one is written."""
        return max(self.context_tokens - self.output_tokens, 1)

    def job_requests(self, shape: ModelShape) -> float:
        """Requests of a batch job: the data set's tokens over those that one request reads, or else its samples; 0
        where it is not batch work, or nobody says how large it is.
        """
        if self.phase != "batch-inference":
            return 0.0
        read = self.prompt_tokens if shape.kind in GENERATIVE else self.context_tokens
        return self.dataset_tokens / read if self.dataset_tokens and shape.kind in TOKEN_KINDS else self.dataset_samples

    @property
    def usual_tokens(self) -> int:
        """Tokens of a usual request: the average where one is given, at most the longest."""
        return min(self.average_context_tokens or self.context_tokens, self.context_tokens)

    @property
    def offloads_experts(self) -> bool:
        """Whether a serving mixture's experts are kept in the host's memory."""
        return self.offload == "experts" and not self.trains

    @property
    def kv_bits(self) -> float:
        """Bits of one cached number: the cache's format, or that of the activations."""
        return self.kv_format.bits_per_weight if self.kv_format else float(self.format.compute_bits)

    def pixel_scale(self, shape: ModelShape) -> float:
        """Area of an image, or columns of a row, against those the model's figures are for."""
        if shape.columns and self.dataset_columns:
            return self.dataset_columns / shape.columns
        return float((self.pixels / shape.image_size) ** 2) if self.pixels and shape.image_size else 1.0

    def operations_scale(self, shape: ModelShape) -> float:
        """Operations of a sample against those of the model's own area: attention to itself grows with the square.

        Source: Delavande et al. 2025, Video Killed the Energy Budget (arXiv:2509.19222), 1.
        """
        area = self.pixel_scale(shape)
        square = shape.square_flops_per_sample / shape.flops_per_sample if shape.flops_per_sample else 0.0
        return area * (1 - square + square * area)

    def activation_bytes(self, shape: ModelShape) -> float:
        """Bytes of one sample's activations in FP32, by the model's own figure: attention's scores, which grow with the
        square of the area, are among them where they are written out (Dao et al. 2022, arXiv:2205.14135).
        """
        area, scores = self.pixel_scale(shape), shape.square_activation_bytes_per_sample
        written = scores * area**2 if self.attention == "eager" else 0.0
        return (shape.activation_bytes_per_sample - scores) * area + written

    def requests_per_replica(self, replicas: int) -> int:
        """Requests that one replica holds at once, spread evenly."""
        return -(-self.concurrency // max(replicas, 1))

    @property
    def rate(self) -> tuple[str, ...]:
        """The rates that its products run at, the one to take first: quantized weights under adapters are turned into
        16 bits, in which activations and gradients are (Dettmers et al. 2023, QLoRA, arXiv:2305.14314, 3).
        """
        return HALF if self.trains and self.method == "qlora" else self.format.rate

    def context(self, shape: ModelShape, sharding: str = "none") -> dict[str, str]:
        """The words that coefficients may depend on."""
        return {
            "phase": self.phase,
            "runtime": self.runtime,
            "format": self.format.id,
            "format_kind": self.format.kind,
            "method": self.method,
            "optimizer": self.optimizer,
            "precision": self.training_precision,
            "checkpointing": self.gradient_checkpointing,
            "attention": self.attention,
            "cross_entropy": self.cross_entropy,
            "offload": self.offload,
            "token_table": self.token_table,
            "lora_targets": self.lora_targets,
            "speculative": self.speculative,
            "host": self.host,
            "algorithm": self.algorithm,
            "sharding": sharding,
            **shape.words,
            "uncounted": shape.uncounted(self.task),
        }


@dataclass(frozen=True, slots=True)
class ParallelLayout:
    """How a model is spread over cards: `tensor` * `pipeline` * `data` of them on `nodes` machines.

    In inference `data` counts replicas, and `cache_split` says what divides the cache over the tensor group: where that
    is requests, each card has all weights but the experts whole. In training `sharding` (none, zero1 to zero3, fsdp,
    fsdp1, tables) works over them, and `interleave` counts the stages of the pipeline on each card (Narayanan et al.
    2021, arXiv:2104.04473). `expert` is how many cards of a stage divide its routed experts in training, each of which
    has its own samples (Liu et al. 2025, arXiv:2504.14960, 3): where it is 1, they are divided as all else is.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    sharding: str = "none"
    nodes: int = 1
    interleave: int = 1
    cache_split: CacheSplit = "heads"
    expert: int = 1

    @property
    def by_requests(self) -> bool:
        """Whether each card of a tensor group computes attention for requests of its own."""
        return self.cache_split == "requests"

    def requests_on_card(self, requests: int) -> int:
        """Requests of a replica whose cache one card keeps, in whole or in part."""
        return -(-requests // self.tensor) if self.by_requests else requests

    @property
    def cards(self) -> int:
        """Accelerators in all."""
        return self.tensor * self.pipeline * self.data

    @property
    def spreads_experts(self) -> bool:
        """Whether more cards divide the routed experts than all else."""
        return self.expert > self.tensor

    @property
    def stride(self) -> int:
        """Replicas that share one set of routed experts: there are as many of them, or a multiple."""
        return self.expert // math.gcd(self.expert, self.tensor) if self.spreads_experts else 1

    def over(self, data: int) -> ParallelLayout:
        """The same over so many replicas: one object for equal ones, which are asked for over and over."""
        return _over(self, data)

    def across(self, tensor: int) -> ParallelLayout:
        """The same with tensor groups of so many cards, likewise."""
        return _across(self, tensor)


@lru_cache(maxsize=4096)
def _over(layout: ParallelLayout, data: int) -> ParallelLayout:
    return replace(layout, data=data, expert=math.gcd(layout.expert, layout.tensor * data))


@lru_cache(maxsize=4096)
def _across(layout: ParallelLayout, tensor: int) -> ParallelLayout:
    return replace(layout, tensor=tensor)


@dataclass(frozen=True, slots=True)
class CardKind:
    """Words about a card that coefficients may depend on, as the accelerators' facts have them."""

    generation: str = ""
    card_class: str = ""
    software: str = "cuda"
    link: str = "none"
    memory: str = ""


HALF = ("bf16_tflops", "fp16_tflops", "fp32_tflops")
"""The rates of 16-bit arithmetic, the one to take first."""
TF32 = ("tf32_tflops",)
"""The rate of FP32 numbers on tensor cores."""


def first_rate(names: Sequence[str], rates: Mapping[str, FloatArray]) -> FloatArray:
    """Operations per second of each card: the first of these rates that it has, NaN where none is known.

    Where 16-bit arithmetic is slower than FP32, kernels widen the numbers instead, or multiply quantized weights as
    integers where the format has a rate for that: the fastest of these rates counts (cuBLAS, cublasGemmEx: compute
    type; llama.cpp, GGML_CUDA_FORCE_MMQ).
    """
    size = next(iter(rates.values())).shape
    found, fastest = np.full(size, np.nan), np.full(size, np.nan)
    for name in reversed(names):
        known = np.where(rates[name] > 0, rates[name], np.nan)
        found = np.where(np.isnan(known), found, known)
        fastest = np.fmax(fastest, known)
    slow = found < rates["fp32_tflops"] if names[0] in HALF else np.zeros(size, dtype=bool)
    return np.where(slow, fastest, found)


@dataclass(frozen=True, slots=True)
class Device:
    """Rates of one card per plan, as columns of equal length n (float64; NaN where not known).

    Bytes and operations per second: `bandwidth_bytes_s` memory; `flops_s` dense rate of the arithmetic that the
    format uses (16-bit for weight-only formats) and `half_flops_s` that of 16 bits, which attention is computed in;
    `tf32_flops_s` that of FP32 numbers on tensor cores, 0 where there is none; `power_w` what the card may draw;
    `link_bytes_s` one direction of the direct link per card (0 where there is none) and `link_cards` how many cards it
    joins; `pcie_bytes_s` one direction; `network_bytes_s` per card between nodes; `video_frames_s` frames of 1080p that
    its decoders give, `jpeg_pixels_s` pixels that its JPEG engine does; `host_vcpus` threads of the host for each card;
    `memory_bytes` what work may take of its memory. `kinds[kind[i]]` are the words of plan i.
    """

    bandwidth_bytes_s: FloatArray
    flops_s: FloatArray
    half_flops_s: FloatArray
    tf32_flops_s: FloatArray
    power_w: FloatArray
    link_bytes_s: FloatArray
    link_cards: FloatArray
    pcie_bytes_s: FloatArray
    network_bytes_s: FloatArray
    video_frames_s: FloatArray
    jpeg_pixels_s: FloatArray
    host_vcpus: FloatArray
    memory_bytes: FloatArray
    kinds: tuple[CardKind, ...]
    kind: IntArray
    size: int = field(default=1)

    @classmethod
    def of(
        cls,
        bandwidth_bytes_s: float | Sequence[float] | FloatArray,
        flops_s: float | Sequence[float] | FloatArray,
        *,
        half_flops_s: float | Sequence[float] | FloatArray | None = None,
        tf32_flops_s: float | Sequence[float] | FloatArray = 0.0,
        power_w: float | Sequence[float] | FloatArray = float("nan"),
        link_bytes_s: float | Sequence[float] | FloatArray = 0.0,
        link_cards: float | Sequence[float] | FloatArray = 0.0,
        pcie_bytes_s: float | Sequence[float] | FloatArray = float("nan"),
        network_bytes_s: float | Sequence[float] | FloatArray = float("nan"),
        video_frames_s: float | Sequence[float] | FloatArray = float("nan"),
        jpeg_pixels_s: float | Sequence[float] | FloatArray = float("nan"),
        host_vcpus: float | Sequence[float] | FloatArray = float("nan"),
        memory_bytes: float | Sequence[float] | FloatArray = float("nan"),
        kinds: CardKind | Sequence[CardKind] = CardKind(),
    ) -> Device:
        """Columns from figures (repeated) or sequences; 16 bits run at the format's rate where no other is given.

        Raises ValueError where lengths differ.
        """
        given = [
            bandwidth_bytes_s,
            flops_s,
            flops_s if half_flops_s is None else half_flops_s,
            tf32_flops_s,
            power_w,
            link_bytes_s,
            link_cards,
            pcie_bytes_s,
            network_bytes_s,
            video_frames_s,
            jpeg_pixels_s,
            host_vcpus,
            memory_bytes,
        ]
        columns = [np.atleast_1d(np.asarray(column, dtype=np.float64)) for column in given]
        words = [kinds] if isinstance(kinds, CardKind) else list(kinds)
        lengths = [len(words), *[len(column) for column in columns]]
        size = max(lengths)
        if any(length not in (1, size) for length in lengths):
            raise ValueError(f"columns of a device differ in length: {lengths}")
        given_rates = (np.broadcast_to(column, (size,)) for column in columns)
        rates: dict[str, Any] = dict(zip(_RATES, given_rates, strict=True))
        index: dict[CardKind, int] = {}
        kind = np.array([index.setdefault(word, len(index)) for word in words], dtype=np.int64)
        kind = np.broadcast_to(kind, (size,))
        return cls(**rates, kinds=tuple(index), kind=kind, size=size)

    def take(self, plans: IntArray) -> Device:
        """The cards of some plans."""
        taken = {name: getattr(self, name)[plans] for name in _RATES}
        return replace(self, **taken, kind=self.kind[plans], size=len(plans))


_RATES = (
    "bandwidth_bytes_s",
    "flops_s",
    "half_flops_s",
    "tf32_flops_s",
    "power_w",
    "link_bytes_s",
    "link_cards",
    "pcie_bytes_s",
    "network_bytes_s",
    "video_frames_s",
    "jpeg_pixels_s",
    "host_vcpus",
    "memory_bytes",
)


def pcie_bytes_s(generation: float, lanes: float) -> float:
    """One direction of a PCIe slot in bytes per second: 8 GT/s a lane at 128b/130b in generation 3, doubled by each
    later one.

    Source: PCI-SIG base specifications 3.0 to 6.0 (6.0 codes differently, within 2%).
    """
    return float(8e9 / 8 * 128 / 130 * 2.0 ** (generation - 3) * lanes)
