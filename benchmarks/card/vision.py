"""Images classified and classifiers trained, by timm."""

from __future__ import annotations

import torch
from benchmarks.card.bench import Bench, Figures
from torch import nn


def images(bench: Bench, name: str, batch: int, pixels: int) -> Figures:
    """Images a second of a timm model in FP16."""
    import timm

    pixels = pixels if not bench.tiny or "vit" in name or "swin" in name else 64
    dtype = bench.format(torch.float16)
    made = timm.create_model(name, **({"img_size": pixels} if "dinov2" in name else {}))
    model = made.to(bench.device, dtype).to(memory_format=torch.channels_last).eval()
    size = 1 if bench.tiny else batch
    data = torch.randn(size, 3, pixels, pixels, device=bench.device, dtype=dtype).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        taken = bench.seconds(lambda: model(data))
    return {"samples_per_s": size / taken, **bench.peak_gib()}


def classifier(bench: Bench, name: str, batch: int) -> Figures:
    """Images a second of a timm model's training step in mixed BF16, and the peak of memory."""
    import timm

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

    taken = bench.step_seconds(lambda: nn.functional.cross_entropy(model(data), target), optimizer)
    return {"samples_per_s": size / taken, **bench.peak_gib()}
