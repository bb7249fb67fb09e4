"""What programs are run by: an interface, so that tests need no PyTorch and no accelerator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """Where the programs run: the device as its driver calls it, its kind, and the software."""

    name: str
    kind: str
    """cpu, cuda (ROCm too), mps or xpu."""
    memory_mib: float | None
    software: str
    """Such as "PyTorch 2.13.0, CUDA 13.0"."""
    format: str
    """The number format of the arithmetic."""


class Backend(Protocol):
    """Runs programs on a device. Each of the works that it gives is one run, to be timed; none of them waits."""

    @property
    def ran(self) -> Ran:
        """Where they run."""

    def synchronize(self) -> None:
        """Wait until the device is done."""

    def inference(self, batch: int) -> Work:
        """One forward pass of ResNet-18 over a batch of images that are on the device."""

    def training(self, batch: int) -> Work:
        """One training step of ResNet-18 on a batch of images that are on the device."""

    def pipeline(self, batch: int) -> Work:
        """A batch of decoded images cropped, flipped and normalised by the host, and moved to the device."""

    def product(self, size: int) -> Work:
        """A product of two square matrices."""

    def copy(self, size: int) -> Work:
        """So many bytes copied inside the device's memory."""

    def move(self, size: int) -> Work | None:
        """So many bytes moved from the host to the device; None where these are one."""

    def memory_gib(self) -> float | None:
        """Memory of the device in use since it was last asked; None where that is not known."""
