"""What the programs ask of PyTorch on CUDA, ROCm, MPS and XPU, with a stand-in: tests run where none of these is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from whygpu.errors import AnswerError
from whygpu.measuring import torch_backend
from whygpu.measuring.torch_backend import TorchBackend, available, load


def pytorch(kind: str, hip: str | None = None, capability: tuple[int, int] = (9, 0)) -> Any:
    """PyTorch as it is with one device of a kind; every call of it is kept."""
    torch = MagicMock()
    torch.__version__ = "2.13.0"
    torch.version = SimpleNamespace(hip=hip, cuda=None if hip else "13.0")
    for name in ("cuda", "xpu"):
        getattr(torch, name).is_available.return_value = kind == name
    torch.backends.mps.is_available.return_value = kind == "mps"
    torch.cuda.get_device_capability.return_value = capability
    torch.cuda.get_device_properties.return_value = SimpleNamespace(name="A card", total_memory=80 * 2**30)
    torch.cuda.mem_get_info.return_value = (60 * 2**30, 80 * 2**30)
    torch.xpu.get_device_properties.return_value = SimpleNamespace(name="Another", total_memory=16 * 2**30)
    torch.get_num_threads.return_value = 2
    return torch


def backend(torch: Any, monkeypatch: pytest.MonkeyPatch, device: str = "auto", precision: str = "auto") -> TorchBackend:
    modules = {"torch": torch, "torchvision.models": MagicMock()}
    monkeypatch.setattr(torch_backend, "module", modules.get)
    return load(device, precision)


@pytest.mark.parametrize(
    ("kind", "hip", "capability", "ran"),
    [
        ("cuda", None, (9, 0), ("A card", "cuda", 81_920, "PyTorch 2.13.0, CUDA 13.0", "tf32")),
        ("cuda", None, (7, 5), ("A card", "cuda", 81_920, "PyTorch 2.13.0, CUDA 13.0", "fp32")),
        ("cuda", "7.2", (9, 4), ("A card", "cuda", 81_920, "PyTorch 2.13.0, ROCm 7.2", "fp32")),
        ("xpu", None, (0, 0), ("Another", "xpu", 16_384, "PyTorch 2.13.0", "fp32")),
    ],
)
def test_the_device_says_what_it_is(
    kind: str, hip: str | None, capability: tuple[int, int], ran: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = backend(pytorch(kind, hip, capability), monkeypatch).ran
    assert (found.name, found.kind, found.memory_mib, found.software, found.format) == ran


@pytest.mark.parametrize("kind", ["cuda", "xpu", "mps"])
def test_the_device_is_waited_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytorch(kind)
    assert available(torch) == [kind, "cpu"]
    backend(torch, monkeypatch).synchronize()
    assert getattr(torch, kind).synchronize.call_count == 1
    backend(torch, monkeypatch, "cpu").synchronize()
    assert sum(getattr(torch, name).synchronize.call_count for name in ("cuda", "xpu", "mps")) == 1


def test_memory_is_told_by_cuda_alone_and_moved_where_it_is_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, mps = pytorch("cuda"), pytorch("mps")
    assert backend(cuda, monkeypatch).memory_gib() == 20
    assert backend(cuda, monkeypatch).move(1_000) is not None
    assert cuda.zeros.call_args.kwargs["pin_memory"] is True
    assert backend(mps, monkeypatch).memory_gib() is None
    assert backend(mps, monkeypatch).move(1_000) is None


@pytest.mark.parametrize(("precision", "allowed"), [("tf32", True), ("fp32", False), ("bf16", False)])
def test_tensor_cores_round_only_where_it_is_asked(
    precision: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytorch("cuda")
    backend(torch, monkeypatch, precision=precision)
    assert torch.backends.cudnn.allow_tf32 is allowed
    assert torch.backends.cuda.matmul.allow_tf32 is allowed


def test_a_device_that_is_not_there_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnswerError, match="there is no 'cuda' device") as caught:
        backend(pytorch("mps"), monkeypatch, "cuda")
    assert caught.value.problems[0].help == "there: mps, cpu"
