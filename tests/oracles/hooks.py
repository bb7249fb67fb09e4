"""What PyTorch keeps for the backward pass, counted by saved-tensor hooks, for small models written with its functions.

PyTorch is imported by the tests that need it, and handed on: it is an extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


def saved_bytes(torch: Any, forward: Callable[[], Any], weights: Iterable[Any]) -> int:
    """Bytes of all storages that the forward pass saves, each counted once, without the weights themselves."""
    own = {weight.untyped_storage().data_ptr() for weight in weights}
    seen: dict[int, tuple[int, Any]] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            # The tensor is kept beside its size, so that its address is not given to another.
            seen[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = forward()
    del result
    return sum(size for size, _ in seen.values())


@dataclass(frozen=True, slots=True)
class Llama:
    """Layers of a Llama: widths, heads, tokens. Root-mean-square norms in FP32, rotary positions, gated SiLU."""

    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    layers: int = 4
    batch: int = 2
    tokens: int = 64

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def kept(self, torch: Any, autocast: bool) -> int:
        """Bytes kept by all layers, in pure bf16 or in bf16 under autocast; not the 16-bit copies of the weights."""
        torch.manual_seed(0)
        dtype = torch.float32 if autocast else torch.bfloat16
        layers = [self._weights(torch, dtype) for _ in range(self.layers)]
        weights = [weight for layer in layers for weight in layer.values()]
        start = torch.randn(self.batch, self.tokens, self.hidden, dtype=dtype)

        def forward() -> Any:
            stream = start
            with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
                for layer in layers:
                    stream = self._layer(torch, stream, layer)
            return stream

        copies = sum(weight.numel() * 2 for weight in weights if weight.ndim == 2) if autocast else 0
        return saved_bytes(torch, forward, weights) - copies

    def _weights(self, torch: Any, dtype: Any) -> dict[str, Any]:
        keys = self.kv_heads * self.head_dim
        sizes = {
            "q": (self.hidden, self.hidden),
            "k": (keys, self.hidden),
            "v": (keys, self.hidden),
            "o": (self.hidden, self.hidden),
            "gate": (self.ffn, self.hidden),
            "up": (self.ffn, self.hidden),
            "down": (self.hidden, self.ffn),
            "first": (self.hidden,),
            "second": (self.hidden,),
        }
        return {
            name: (torch.randn(size) * 0.02).to(dtype).requires_grad_()  # leaf tensors of the right type
            for name, size in sizes.items()
        }

    def _layer(self, torch: Any, stream: Any, weight: dict[str, Any]) -> Any:
        linear = torch.nn.functional.linear

        def norm(x: Any, scale: Any) -> Any:
            wide = x.float()
            return scale * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

        def heads(x: Any, count: int) -> Any:
            return x.view(self.batch, self.tokens, count, self.head_dim).transpose(1, 2)

        inside = norm(stream, weight["first"])
        query = self._turned(torch, heads(linear(inside, weight["q"]), self.heads))
        key = self._turned(torch, heads(linear(inside, weight["k"]), self.kv_heads))
        value = heads(linear(inside, weight["v"]), self.kv_heads)
        attended = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=self.heads != self.kv_heads
        )
        joined = attended.transpose(1, 2).reshape(self.batch, self.tokens, self.hidden)
        stream = stream + linear(joined, weight["o"])
        inside = norm(stream, weight["second"])
        gated = torch.nn.functional.silu(linear(inside, weight["gate"])) * linear(inside, weight["up"])
        return stream + linear(gated, weight["down"])

    def _turned(self, torch: Any, x: Any) -> Any:
        """Rotary positions; the angles are shared by all layers and small."""
        half = self.head_dim // 2
        angle = torch.arange(self.tokens, dtype=torch.float32)[:, None] / (1 + torch.arange(self.head_dim))
        turned = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * angle.cos().to(x.dtype) + turned * angle.sin().to(x.dtype)


@dataclass(frozen=True, slots=True)
class Convolutions:
    """A stack of 3 x 3 convolutions with batch norm and ReLU, the image halved once."""

    width: int = 32
    layers: int = 6

    def flops(self, pixels: int) -> float:
        """Operations of one image: 2 * 9 * inputs * outputs per pixel and layer."""
        first = 2 * 9 * 3 * self.width * pixels**2
        rest = 2 * 9 * self.width**2 * (self.layers - 1) * (pixels // 2) ** 2
        return float(first + rest)

    def kept(self, torch: Any, images: int, pixels: int, dtype: Any) -> int:
        """Bytes kept of so many images, less the images themselves."""
        torch.manual_seed(0)
        widths = [3, *[self.width] * self.layers]
        kernels = [
            (torch.randn(after, before, 3, 3) * 0.1).to(dtype).requires_grad_() for before, after in pairwise(widths)
        ]
        scales = [torch.ones(self.width, dtype=dtype).requires_grad_() for _ in range(self.layers)]
        start = torch.randn(images, 3, pixels, pixels, dtype=dtype)

        def forward() -> Any:
            x = start
            for number, (kernel, scale) in enumerate(zip(kernels, scales, strict=True)):
                x = torch.nn.functional.conv2d(x, kernel, stride=2 if number == 1 else 1, padding=1)
                x = torch.nn.functional.batch_norm(x, None, None, scale, training=True)
                x = torch.relu(x)
            return x

        return saved_bytes(torch, forward, [*kernels, *scales, start])
