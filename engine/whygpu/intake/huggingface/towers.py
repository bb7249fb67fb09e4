"""The vision tower beside a language model: held in memory, and passed by images alone.

A transformer over patches, then one or several projectors that merge neighbouring patches; as transformers builds those
of Qwen2-VL to Qwen3.6, Gemma 3, Llama 4, Mistral 3 and LLaVA. Biases and norms are left out: under 0.5% of a tower.
"""

from __future__ import annotations

from collections.abc import Sequence

from whygpu.checks.model_shape import ImageTower
from whygpu.intake.limits import Reader

LAYERS = ("depth", "num_hidden_layers", "vt_num_hidden_layers")
HIDDEN = ("embed_dim", "vt_hidden_size", "hidden_size")
FFN = ("intermediate_size", "vt_intermediate_size")
PLACES = ("num_position_embeddings", "position_embedding_size")
GATED = frozenset({"pixtral", "gemma4_vision"})
"""Towers whose feed-forward has a gate, beside those that say so by their activation (Qwen2.5-VL)."""


def image_tower(outer: Reader) -> ImageTower | None:
    """The tower that `vision_config` describes, with no patches of a token where it does not say how many; None where
    it says too little.
    """
    tower = outer.inner("vision_config")
    if tower is None or not tower.has(*LAYERS) or not tower.has(*HIDDEN):
        return None
    layers, hidden = tower.whole("layers", *LAYERS) or 1, tower.whole("hidden", *HIDDEN) or 1
    ffn = tower.count("hidden", *FFN) or round((tower.number("ratio", "mlp_ratio") or 4.0) * hidden)
    whole = tower.raw("fullatt_block_indexes")[1]
    side = tower.count("pixels", "image_size") // (tower.count("pixels", "patch_size") or 16)
    return ImageTower(
        layers=layers,
        hidden_size=hidden,
        ffn_size=ffn,
        gated_ffn=tower.text("hidden_act") == "silu" or tower.text("model_type") in GATED,
        token_patches=_token_patches(outer, tower, side * side),
        whole_layers=len(whole) if isinstance(whole, Sequence) and not isinstance(whole, (str, bytes)) else layers,
        tile_patches=0 if tower.has("spatial_merge_size") or outer.has("spatial_merge_size") else side * side,
    )


def _token_patches(outer: Reader, tower: Reader, patches: int) -> int:
    """Patches that become a token: a square of them, or as many as leave so many tokens of an image; 0 where no key
    says it, and the family is none whose patches are tokens (LLaVA).
    """
    tokens = outer.count("tokens", "mm_tokens_per_image")
    if tokens and patches:
        return max(patches // tokens, 1)
    for reader in (tower, outer):
        side = reader.count("heads", "spatial_merge_size", "pooling_kernel_size", "scale_factor")
        shrunk = reader.number("ratio", "downsample_ratio", "pixel_shuffle_ratio")
        if side or shrunk:
            return (side or max(round(1 / (shrunk or 1.0)), 1)) ** 2
    return 1 if outer.text("model_type").startswith("llava") else 0


def tower_parameters(outer: Reader, text_hidden: int) -> int:
    """Parameters of that tower, with its projectors; 0 where it is not known."""
    tower, read = outer.inner("vision_config"), image_tower(outer)
    if tower is None or read is None:
        return 0
    patch = tower.count("pixels", "patch_size") or 16
    frames = tower.count("steps", "temporal_patch_size") or 1
    side = tower.count("pixels", "image_size") // patch
    places = tower.count("tokens", *PLACES) or (0 if read.gated_ffn else side * side)
    read_in = (3 * frames * patch * patch + places) * read.hidden_size
    return read.parameters + read_in + _projectors(outer, tower, read.hidden_size, text_hidden)


def _projectors(outer: Reader, tower: Reader, hidden: int, text_hidden: int) -> int:
    """Two layers from the patches that are merged to the width of the text; one where nothing is merged."""
    out = tower.count("hidden", "out_hidden_size") or text_hidden
    merge = tower.count("heads", "spatial_merge_size") or outer.count("heads", "spatial_merge_size") or 1
    if tower.has("spatial_merge_size"):
        deep = tower.raw("deepstack_visual_indexes")[1]
        count = 1 + (len(deep) if isinstance(deep, Sequence) and not isinstance(deep, (str, bytes)) else 0)
        merged = merge * merge * hidden
        return count * (merged * merged + merged * out)
    if merge > 1:
        return merge * merge * hidden * hidden + hidden * out + out * out
    return hidden * out
