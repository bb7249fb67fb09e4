"""The shape of a model: the sizes that decide how much memory and arithmetic it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

Kind = Literal[
    "decoder",
    "encoder",
    "encoder-decoder",
    "cnn",
    "vit",
    "detector",
    "segmenter",
    "diffusion",
    "recommender",
    "tabular",
    "state-space",
]
KINDS: tuple[str, ...] = get_args(Kind)
GENERATIVE: frozenset[str] = frozenset({"decoder", "encoder-decoder", "state-space"})
"""Kinds that produce tokens one by one and keep a cache while they do."""
TOKEN_KINDS: frozenset[str] = GENERATIVE | {"encoder"}
"""Kinds whose work is counted in tokens."""


@dataclass(frozen=True, slots=True)
class KvGroup:
    """Layers that keep the same cache: `elements` numbers per token and layer, over `heads` heads, for `window`
    tokens at most.

    `window` 0: the whole context. `heads` is what tensor parallelism can divide by; 1 means every rank keeps a copy
    (multi-query and latent attention). `fixed_tokens` above 0: the length is this, whatever the context
    (cross-attention). `chosen` above 0: a token attends to so many at most, found by narrow keys of all, which are
    `index_elements` of the elements, and queries `index_width` wide (DeepSeek-V3.2, 2.1). Each vector stands for
    `vector_tokens` tokens.
    """

    layers: int
    elements: int
    heads: int
    window: int = 0
    fixed_tokens: int = 0
    chosen: int = 0
    index_elements: int = 0
    index_width: int = 0
    vector_tokens: int = 1

    def tokens(self, context_tokens: float) -> float:
        """Tokens one layer of the group keeps of a context of this length."""
        if self.fixed_tokens:
            return float(self.fixed_tokens)
        return min(context_tokens, self.window) if self.window else context_tokens

    def share(self, tensor: int, split: str) -> float:
        """Share of a sequence's cache that one card of a tensor group keeps: whole heads, so that beyond as many cards
        as heads each keeps a copy (vLLM and Megatron replicate them so), unless those that would divide the tokens
        (vLLM, context parallel deployment); all of it where they divide requests.
        """
        if split == "requests":
            return 1.0
        if split == "tokens" and tensor > self.heads:
            return 1.0 / tensor
        return math.ceil(self.heads / tensor) / self.heads

    def elements_read(self, context_tokens: float) -> float:
        """Elements one layer reads to write a token after a context of this length."""
        tokens = self.tokens(context_tokens)
        if not self.chosen:
            return self.elements * tokens
        return (self.elements - self.index_elements) * min(tokens, self.chosen) + self.index_elements * tokens

    def seen(self, context_tokens: float) -> float:
        """Vectors that one token attends to in one layer after a context of this length."""
        tokens = self.tokens(context_tokens)
        return (min(tokens, self.chosen) if self.chosen else tokens) / self.vector_tokens

    def attended(self, length: float) -> float:
        """Vectors that a token attends to in one layer, on average over a text of this length: those before it."""
        seen = min(self.tokens(length), length / 2)
        return (min(seen, self.chosen) if self.chosen else seen) / self.vector_tokens

    def searched(self, length: float) -> float:
        """Elements that a token's search multiplies in one layer, likewise."""
        return self.index_width * length / 2 / self.vector_tokens


@dataclass(frozen=True, slots=True)
class Part:
    """Parameters that share a number format; `name` as formats.yaml has it (see `split_parts`)."""

    name: str
    parameters: int


@dataclass(frozen=True, slots=True)
class Component:
    """One network of a pipeline (text encoder, denoiser, autoencoder), held in memory beside the others."""

    name: str
    parameters: int


@dataclass(frozen=True, slots=True)
class ImageTower:
    """The transformer that turns an image into tokens of the language model beside it.

    `token_patches` patches become a token. `whole_layers` attend to all patches of an image (of a tile of
    `tile_patches` of them where images are cut up; 0: never), the others to windows so small that their scores count
    for nothing.
    """

    layers: int
    hidden_size: int
    ffn_size: int
    gated_ffn: bool = False
    token_patches: int = 1
    whole_layers: int = 0
    tile_patches: int = 0

    @property
    def parameters(self) -> int:
        """Parameters of the layers, which each patch passes: four projections and a feed-forward."""
        width = self.hidden_size
        return self.layers * (4 * width * width + (3 if self.gated_ffn else 2) * width * self.ffn_size)

    def flops(self, tokens: float) -> float:
        """Operations of one image that becomes so many tokens: with the weights, and of attention (Kaplan et al. 2020,
        arXiv:2001.08361, 2.1; Dosovitskiy et al. 2020, arXiv:2010.11929).
        """
        patches = tokens * self.token_patches
        seen = min(patches, self.tile_patches) if self.tile_patches else patches
        return patches * (2.0 * self.parameters + 4.0 * self.whole_layers * self.hidden_size * seen)


DENOISERS = ("transformer", "unet")
"""How the names of a pipeline's denoisers begin."""


PARTS = ("embedding", "head", "attention", "value", "ffn", "down", "experts", "other")
"""Parts of a model that formats may treat apart."""


@dataclass(frozen=True)
class ModelShape:
    """What the checks need to know of a model. Counts of parameters, layers, elements; 0 where it has none or it is
    not known.

    `layers` are those of the decoder (of the only stack, for others); `encoder_layers` those of an encoder beside it,
    which has `encoder_parameters` and reads `source_tokens` (0: the prompt).
    `expert_latent_size` is the width that routed experts work in where layers project to a narrower one before them,
    and back (LatentMoE).
    `parameters` counts everything held in memory, `active_parameters` what one token passes through.
    `flops_per_sample` counts a multiplication and an addition as two, forward, at `image_size` or of a row of
    `columns` (at one denoising step for diffusion, where guidance runs the denoiser `denoiser_passes` times in one);
    `square_flops_per_sample` are those of them that grow with the square of the image's area: of
    attention to itself. `activation_bytes_per_sample` is what training keeps of one sample at `image_size` in FP32,
    `square_activation_bytes_per_sample` those of them that are attention's scores, which fused kernels do not keep,
    `activation_16bit_share` the share under 16-bit autocast, `peak_bytes_per_sample` what inference holds at
    most (the largest neighbouring tensors, FP32). `frames` are those of a sample that is a clip. `sample_seconds` is
    the sound that a sample is, of models that hear it; `sound_tokens_s` are the tokens to a second of the speech that a
    model writes. `scores_pairs`: it reads a question and one text at once, as rerankers do. `trained_parameters` are
    those a full fine-tuning trains, where that is not all (the denoiser of a pipeline). `lookup_parameters` are those
    of the active ones that a sample looks up in tables, other rows for each sample (recommenders). `positions` are the
    most tokens that the model is made for at once. `step_operators` are those that a training step dispatches to the
    card, whatever its batch, `sample_operators` those for each sample, whose sizes the host learns from the card.
    `forward_operators` are those of one forward pass (a step of all passes for diffusion), and
    `forward_bytes_per_sample` what those of them that are no products read and write, in FP32 and one by one.
    `assumed` names the fields that were derived or assumed, not given.
    Of a model read from its file, `stored_format` is the format that the file is in, `stored_bits` the bits it takes
    for a weight of each part, scales included, and `file_kind` gguf or safetensors. `published_format` is the format of
    fewer than 16 bits that its makers publish it in; empty where that has 16 bits, or is not known. `published_bits`
    are the bits of parts that differ from the format's. `model_type` is the family of architectures by the name that
    its Hugging Face configuration has; empty where nobody said. `image_tower` is what reads images beside a language
    model; none where it reads none, or its sizes are not known.
    """

    name: str
    kind: str
    parameters: int
    active_parameters: int = 0
    layers: int = 0
    hidden_size: int = 0
    ffn_size: int = 0
    gated_ffn: bool = True
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    vocab_size: int = 0
    tied_embeddings: bool = False
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    expert_ffn_size: int = 0
    expert_latent_size: int = 0
    moe_layers: int = 0
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    q_lora_rank: int = 0
    v_head_dim: int = 0
    sliding_window: int = 0
    sliding_layers: int = 0
    state_layers: int = 0
    state_elements: int = 0
    encoder_layers: int = 0
    encoder_parameters: int = 0
    source_tokens: int = 0
    positions: int = 0
    image_size: int = 0
    columns: int = 0
    frames: int = 0
    flops_per_sample: float = 0.0
    square_flops_per_sample: float = 0.0
    activation_bytes_per_sample: float = 0.0
    square_activation_bytes_per_sample: float = 0.0
    activation_16bit_share: float = 0.0
    peak_bytes_per_sample: float = 0.0
    forward_bytes_per_sample: float = 0.0
    sample_seconds: float = 0.0
    sound_tokens_s: float = 0.0
    scores_pairs: bool = False
    steps: int = 0
    denoiser_passes: int = 0
    step_operators: int = 0
    forward_operators: int = 0
    sample_operators: int = 0
    trained_parameters: int = 0
    lookup_parameters: int = 0
    task: str = ""
    components: tuple[Component, ...] = ()
    kv_groups: tuple[KvGroup, ...] = ()
    assumed: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    id: str = ""
    parts: tuple[Part, ...] = field(default=())
    stored_format: str = ""
    stored_bits: tuple[tuple[str, float], ...] = ()
    file_kind: str = ""
    published_format: str = ""
    published_bits: tuple[tuple[str, float], ...] = ()
    model_type: str = ""
    image_tower: ImageTower | None = None

    def __post_init__(self) -> None:
        """Fill in what follows from the rest, so that checks need not derive it again: cache groups and parts."""
        if not self.active_parameters:
            object.__setattr__(self, "active_parameters", self.parameters)
        if not self.trained_parameters:
            object.__setattr__(self, "trained_parameters", self.parameters)
        if self.encoder_layers and not self.encoder_parameters:
            each = attention_parameters(self) + self.hidden_size * (
                self.kv_width + (3 if self.gated_ffn else 2) * self.ffn_size
            )
            object.__setattr__(self, "encoder_parameters", min(self.encoder_layers * each, self.parameters))
        if not self.kv_groups and self.kind in GENERATIVE:
            object.__setattr__(self, "kv_groups", cache_groups(self))
        if not self.parts:
            object.__setattr__(self, "parts", split_parts(self))

    @property
    def query_width(self) -> int:
        """Width of all query heads together (it need not be the hidden size)."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of all key heads together; the values have the same."""
        return self.kv_heads * self.head_dim

    @property
    def attention_layers(self) -> int:
        """Layers of the decoder that attend; the others keep a fixed state, or are a feed-forward alone."""
        if self.kv_groups:
            return sum(group.layers for group in self.kv_groups if not group.fixed_tokens)
        return self.layers - self.state_layers

    @cached_property
    def words(self) -> Mapping[str, str]:
        """What coefficients may depend on of a model, whatever its setup."""
        return {
            "kind": self.kind,
            "ffn": "gated" if self.gated_ffn else "plain",
            "moe": "yes" if self.is_moe else "no",
            "denoiser": self.denoiser,
            "proposals": "yes" if self.sample_operators else "no",
            "cache": self.cache_kind,
            "model_type": self.model_type,
        }

    @property
    def cache_kind(self) -> str:
        """What layers cache, as runtimes tell it apart: keys and values of "heads", one "latent" for all heads, those
        of which some layers have a "window", and "sparse" ones, of which a token reads some; "" where there is none.
        """
        if any(group.chosen or group.vector_tokens > 1 for group in self.kv_groups):
            return "sparse"
        if any(group.window or group.fixed_tokens for group in self.kv_groups):
            return "window"
        return ("latent" if self.kv_lora_rank else "heads") if self.kv_groups else ""

    @property
    def sparse_attention(self) -> bool:
        """Whether a token attends to chosen tokens of a cache that all heads share (DeepSeek-V3.2, 2.1)."""
        return any(group.chosen and group.heads == 1 for group in self.kv_groups)

    def uncounted(self, task: str = "") -> str:
        """The part that the shape leaves out of a `task`, beside the language model that it is of: what makes "sound"
        of the tokens it writes, the tower that turns "images" into tokens where it is given any, or "none".
        """
        if self.sound_tokens_s:
            return "sound"
        return "images" if self.kind == "decoder" and (task or self.task) == "multimodal" else "none"

    @property
    def denoiser(self) -> str:
        """What denoises in a pipeline, as its parts are named: `unet` or `transformer`; `none` where no part does."""
        return next((word for word in DENOISERS for part in self.components if part.name.startswith(word)), "none")

    @property
    def is_moe(self) -> bool:
        """Whether tokens pass through only some of the parameters."""
        return self.experts > 1

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the token table, once."""
        return self.vocab_size * self.hidden_size

    @property
    def expert_parameters(self) -> int:
        """Parameters of all routed experts."""
        return self.moe_layers * self.experts * (3 if self.gated_ffn else 2) * self.routed_width * self.expert_ffn_size

    @property
    def routed_share(self) -> float:
        """Share of the parameters in routed experts."""
        return self.expert_parameters / self.parameters

    @property
    def looked_up_embedding(self) -> int:
        """Parameters of the token table where rows of it are looked up and nothing else: a decoder's tied one is its
        head, too; an encoder that embeds or classifies has no head.
        """
        return 0 if self.tied_embeddings and self.kind != "encoder" else self.embedding_parameters

    @property
    def chosen_parameters(self) -> float:
        """Parameters of the routed experts that one token passes through."""
        return self.expert_parameters * self.experts_per_token / self.experts if self.is_moe else 0.0

    @property
    def routed_width(self) -> int:
        """Elements of a token that reach a routed expert: its hidden state, or the latent that it is projected to
        (NVIDIA Nemotron 3, arXiv:2512.20856, section 2.2).
        """
        return self.expert_latent_size or self.hidden_size

    @property
    def matmul_parameters(self) -> int:
        """Active parameters that multiply every token: all but the token table, which is looked up (Kaplan et al.
        2020, 2.1).
        """
        return max(self.active_parameters - self.looked_up_embedding, 1)

    @property
    def idle_parameters(self) -> int:
        """Parameters of a dense model that no token passes through: tables of which rows are looked up, and what turns
        images and sound into tokens.
        """
        return 0 if self.is_moe else max(self.parameters - self.active_parameters, 0)

    @property
    def head_parameters(self) -> int:
        """Parameters that turn a hidden state into scores of the next token; 0 for models that write none."""
        return self.embedding_parameters if self.kind in GENERATIVE else 0

    @property
    def prompt_parameters(self) -> int:
        """Active parameters that multiply every token of a prompt: the head scores the last one alone."""
        return max(self.matmul_parameters - self.head_parameters, 1)

    @property
    def written_parameters(self) -> int:
        """Those that multiply every token that is written: an encoder has read its source before."""
        return max(self.matmul_parameters - self.encoder_parameters, 1)

    def source_length(self, tokens: float) -> float:
        """Tokens that an encoder beside a decoder reads: as many as it always does, else the prompt's; 0 for others."""
        return float(self.source_tokens or tokens) if self.encoder_layers else 0.0

    def longer_source(self, tokens: float) -> float:
        """How many times longer an encoder's source is than a text of so many tokens; 1 where they are the same."""
        return self.source_length(tokens) / tokens if self.encoder_layers else 1.0

    @property
    def table_parameters(self) -> int:
        """Parameters of a recommender's tables; 0 for others."""
        if self.kind != "recommender":
            return 0
        return max(self.parameters - (self.active_parameters - self.lookup_parameters), 0)

    @property
    def trained_at_once(self) -> int:
        """Parameters that one run trains: of a pipeline with several denoisers the largest of them, as each learns its
        own range of noise by itself (Wan 2.2's README: two experts; musubi-tuner trains either).
        """
        denoisers = [part.parameters for part in self.components if part.name.startswith(DENOISERS)]
        return self.trained_parameters * max(denoisers) // sum(denoisers) if denoisers else self.trained_parameters

    def touched_parameters(self, samples: float) -> float:
        """Parameters that a pass over so many samples reads: all of them, but of a recommender's tables only the rows
        that the samples look up.

        Source: Naumov et al. 2019 (arXiv:1906.00091), section 2.1: a lookup takes one row of a table.
        """
        if self.kind != "recommender":
            return float(self.parameters)
        dense = self.active_parameters - self.lookup_parameters
        return float(min(dense + self.lookup_parameters * samples, self.parameters))

    def attended(self, length: float) -> float:
        """Tokens that a token of a text attends to, summed over the layers of the decoder, on average. A search for
        them, which has no values to add up, counts as so many as take the same arithmetic.
        """
        groups = [group for group in self.kv_groups if not group.fixed_tokens]
        searched = sum(group.layers * group.searched(length) for group in groups)
        seen = sum(group.layers * group.attended(length) for group in groups)
        return seen + (searched / (2 * self.query_width) if searched else 0.0)

    def kv_elements_per_token(self) -> int:
        """Numbers the cache grows by with each token of a context inside every window, over all layers."""
        return sum(group.layers * group.elements for group in self.kv_groups if not group.fixed_tokens)


def cache_groups(shape: ModelShape) -> tuple[KvGroup, ...]:
    """Group the layers by what they keep: 2*n_kv*d numbers a token, or kv_lora_rank + qk_rope_head_dim with latent
    attention.

    Sliding layers keep at most their window. Sources: Ainslie et al. 2023 (GQA), DeepSeek-V2 section 2.1 (MLA).
    """
    attention_layers = shape.layers - shape.state_layers
    if attention_layers <= 0:
        return ()
    if shape.kv_lora_rank:
        return (KvGroup(attention_layers, shape.kv_lora_rank + shape.qk_rope_head_dim, 1),)
    if not shape.kv_heads or not shape.head_dim:
        return ()
    elements = 2 * shape.kv_heads * shape.head_dim
    sliding = min(shape.sliding_layers, attention_layers) if shape.sliding_window else 0
    groups = []
    if attention_layers - sliding:
        groups.append(KvGroup(attention_layers - sliding, elements, shape.kv_heads))
    if sliding:
        groups.append(KvGroup(sliding, elements, shape.kv_heads, window=shape.sliding_window))
    # Without a fixed source the prompt is the source: what the decoder keeps of its own tokens and of the source's
    # adds up to the context, so one group stands for both.
    if shape.source_tokens and shape.encoder_layers:
        groups.append(KvGroup(shape.layers, elements, shape.kv_heads, fixed_tokens=shape.source_tokens))
    return tuple(groups)


def split_parts(shape: ModelShape) -> tuple[Part, ...]:
    """Split the parameters into what mixed-format files treat apart.

    embedding (token table), head, value and attention (the other projections), down and ffn (the other matrices of
    the dense feed-forward), experts, beside (of a pipeline all but the network that is trained: text encoders,
    autoencoder), other (what is left: norms, routers, convolutions, everything of models without layers).
    """
    left = shape.parameters
    embedding = min(shape.embedding_parameters, left)
    untied = not shape.tied_embeddings and shape.kind != "encoder"
    dense = max(shape.layers + shape.encoder_layers - shape.moe_layers, 0) * shape.hidden_size * shape.ffn_size
    stacks = shape.attention_layers + shape.encoder_layers
    sized = {
        "beside": shape.parameters - shape.trained_parameters if shape.components else 0,
        "embedding": embedding,
        "head": embedding if untied else 0,
        "experts": shape.expert_parameters,
        "down": dense,
        "ffn": dense if not shape.gated_ffn else 2 * dense,
        "value": 0 if shape.kv_lora_rank else stacks * shape.hidden_size * shape.kv_width,
        "attention": stacks * attention_parameters(shape),
    }
    parts = []
    for name, count in sized.items():
        held = min(count, left)
        left -= held
        if held:
            parts.append(Part(name, held))
    return (*parts, Part("other", left)) if left else tuple(parts)


def attention_parameters(shape: ModelShape) -> int:
    """Parameters of one layer's query, key and output projections; of all five with latent attention (DeepSeek-V2,
    2.1).
    """
    return sum(count for count, _ in attention_rows(shape))


def attention_rows(shape: ModelShape) -> tuple[tuple[int, int], ...]:
    """The same apart: parameters of projections whose rows have one length, and this length, that of what they read."""
    hidden, heads = shape.hidden_size, shape.heads
    if not shape.kv_lora_rank:
        return (hidden * (shape.query_width + shape.kv_width), hidden), (hidden * shape.query_width, shape.query_width)
    key, value = shape.head_dim + shape.qk_rope_head_dim, shape.v_head_dim or shape.head_dim
    read = shape.kv_lora_rank + shape.qk_rope_head_dim + (shape.q_lora_rank or heads * key)
    return (
        (hidden * read, hidden),
        (shape.q_lora_rank * heads * key, shape.q_lora_rank),
        (shape.kv_lora_rank * heads * (shape.head_dim + value), shape.kv_lora_rank),
        (heads * value * hidden, heads * value),
    )
