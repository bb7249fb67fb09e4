"""A model by its GGUF file: exact parameters and bytes of each part, and the shape that its metadata gives.

Keys as in ggml-org/ggml, docs/gguf.md, and gguf-py's constants: `<arch>.block_count`, `<arch>.attention.head_count` ...
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whygpu.checks.model_shape import KvGroup, ModelShape
from whygpu.intake.diffusers.components import NO_SPEED
from whygpu.intake.files.gguf import FILE_TYPES, GgufHeader, read_gguf
from whygpu.intake.files.tensors import StoredTensor, Tally, WeightsError, layer_of, part_of, with_exact_weights
from whygpu.intake.huggingface.families import FAMILIES
from whygpu.intake.mapping import from_mapping
from whygpu.intake.problems import IntakeProblem, IntakeResult
from whygpu.intake.sizes import SizeTable

AT = "model.gguf"
# Buffers that files carry beside the weights.
_BUFFERS = re.compile(r"^rope_(freqs|factors\w*)\.weight$|\.rope_freqs\.|^position_ids$")
# Architectures whose sliding layers llama.cpp knows by heart, and the family here that has the same pattern.
_SLIDING = {
    "gemma2": "gemma2",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3_text",
    "gpt-oss": "gpt_oss",
    "cohere2": "cohere2",
    "llama4": "llama4_text",
}
_ENCODERS = ("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "roberta", "modern-bert", "neo-bert")
# Denoisers of diffusion models as ComfyUI-GGUF converts them (city96/ComfyUI-GGUF, tools/convert.py): no sizes beside.
_DENOISERS = (
    "flux",
    "sd1",
    "sdxl",
    "sd3",
    "aura",
    "hidream",
    "cosmos",
    "ltxv",
    "hyvid",
    "wan",
    "lumina2",
    "qwen_image",
)
_TYPE_FORMATS = {"F32": "fp32", "F16": "fp16", "BF16": "bf16", "MXFP4": "mxfp4", "NVFP4": "nvfp4"}


def from_gguf(given: str, sizes: SizeTable, *, name: str = "") -> IntakeResult:
    """Read the header of a GGUF file (of all files of a split model) into a shape. Never raises on bad input."""
    path = Path(given)
    try:
        header = read_gguf(_in_folder(path))
        tensors = [
            StoredTensor(
                tensor.name,
                part_of(tensor.name),
                tensor.type_name,
                tensor.dims,
                0 if _BUFFERS.search(tensor.name) else tensor.elements,
                tensor.stored_bytes,
            )
            for tensor in header.tensors
        ]
        _refuse_no_model(header, tensors)
        tally = Tally.of(tensors)
        facts = _Facts(header, tensors, tally)
        data = facts.mapping(name or path.stem)
    except WeightsError as error:
        return None, [IntakeProblem(AT, error.message, error.hint)]
    except OSError as error:
        return None, [IntakeProblem(AT, f"cannot be read: {error.strerror or error}")]
    shape, problems = from_mapping(data, sizes, at=AT)
    if shape is None:
        return None, problems
    shape = _with_groups(shape, facts)
    exact = with_exact_weights(shape, tally, _format(header, tally))
    return replace(exact, file_kind="gguf"), [*problems, *facts.doubts]


def _refuse_no_model(header: GgufHeader, tensors: list[StoredTensor]) -> None:
    """Refuse what GGUF files hold besides models, saying what they hold. Raises WeightsError."""
    arch, kind = (header.metadata.get(f"general.{key}") for key in ("architecture", "type"))
    parameters, size = sum(item.parameters for item in tensors), sum(item.stored_bytes for item in tensors)
    held = f"{parameters} parameters, {size / 2**20:.0f} MiB"
    if arch == "clip" or kind == "mmproj":
        hint = "name the model's own file; the projector is held beside it"
        raise WeightsError(f"is a projector of images or sound ({held}), not a model", hint)
    if kind == "adapter":
        raise WeightsError(f"is an adapter ({held}), not a model", "name the model it belongs to")
    if not tensors and "tokenizer.ggml.model" in header.metadata:
        raise WeightsError("is a vocabulary without a model", "name the file that holds the model's weights")


def _in_folder(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(path.glob("*.gguf"))
    whole = [item for item in found if not re.search(r"-(?!00001)\d{5}-of-\d{5}\.gguf$", item.name)]
    if len(whole) != 1:
        raise WeightsError(f"is a folder with {len(whole)} models in .gguf files", "name one file")
    return whole[0]


def _format(header: GgufHeader, tally: Tally) -> str:
    """The file's mixture by its own word, else by the type that most of its bytes are in."""
    said = header.metadata.get("general.file_type")
    if isinstance(said, int) and said in FILE_TYPES:
        return FILE_TYPES[said]
    commonest = tally.dtype_bytes[0][0]
    return _TYPE_FORMATS.get(
        commonest, {"Q4_K": "q4_k_m", "Q5_K": "q5_k_m", "Q3_K": "q3_k_m"}.get(commonest, commonest.lower())
    )


@dataclass(slots=True)
class _Facts:
    """Reads the shape out of metadata and tensors; what is wrong with a value is a doubt, not an error."""

    header: GgufHeader
    tensors: list[StoredTensor]
    tally: Tally
    doubts: list[IntakeProblem]
    arch: str

    def __init__(self, header: GgufHeader, tensors: list[StoredTensor], tally: Tally) -> None:
        """Take the architecture from the header."""
        self.header, self.tensors, self.tally = header, tensors, tally
        self.doubts = []
        arch = header.metadata.get("general.architecture")
        self.arch = arch if isinstance(arch, str) else ""
        if not self.arch:
            raise WeightsError("names no general.architecture", "is it a model? adapters and vocabularies are not")

    def raw(self, key: str) -> object:
        """The value of a key of the architecture."""
        return self.header.metadata.get(f"{self.arch}.{key}")

    def number(self, *keys: str) -> int:
        """The first of the keys that holds a whole number, the largest of a list; 0 where none does."""
        for key in keys:
            value = self.raw(key)
            if isinstance(value, tuple):
                value = max((item for item in value if isinstance(item, int)), default=None)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return 0

    def by_layer(self, key: str) -> tuple[int, ...]:
        """A list with one number a layer; empty where it is not a list."""
        value = self.raw(key)
        listed = isinstance(value, tuple) and len(value) == self.layers
        return tuple(int(item) for item in value) if listed and isinstance(value, tuple) else ()

    @property
    def layers(self) -> int:
        """Layers, by the metadata, else by the tensors."""
        counted = 1 + max((number for item in self.tensors if (number := layer_of(item.name)) is not None), default=-1)
        return self.number("block_count") or counted

    def layers_with(self, word: str) -> int:
        """Layers that have a tensor of such a name."""
        pattern = re.compile(rf"^blk\.\d+\.{word}\.")
        return len({layer_of(item.name) for item in self.tensors if pattern.search(item.name)})

    @property
    def head_dim(self) -> int:
        """Width of a head."""
        given = self.number("attention.key_length_mla", "attention.key_length")
        heads = self.number("attention.head_count")
        return given or (self.number("embedding_length") // heads if heads else 0)

    @property
    def latent(self) -> bool:
        """Whether the cache is of latent attention, as llama.cpp keeps it since it splits attn_kv_b."""
        return bool(self.number("attention.kv_lora_rank"))

    def kind(self) -> str:
        """The kind of model."""
        if self.arch in _DENOISERS:
            return "diffusion"
        if self.arch in _ENCODERS or self.raw("attention.causal") is False:
            return "encoder"
        if self.arch.startswith("t5encoder"):
            return "encoder"
        if self.arch == "t5":
            return "encoder-decoder"
        return "decoder" if self.number("attention.head_count") else "state-space"

    def mapping(self, name: str) -> dict[str, Any]:
        """The sizes as a mapping that `from_mapping` completes."""
        table = next((item for item in self.tensors if item.part == "embedding" and len(item.dims) == 2), None)
        said = self.header.metadata.get("general.name")
        experts, rope = self.number("expert_count"), self.number("rope.dimension_count")
        heads, grouped = self.number("attention.head_count"), self.number("attention.head_count_kv")
        found: dict[str, Any] = {
            "name": said[:80] if isinstance(said, str) and said else name[:80],
            "kind": self.kind(),
            "parameters": self.tally.parameters,
            "layers": self.layers,
            "hidden_size": self.number("embedding_length"),
            "ffn_size": self.number("feed_forward_length"),
            "heads": heads,
            "kv_heads": heads if self.latent else grouped or heads,
            "head_dim": self.head_dim - rope if self.latent and self.head_dim > rope else self.head_dim,
            "vocab_size": table.dims[1] if table else self.number("vocab_size"),
            "positions": self.number("context_length"),
            "experts": experts,
            "experts_per_token": self.number("expert_used_count") if experts else 0,
            "shared_experts": self.number("expert_shared_count") if experts else 0,
            "expert_ffn_size": self.number("expert_feed_forward_length", "feed_forward_length") if experts else 0,
            "expert_latent_size": self.number("moe_latent_size") if experts else 0,
            "moe_layers": self.layers_with(r"ffn_(gate|up|down|gate_up)_exps") if experts else 0,
            "kv_lora_rank": self.number("attention.kv_lora_rank"),
            "q_lora_rank": self.number("attention.q_lora_rank") if self.latent else 0,
            "qk_rope_head_dim": rope if self.latent else 0,
            "v_head_dim": self.number("attention.value_length_mla", "attention.value_length") if self.latent else 0,
        }
        found = {key: value for key, value in found.items() if value}
        if found["kind"] == "diffusion":
            said = f"is a denoiser alone: {NO_SPEED}; text encoders and autoencoder are held beside it"
            self.doubts.append(IntakeProblem(AT, said, "name the pipeline's folder", "warning"))
            return {key: found[key] for key in ("name", "kind", "parameters", "layers") if key in found}
        found["gated_ffn"] = self._gated()
        found["tied_embeddings"] = not self.tally.count("head")
        return found | self._sliding() | self._states()

    def _gated(self) -> bool:
        if self.layers_with(r"ffn_gate(_exps|_shexp)?"):
            return True
        up, width = re.compile(r"^blk\.\d+\.ffn_up\."), self.number("feed_forward_length")
        return any(len(item.dims) == 2 and item.dims[1] == 2 * width for item in self.tensors if up.search(item.name))

    def _sliding(self) -> dict[str, int]:
        """The window, and how many layers keep no more than it."""
        window = self.number("attention.sliding_window")
        layers = self.layers
        pattern = self.raw("attention.sliding_window_pattern")
        if not window:
            return {}
        if isinstance(pattern, tuple):
            count = sum(1 for item in pattern[:layers] if item)
        elif isinstance(pattern, int) and pattern > 1:
            count = layers - layers // pattern
        elif self.arch in _SLIDING:
            family = FAMILIES[_SLIDING[self.arch]]
            count = layers - layers // (2 if family.sliding == "even" else family.sliding_every)
        else:
            note = f"names a window of {window} tokens, to which llama.cpp does not keep for '{self.arch}'"
            self.doubts.append(IntakeProblem(AT, note, "", "warning"))
            return {}
        return {"sliding_window": window, "sliding_layers": count} if count else {}

    def _states(self) -> dict[str, int]:
        """Layers with a state, and the numbers each keeps: inner * state and the convolution's (Mamba, 3.4)."""
        layers = self.layers_with(r"ssm_\w+")
        if not layers:
            return {}
        inner, state = self.number("ssm.inner_size"), self.number("ssm.state_size")
        convolved = inner + 2 * self.number("ssm.group_count") * state
        elements = inner * state + convolved * self.number("ssm.conv_kernel")
        return {"state_layers": layers, "state_elements": elements} if elements else {"state_layers": layers}


def _with_groups(shape: ModelShape, facts: _Facts) -> ModelShape:
    """The cache, where layers differ in their heads or some have none."""
    groups = facts.by_layer("attention.head_count_kv")
    values = facts.number("attention.value_length")
    if facts.latent or shape.kind != "decoder" or (len(set(groups)) < 2 and values in (0, facts.head_dim)):
        return shape
    width = facts.head_dim + (values or facts.head_dim)
    layers = Counter(heads for heads in (groups or (shape.kv_heads,) * facts.layers) if heads > 0)
    found = tuple(KvGroup(layers[heads], min(heads, 2**14) * width, min(heads, 2**14)) for heads in sorted(layers))
    return replace(shape, kv_groups=found) if not shape.sliding_layers else shape
