"""A model described by its sizes, as answers and presets give it. What is missing is derived, or assumed from models
of its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from whygpu.checks.model_shape import GENERATIVE, KINDS, PARTS, TOKEN_KINDS, Component, ImageTower, KvGroup, ModelShape
from whygpu.errors import did_you_mean
from whygpu.intake.identify import identified
from whygpu.intake.limits import LIMITS, Reader, shown
from whygpu.intake.problems import IntakeProblem, IntakeResult, has_errors
from whygpu.intake.sizes import SizeTable
from whygpu.yamldoc.forms import ANYTHING, FLAG, TEXT, TEXTS, Form, between, one_of

# Key of the mapping, which is also the field of ModelShape, and the limit of its values.
WHOLE_NUMBERS: Mapping[str, str] = {
    "parameters": "parameters",
    "active_parameters": "parameters",
    "layers": "layers",
    "hidden_size": "hidden",
    "ffn_size": "hidden",
    "heads": "heads",
    "kv_heads": "heads",
    "head_dim": "head",
    "vocab_size": "vocabulary",
    "experts": "experts",
    "experts_per_token": "experts",
    "shared_experts": "experts",
    "expert_ffn_size": "hidden",
    "expert_latent_size": "hidden",
    "moe_layers": "layers",
    "kv_lora_rank": "hidden",
    "qk_rope_head_dim": "head",
    "q_lora_rank": "hidden",
    "v_head_dim": "head",
    "sliding_window": "tokens",
    "sliding_layers": "layers",
    "state_layers": "layers",
    "state_elements": "parameters",
    "encoder_layers": "layers",
    "encoder_parameters": "parameters",
    "source_tokens": "tokens",
    "positions": "tokens",
    "image_size": "pixels",
    "columns": "columns",
    "frames": "frames",
    "steps": "steps",
    "denoiser_passes": "passes",
    "step_operators": "operators",
    "forward_operators": "operators",
    "sample_operators": "operators",
    "trained_parameters": "parameters",
    "lookup_parameters": "parameters",
}
NUMBERS: Mapping[str, str] = {
    "flops_per_sample": "flops",
    "square_flops_per_sample": "flops",
    "activation_bytes_per_sample": "bytes",
    "square_activation_bytes_per_sample": "bytes",
    "peak_bytes_per_sample": "bytes",
    "forward_bytes_per_sample": "bytes",
    "sample_seconds": "seconds",
    "sound_tokens_s": "rate",
}
OTHERS: Form = MappingProxyType(
    {
        "id": TEXT,
        "name": TEXT,
        "aliases": TEXTS,
        "task": TEXT,
        "kind": one_of(KINDS),
        "source": TEXTS,
        "note": TEXT,
        "reference": TEXT,
        "gated_ffn": FLAG,
        "tied_embeddings": FLAG,
        "scores_pairs": FLAG,
        "activation_16bit_share": between(0, 1, whole=False),
        "components": ANYTHING,
        "published_format": TEXT,
        "published_bits": ANYTHING,
        "model_type": TEXT,
        "kv_groups": ANYTHING,
        "image_tower": ANYTHING,
        "others": ANYTHING,
    }
)
MODEL: Form = MappingProxyType(
    {
        **OTHERS,
        **{key: between(*LIMITS[limit], whole=True) for key, limit in WHOLE_NUMBERS.items()},
        **{key: between(*LIMITS[limit], whole=False) for key, limit in NUMBERS.items()},
    }
)
"""All that describes a model, in answers, in presets and in the knowledge base's tables."""
GROUP: Mapping[str, str] = {
    "layers": "layers",
    "elements": "parameters",
    "heads": "heads",
    "window": "tokens",
    "fixed_tokens": "tokens",
    "chosen": "tokens",
    "index_elements": "head",
    "index_width": "hidden",
    "vector_tokens": "tokens",
}
"""Keys of a group of layers that keep the same cache, as KvGroup has them, and the limit of their values."""
TOWER: Mapping[str, str] = {
    "layers": "layers",
    "hidden_size": "hidden",
    "ffn_size": "hidden",
    "token_patches": "tokens",
    "whole_layers": "layers",
    "tile_patches": "tokens",
}
"""Whole numbers of what turns images into tokens, as ImageTower has them, and the limit of their values."""
SHAPED = ("layers", "hidden_size", "heads", "head_dim")


def from_mapping(data: object, sizes: SizeTable, *, at: str = "model") -> IntakeResult:
    """Read a mapping of sizes into a shape. Never raises on bad input; unknown keys and bad values are problems at
    `at`.key.
    """
    if not isinstance(data, Mapping):
        return None, [IntakeProblem(at, f"is {shown(data)}, not a mapping of sizes")]
    reader = Reader(data, at)
    for key in data:
        if not isinstance(key, str) or key not in MODEL:
            reader.complain(shown(key).strip("'"), "is not a size of a model", did_you_mean(str(key), MODEL) or "")
    kind = reader.text("kind") or _kind_of(reader)
    if kind not in KINDS:
        message = f"is {shown(kind)}, not one of {', '.join(KINDS)}"
        reader.complain("kind", message, did_you_mean(kind, KINDS) or "")
    values: dict[str, Any] = {key: reader.count(limit, key) for key, limit in WHOLE_NUMBERS.items()}
    values |= {key: reader.number(limit, key) or 0.0 for key, limit in NUMBERS.items()}
    values["activation_16bit_share"] = _share(reader)
    gated, tied = (identified(values) if kind == "decoder" else None) or (kind in ("decoder", "state-space"), False)
    values["gated_ffn"] = reader.flag(gated, "gated_ffn")
    values["tied_embeddings"] = reader.flag(tied, "tied_embeddings")
    values["scores_pairs"] = reader.flag(False, "scores_pairs")
    values["components"] = _components(reader)
    values["kv_groups"] = _cache_groups(reader)
    values["image_tower"] = _image_tower(reader)
    if not values["parameters"]:
        values["parameters"] = sum(component.parameters for component in values["components"])
    if not values["parameters"] and not reader.problems:
        reader.complain("parameters", "is missing", "give the number of parameters, such as 8B")
    for whole in ("flops_per_sample", "activation_bytes_per_sample"):
        if values[f"square_{whole}"] > values[whole]:
            reader.complain(f"square_{whole}", f"is more than {whole}, of which it is a part")
    if has_errors(reader.problems):
        return None, reader.problems
    assumed = _complete(values, kind, reader, sizes)
    if has_errors(reader.problems):
        return None, reader.problems
    name = reader.text("name") or reader.text("id") or f"a model of {_short(values['parameters'])} parameters"
    source = data.get("source")
    shape = ModelShape(
        name=name,
        kind=kind,
        task=reader.text("task"),
        published_format=reader.text("published_format"),
        published_bits=_published_bits(reader),
        model_type=reader.text("model_type"),
        id=reader.text("id"),
        assumed=tuple(assumed),
        source=(source,)
        if isinstance(source, str)
        else tuple(s for s in source if isinstance(s, str))
        if isinstance(source, (list, tuple))
        else (),
        **values,
    )
    return (None, reader.problems) if has_errors(reader.problems) else (shape, reader.problems)


def _kind_of(reader: Reader) -> str:
    """The kind that the other keys speak for."""
    if reader.has("vocab_size", "kv_heads", "kv_lora_rank"):
        return "decoder"
    return "cnn" if reader.has("image_size", "flops_per_sample") else "decoder"


def _share(reader: Reader) -> float:
    value = reader.data.get("activation_16bit_share")
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        reader.complain("activation_16bit_share", f"is {shown(value)}, not a share between 0 and 1")
        return 0.0
    return float(value)


def _components(reader: Reader) -> tuple[Component, ...]:
    """Networks of a pipeline: a mapping of names to parameters."""
    inner = reader.inner("components")
    if inner is None:
        return ()
    found = []
    for name in list(inner.data)[:64]:
        count = inner.whole("parameters", str(name))
        if count:
            found.append(Component(str(name)[:80], count))
    return tuple(found)


def _published_bits(reader: Reader) -> tuple[tuple[str, float], ...]:
    """The bits of the parts that the published format has otherwise: a mapping of parts to bits."""
    inner = reader.inner("published_bits")
    if inner is None:
        return ()
    for unknown in set(inner.data) - set(PARTS):
        inner.complain(shown(unknown).strip("'"), "is not a part of a model", did_you_mean(str(unknown), PARTS) or "")
    return tuple((name, bits) for name in PARTS if (bits := inner.number("bits", name)))


def _image_tower(reader: Reader) -> ImageTower | None:
    """What turns images into tokens: a mapping of sizes."""
    inner = reader.inner("image_tower")
    if inner is None:
        return None
    for unknown in set(inner.data) - {*TOWER, "gated_ffn"}:
        inner.complain(shown(unknown).strip("'"), "is not a size of a tower", did_you_mean(str(unknown), TOWER) or "")
    sizes = {name: inner.count(limit, name) for name, limit in TOWER.items()}
    for name in ("layers", "hidden_size", "ffn_size"):
        if not sizes[name]:
            inner.complain(name, "is missing", "a tower has layers, hidden_size and ffn_size")
    sizes["token_patches"] = sizes["token_patches"] or 1
    if "whole_layers" not in inner.data:
        sizes["whole_layers"] = sizes["layers"]
    return ImageTower(**sizes, gated_ffn=inner.flag(False, "gated_ffn"))


def _cache_groups(reader: Reader) -> tuple[KvGroup, ...]:
    """What groups of layers keep of a token, where layers differ: a list of mappings."""
    key, listed = reader.raw("kv_groups")
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)) or len(listed) > LIMITS["layers"][1]:
        reader.complain(key, f"is {shown(listed)}, not a list of groups of layers")
        return ()
    groups = []
    for number, item in enumerate(listed):
        at = reader.path(f"{key}[{number}]")
        if not isinstance(item, Mapping) or not item.get("layers"):
            reader.problems.append(IntakeProblem(at, f"is {shown(item)}, not a mapping that says how many layers"))
            continue
        inner = Reader(item, at, reader.problems)
        for unknown in set(item) - set(GROUP):
            inner.complain(
                shown(unknown).strip("'"), "is not a size of a group", did_you_mean(str(unknown), GROUP) or ""
            )
        sizes = {name: inner.count(limit, name) for name, limit in GROUP.items()}
        groups.append(KvGroup(**{**sizes, **{name: sizes[name] or 1 for name in ("heads", "vector_tokens")}}))
    return tuple(groups)


def _complete(values: dict[str, Any], kind: str, reader: Reader, sizes: SizeTable) -> list[str]:
    """Fill in what follows from the given sizes, and for token models what is typical of their size. Returns the
    fields filled in.
    """
    assumed: list[str] = []

    def fill(key: str, value: int) -> None:
        if not values[key] and value:
            values[key] = value
            assumed.append(key)

    if values["active_parameters"] > values["parameters"]:
        reader.complain(
            "active_parameters", f"is {values['active_parameters']}, more than all {values['parameters']} parameters"
        )
    if values["lookup_parameters"] > values["active_parameters"]:
        reader.complain(
            "lookup_parameters",
            f"is {values['lookup_parameters']}, more than the {values['active_parameters']} active parameters",
            "it is what one sample looks up, and a part of active_parameters; whole tables are a part of parameters",
        )
    if not values["active_parameters"]:
        values["active_parameters"] = values["parameters"]
    if values["heads"] and values["hidden_size"] and not values["kv_lora_rank"]:
        fill("head_dim", values["hidden_size"] // values["heads"])
    if kind in TOKEN_KINDS:
        _fill_typical(values, kind, fill, sizes)
    fill("kv_heads", values["heads"])
    if values["kv_heads"] > values["heads"]:
        reader.complain("kv_heads", f"is {values['kv_heads']}, more than the {values['heads']} heads")
    elif values["kv_heads"] and values["heads"] % values["kv_heads"] and not values["kv_lora_rank"]:
        message = f"is {values['kv_heads']}, which does not divide the {values['heads']} heads"
        reader.complain("kv_heads", message, "as many query heads share each key and value head")
    if values["kv_lora_rank"] and not values["qk_rope_head_dim"]:
        reader.complain(
            "qk_rope_head_dim", "is missing", "latent attention caches kv_lora_rank + qk_rope_head_dim numbers a token"
        )
    if values["experts_per_token"] > values["experts"]:
        reader.complain(
            "experts_per_token", f"is {values['experts_per_token']}, more than the {values['experts']} experts"
        )
    if values["experts"] > 1:
        fill("moe_layers", values["layers"])
        fill("expert_ffn_size", values["ffn_size"])
    for key in ("sliding_layers", "state_layers", "moe_layers"):
        if values[key] > values["layers"]:
            reader.complain(key, f"is {values[key]}, more than the {values['layers']} layers")
    return assumed


def _fill_typical(values: dict[str, Any], kind: str, fill: Any, sizes: SizeTable) -> None:
    """Sizes of the nearest typical model, where none of the shape is given; what follows from the rest, where some
    is.
    """
    typical = sizes.nearest(values["parameters"])
    if not any(values[key] for key in SHAPED):
        for key in ("layers", "hidden_size", "heads", "head_dim", "ffn_size"):
            fill(key, getattr(typical, key))
        if not values["kv_lora_rank"]:
            fill("kv_heads", typical.kv_heads if kind in GENERATIVE else typical.heads)
        if not values["vocab_size"]:
            values["tied_embeddings"] = typical.tied_embeddings
        fill("vocab_size", typical.vocab_size)
        return
    fill("layers", typical.layers)
    fill("hidden_size", values["heads"] * values["head_dim"] or typical.hidden_size)
    fill("head_dim", typical.head_dim)
    fill("heads", max(values["hidden_size"] // max(values["head_dim"], 1), 1))
    # A model whose layers all have experts has no dense feed-forward beside them.
    if not values["expert_ffn_size"]:
        fill("ffn_size", 4 * values["hidden_size"])
    if kind in GENERATIVE:
        fill("vocab_size", typical.vocab_size)


def _short(parameters: int) -> str:
    for unit, name in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if parameters >= unit:
            return f"{parameters / unit:.3g}{name}"
    return str(parameters)
