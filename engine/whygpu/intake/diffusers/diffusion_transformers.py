"""Transformers that denoise images or clips, as diffusers builds them from their configurations.

huggingface/diffusers, src/diffusers/models/transformers. Each works on the patches of a clip (an image is a clip of one
frame) in latents 8 times smaller to a side, beside the tokens of its prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from whygpu.intake.diffusers.layers import (
    Cost,
    attention,
    convolution,
    embedding,
    feed_forward,
    linear,
    norm,
    scores,
    whole_numbers,
)
from whygpu.intake.diffusers.network import Network
from whygpu.intake.limits import Reader

STEP = 256  # width of the sines that encode a time step
LATENT = 8  # pixels to a latent, each way
FRAMES = 4  # frames to a latent one, after the first


@dataclass(frozen=True, slots=True)
class _Body:
    """The width, depth and heads that all of them have."""

    width: int
    layers: int
    head: int

    @classmethod
    def of(cls, reader: Reader, heads: int, head: int, layers: int) -> _Body:
        head = reader.whole("head", "attention_head_dim") or head
        heads = reader.whole("heads", "num_attention_heads") or heads
        return cls(heads * head, reader.whole("layers", "num_layers") or layers, head)

    def network(self, total: Cost, side: int, tokens: float, inner: int, layers: int = 0, frames: int = 0) -> Network:
        """At its peak it holds what goes into a feed-forward and what comes out between its layers."""
        peak = 4.0 * tokens * (inner + self.width)
        return Network(
            total.parameters,
            total.flops,
            total.square,
            layers or self.layers,
            latent_side=side,
            peak_bytes=peak,
            frames=frames,
        )


def _joint_attention(body: _Body, image: float, text: float) -> Cost:
    """Image and prompt each with their own four projections, attending to both together."""
    each = linear(body.width, body.width, image).times(4) + linear(body.width, body.width, text).times(4)
    return each + scores(body.width, image + text, image + text)


def flux(reader: Reader) -> Network | None:
    """FluxTransformer2DModel: blocks that keep image and prompt apart, then blocks that do not."""
    body = _Body.of(reader, 24, 128, 19)
    single = reader.whole("layers", "num_single_layers") or 38
    inputs, source = reader.whole("hidden", "in_channels") or 64, reader.whole("hidden", "joint_attention_dim") or 4096
    outputs = reader.whole("hidden", "out_channels") or inputs
    pooled = reader.whole("hidden", "pooled_projection_dim") or 768
    guided = reader.flag(False, "guidance_embeds")
    if reader.problems:
        return None
    width, side, text = body.width, 128, 512.0
    image = (side / 2) ** 2
    total = (
        linear(inputs, width, image) + linear(source, width, text) + embedding(STEP, width) + embedding(pooled, width)
    )
    total += embedding(STEP, width) if guided else Cost()
    double = linear(width, 6 * width, 1).times(2) + _joint_attention(body, image, text) + norm(body.head).times(2)
    double += feed_forward(width, 4 * width, image) + feed_forward(width, 4 * width, text)
    tokens = image + text
    one = linear(width, 3 * width, 1) + linear(width, width, tokens).times(3) + scores(width, tokens, tokens)
    one += norm(body.head) + linear(width, 4 * width, tokens) + linear(5 * width, width, tokens)
    total += double.times(body.layers) + one.times(single)
    total += linear(width, 2 * width, 1) + linear(width, outputs, image)
    return body.network(total, side, tokens, 4 * width, body.layers + single)


def flux2(reader: Reader) -> Network | None:
    """Flux2Transformer2DModel: as before without biases, gated, and modulated once for all blocks of a kind."""
    body = _Body.of(reader, 48, 128, 8)
    single = reader.whole("layers", "num_single_layers") or 48
    inputs = reader.whole("hidden", "in_channels") or 128
    source = reader.whole("hidden", "joint_attention_dim") or 15360
    outputs = reader.whole("hidden", "out_channels") or inputs
    step = reader.whole("hidden", "timestep_guidance_channels") or STEP
    inner = round((reader.number("ratio", "mlp_ratio") or 3.0) * body.width)
    guided = reader.flag(True, "guidance_embeds")
    if reader.problems:
        return None
    width, side, text = body.width, 128, 512.0
    image = (side / 2) ** 2
    tokens = image + text

    def plain(one: int, other: int, at: float) -> Cost:
        return linear(one, other, at, bias=False)

    total = plain(inputs, width, image) + plain(source, width, text) + plain(width, 15 * width, 1)
    total += (plain(step, width, 1) + plain(width, width, 1)).times(2 if guided else 1)
    double = plain(width, 4 * width, image) + plain(width, 4 * width, text) + scores(width, tokens, tokens)
    for at in (image, text):
        double += plain(width, 2 * inner, at) + plain(inner, width, at) + norm(body.head)
    one = plain(width, 3 * width + 2 * inner, tokens) + plain(width + inner, width, tokens) + norm(body.head)
    total += double.times(body.layers) + (one + scores(width, tokens, tokens)).times(single)
    total += plain(width, 2 * width, 1) + plain(width, outputs, image)
    return body.network(total, side, tokens, 2 * inner, body.layers + single)


def sd3(reader: Reader) -> Network | None:
    """SD3Transformer2DModel (Esser et al. 2024, arXiv:2403.03206); 3.5 norms queries and keys."""
    body = _Body.of(reader, 18, 64, 18)
    patch, side = reader.whole("pixels", "patch_size") or 2, reader.whole("pixels", "sample_size") or 128
    inputs, source = reader.whole("heads", "in_channels") or 16, reader.whole("hidden", "joint_attention_dim") or 4096
    outputs = reader.whole("heads", "out_channels") or inputs
    pooled = reader.whole("hidden", "pooled_projection_dim") or 2048
    twice = reader.raw("dual_attention_layers")[1]
    twice = len(twice) if isinstance(twice, (list, tuple)) else 0
    normed = bool(reader.text("qk_norm"))
    if twice > body.layers:
        reader.complain("dual_attention_layers", f"names {twice} layers of {body.layers}")
    if reader.problems:
        return None
    width, text, image = body.width, 333.0, (side / patch) ** 2
    total = convolution(inputs, width, patch * patch, image) + linear(source, width, text)
    total += embedding(STEP, width) + embedding(pooled, width)
    block = linear(width, 6 * width, 1).times(2) + _joint_attention(body, image, text)
    block += feed_forward(width, 4 * width, image) + feed_forward(width, 4 * width, text)
    block += norm(body.head).times(2) if normed else Cost()
    again = linear(width, 3 * width, 1) + attention(width, image, bias=True)
    again += norm(body.head) if normed else Cost()
    total += block.times(body.layers) + again.times(twice)
    # The last block gives no prompt back: two of six modulations are left of it, and no output of its own.
    spared = linear(width, 4 * width, 1) + linear(width, width, text) + feed_forward(width, 4 * width, text)
    total += spared.times(-1) + linear(width, 2 * width, 1) + linear(width, patch * patch * outputs, image)
    return body.network(total, side, image + text, 4 * width)


def pixart(reader: Reader) -> Network | None:
    """PixArtTransformer2DModel (Chen et al. 2023, arXiv:2310.00426): cross-attention to the prompt."""
    body = _Body.of(reader, 16, 72, 28)
    patch, side = reader.whole("pixels", "patch_size") or 2, reader.whole("pixels", "sample_size") or 128
    inputs, outputs = reader.whole("heads", "in_channels") or 4, reader.whole("heads", "out_channels") or 8
    caption = reader.whole("hidden", "caption_channels") or 4096
    sized = reader.flag(side == 128, "use_additional_conditions")
    if reader.problems:
        return None
    width, text, image = body.width, 300.0, (side / patch) ** 2
    total = convolution(inputs, width, patch * patch, image) + linear(caption, width, text) + linear(width, width, text)
    total += embedding(STEP, width) + linear(width, 6 * width, 1)
    # Two sides and a ratio of the image, each a third of the width.
    total += embedding(STEP, width // 3).times(2) if sized else Cost()
    block = attention(width, image, bias=True) + attention(width, image, width, text, bias=True)
    block += feed_forward(width, 4 * width, image) + Cost(6 * width)
    total += block.times(body.layers) + Cost(2 * width) + linear(width, patch * patch * outputs, image)
    return body.network(total, side, image, 4 * width)


def cogvideox(reader: Reader) -> Network | None:
    """CogVideoXTransformer3DModel (Yang et al. 2024, arXiv:2408.06072): one sequence of prompt and clip."""
    body = _Body.of(reader, 30, 64, 30)
    patch = reader.whole("pixels", "patch_size") or 2
    deep = reader.count("pixels", "patch_size_t")
    inputs, outputs = reader.whole("heads", "in_channels") or 16, reader.whole("heads", "out_channels") or 16
    source, time = reader.whole("hidden", "text_embed_dim") or 4096, reader.whole("hidden", "time_embed_dim") or 512
    high, wide = reader.whole("pixels", "sample_height") or 60, reader.whole("pixels", "sample_width") or 90
    frames = reader.whole("pixels", "sample_frames") or 49
    shrink = reader.whole("pixels", "temporal_compression_ratio") or FRAMES
    text = reader.whole("tokens", "max_text_seq_length") or 226
    learned = reader.flag(False, "use_learned_positional_embeddings")
    offset = reader.count("hidden", "ofs_embed_dim")
    bias = reader.flag(True, "patch_bias")
    if reader.problems:
        return None
    width = body.width
    latent = (frames - 1) // shrink + 1
    image = ceil(latent / (deep or 1)) * (high // patch) * (wide // patch)
    tokens = float(image + text)
    total = linear(inputs * patch * patch * (deep or 1), width, image, bias=bias) + linear(source, width, text)
    total += linear(width, time, 1) + linear(time, time, 1)
    total += embedding(offset, offset) if offset else Cost()
    block = (linear(time, 6 * width, 1) + norm(width)).times(2) + norm(body.head).times(2)
    block += attention(width, tokens, bias=True) + feed_forward(width, 4 * width, tokens)
    total += block.times(body.layers) + norm(width).times(2) + linear(time, 2 * width, 1)
    total += linear(width, patch * patch * (deep or 1) * outputs, image)
    if learned:
        reader.complain("", "learned positions are buffers, which are not counted", "", "warning")
    side = round((high * wide) ** 0.5)
    return body.network(total, side, tokens, 4 * width, frames=frames)


def wan(reader: Reader) -> Network | None:
    """WanTransformer3DModel (Wan 2025, arXiv:2503.20314), at 81 frames of 480 x 832."""
    body = _Body.of(reader, 40, 128, 40)
    patches = whole_numbers(reader, "pixels", "patch_size", (1, 2, 2), 3)
    inputs, outputs = reader.whole("heads", "in_channels") or 16, reader.whole("heads", "out_channels") or 16
    source, step = reader.whole("hidden", "text_dim") or 4096, reader.whole("hidden", "freq_dim") or STEP
    inner = reader.whole("hidden", "ffn_dim") or 13824
    picture, added = reader.count("hidden", "image_dim"), reader.count("hidden", "added_kv_proj_dim")
    crossed = reader.flag(True, "cross_attn_norm")
    across = reader.text("qk_norm") in ("", "rms_norm_across_heads")
    if not across:
        reader.complain("qk_norm", "is not counted")
    if reader.problems:
        return None
    width, text, high, wide, frames = body.width, 512.0, 480 // LATENT, 832 // LATENT, 81
    window = patches[0] * patches[1] * patches[2]
    tokens = float(((frames - 1) // FRAMES + 1) * high * wide // window)
    total = convolution(inputs, width, window, tokens) + embedding(step, width) + linear(width, 6 * width, 1)
    total += linear(source, width, text) + linear(width, width, text)
    if picture:
        total += norm(picture) + linear(picture, picture, 257) + linear(picture, width, 257) + norm(width)
    block = attention(width, tokens, bias=True) + attention(width, tokens, width, text, bias=True)
    block += norm(width, bias=False).times(4) + feed_forward(width, inner, tokens) + Cost(6 * width)
    block += norm(width) if crossed else Cost()
    if added:
        block += linear(added, width, 257).times(2) + norm(width, bias=False) + scores(width, tokens, 257)
    total += block.times(body.layers) + linear(width, outputs * window, tokens) + Cost(2 * width)
    return body.network(total, round((high * wide) ** 0.5), tokens, inner, frames=frames)


def qwen_image(reader: Reader) -> Network | None:
    """QwenImageTransformer2DModel (Wu et al. 2025, arXiv:2508.02324), at 1024 x 1024 with 512 tokens of prompt."""
    body = _Body.of(reader, 24, 128, 60)
    patch, inputs = reader.whole("pixels", "patch_size") or 2, reader.whole("hidden", "in_channels") or 64
    outputs = reader.whole("heads", "out_channels") or 16
    source = reader.whole("hidden", "joint_attention_dim") or 3584
    if reader.problems:
        return None
    width, side, text = body.width, 128, 512.0
    image = (side / patch) ** 2
    total = linear(inputs, width, image) + norm(source, bias=False) + linear(source, width, text)
    total += embedding(STEP, width)
    block = linear(width, 6 * width, 1).times(2) + _joint_attention(body, image, text) + norm(body.head).times(2)
    block += feed_forward(width, 4 * width, image) + feed_forward(width, 4 * width, text)
    total += block.times(body.layers)
    total += linear(width, 2 * width, 1) + linear(width, patch * patch * outputs, image)
    return body.network(total, side, image + text, 4 * width)


def ltx(reader: Reader) -> Network | None:
    """LTXVideoTransformer3DModel (HaCohen et al. 2024, arXiv:2501.00103), at 161 frames of 512 x 704."""
    body = _Body.of(reader, 32, 64, 28)
    inputs, outputs = reader.whole("heads", "in_channels") or 128, reader.whole("heads", "out_channels") or 128
    caption, cross = (reader.whole("hidden", key) or 0 for key in ("caption_channels", "cross_attention_dim"))
    caption, cross = caption or 4096, cross or 2048
    if not (reader.flag(True, "attention_bias") and reader.flag(True, "attention_out_bias")):
        reader.complain("attention_bias", "without it is not counted")
    if reader.problems:
        return None
    # This one's latents are 32 times smaller to a side and 8 times shorter.
    width, text, high, wide = body.width, 128.0, 512 // 32, 704 // 32
    frames = 161
    tokens = float(((frames - 1) // 8 + 1) * high * wide)
    total = linear(inputs, width, tokens) + linear(caption, width, text) + linear(width, width, text)
    total += embedding(STEP, width) + linear(width, 6 * width, 1) + Cost(2 * width)
    block = attention(width, tokens, bias=True) + attention(width, tokens, cross, text, bias=True)
    block += norm(width, bias=False).times(4) + feed_forward(width, 4 * width, tokens) + Cost(6 * width)
    total += block.times(body.layers) + linear(width, outputs, tokens)
    return body.network(total, round((512 * 704) ** 0.5 / LATENT), tokens, 4 * width, frames=frames)


def hunyuan_video(reader: Reader) -> Network | None:
    """HunyuanVideoTransformer3DModel (Kong et al. 2024, arXiv:2412.03603), at 129 frames of 720 x 1280."""
    body = _Body.of(reader, 24, 128, 20)
    single = reader.whole("layers", "num_single_layers") or 40
    refiners = reader.whole("layers", "num_refiner_layers") or 2
    patch, deep = reader.whole("pixels", "patch_size") or 2, reader.whole("pixels", "patch_size_t") or 1
    inputs, outputs = reader.whole("heads", "in_channels") or 16, reader.whole("heads", "out_channels") or 16
    source = reader.whole("hidden", "text_embed_dim") or 4096
    pooled = reader.whole("hidden", "pooled_projection_dim") or 768
    inner = round((reader.number("ratio", "mlp_ratio") or 4.0) * body.width)
    guided = reader.flag(True, "guidance_embeds")
    if reader.problems:
        return None
    width, text, high, wide = body.width, 256.0, 720 // LATENT // patch, 1280 // LATENT // patch
    window = deep * patch * patch
    frames = 129
    image = float(((frames - 1) // FRAMES + 1) // deep * high * wide)
    tokens = image + text
    total = convolution(inputs, width, window, image) + embedding(STEP, width) + embedding(pooled, width)
    total += embedding(STEP, width) if guided else Cost()
    refiner = norm(width).times(2) + attention(width, text, bias=True) + linear(width, 2 * width, 1)
    total += (refiner + feed_forward(width, 4 * width, text)).times(refiners)
    total += embedding(STEP, width) + embedding(source, width) + linear(source, width, text)
    double = linear(width, 6 * width, 1).times(2) + _joint_attention(body, image, text) + norm(body.head).times(2)
    double += feed_forward(width, inner, image) + feed_forward(width, inner, text)
    one = linear(width, 3 * width, 1) + linear(width, width, tokens).times(3) + scores(width, tokens, tokens)
    one += norm(body.head) + linear(width, inner, tokens) + linear(width + inner, width, tokens)
    total += double.times(body.layers) + one.times(single)
    total += linear(width, 2 * width, 1) + linear(width, window * outputs, image)
    return body.network(total, round((90 * 160) ** 0.5), tokens, inner, body.layers + single, frames)
