"""Convolutional networks of diffusion pipelines: the U-Net that denoises, and the autoencoder of images.

As diffusers builds them from their configurations (huggingface/diffusers, src/diffusers/models/unets and autoencoders).
"""

from __future__ import annotations

from itertools import pairwise

from whygpu.intake.diffusers.layers import (
    Cost,
    attention,
    convolution,
    embedding,
    linear,
    norm,
    scores,
    whole_numbers,
    words,
)
from whygpu.intake.diffusers.network import Network
from whygpu.intake.limits import Reader

PROMPT = 77  # tokens of a prompt that CLIP reads
IMAGE = 3 * 3  # positions under the window of a convolution over an image
_PLAIN, _CROSS = ("DownBlock2D", "UpBlock2D"), ("CrossAttnDownBlock2D", "CrossAttnUpBlock2D")
_UNCOUNTED = ("encoder_hid_dim", "encoder_hid_dim_type", "class_embed_type", "num_class_embeds", "cross_attention_norm",
              "reverse_transformer_layers_per_block", "time_embedding_dim", "attention_type")  # fmt: skip


def unet(reader: Reader) -> Network | None:
    """UNet2DConditionModel (Rombach et al. 2022, arXiv:2112.10752; Podell et al. 2023, arXiv:2307.01952)."""
    widths = whole_numbers(reader, "hidden", "block_out_channels", (320, 640, 1280, 1280))
    stages = len(widths)
    down = words(reader, "down_block_types", (_CROSS[0],) * 3 + (_PLAIN[0],))
    up = words(reader, "up_block_types", (_PLAIN[1],) + (_CROSS[1],) * 3)
    depths = whole_numbers(reader, "layers", "transformer_layers_per_block", (1,) * stages, stages)
    each = whole_numbers(reader, "layers", "layers_per_block", (2,) * stages, stages)
    source = reader.whole("hidden", "cross_attention_dim") or 1280
    side = reader.whole("pixels", "sample_size") or 64
    inputs, outputs = reader.whole("heads", "in_channels") or 4, reader.whole("heads", "out_channels") or 4
    odd = sorted({name for name in (*down, *up) if name not in _PLAIN + _CROSS})
    apart = [key for key in _UNCOUNTED if reader.has(key) and reader.data[key] not in ("default", False)]
    added = reader.text("addition_embed_type")
    if odd or apart or added not in ("", "text_time") or len(down) != stages or len(up) != stages:
        reader.complain("", f"has parts that are not counted: {', '.join([*odd, *apart, added][:4]) or 'its stages'}")
        return None
    if reader.problems:
        return None
    time = 4 * widths[0]
    areas = [(side / 2**stage) ** 2 for stage in range(stages)]
    total = embedding(widths[0], time) + convolution(inputs, widths[0], IMAGE, areas[0])
    if added:
        total += embedding(reader.whole("hidden", "projection_class_embeddings_input_dim") or time, time)
    if reader.has("time_cond_proj_dim"):
        total += linear(reader.whole("hidden", "time_cond_proj_dim") or 1, widths[0], 1, bias=False)
    for stage, (before, width) in enumerate(pairwise((widths[0], *widths))):
        total += _resnet(before, width, areas[stage], time) + _resnet(width, width, areas[stage], time).times(
            each[stage] - 1
        )
        if down[stage] in _CROSS:
            total += _transformer(width, source, areas[stage], depths[stage]).times(each[stage])
        if stage < stages - 1:
            total += convolution(width, width, IMAGE, areas[stage + 1])
    total += _resnet(widths[-1], widths[-1], areas[-1], time).times(2)
    if reader.data.get("mid_block_type", "UNetMidBlock2DCrossAttn") is not None:
        total += _transformer(widths[-1], source, areas[-1], depths[-1])
    for stage in reversed(range(stages)):
        before, below = widths[min(stage + 1, stages - 1)], widths[max(stage - 1, 0)]
        width, location, count = widths[stage], stages - 1 - stage, each[stage] + 1
        for number in range(count):
            skipped = below if number == count - 1 else width
            total += _resnet((width if number else before) + skipped, width, areas[stage], time)
        if up[location] in _CROSS:
            total += _transformer(width, source, areas[stage], depths[stage]).times(count)
        if stage:
            total += convolution(width, width, IMAGE, areas[stage - 1])
    total += norm(widths[0]) + convolution(widths[0], outputs, IMAGE, areas[0])
    blocks = sum(count * depth for count, depth, name in zip(each, depths, down, strict=True) if name in _CROSS)
    blocks += sum((each[-1 - i] + 1) * depths[-1 - i] for i, name in enumerate(up) if name in _CROSS) + depths[-1]
    return Network(total.parameters, total.flops, total.square, layers=blocks, latent_side=side)


def _resnet(before: int, width: int, at: float, time: int = 0) -> Cost:
    """Two convolutions with norms, the time step added between them, and a bypass where the width changes."""
    total = norm(before) + convolution(before, width, IMAGE, at) + norm(width) + convolution(width, width, IMAGE, at)
    if time:
        total += linear(time, width, 1)
    return total if before == width else total + linear(before, width, at)


def _transformer(width: int, source: int, at: float, depth: int) -> Cost:
    """Blocks of attention to the image, attention to the prompt, and a gated feed-forward, between two projections."""
    block = norm(width).times(3) + attention(width, at) + attention(width, at, source, PROMPT)
    block += linear(width, 8 * width, at) + linear(4 * width, width, at)
    return norm(width) + linear(width, width, at).times(2) + block.times(depth)


def autoencoder(reader: Reader) -> Network | None:
    """AutoencoderKL; its operations are those of decoding one image."""
    widths = whole_numbers(reader, "hidden", "block_out_channels", (64,))
    each = reader.whole("layers", "layers_per_block") or 1
    latent, side = reader.whole("heads", "latent_channels") or 4, reader.whole("pixels", "sample_size") or 32
    inputs, outputs = reader.whole("heads", "in_channels") or 3, reader.whole("heads", "out_channels") or 3
    odd = {*words(reader, "down_block_types", ("DownEncoderBlock2D",)), *words(reader, "up_block_types", ())}
    odd -= {"DownEncoderBlock2D", "UpDecoderBlock2D"}
    if odd:
        reader.complain("", f"has parts that are not counted: {', '.join(sorted(odd))}")
    middle = reader.flag(True, "mid_block_add_attention")
    quantized = (reader.flag(True, "use_quant_conv"), reader.flag(True, "use_post_quant_conv"))
    if reader.problems:
        return None
    last = len(widths) - 1
    areas = [(side / 2**stage) ** 2 for stage in range(len(widths))]
    encoder = convolution(inputs, widths[0], IMAGE) + _middle(widths[-1], 0.0, middle) + norm(widths[-1])
    encoder += convolution(widths[-1], 2 * latent, IMAGE)
    decoder = convolution(latent, widths[-1], IMAGE, areas[-1]) + _middle(widths[-1], areas[-1], middle)
    decoder += norm(widths[0]) + convolution(widths[0], outputs, IMAGE, areas[0])
    for stage, (before, width) in enumerate(pairwise((widths[0], *widths))):
        encoder += _resnet(before, width, 0.0) + _resnet(width, width, 0.0).times(each - 1)
        encoder += convolution(width, width, IMAGE) if stage < last else Cost()
    for stage in reversed(range(len(widths))):
        before, width, at = widths[min(stage + 1, last)], widths[stage], areas[stage]
        decoder += _resnet(before, width, at) + _resnet(width, width, at).times(each)
        decoder += convolution(width, width, IMAGE, areas[stage - 1]) if stage else Cost()
    beside = linear(2 * latent, 2 * latent).times(quantized[0]) + linear(latent, latent, areas[-1]).times(quantized[1])
    # The last stage takes what the one before it left at full size: two such tensors stand beside each other.
    peak = 2 * 4.0 * widths[min(1, last)] * areas[0]
    return Network(
        (encoder + beside).parameters + decoder.parameters, decoder.flops, image_side=side, stages=last, peak_bytes=peak
    )


def _middle(width: int, at: float, attends: bool) -> Cost:
    """Two residual blocks, with one head of attention between them."""
    total = _resnet(width, width, at).times(2)
    return total + norm(width) + linear(width, width, at).times(4) + scores(width, at, at) if attends else total
