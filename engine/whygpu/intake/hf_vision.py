"""A vision transformer's config.json: tokens are the patches of an image."""

from __future__ import annotations

from whygpu.checks.shape import ModelShape
from whygpu.intake import keys
from whygpu.intake.count import AttentionKind, Sizes, linear, transformer
from whygpu.intake.families import Family
from whygpu.intake.limits import Reader
from whygpu.intake.problems import IntakeResult, has_errors

NEEDED = {
    "num_hidden_layers": keys.LAYERS,
    "hidden_size": keys.HIDDEN,
    "num_attention_heads": keys.HEADS,
    "image_size": ("image_size",),
    "patch_size": ("patch_size",),
}


def read_vision(reader: Reader, family: Family, name: str) -> IntakeResult:
    """The shape, with the operations that follow from it: 2 for each parameter and token, and the attention scores."""
    missing = [usual for usual, names in NEEDED.items() if not reader.has(*names)]
    if missing:
        mend = "give the sizes as a mapping instead, or at least parameters and image_size"
        reader.complain("", f"lacks {', '.join(missing)}", mend)
        return None, reader.problems
    layers, hidden = reader.whole("layers", *keys.LAYERS) or 1, reader.whole("hidden", *keys.HIDDEN) or 1
    heads = reader.whole("heads", *keys.HEADS) or 1
    ffn = reader.whole("hidden", *keys.FFN) or family.default_ffn * hidden
    image, patch = reader.whole("pixels", "image_size") or 1, reader.whole("pixels", "patch_size") or 1
    channels = reader.whole("heads", "num_channels") or 3
    if has_errors(reader.problems):
        return None, reader.problems
    patches = max(image // patch, 1) ** 2
    tokens = patches + family.position_extra
    head_dim = max(hidden // heads, 1)
    kind = AttentionKind(layers, heads, heads, head_dim, head_dim)
    sizes = Sizes(layers, hidden, ffn, layers, vocabulary=0, attentions=(kind,), positions=patches, tied=True)
    count = transformer(sizes, family).parameters + family.position_extra * hidden
    count += linear(channels * patch * patch, hidden, True)
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
        image_size=image,
        positions=tokens,
        assumed=("parameters", "flops_per_sample"),
        flops_per_sample=2.0 * count * tokens + 4.0 * layers * heads * head_dim * tokens**2,
        peak_bytes_per_sample=4.0 * tokens * (ffn + 4 * hidden),
    )
    return shape, reader.problems
