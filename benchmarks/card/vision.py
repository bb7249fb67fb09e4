"""Images classified and classifiers trained, by timm."""

from __future__ import annotations

from typing import Any

import torch
from benchmarks.card.bench import Bench, Figures
from torch import nn


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
            loss: Any = nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return {"samples_per_s": size / bench.seconds(step), **bench.peak_gib()}
