"""Configurations of convolutional networks and detectors: ResNet, ConvNeXt, Swin, DETR, YOLOS.

As huggingface/transformers builds them (src/transformers/models/<model_type>), at the image size they were published
for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from whygpu.checks.model_shape import ModelShape
from whygpu.intake.diffusers.layers import (
    Cost,
    attention,
    convolution,
    feed_forward,
    linear,
    norm,
    scores,
    whole_numbers,
)
from whygpu.intake.huggingface import keys
from whygpu.intake.huggingface.sizes import architecture
from whygpu.intake.huggingface.vision import image_sides, labels
from whygpu.intake.limits import Reader
from whygpu.intake.problems import IntakeResult, has_errors

SQUARE = 9


@dataclass(frozen=True, slots=True)
class Counted:
    """One network at one size of image: its kind, its cost, and the two largest neighbouring tensors (numbers)."""

    kind: str
    cost: Cost
    image: int
    peak: float
    layers: int


def read_convolutional(reader: Reader, model_type: str, name: str) -> IntakeResult:
    """The shape of a configuration of one of these types. Never raises on bad input."""
    counted = CONVOLUTIONAL[model_type](reader)
    if has_errors(reader.problems):
        return None, reader.problems
    shape = ModelShape(
        name=name,
        kind=counted.kind,
        parameters=counted.cost.parameters,
        layers=counted.layers,
        gated_ffn=False,
        image_size=counted.image,
        flops_per_sample=counted.cost.flops,
        peak_bytes_per_sample=4.0 * counted.peak,
        assumed=("parameters", "flops_per_sample", "peak_bytes_per_sample", "image_size"),
    )
    return shape, reader.problems


def _classifier(reader: Reader, width: int) -> Cost:
    return linear(width, labels(reader, 2), 1) if architecture(reader).endswith("ForImageClassification") else Cost()


def _resnet(reader: Reader) -> Counted:
    """ResNet (He et al. 2015, arXiv:1512.03385), in the form that halves at the middle convolution."""
    widths = whole_numbers(reader, "hidden", "hidden_sizes", (256, 512, 1024, 2048))
    depths = whole_numbers(reader, "layers", "depths", (3, 4, 6, 3), len(widths))
    stem = reader.whole("hidden", "embedding_size") or 64
    deep = reader.text("layer_type") != "basic"
    if reader.flag(False, "downsample_in_bottleneck") or reader.flag(False, "downsample_in_first_stage"):
        reader.complain("downsample_in_first_stage", "is not counted")
    cost = _residual_stages(224, stem, widths, depths, deep) + _classifier(reader, widths[-1])
    return Counted("cnn", cost, 224, 2 * stem * 112.0**2, sum(depths))


def _residual_stages(
    side: float, stem: int, widths: tuple[int, ...], depths: tuple[int, ...], deep: bool, *, normed: bool = True
) -> Cost:
    """Stem and stages; `normed` False where the norms are frozen, and so are no parameters."""

    def block(inputs: int, outputs: int, window: int, at: float) -> Cost:
        return convolution(inputs, outputs, window, at, bias=False) + (norm(outputs) if normed else Cost())

    total = block(3, stem, 49, (side / 2) ** 2)
    side /= 4
    for stage, (before, width) in enumerate(pairwise((stem, *widths))):
        old, side = side, side / 2 if stage else side
        inner, at = width // 4 if deep else width, side**2
        first = block(before, inner, 1, old**2) if deep else block(before, inner, SQUARE, at)
        rest = block(width, inner, 1, at) if deep else block(width, inner, SQUARE, at)
        tail = block(inner, inner, SQUARE, at) + (block(inner, width, 1, at) if deep else Cost())
        total += first + tail + (rest + tail).times(depths[stage] - 1)
        if before != width or stage:
            total += block(before, width, 1, at)
    return total


def _convnext(reader: Reader) -> Counted:
    """ConvNeXt (Liu et al. 2022, arXiv:2201.03545)."""
    widths = whole_numbers(reader, "hidden", "hidden_sizes", (96, 192, 384, 768))
    depths = whole_numbers(reader, "layers", "depths", (3, 3, 9, 3), len(widths))
    patch, (side, _) = reader.whole("pixels", "patch_size") or 4, image_sides(reader)
    area = (side / patch) ** 2
    total = convolution(3, widths[0], patch * patch, area) + norm(widths[0])
    peak = 2 * 4 * widths[0] * area
    for stage, (before, width) in enumerate(pairwise((widths[0], *widths))):
        if stage:
            area /= 4
            total += norm(before) + convolution(before, width, 4, area)
        layer = Cost(width * 49 + width, 2.0 * width * 49 * area) + norm(width) + feed_forward(width, 4 * width, area)
        total += (layer + Cost(width)).times(depths[stage])
    return Counted("cnn", total + norm(widths[-1]) + _classifier(reader, widths[-1]), side, peak, sum(depths))


def _swin(reader: Reader) -> Counted:
    """Swin (Liu et al. 2021, arXiv:2103.14030): attention within windows that shift."""
    width, (side, _) = reader.whole("hidden", "embed_dim") or 96, image_sides(reader)
    depths = whole_numbers(reader, "layers", "depths", (2, 2, 6, 2))
    heads = whole_numbers(reader, "heads", "num_heads", (3, 6, 12, 24)[: len(depths)], len(depths))
    patch, window = reader.whole("pixels", "patch_size") or 4, reader.whole("pixels", "window_size") or 7
    ratio = reader.number("ratio", "mlp_ratio") or 4.0
    area = (side / patch) ** 2
    total, peak = convolution(3, width, patch * patch, area) + norm(width), 2 * 4 * width * area
    for stage, depth in enumerate(depths):
        layer = norm(width).times(2) + linear(width, width, area).times(4) + scores(width, area, window**2)
        layer += Cost((2 * window - 1) ** 2 * heads[stage]) + feed_forward(width, round(ratio * width), area)
        total += layer.times(depth)
        if stage < len(depths) - 1:
            area /= 4
            total += norm(4 * width) + linear(4 * width, 2 * width, area, bias=False)
            width *= 2
    return Counted("vit", total + norm(width) + _classifier(reader, width), side, peak, sum(depths))


def _detr(reader: Reader) -> Counted:
    """DETR (Carion et al. 2020, arXiv:2005.12872) on a ResNet with frozen norms, at the 800 x 1066 of its table 1."""
    width = reader.whole("hidden", "d_model") or 256
    inner, outer = (reader.whole("hidden", key) or 2048 for key in ("encoder_ffn_dim", "decoder_ffn_dim"))
    layers, upper = (reader.whole("layers", key) or 6 for key in ("encoder_layers", "decoder_layers"))
    queries = reader.whole("tokens", "num_queries") or 100
    backbone = reader.text("backbone") or "resnet50"
    depths = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3)}.get(backbone)
    if depths is None or reader.flag(False, "dilation"):
        reader.complain("backbone", f"{backbone} is not counted, or not with its dilation", "give parameters")
        depths = (1, 1, 1, 1)
    side = round((800 * 1066) ** 0.5)
    tokens = (side / 32) ** 2
    total = _residual_stages(side, 64, (256, 512, 1024, 2048), depths, True, normed=False)
    total += linear(2048, width, tokens) + Cost(queries * width) + norm(width)
    layer = attention(width, tokens, bias=True) + norm(width).times(2) + feed_forward(width, inner, tokens)
    above = attention(width, queries, bias=True) + attention(width, queries, width, tokens, bias=True)
    above += norm(width).times(3) + feed_forward(width, outer, queries)
    total += layer.times(layers) + above.times(upper) + _boxes(reader, width, queries, last_linear=True)
    return Counted("detector", total, side, 2 * 64 * (side / 2) ** 2, layers + upper)


def _yolos(reader: Reader) -> Counted:
    """YOLOS (Fang et al. 2021, arXiv:2106.00666): a vision transformer with a token for each object it may find."""
    width, layers = reader.whole("hidden", *keys.HIDDEN) or 768, reader.whole("layers", *keys.LAYERS) or 12
    inner, patch = reader.whole("hidden", *keys.FFN) or 4 * width, reader.whole("pixels", "patch_size") or 16
    found, (high, wide) = reader.whole("tokens", "num_detection_tokens") or 100, image_sides(reader, 512)
    patches = (high // patch) * (wide // patch)
    tokens = 1.0 + patches + found
    total = convolution(3, width, patch * patch, patches) + Cost(round(tokens) * width) + Cost((1 + found) * width)
    if reader.flag(True, "use_mid_position_embeddings"):
        total += Cost((layers - 1) * round(tokens) * width)
    layer = attention(width, tokens, bias=True) + norm(width).times(2) + feed_forward(width, inner, tokens)
    total += layer.times(layers) + norm(width) + _boxes(reader, width, found, last_linear=False)
    return Counted("detector", total, round((high * wide) ** 0.5), tokens * (inner + 4 * width), layers)


def _boxes(reader: Reader, width: int, queries: int, *, last_linear: bool) -> Cost:
    """The class of each object, by one layer or by three, and its box by three."""
    if not architecture(reader).endswith("ForObjectDetection"):
        return Cost()
    hidden, classes = linear(width, width, queries).times(2), labels(reader, 91) + 1
    named = linear(width, classes, queries) if last_linear else hidden + linear(width, classes, queries)
    return named + hidden + linear(width, 4, queries)


CONVOLUTIONAL: Mapping[str, Callable[[Reader], Counted]] = {
    "resnet": _resnet,
    "convnext": _convnext,
    "swin": _swin,
    "detr": _detr,
    "table-transformer": _detr,
    "yolos": _yolos,
}
