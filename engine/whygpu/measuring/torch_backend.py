"""The programs in PyTorch: on a CPU, and by CUDA, ROCm, MPS or XPU. PyTorch is imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError, Location, Problem
from whygpu.measuring.backend import Ran
from whygpu.measuring.devices import processor_name
from whygpu.measuring.programs import LEARNING_RATE, MOMENTUM, SIDE

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[], None]

INSTALL = (
    "pip install 'whygpu[measure]' brings PyTorch and torchvision; without the libraries of GPUs: "
    "pip install torch torchvision --index-url https://download.pytorch.org/whl/cpu"
)
_CLASSES = 1000
_KEPT = 128
"""Images on the device that an epoch goes through, over and over: 10,000 take 5.6 GiB, which changes nothing."""
_TENSOR_FLOAT = 8
"""Compute capability from which CUDA's convolutions are in TF32 unless told otherwise (PyTorch, CUDA semantics)."""


def load(device: str = "auto", precision: str = "auto") -> TorchBackend:
    """PyTorch on a device; raises AnswerError where it, torchvision and timm, or the device is not there."""
    torch = module("torch")
    if torch is None:
        raise AnswerError(
            [
                Problem(
                    "no-pytorch", "PyTorch is not installed, and 'whygpu measure' runs it", Location("torch"), INSTALL
                )
            ]
        )
    here = _device(torch, device)
    network = _resnet()
    return TorchBackend(torch, here, _precision(torch, here, precision), network)


def module(name: str) -> Any:
    """A module that is an extra; None where it is not installed. Raises AnswerError where it does not fit PyTorch."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
    except RuntimeError as error:  # torchvision was built for another PyTorch
        message = f"is installed and does not load: {error}"[:300]
        raise AnswerError([Problem("no-pytorch", message, Location(name.partition(".")[0]), INSTALL)]) from error


def _resnet() -> Callable[[], Any]:
    """What makes an untrained ResNet-18."""
    vision = module("torchvision.models")
    if vision is not None:
        return lambda: vision.resnet18(weights=None)
    timm = module("timm")
    if timm is not None:
        return lambda: timm.create_model("resnet18", pretrained=False)
    message = "neither torchvision nor timm is installed, and one of them has the ResNet-18 that is timed"
    raise AnswerError([Problem("no-pytorch", message, Location("torchvision"), INSTALL)])


def available(torch: Any) -> list[str]:
    """The kinds of devices there are, the fastest first."""
    found = [name for name in ("cuda", "xpu", "mps") if _is_there(torch, name)]
    return [*found, "cpu"]


def _is_there(torch: Any, name: str) -> bool:
    module = torch.backends.mps if name == "mps" else getattr(torch, name, None)
    return bool(module is not None and module.is_available())


def _device(torch: Any, asked: str) -> str:
    there = available(torch)
    if asked == "auto":
        return there[0]
    if asked not in there:
        message = f"there is no '{asked[:20]}' device that PyTorch {torch.__version__} can use"
        raise AnswerError([Problem("no-device", message, Location("--device"), f"there: {', '.join(there)}")])
    return asked


def _precision(torch: Any, device: str, asked: str) -> str:
    """As PyTorch would run it, where nobody says."""
    if asked != "auto":
        return asked
    cuda = device == "cuda" and torch.version.hip is None
    return "tf32" if cuda and torch.cuda.get_device_capability(0)[0] >= _TENSOR_FLOAT else "fp32"


class TorchBackend:
    """Runs the programs on the first device of a kind."""

    def __init__(self, torch: Any, device: str, precision: str, network: Callable[[], Any]) -> None:
        """``network`` makes an untrained ResNet-18."""
        self._torch, self._device, self._network = torch, device, network
        self._type = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
        self._precision = precision
        if device == "cuda":
            torch.backends.cudnn.allow_tf32 = precision == "tf32"
            torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
            torch.backends.cudnn.benchmark = True
        torch.manual_seed(0)

    @property
    def ran(self) -> Ran:
        """Where the programs run."""
        torch = self._torch
        name, memory, software = processor_name(), None, f"PyTorch {torch.__version__}"
        if self._device == "cuda":
            found = torch.cuda.get_device_properties(0)
            name, memory = found.name, found.total_memory / 2**20
            software += f", ROCm {torch.version.hip}" if torch.version.hip else f", CUDA {torch.version.cuda}"
        elif self._device == "xpu":
            found = torch.xpu.get_device_properties(0)
            name, memory = found.name, found.total_memory / 2**20
        else:
            software += f", {torch.get_num_threads()} threads"
        return Ran(name, self._device, memory, software, self._precision)

    def synchronize(self) -> None:
        """Wait until the device is done."""
        if self._device != "cpu":
            getattr(self._torch, self._device).synchronize()

    def inference(self, batch: int) -> Work:
        """Evaluation mode, gradients off (primer-12)."""
        torch = self._torch
        model = self._network().to(self._device, self._type).eval()
        images = self._images(batch)

        def once() -> None:
            with torch.inference_mode():
                model(images)

        return once

    def training(self, batch: int) -> Work:
        """Cross-entropy, and SGD with momentum (primer-13)."""
        torch = self._torch
        model = self._network().to(self._device, self._type).train()
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
        images = self._images(max(_KEPT // batch, 1) * batch).split(batch)
        labels = torch.randint(0, _CLASSES, (len(images), batch), device=self._device)
        place = 0

        def once() -> None:
            nonlocal place
            loss = torch.nn.functional.cross_entropy(model(images[place]).float(), labels[place])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            place = (place + 1) % len(images)

        return once

    def pipeline(self, batch: int) -> Work:
        """From decoded images of 256 pixels: crop, flip, normalise, move."""
        torch = self._torch
        decoded = torch.randint(0, 256, (batch, 3, 256, 256), dtype=torch.uint8)
        mean, deviation = torch.full((3, 1, 1), 0.45), torch.full((3, 1, 1), 0.225)

        def once() -> None:
            found = [
                ((image[:, 16 : 16 + SIDE, 16 : 16 + SIDE].flip(-1).float() / 255) - mean) / deviation
                for image in decoded
            ]
            torch.stack(found).to(self._device, self._type)

        return once

    def product(self, size: int) -> Work:
        """Of two random matrices."""
        torch = self._torch
        one, other = (torch.randn(size, size, device=self._device, dtype=self._type) for _ in range(2))
        into = torch.empty_like(one)
        return lambda: torch.matmul(one, other, out=into)

    def copy(self, size: int) -> Work:
        """From one place to another of its memory."""
        torch = self._torch
        one = torch.zeros(size, dtype=torch.uint8, device=self._device)
        into = torch.empty_like(one)
        return lambda: into.copy_(one)

    def move(self, size: int) -> Work | None:
        """From pinned memory of the host."""
        torch = self._torch
        if self._device in ("cpu", "mps"):
            return None
        one = torch.zeros(size, dtype=torch.uint8, pin_memory=True)
        into = torch.empty(size, dtype=torch.uint8, device=self._device)
        return lambda: into.copy_(one, non_blocking=True)

    def memory_gib(self) -> float | None:
        """What is taken of the device, by the libraries too; what is kept for later is then given back."""
        if self._device != "cuda":
            return None
        free, total = self._torch.cuda.mem_get_info()
        self._torch.cuda.empty_cache()
        return float(total - free) / 2**30

    def _images(self, number: int) -> Any:
        return self._torch.randn(number, 3, SIDE, SIDE, device=self._device, dtype=self._type)
