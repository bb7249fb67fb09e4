"""One network of a pipeline, as counted from its configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """Parameters, operations of one pass over one sample, and the FP32 bytes it holds at most meanwhile.

    `square_flops` are those of the operations that grow with the square of the sample's area (attention to itself).
    `latent_side` is the side of the square of latents that a denoiser of images works on, `image_side` that of an
    autoencoder's images, `stages` how often it halves them, `frames` are those of a clip. 0 where it has none or it
    is not known.
    """

    parameters: int
    flops: float = 0.0
    square_flops: float = 0.0
    layers: int = 0
    latent_side: int = 0
    image_side: int = 0
    stages: int = 0
    peak_bytes: float = 0.0
    frames: int = 0
