"""A card, how a program on it is timed, and what it takes.

Needs PyTorch alone: programs run on a machine that has no knowledge base.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

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
        return float(sum(event.self_device_time_total for event in done.key_averages()) / 1e6)

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

    def step_seconds(
        self, loss_of: Callable[[], Any], optimizer: torch.optim.Optimizer, *, mixed: bool = True
    ) -> float:
        """Those of a training step: forward and backward pass, in mixed BF16 or as the model is, and update."""

        def step() -> None:
            with torch.autocast(self.device.type, torch.bfloat16) if mixed and not self.tiny else nullcontext():
                loss = loss_of()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return self.seconds(step)


def fill(model: Any) -> Any:
    """Random weights in every product: zeros, as some blocks begin with, take less power and so run faster."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.02)
    return model
