"""A vision transformer's config.json: tokens are the patches of an image. CLIP's towers of images and texts too."""

from __future__ import annotations

from dataclasses import replace

from whygpu.checks.model_shape import ModelShape
from whygpu.intake.count import AttentionKind, Sizes, linear, norm, transformer
from whygpu.intake.huggingface import keys
from whygpu.intake.huggingface.families import FAMILIES, Family
from whygpu.intake.huggingface.sizes import PROJECTS, architecture, describe
from whygpu.intake.limits import LIMITS, Reader
from whygpu.intake.problems import IntakeResult, has_errors

NEEDED = {
    "num_hidden_layers": keys.LAYERS,
    "hidden_size": keys.HIDDEN,
    "num_attention_heads": keys.HEADS,
    "image_size": ("image_size",),
    "patch_size": ("patch_size",),
}
TWIN_TOWERS = {"clip": ("clip_text_model", "clip_vision_model"), "siglip": ("siglip_text_model", "siglip_vision_model")}


def read_vision(reader: Reader, family: Family, name: str) -> IntakeResult:
    """The shape, with the operations that follow from it: 2 for each parameter and token, and the attention scores."""
    missing = [usual for usual, names in NEEDED.items() if not reader.has(*names)]
    if missing:
        hint = "give the sizes as a mapping instead, or at least parameters and image_size"
        reader.complain("", f"lacks {', '.join(missing)}", hint)
        return None, reader.problems
    layers, hidden = reader.whole("layers", *keys.LAYERS) or 1, reader.whole("hidden", *keys.HIDDEN) or 1
    heads = reader.whole("heads", *keys.HEADS) or 1
    ffn = reader.whole("hidden", *keys.FFN) or round(
        (reader.number("ratio", "mlp_ratio") or family.default_ffn) * hidden
    )
    wide, high = image_sides(reader)
    patch = reader.whole("pixels", "patch_size") or 1
    channels = reader.whole("heads", "num_channels") or 3
    beside = _heads(reader, hidden)
    if has_errors(reader.problems):
        return None, reader.problems
    patches = max(wide // patch, 1) * max(high // patch, 1)
    tokens = patches + family.position_extra
    head_dim = max(hidden // heads, 1)
    kind = AttentionKind(layers, heads, heads, head_dim, head_dim)
    sizes = Sizes(layers, hidden, ffn, layers, vocabulary=0, attentions=(kind,), positions=patches, tied=True)
    count = transformer(sizes, family).parameters + family.position_extra * hidden
    count += linear(channels * patch * patch, hidden, family.patch_bias)
    count += layers * family.layer_scales * hidden + (hidden if family.mask_token else 0)
    if family.pooling_head:
        count += hidden + 4 * linear(hidden, hidden, True) + norm(hidden, True)
        count += linear(hidden, ffn, True) + linear(ffn, hidden, True)
    count += beside
    shape = ModelShape(
        name=name,
        kind="vit",
        parameters=count,
        layers=layers,
        hidden_size=hidden,
        ffn_size=ffn,
        gated_ffn=family.gated,
        heads=heads,
        kv_heads=heads,
        head_dim=head_dim,
        image_size=round((wide * high) ** 0.5),
        positions=tokens,
        assumed=("parameters", "flops_per_sample"),
        flops_per_sample=2.0 * count * tokens + 4.0 * layers * heads * head_dim * tokens**2,
        peak_bytes_per_sample=4.0 * tokens * (ffn + 4 * hidden),
    )
    return shape, reader.problems


def image_sides(reader: Reader, otherwise: int = 224) -> tuple[int, int]:
    """Width and height: one number for both, or two."""
    _, given = reader.raw("image_size")
    if isinstance(given, list) and len(given) == 2:
        both = Reader({"0": given[0], "1": given[1]}, reader.path("image_size"), reader.problems)
        return both.whole("pixels", "0") or 1, both.whole("pixels", "1") or 1
    side = reader.whole("pixels", "image_size") or otherwise
    return side, side


def labels(reader: Reader, otherwise: int = 0) -> int:
    """How many classes the configuration tells apart."""
    named = reader.raw("id2label")[1]
    if isinstance(named, dict) and 0 < len(named) <= LIMITS["vocabulary"][1]:
        return len(named)
    return reader.count("vocabulary", "num_labels") or otherwise


def _heads(reader: Reader, hidden: int) -> int:
    """Parameters of a classifier, a pooler or a projection, where the class that was saved has one."""
    saved = architecture(reader)
    if saved.endswith(PROJECTS):
        return hidden * reader.count("hidden", "projection_dim")
    if saved.endswith("ForImageClassification"):
        return linear(hidden, labels(reader, 2), True)
    return linear(hidden, hidden, True) if saved in ("ViTModel", "DeiTModel") else 0


def read_twins(outer: Reader, towers: tuple[str, str], name: str) -> IntakeResult:
    """CLIP and SigLIP: a tower for texts and one for images, each projected to one space."""
    text, images = outer.inner("text_config"), outer.inner("vision_config")
    if text is None or images is None:
        outer.complain("", "lacks text_config or vision_config", "give parameters and image_size as a mapping instead")
        return None, outer.problems
    shape, _ = read_vision(images, FAMILIES[towers[1]], name)
    needed = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
    missing = [key for key in needed if not text.has(key)]
    if missing:
        text.complain("", f"lacks {', '.join(missing)}", "write out what the library assumes")
    if shape is None or has_errors(outer.problems):
        return None, outer.problems
    described = describe(text, FAMILIES[towers[0]])
    width = outer.count("hidden", "projection_dim")
    if has_errors(outer.problems):
        return None, outer.problems
    if architecture(outer) == "StableDiffusionSafetyChecker":
        # The tower of images alone, projected, with 17 unwanted concepts, 3 of special care, and a threshold for each.
        total = shape.parameters + shape.hidden_size * width + 20 * width + 20
        return coming_to(shape, total), outer.problems
    hidden = described.sizes.hidden
    # SigLIP projects texts alone, and learns a scale and a bias; CLIP projects both, and learns a scale.
    ends = (
        (hidden + shape.hidden_size) * width + 1 if towers[0] == "clip_text_model" else linear(hidden, hidden, True) + 2
    )
    total = shape.parameters + transformer(described.sizes, FAMILIES[towers[0]]).parameters + ends
    outer.complain("text_config", "counts as held in memory; the operations are those of an image", "", "warning")
    return coming_to(shape, total), outer.problems


def coming_to(shape: ModelShape, total: int) -> ModelShape:
    """The shape with so many parameters, all of which every sample passes through and training trains."""
    return replace(shape, parameters=total, active_parameters=total, trained_parameters=total, parts=())
