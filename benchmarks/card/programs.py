"""What runs on the card: models of the catalogue with random weights, in plain PyTorch.

Each program measures one or more of the figures that an estimate of the same work has. Needs no knowledge base, so that
it runs on a machine that has PyTorch, transformers, timm, peft, diffusers and, for QLoRA, bitsandbytes, and nothing else.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

Figures = dict[str, float]
GIB = 2**30


class Bench:
    """A device, and whether models are cut down to see that the programs run at all."""

    def __init__(self, device: str, tiny: bool) -> None:
        self.device, self.tiny = torch.device(device), tiny
        self.busy: float | None = None
        """Share of the last timed run that the device's kernels were at work."""

    @property
    def cuda(self) -> bool:
        return self.device.type == "cuda"

    def wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def clear(self) -> None:
        """Nothing is left of what ran before."""
        self.busy = None
        gc.collect()
        if self.cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def peak_gib(self) -> Figures:
        """The allocator's peak since `clear`."""
        return {"allocated_gib": torch.cuda.max_memory_allocated() / GIB} if self.cuda else {}

    def seconds(self, run: Callable[[], object], least: int = 3, budget: float = 2.0) -> float:
        """The median of several runs after two that warm up."""
        for _ in range(1 if self.tiny else 2):
            run()
        self.wait()
        taken: list[float] = []
        while len(taken) < least or (sum(taken) < budget and len(taken) < 200):
            started = time.perf_counter()
            run()
            self.wait()
            taken.append(time.perf_counter() - started)
            if self.tiny:
                break
        typical = statistics.median(taken)
        self.busy = self._kernel_s(run) / typical if self.cuda else None
        return typical

    def _kernel_s(self, run: Callable[[], object]) -> float:
        """Seconds that the device's kernels take in one run: what is left of the time is the host's."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as done:
            run()
            self.wait()
        return sum(event.self_device_time_total for event in done.key_averages()) / 1e6

    def format(self, wanted: torch.dtype) -> torch.dtype:
        """FP32 where it is only to be seen that programs run: processors are slow in 16 bits."""
        return torch.float32 if self.tiny else wanted

    @contextmanager
    def built_as(self, dtype: torch.dtype) -> Iterator[None]:
        """Models are made on the device, in this format."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.format(dtype))
        try:
            with self.device:
                yield
        finally:
            torch.set_default_dtype(before)

    def autocast(self, dtype: torch.dtype | None) -> Any:
        """Mixed precision, where a format is named."""
        return nullcontext() if dtype is None or self.tiny else torch.autocast(self.device.type, dtype)


def fill(model: nn.Module) -> nn.Module:
    """Random weights in every product: zeros, as some blocks begin with, take less power and so run faster."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.02)
    return model


# -- Images, text and sound in one pass


def images(
    bench: Bench, name: str, batch: int, pixels: int = 224, dtype: torch.dtype = torch.float16, compiled: bool = False
) -> Figures:
    """Images a second of a timm model."""
    import timm

    pixels = pixels if not bench.tiny or "vit" in name or "swin" in name else 64
    bench.clear()
    dtype = bench.format(dtype)
    made = timm.create_model(name, **({"img_size": pixels} if "dinov2" in name else {}))
    model = made.to(bench.device, dtype).to(memory_format=torch.channels_last).eval()
    size = 1 if bench.tiny else batch
    data = torch.randn(size, 3, pixels, pixels, device=bench.device, dtype=dtype).to(memory_format=torch.channels_last)
    run = torch.compile(model) if compiled else model
    with torch.inference_mode():
        taken = bench.seconds(lambda: run(data))
    return {"samples_per_s": size / taken, **bench.peak_gib()}


def encoder(bench: Bench, config: dict[str, Any], kind: str, batch: int, tokens: int) -> Figures:
    """Texts a second of a BERT-like encoder in FP16."""
    import transformers

    bench.clear()

    if bench.tiny:
        config, batch = {**config, "num_hidden_layers": 1}, 1
    made = transformers.AutoConfig.for_model(kind, **config)
    with bench.built_as(torch.float16):
        model = fill(transformers.AutoModel.from_config(made, dtype=bench.format(torch.float16), attn_implementation="sdpa")).eval()
    ids = torch.randint(5, 1000, (batch, tokens), device=bench.device)
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        taken = bench.seconds(lambda: model(input_ids=ids, attention_mask=mask))
    return {"samples_per_s": batch / taken, "ttft_ms": 1e3 * taken, **bench.peak_gib()}


WHISPER_LARGE = {
    "d_model": 1280,
    "encoder_layers": 32,
    "decoder_layers": 32,
    "encoder_attention_heads": 20,
    "decoder_attention_heads": 20,
    "encoder_ffn_dim": 5120,
    "decoder_ffn_dim": 5120,
    "num_mel_bins": 128,
    "vocab_size": 51866,
}


def speech(bench: Bench, batch: int, output: int) -> Figures:
    """Pieces of 30 seconds: how long until the first token, and then for each."""
    import transformers

    bench.clear()
    layers = {"encoder_layers": 1, "decoder_layers": 1} if bench.tiny else {}
    made = transformers.WhisperConfig(**{**WHISPER_LARGE, **layers})
    with bench.built_as(torch.float16):
        model = fill(transformers.WhisperForConditionalGeneration(made)).eval()
    heard = torch.randn(batch, 128, 3000, device=bench.device, dtype=bench.format(torch.float16))
    ids = torch.full((batch, 4), 50258, device=bench.device)

    def first() -> Any:
        return model(input_features=heard, decoder_input_ids=ids, use_cache=True)

    with torch.inference_mode():
        first_s = bench.seconds(first)
        step_s = _steps(bench, lambda cache, token: _whisper_step(model, cache, token), first, batch, output)
    return {**_answered(batch, first_s, step_s), **bench.peak_gib()}


def _whisper_step(model: Any, done: Any, token: torch.Tensor) -> Any:
    return model(
        encoder_outputs=(done.encoder_last_hidden_state,),
        decoder_input_ids=token,
        past_key_values=done.past_key_values,
        use_cache=True,
    )


def _answered(batch: int, first_s: float, step_s: float) -> Figures:
    """One request's first token; the prompts of a batch, read together, are no first answer that a service gives."""
    return {**({"ttft_ms": 1e3 * first_s} if batch == 1 else {}), "token_ms": 1e3 * step_s}


def _steps(bench: Bench, step: Callable[[Any, torch.Tensor], Any], first: Any, batch: int, output: int) -> float:
    """Seconds of a decoding step, the median of `output` of them, greedy as generate() is."""
    token = torch.full((batch, 1), 7, device=bench.device)
    done, taken = first(), []
    for _ in range(2 if bench.tiny else output):
        bench.wait()
        started = time.perf_counter()
        done = step(done, token)
        token = done.logits[:, -1:].argmax(-1)
        bench.wait()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


# -- Language models

LLAMA_1B = {
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
}
LLAMA_8B = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}
QWEN25_HALF_B = {
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
QWEN25_1_5B = {
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
QWEN3_30B_A3B = {
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
}


def causal(bench: Bench, kind: str, config: dict[str, Any], dtype: torch.dtype) -> Any:
    """A causal language model with random weights."""
    import transformers

    if bench.tiny:
        config = {**config, "num_hidden_layers": 1, "vocab_size": 512}
        if "num_experts" in config:
            config = {**config, "num_experts": 8, "num_experts_per_tok": 2}
    made = transformers.AutoConfig.for_model(kind, **config)
    with bench.built_as(dtype):
        model = transformers.AutoModelForCausalLM.from_config(made, dtype=bench.format(dtype), attn_implementation="sdpa")
    return fill(model)


def text(bench: Bench, kind: str, config: dict[str, Any], batch: int, prompt: int, output: int) -> Figures:
    """A batch of equal requests: how long until the first token, and then for each."""
    bench.clear()
    model = causal(bench, kind, config, torch.bfloat16).eval()
    ids = torch.randint(5, 500, (batch, 64 if bench.tiny else prompt), device=bench.device)

    def first() -> Any:
        return model(input_ids=ids, use_cache=True, logits_to_keep=1)

    with torch.inference_mode():
        first_s = bench.seconds(first)
        step_s = _steps(
            bench,
            lambda done, token: model(input_ids=token, past_key_values=done.past_key_values, use_cache=True),
            first,
            batch,
            output,
        )
    return {**_answered(batch, first_s, step_s), **bench.peak_gib()}


def tuned(
    bench: Bench,
    kind: str,
    config: dict[str, Any],
    method: str,
    batch: int,
    tokens: int,
    checkpoints: bool,
    dtype: torch.dtype = torch.bfloat16,
    mixed: bool = False,
) -> Figures:
    """Sequences a second and the peak of memory of a step with AdamW: all parameters, or adapters of rank 16."""
    bench.clear()
    model = causal(bench, kind, config, dtype)
    if method == "qlora":
        _quantize(model)
    if method != "full":
        import peft

        lora = peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", lora_dropout=0.05)
        model = peft.get_peft_model(model, lora)
    if checkpoints:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if method != "full":
            model.enable_input_require_grads()
    if bench.cuda:
        bench.clear()
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=bench.cuda)
    ids = torch.randint(5, 500, (batch, 64 if bench.tiny else tokens), device=bench.device)

    def step() -> None:
        with bench.autocast(torch.bfloat16 if mixed else None):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return {"samples_per_s": batch / bench.seconds(step), **bench.peak_gib()}


def _quantize(model: nn.Module) -> None:
    """Every layer's products in NF4 with constants quantized twice, as transformers loads them."""
    import bitsandbytes as bnb

    for name, module in list(model.named_modules()):
        for child, linear in list(module.named_children()):
            if isinstance(linear, nn.Linear) and child != "lm_head":
                device = linear.weight.device
                put = bnb.nn.Linear4bit(
                    linear.in_features,
                    linear.out_features,
                    bias=linear.bias is not None,
                    compute_dtype=torch.bfloat16,
                    quant_type="nf4",
                    device="meta",
                )
                weight = linear.weight.data.to("cpu")
                put.weight = bnb.nn.Params4bit(weight, requires_grad=False, quant_type="nf4", compress_statistics=True)
                put.bias = linear.bias
                setattr(module, child, put.to(device))


# -- Training small models


def classifier(bench: Bench, name: str, batch: int) -> Figures:
    """Images a second of a timm model's training step in mixed BF16, and the peak of memory."""
    import timm

    bench.clear()
    pixels = 224
    size = 2 if bench.tiny else batch
    model = timm.create_model(name).to(bench.device).to(memory_format=torch.channels_last).train()
    sgd = "resnet" in name
    optimizer = (
        torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        if sgd
        else torch.optim.AdamW(model.parameters(), lr=1e-4, fused=bench.cuda)
    )
    data = torch.randn(size, 3, pixels, pixels, device=bench.device).to(memory_format=torch.channels_last)
    target = torch.randint(0, 1000, (size,), device=bench.device)

    def step() -> None:
        with bench.autocast(torch.bfloat16):
            loss = nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return {"samples_per_s": size / bench.seconds(step), **bench.peak_gib()}


BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
ROBERTA_BASE = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}


def labelled(bench: Bench, kind: str, config: dict[str, Any], batch: int, tokens: int) -> Figures:
    """Texts a second of an encoder with a classifier, in mixed BF16, all parameters trained; and the peak of memory."""
    import transformers

    bench.clear()
    if bench.tiny:
        config, batch = {**config, "num_hidden_layers": 1}, 2
    made = transformers.AutoConfig.for_model(kind, **config)
    with bench.built_as(torch.float32):
        model = transformers.AutoModelForSequenceClassification.from_config(made, attn_implementation="sdpa")
    fill(model).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=bench.cuda)
    ids = torch.randint(5, 1000, (batch, tokens), device=bench.device)
    labels = torch.randint(0, 2, (batch,), device=bench.device)

    def step() -> None:
        with bench.autocast(torch.bfloat16):
            loss = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return {"samples_per_s": batch / bench.seconds(step), **bench.peak_gib()}


# -- Pictures and videos that are made


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


TEXT_ENCODERS = {"sdxl": 817_719_552, "sd35": 5_580_029_440, "flux": 4_885_370_880}
"""Parameters of CLIP ViT-L, OpenCLIP bigG and T5-XXL, which stay on the card while the denoiser works."""


def pictures(bench: Bench, which: str, dtype: torch.dtype = torch.bfloat16) -> Figures:
    """Pictures a second of 1024x1024, as diffusers makes one: its pipeline, without the text encoders."""
    import diffusers

    bench.clear()
    dtype = bench.format(dtype)
    side = 128 if bench.tiny else 1024
    steps = 2 if bench.tiny else {"sdxl": 50, "flux": 28, "sd35": 28}[which]

    def text(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=bench.device, dtype=dtype)

    scheduler = (
        diffusers.EulerDiscreteScheduler() if which == "sdxl" else diffusers.FlowMatchEulerDiscreteScheduler()
    )
    with bench.built_as(dtype):
        if which == "sdxl":
            unet, vae = fill(_sdxl(bench)).eval(), _vae(bench, 4)
            pipe = diffusers.StableDiffusionXLPipeline(
                vae, None, None, None, None, unet, scheduler, add_watermarker=False
            )
            pipe.vae.config.force_upcast = False
            given = {
                "prompt_embeds": text(1, 77, 2048),
                "negative_prompt_embeds": text(1, 77, 2048),
                "pooled_prompt_embeds": text(1, 1280),
                "negative_pooled_prompt_embeds": text(1, 1280),
            }
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
            given = {"prompt_embeds": text(1, 512, 4096), "pooled_prompt_embeds": text(1, 768)}
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
            given = {
                "prompt_embeds": text(1, 333, 4096),
                "negative_prompt_embeds": text(1, 333, 4096),
                "pooled_prompt_embeds": text(1, 2048),
                "negative_pooled_prompt_embeds": text(1, 2048),
            }
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


WAN_PASSES = 100
"""Of a video: 50 steps, twice each for guidance (Wan2.1's defaults)."""


def video(bench: Bench, which: str) -> Figures:
    """Videos a second that the passes of Wan's transformer leave, over 81 frames of 832x480 (21 x 60 x 104 latents)."""
    from diffusers import WanTransformer3DModel

    bench.clear()
    size = {"1.3b": (12, 30, 8960), "14b": (40, 40, 13824)}[which]
    heads, layers, ffn = size
    with bench.built_as(torch.bfloat16):
        model = WanTransformer3DModel(
            num_attention_heads=heads, num_layers=1 if bench.tiny else layers, ffn_dim=ffn
        )
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

    bench.clear()
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

    def step() -> None:
        with bench.autocast(torch.bfloat16):
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
            loss = out.float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return {"samples_per_s": 1 / bench.seconds(step), **bench.peak_gib()}
