"""Autoencoders of clips: their parameters, as diffusers builds them from their configurations.

huggingface/diffusers, src/diffusers/models/autoencoders. What decoding takes is left out: it is little beside the
denoiser's work over a clip.
"""

from __future__ import annotations

from itertools import pairwise

from whygpu.intake.diffusers.layers import Cost, convolution, linear, norm, whole_numbers
from whygpu.intake.diffusers.network import Network
from whygpu.intake.limits import Reader

CUBE = 27  # positions under the window of a convolution over a clip
SQUARE = 9


def wan_autoencoder(reader: Reader) -> Network | None:
    """AutoencoderKLWan of Wan 2.1, which Qwen-Image uses too (as AutoencoderKLQwenImage)."""
    base, latent = reader.whole("hidden", "base_dim") or 96, reader.whole("heads", "z_dim") or 16
    widths = [base * by for by in whole_numbers(reader, "heads", "dim_mult", (1, 2, 4, 4))]
    each = reader.whole("layers", "num_res_blocks") or 2
    inputs, outputs = reader.whole("heads", "in_channels") or 3, reader.whole("heads", "out_channels") or 3
    _, in_time = reader.raw("temperal_downsample")
    in_time = [False, True, True] if in_time is None else in_time
    if not isinstance(in_time, list) or len(in_time) != len(widths) - 1:
        reader.complain("temperal_downsample", "is not a list with one flag for each stage but the last")
    if reader.flag(False, "is_residual") or reader.raw("attn_scales")[1]:
        reader.complain("", "has parts that are not counted: is_residual or attn_scales")
    if reader.problems:
        return None
    last = len(widths) - 1
    encoder = convolution(inputs, widths[0], CUBE) + _middle(widths[-1]) + norm(widths[-1], bias=False)
    encoder += convolution(widths[-1], 2 * latent, CUBE) + linear(2 * latent, 2 * latent)
    for stage, (before, width) in enumerate(pairwise((widths[0], *widths))):
        encoder += _block(before, width) + _block(width, width).times(each - 1)
        if stage < last:
            encoder += convolution(width, width, SQUARE)
            encoder += convolution(width, width, 3) if in_time[stage] else Cost()
    decoder = linear(latent, latent) + convolution(latent, widths[-1], CUBE) + _middle(widths[-1])
    decoder += norm(widths[0], bias=False) + convolution(widths[0], outputs, CUBE)
    for stage in reversed(range(len(widths))):
        width = widths[stage]
        before = width if stage == last else widths[stage + 1] // 2
        decoder += _block(before, width) + _block(width, width).times(each)
        if stage:
            decoder += convolution(width, width // 2, SQUARE)
            decoder += convolution(width, 2 * width, 3) if in_time[stage - 1] else Cost()
    return Network((encoder + decoder).parameters, stages=last)


def _block(before: int, width: int) -> Cost:
    total = norm(before, bias=False) + convolution(before, width, CUBE) + norm(width, bias=False)
    total += convolution(width, width, CUBE)
    return total if before == width else total + linear(before, width)


def _middle(width: int) -> Cost:
    return _block(width, width).times(2) + norm(width, bias=False) + linear(width, width).times(4)


def cogvideox_autoencoder(reader: Reader) -> Network | None:
    """AutoencoderKLCogVideoX, whose decoder norms by the latents."""
    widths = whole_numbers(reader, "hidden", "block_out_channels", (128, 256, 256, 512))
    latent, each = reader.whole("heads", "latent_channels") or 16, reader.whole("layers", "layers_per_block") or 3
    inputs, outputs = reader.whole("heads", "in_channels") or 3, reader.whole("heads", "out_channels") or 3
    if reader.flag(False, "use_quant_conv") or reader.flag(False, "use_post_quant_conv"):
        reader.complain("use_quant_conv", "is not counted")
    if reader.problems:
        return None
    last = len(widths) - 1
    encoder = convolution(inputs, widths[0], CUBE) + _spatial(widths[-1], widths[-1], 0).times(2) + norm(widths[-1])
    encoder += convolution(widths[-1], 2 * latent, CUBE)
    for stage, (before, width) in enumerate(pairwise((widths[0], *widths))):
        encoder += _spatial(before, width, 0) + _spatial(width, width, 0).times(each - 1)
        encoder += convolution(width, width, SQUARE) if stage < last else Cost()
    decoder = convolution(latent, widths[-1], CUBE) + _spatial(widths[-1], widths[-1], latent).times(2)
    decoder += _spatial_norm(widths[0], latent) + convolution(widths[0], outputs, CUBE)
    for stage in reversed(range(len(widths))):
        before, width = widths[min(stage + 1, last)], widths[stage]
        decoder += _spatial(before, width, latent) + _spatial(width, width, latent).times(each)
        decoder += convolution(width, width, SQUARE) if stage else Cost()
    return Network((encoder + decoder).parameters, stages=last)


def _spatial_norm(width: int, latent: int) -> Cost:
    return norm(width) + linear(latent, width).times(2) if latent else norm(width)


def _spatial(before: int, width: int, latent: int) -> Cost:
    total = _spatial_norm(before, latent) + convolution(before, width, CUBE)
    total += _spatial_norm(width, latent) + convolution(width, width, CUBE)
    return total if before == width else total + linear(before, width)
