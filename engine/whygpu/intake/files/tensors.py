"""Tensors of a weights file: what their names say of the part of the model they belong to, and exact bytes by part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from whygpu.checks.model_shape import ModelShape, Part

MOST_PARAMETERS = 10**14
MOST_DIMENSIONS = 8


class WeightsError(Exception):
    """A weights file that cannot be used; `path` is the answer's key it was named at."""

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep the message and how to fix it."""
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor as a file holds it: `parameters` are those of the model (0 for scales and zero points)."""

    name: str
    part: str
    dtype: str
    dims: tuple[int, ...]
    parameters: int
    stored_bytes: float


# Names of tensors in Hugging Face and GGUF files, tried in order; the first that is found decides.
_PARTS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("other", r"router|\.gate\.|ffn_gate_inp|vision|visual|image_|audio|mm_projector|_norm\.|norm\d?\.|layernorm"),
        ("experts", r"\.experts\.|_exps(\.|$)"),
        ("embedding", r"(^|\.)(embed_tokens|wte|word_embeddings|tok_embeddings|embed_in|shared|token_embd)\."),
        ("head", r"(^|\.)(lm_head|embed_out)\.|^output\.(?!norm)"),
        ("value", r"\.(v_proj|attn_v|value)\."),
        ("down", r"\.(down_proj|ffn_down|ffn_down_shexp|fc2|w2|dense_4h_to_h|mlp\.c_proj|wo_ff|output\.dense)\."),
        ("ffn", r"\.(gate_proj|up_proj|gate_up_proj|ffn_gate|ffn_up|ffn_gate_shexp|ffn_up_shexp|fc1|w1|w3|c_fc"
                r"|dense_h_to_4h|intermediate\.dense)\."),
        ("attention", r"\.(attn|attention|self_attn|self_attention)\.|\.attn_|\.(query|key)\."),
    )
)  # fmt: skip
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|layer|block|blk)\.(\d{1,6})\.")
_EXPERT = re.compile(r"\.experts\.(\d{1,6})\.")


def part_of(name: str) -> str:
    """The part of the model (see `checks.shape.split_parts`) that a tensor of this name belongs to."""
    return next((part for part, pattern in _PARTS if pattern.search(name)), "other")


def layer_of(name: str) -> int | None:
    """The number of the layer that the tensor belongs to; None for those outside the layers."""
    found = _LAYER.search(name)
    return int(found[1]) if found else None


def expert_of(name: str) -> int | None:
    """The number of the expert that the tensor belongs to, where each has its own tensors."""
    found = _EXPERT.search(name)
    return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Tally:
    """Parameters and bytes of a file, in all and by part."""

    parameters: int
    stored_bytes: float
    parts: tuple[Part, ...]
    part_bytes: tuple[tuple[str, float], ...]
    dtype_bytes: tuple[tuple[str, float], ...]
    """Bytes by data type, the most first."""

    @classmethod
    def of(cls, tensors: Iterable[StoredTensor]) -> Tally:
        """Add the tensors up. Raises WeightsError where there are no parameters, or more than any model has."""
        counts: dict[str, int] = {}
        sizes: dict[str, float] = {}
        dtypes: dict[str, float] = {}
        for tensor in tensors:
            counts[tensor.part] = counts.get(tensor.part, 0) + tensor.parameters
            sizes[tensor.part] = sizes.get(tensor.part, 0.0) + tensor.stored_bytes
            dtypes[tensor.dtype] = dtypes.get(tensor.dtype, 0.0) + tensor.stored_bytes
        total = sum(counts.values())
        if not total:
            raise WeightsError("holds no parameters", "name the file that holds the model's weights")
        if total > MOST_PARAMETERS:
            raise WeightsError(f"says it holds {total:.3g} parameters, more than {MOST_PARAMETERS:.0e}")
        # Bytes of a part that has no parameter of its own (an index, a lone scale) go to what is left over.
        bare = sum(size for part, size in sizes.items() if not counts[part])
        kept = {part: size for part, size in sizes.items() if counts[part]}
        if bare:
            last = "other" if "other" in kept else next(iter(kept))
            kept[last] += bare
        return cls(
            total,
            sum(sizes.values()),
            tuple(Part(part, count) for part, count in counts.items() if count),
            tuple(kept.items()),
            tuple(sorted(dtypes.items(), key=lambda item: -item[1])),
        )

    def count(self, part: str) -> int:
        """Parameters of one part."""
        return next((item.parameters for item in self.parts if item.name == part), 0)


def with_exact_weights(shape: ModelShape, tally: Tally, number_format: str) -> ModelShape:
    """The shape with the file's own parts, and the bits that each takes in the file's own format."""
    parameters = {item.name: item.parameters for item in tally.parts}
    bits = tuple((part, size * 8 / parameters[part]) for part, size in tally.part_bytes)
    active = tally.parameters
    if shape.experts > 1 and shape.experts_per_token:
        idle = tally.count("experts") * (shape.experts - shape.experts_per_token) / shape.experts
        active = max(round(tally.parameters - idle), 1)
    assumed = tuple(name for name in shape.assumed if name not in ("parameters", "active_parameters"))
    return replace(
        shape,
        parameters=tally.parameters,
        active_parameters=active,
        trained_parameters=0,
        parts=tally.parts,
        stored_format=number_format,
        stored_bits=bits,
        assumed=assumed,
    )
