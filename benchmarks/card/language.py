"""Texts and speech by transformers: embedded, heard, written, and models of them trained."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.card.bench import Bench, Figures, fill
from torch import nn

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
BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
ROBERTA_BASE = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}


def encoder(bench: Bench, config: dict[str, Any], kind: str, batch: int, tokens: int) -> Figures:
    """Texts a second of a BERT-like encoder in FP16."""
    import transformers

    if bench.tiny:
        config, batch = {**config, "num_hidden_layers": 1}, 1
    made = transformers.AutoConfig.for_model(kind, **config)
    with bench.built_as(torch.float16):
        model = fill(
            transformers.AutoModel.from_config(made, dtype=bench.format(torch.float16), attn_implementation="sdpa")
        ).eval()
    ids = torch.randint(5, 1000, (batch, tokens), device=bench.device)
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        taken = bench.seconds(lambda: model(input_ids=ids, attention_mask=mask))
    return {"samples_per_s": batch / taken, "ttft_ms": 1e3 * taken, **bench.peak_gib()}


def labelled(bench: Bench, kind: str, config: dict[str, Any], batch: int, tokens: int) -> Figures:
    """Texts a second of an encoder with a classifier, in mixed BF16, all parameters trained; and the peak of memory."""
    import transformers

    if bench.tiny:
        config, batch = {**config, "num_hidden_layers": 1}, 2
    made = transformers.AutoConfig.for_model(kind, **config)
    with bench.built_as(torch.float32):
        model = transformers.AutoModelForSequenceClassification.from_config(made, attn_implementation="sdpa")
    fill(model).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=bench.cuda)
    ids = torch.randint(5, 1000, (batch, tokens), device=bench.device)
    labels = torch.randint(0, 2, (batch,), device=bench.device)

    mask = torch.ones_like(ids)
    taken = bench.step_seconds(lambda: model(input_ids=ids, attention_mask=mask, labels=labels).loss, optimizer)
    return {"samples_per_s": batch / taken, **bench.peak_gib()}


def speech(bench: Bench, batch: int, output: int) -> Figures:
    """Pieces of 30 seconds: how long until the first token, and then for each."""
    import transformers

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


def text(bench: Bench, kind: str, config: dict[str, Any], batch: int, prompt: int, output: int) -> Figures:
    """A batch of equal requests: how long until the first token, and then for each."""
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


def tuned(
    bench: Bench,
    kind: str,
    config: dict[str, Any],
    method: str,
    batch: int,
    tokens: int,
    checkpoints: bool,
    mixed: bool,
) -> Figures:
    """Sequences a second and the peak of memory of a step with AdamW: all parameters, or adapters of rank 16."""
    dtype = torch.float32 if mixed and method == "full" else torch.bfloat16  # what is frozen is held in 16 bits
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
    bench.clear()  # quantizing held the weights in 16 bits
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=bench.cuda)
    ids = torch.randint(5, 500, (batch, 64 if bench.tiny else tokens), device=bench.device)

    taken = bench.step_seconds(lambda: model(input_ids=ids, labels=ids).loss, optimizer, mixed=mixed)
    return {"samples_per_s": batch / taken, **bench.peak_gib()}


def _quantize(model: nn.Module) -> None:
    """Every layer's products in NF4 with constants quantized twice, as transformers loads them."""
    import bitsandbytes as bnb

    for _, module in list(model.named_modules()):
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


def causal(bench: Bench, kind: str, config: dict[str, Any], dtype: torch.dtype) -> Any:
    """A causal language model with random weights."""
    import transformers

    if bench.tiny:
        config = {**config, "num_hidden_layers": 1, "vocab_size": 512}
        if "num_experts" in config:
            config = {**config, "num_experts": 8, "num_experts_per_tok": 2}
    made = transformers.AutoConfig.for_model(kind, **config)
    with bench.built_as(dtype):
        model = transformers.AutoModelForCausalLM.from_config(
            made, dtype=bench.format(dtype), attn_implementation="sdpa"
        )
    return fill(model)
