"""Pictures and videos that are made, and adapters of what makes them, by diffusers."""

from __future__ import annotations

import time
from typing import Any

import torch
from benchmarks.card.bench import Bench, Figures, fill

TEXT_ENCODERS = {"sdxl": 817_719_552, "sd35": 5_580_029_440, "flux": 4_885_370_880}
"""Parameters of CLIP ViT-L, OpenCLIP bigG and T5-XXL, which stay on the card while the denoiser works."""
WAN_PASSES = 100
"""Of a video: 50 steps, twice each for guidance (Wan2.1's defaults)."""


def pictures(bench: Bench, which: str) -> Figures:
    """Pictures a second of 1024x1024, as diffusers makes one: its pipeline, without the text encoders."""
    import diffusers

    dtype = bench.format(torch.bfloat16)
    side = 128 if bench.tiny else 1024
    steps = 2 if bench.tiny else {"sdxl": 50, "flux": 28, "sd35": 28}[which]

    def prompt(tokens: int, width: int, pooled: int, *, negative: bool) -> dict[str, torch.Tensor]:
        """What the text encoders would say of a prompt, and of what a guided picture is to be unlike."""
        shapes = {"prompt_embeds": (1, tokens, width), "pooled_prompt_embeds": (1, pooled)}
        if negative:
            shapes |= {f"negative_{name}": shape for name, shape in shapes.items()}
        return {name: torch.randn(*shape, device=bench.device, dtype=dtype) for name, shape in shapes.items()}

    scheduler = diffusers.EulerDiscreteScheduler() if which == "sdxl" else diffusers.FlowMatchEulerDiscreteScheduler()
    with bench.built_as(dtype):
        if which == "sdxl":
            unet, vae = fill(_sdxl(bench)).eval(), _vae(bench, 4)
            pipe = diffusers.StableDiffusionXLPipeline(
                vae, None, None, None, None, unet, scheduler, add_watermarker=False
            )
            pipe.vae.config.force_upcast = False
            given = prompt(77, 2048, 1280, negative=True)
        elif which == "flux":
            pipe = diffusers.FluxPipeline(
                scheduler,
                _vae(bench, 16),
                None,
                None,
                None,
                None,
                fill(_flux(bench)).eval(),
            )
            given = prompt(512, 4096, 768, negative=False)
        else:
            pipe = diffusers.StableDiffusion3Pipeline(
                fill(_sd35(bench)).eval(),
                scheduler,
                _vae(bench, 16),
                None,
                None,
                None,
                None,
                None,
                None,
            )
            given = prompt(333, 4096, 2048, negative=True)
    pipe.set_progress_bar_config(disable=True)
    beside = torch.empty(0 if bench.tiny else TEXT_ENCODERS[which], device=bench.device, dtype=dtype)

    def run(count: int) -> None:
        pipe(**given, num_inference_steps=count, height=side, width=side, output_type="pt")

    with torch.inference_mode():
        run(2)
        bench.wait()
        started = time.perf_counter()
        run(steps)
        bench.wait()
        taken = time.perf_counter() - started
    del beside
    return {"samples_per_s": 1 / taken, **bench.peak_gib()}


def video(bench: Bench, which: str) -> Figures:
    """Videos a second that the passes of Wan's transformer leave, over 81 frames of 832x480 (21 x 60 x 104 latents)."""
    from diffusers import WanTransformer3DModel

    size = {"1.3b": (12, 30, 8960), "14b": (40, 40, 13824)}[which]
    heads, layers, ffn = size
    with bench.built_as(torch.bfloat16):
        model = WanTransformer3DModel(num_attention_heads=heads, num_layers=1 if bench.tiny else layers, ffn_dim=ffn)
    fill(model).to(bench.format(torch.bfloat16)).eval()
    frames, rows, columns = (1, 8, 8) if bench.tiny else (21, 60, 104)
    latents = torch.randn(1, 16, frames, rows, columns, device=bench.device, dtype=bench.format(torch.bfloat16))
    text_states = torch.randn(1, 512, 4096, device=bench.device, dtype=bench.format(torch.bfloat16))
    at = torch.tensor([500], device=bench.device)
    with torch.inference_mode():
        taken = bench.seconds(lambda: model(latents, at, text_states), least=2, budget=1.0)
    return {"samples_per_s": 1 / (WAN_PASSES * taken)}


def drawn(bench: Bench, which: str, side: int, checkpoints: bool) -> Figures:
    """A step that trains adapters of rank 16 beside the attention of a denoiser, latents and text computed before."""
    import peft

    with bench.built_as(torch.bfloat16):
        model = fill(_sdxl(bench) if which == "sdxl" else _flux(bench))
    model.requires_grad_(False)
    model.add_adapter(peft.LoraConfig(r=16, lora_alpha=16, target_modules=["to_k", "to_q", "to_v", "to_out.0"]))
    if checkpoints:
        model.enable_gradient_checkpointing()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.data = parameter.data.float()
    model.train()
    optimizer = torch.optim.AdamW(trained, lr=1e-4, fused=bench.cuda)
    latent = 16 if bench.tiny else side // 8

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=bench.device, dtype=bench.format(torch.bfloat16))

    def loss_of() -> Any:
        if which == "sdxl":
            extra = {"text_embeds": random(1, 1280), "time_ids": random(1, 6)}
            out = model(
                random(1, 4, latent, latent),
                torch.tensor([500], device=bench.device),
                random(1, 77, 2048),
                added_cond_kwargs=extra,
            ).sample
        else:
            tokens = (latent // 2) ** 2
            out = model(
                hidden_states=random(1, tokens, 64),
                encoder_hidden_states=random(1, 512, 4096),
                pooled_projections=random(1, 768),
                timestep=torch.tensor([0.5], device=bench.device, dtype=torch.bfloat16),
                img_ids=torch.zeros(tokens, 3, device=bench.device),
                txt_ids=torch.zeros(512, 3, device=bench.device),
                guidance=torch.ones(1, device=bench.device, dtype=torch.bfloat16),
            ).sample
        return out.float().pow(2).mean()

    return {"samples_per_s": 1 / bench.step_seconds(loss_of, optimizer), **bench.peak_gib()}


def _vae(bench: Bench, channels: int) -> Any:
    from diffusers import AutoencoderKL

    widths = (32, 32, 32, 32) if bench.tiny else (128, 256, 512, 512)
    return fill(
        AutoencoderKL(
            block_out_channels=widths,
            down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4,
            layers_per_block=2,
            latent_channels=channels,
            norm_num_groups=32,
            sample_size=1024,
            shift_factor=0.1 if channels == 16 else None,
        )
    ).eval()


def _sdxl(bench: Bench) -> Any:
    from diffusers import UNet2DConditionModel

    widths, depth = ((32, 64, 64), (1, 1, 1)) if bench.tiny else ((320, 640, 1280), (1, 2, 10))
    return UNet2DConditionModel(
        sample_size=128,
        block_out_channels=widths,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        transformer_layers_per_block=depth,
        attention_head_dim=(5, 10, 20) if not bench.tiny else (4, 4, 4),
        cross_attention_dim=2048,
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=256,
        projection_class_embeddings_input_dim=2816,
    )


def _flux(bench: Bench) -> Any:
    from diffusers import FluxTransformer2DModel

    layers = {"num_layers": 1, "num_single_layers": 1} if bench.tiny else {}
    return FluxTransformer2DModel(guidance_embeds=True, **layers)


def _sd35(bench: Bench) -> Any:
    from diffusers import SD3Transformer2DModel

    return SD3Transformer2DModel(
        sample_size=128,
        patch_size=2,
        in_channels=16,
        out_channels=16,
        num_layers=1 if bench.tiny else 38,
        attention_head_dim=64,
        num_attention_heads=38,
        joint_attention_dim=4096,
        caption_projection_dim=2432,
        pooled_projection_dim=2048,
        pos_embed_max_size=192,
        qk_norm="rms_norm",
    )
