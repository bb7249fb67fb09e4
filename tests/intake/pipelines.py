"""Folders of diffusers pipelines for tests: published configurations, laid out as published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.intake.test_published import ROWS

CONFIGS: Mapping[str, dict[str, Any]] = {row["repository"]: row["config"] for row in ROWS}
SD15 = "stable-diffusion-v1-5/stable-diffusion-v1-5"
CLIP = CONFIGS["openai/clip-vit-large-patch14 (text)"]
BIG_CLIP = CONFIGS["laion/CLIP-ViT-bigG-14 (text)"]
T5 = {"model_type": "t5", "architectures": ["T5EncoderModel"], "d_ff": 10240, "d_kv": 64, "d_model": 4096,
      "feed_forward_proj": "gated-gelu", "num_heads": 64, "num_layers": 24, "num_decoder_layers": 24,
      "vocab_size": 32128}  # fmt: skip
UMT5 = T5 | {"model_type": "umt5", "architectures": ["UMT5EncoderModel"], "vocab_size": 256384}
SD_VAE = CONFIGS[f"{SD15} (vae)"]
FLUX_VAE = CONFIGS["black-forest-labs/FLUX.1-schnell (vae)"]
WAN = CONFIGS["Wan-AI/Wan2.1-T2V-14B-Diffusers (transformer)"]
FLUX = {"_class_name": "FluxTransformer2DModel", "attention_head_dim": 128, "guidance_embeds": True, "in_channels": 64,
        "joint_attention_dim": 4096, "num_attention_heads": 24, "num_layers": 19, "num_single_layers": 38,
        "pooled_projection_dim": 768}  # fmt: skip
SD3 = {"_class_name": "SD3Transformer2DModel", "attention_head_dim": 64, "caption_projection_dim": 1536,
       "in_channels": 16, "joint_attention_dim": 4096, "num_attention_heads": 24, "num_layers": 24, "patch_size": 2,
       "pooled_projection_dim": 2048, "sample_size": 128}  # fmt: skip
FLUX2_KLEIN = {"_class_name": "Flux2Transformer2DModel", "attention_head_dim": 128, "guidance_embeds": False,
               "in_channels": 128, "joint_attention_dim": 7680, "mlp_ratio": 3.0, "num_attention_heads": 24,
               "num_layers": 5, "num_single_layers": 20, "timestep_guidance_channels": 256}  # fmt: skip
FLUX2_VAE = FLUX_VAE | {"_class_name": "AutoencoderKLFlux2", "latent_channels": 32, "use_quant_conv": True,
                        "use_post_quant_conv": True}  # fmt: skip
QWEN3_4B = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 128, "hidden_size": 2560,
            "intermediate_size": 9728, "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8,
            "tie_word_embeddings": True, "vocab_size": 151936}  # fmt: skip
COGVIDEOX = {"_class_name": "CogVideoXTransformer3DModel", "num_attention_heads": 48, "num_layers": 42}
BUILT: Mapping[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "stable-diffusion-1.5": (
        "StableDiffusionPipeline",
        {"unet": CONFIGS[f"{SD15} (unet)"], "text_encoder": CLIP, "vae": SD_VAE},
    ),
    "stable-diffusion-xl": (
        "StableDiffusionXLPipeline",
        {
            "unet": CONFIGS["stabilityai/stable-diffusion-xl-base-1.0 (unet)"],
            "text_encoder": CLIP,
            "text_encoder_2": BIG_CLIP,
            "vae": SD_VAE | {"sample_size": 1024},
        },
    ),
    "stable-diffusion-3-medium": (
        "StableDiffusion3Pipeline",
        {"transformer": SD3, "text_encoder": CLIP, "text_encoder_2": BIG_CLIP, "text_encoder_3": T5, "vae": FLUX_VAE},
    ),
    "flux.1-dev": ("FluxPipeline", {"transformer": FLUX, "text_encoder": CLIP, "text_encoder_2": T5, "vae": FLUX_VAE}),
    "wan2.1-t2v-14b": (
        "WanPipeline",
        {"transformer": WAN, "text_encoder": UMT5, "vae": {"_class_name": "AutoencoderKLWan", "z_dim": 16}},
    ),
    "cogvideox-5b": (
        "CogVideoXPipeline",
        {"transformer": COGVIDEOX, "text_encoder": T5, "vae": {"_class_name": "AutoencoderKLCogVideoX"}},
    ),
}
"""Pipelines by the preset of the knowledge base whose figures were measured with torch."""


def write_pipeline(folder: Path, name: str, networks: Mapping[str, Mapping[str, Any]]) -> Path:
    """The folder, with an index, a scheduler, a tokenizer and the networks' configurations."""
    index: dict[str, Any] = {"_class_name": name, "_diffusers_version": "0.31.0", "requires_safety_checker": False,
                             "image_encoder": [None, None]}  # fmt: skip
    index |= {"scheduler": ["diffusers", "PNDMScheduler"], "tokenizer": ["transformers", "CLIPTokenizer"]}
    for part, config in networks.items():
        listed = config.get("architectures", ["CLIPTextModel"])
        named = config.get("_class_name")
        index[part] = ["diffusers" if named else "transformers", named or listed[0]]
        (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / part / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder
