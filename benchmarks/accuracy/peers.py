"""What other tools' published rules say of a row; bytes. None where a tool has no rule for it.

- accelerate estimate-memory (Hugging Face; docs "Model memory estimator" and commands/estimate.py): the weights in the
  asked type; training with Adam four times that (model, gradients, two moments in FP32; in 16-bit types the larger
  moment, two FP32 copies, which is four times the 16-bit weights), whatever the method, batch or length.
- hf-mem (README): the weights as the safetensors headers add up, and the cache where a context is asked for.
- DeepSpeed (runtime/zero/stage_1_and_2.py and stage3.py): model states under ZeRO-2 and ZeRO-3 without offload.
"""

from __future__ import annotations

from whygpu.checks.memory.estimate import MemoryEstimate
from whygpu.checks.model_shape import TOKEN_KINDS, ModelShape
from whygpu.checks.speed.estimate import SpeedEstimate
from whygpu.checks.speed.training import passes

NAMES = ("accelerate", "hf-mem", "DeepSpeed", "roofline")


def accelerate_inference(estimate: MemoryEstimate) -> float:
    """Parameters times the bytes of the type that `--dtypes` offers: float32, float16, int8 or int4."""
    bits = estimate.setup.format.bits_per_weight
    offered = next(size for size in (4, 8, 16, 32) if bits < 1.5 * size)
    return estimate.shape.parameters * offered / 8


def accelerate_training(estimate: MemoryEstimate) -> float:
    """Four times the weights in the training type."""
    width = 4 if estimate.setup.training_precision in ("fp32", "tf32") else 2
    return 4.0 * width * estimate.shape.parameters


def weights_of_file(estimate: MemoryEstimate) -> float:
    """The weights as the headers of the file add up."""
    return estimate.setup.format.weight_bytes(estimate.shape)


def deepspeed(shape: ModelShape, ranks: int, sharding: str) -> float:
    """ZeRO-2: 2 P + 18 P / N. ZeRO-3: 18 P / N and four bytes for each parameter of the largest layer (0.19)."""
    if sharding in ("zero3", "fsdp") and ranks > 1:
        largest = max(shape.vocab_size * shape.hidden_size, shape.hidden_size * shape.ffn_size)
        return 4.0 * largest + int(18 * shape.parameters / ranks)
    return 2.0 * shape.parameters + int(18 * shape.parameters / ranks)


def training_roofline(done: SpeedEstimate) -> float:
    """Samples a second of one plan at half of its cards' peak rate: 6 operations per parameter and token, 4 under
    adapters, 2 more where the forward pass is repeated; three forward passes per image.
    """
    columns = done.work.columns
    shape, setup = columns.shape, columns.setup
    each = passes(columns) * shape.active_parameters * setup.sequence_tokens
    if shape.kind not in TOKEN_KINDS:
        each = passes(columns) / 2 * shape.flops_per_sample * setup.pixel_scale(shape)
    cards = float(columns.tensor[0] * columns.pipeline[0] * columns.data[0])
    return 0.5 * cards * float(columns.device.flops_s[0]) / each


def for_weights(estimate: MemoryEstimate, unit: float) -> dict[str, float]:
    """Both tools that count weights, in the row's unit; neither speaks of a part of a model on one of several cards."""
    if estimate.layout.cards > 1:
        return {}
    return {"accelerate": accelerate_inference(estimate) / unit, "hf-mem": weights_of_file(estimate) / unit}


def for_inference(estimate: MemoryEstimate, unit: float) -> dict[str, float]:
    """The weights, and for hf-mem the cache of the context beside them."""
    found = for_weights(estimate, unit)
    return found | {"hf-mem": found["hf-mem"] + estimate.kv_cache / unit} if found else {}


def for_training(estimate: MemoryEstimate, unit: float) -> dict[str, float]:
    """accelerate's rule on one card, and DeepSpeed's where all weights are trained, alone or under ZeRO-2 or ZeRO-3."""
    layout, found = estimate.layout, {}
    if layout.cards == 1:
        found["accelerate"] = accelerate_training(estimate) / unit
    if estimate.setup.method == "full" and (layout.cards == 1 or layout.sharding != "zero1"):
        found["DeepSpeed"] = deepspeed(estimate.shape, layout.data, layout.sharding) / unit
    return found
