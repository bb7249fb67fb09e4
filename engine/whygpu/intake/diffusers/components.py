"""Networks of diffusion pipelines by their class: how each is counted, and how a pipeline runs its denoiser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from whygpu.checks.model_shape import Component, ModelShape
from whygpu.intake.diffusers.diffusion_transformers import (
    LATENT,
    cogvideox,
    flux,
    flux2,
    hunyuan_video,
    ltx,
    pixart,
    qwen_image,
    sd3,
    wan,
)
from whygpu.intake.diffusers.network import Network
from whygpu.intake.diffusers.unet import autoencoder, unet
from whygpu.intake.diffusers.video_autoencoders import cogvideox_autoencoder, wan_autoencoder
from whygpu.intake.huggingface import keys
from whygpu.intake.limits import Reader, shown
from whygpu.intake.problems import IntakeProblem, IntakeResult, has_errors

Count = Callable[[Reader], Network | None]
NO_SPEED = "its operations are not counted here, so there is no speed, and no memory for them"


@dataclass(frozen=True, slots=True)
class Denoiser:
    """How a denoiser is counted, and what its pipeline does unless told otherwise.

    `steps` and `passes` (2 where guidance runs each step with and without the prompt): the defaults of `__call__` in
    huggingface/diffusers, src/diffusers/pipelines.
    """

    count: Count
    steps: int
    passes: int = 2


DENOISERS: Mapping[str, Denoiser] = {
    "UNet2DConditionModel": Denoiser(unet, 50),
    "FluxTransformer2DModel": Denoiser(flux, 28, 1),
    "Flux2Transformer2DModel": Denoiser(flux2, 50, 1),
    "SD3Transformer2DModel": Denoiser(sd3, 28),
    "PixArtTransformer2DModel": Denoiser(pixart, 20),
    "QwenImageTransformer2DModel": Denoiser(qwen_image, 50),
    "CogVideoXTransformer3DModel": Denoiser(cogvideox, 50),
    "WanTransformer3DModel": Denoiser(wan, 50),
    "LTXVideoTransformer3DModel": Denoiser(ltx, 50),
    "HunyuanVideoTransformer3DModel": Denoiser(hunyuan_video, 50, 1),
}
AUTOENCODERS: Mapping[str, Count] = {
    "AutoencoderKL": autoencoder,
    "AutoencoderKLFlux2": autoencoder,
    "AutoencoderKLWan": wan_autoencoder,
    "AutoencoderKLQwenImage": wan_autoencoder,
    "AutoencoderKLCogVideoX": cogvideox_autoencoder,
}


def class_of(config: object) -> str:
    """The class that a diffusers configuration names; empty where it is another configuration."""
    name = config.get("_class_name") if isinstance(config, Mapping) else None
    return name[:80] if isinstance(name, str) else ""


def count_network(reader: Reader) -> Network | None:
    """Count the network that the configuration names; None, with the problems kept, where it cannot be counted."""
    name = class_of(reader.data)
    denoiser = DENOISERS.get(name)
    count = denoiser.count if denoiser else AUTOENCODERS.get(name)
    if count is None:
        said = f"is a {shown(name)}, which is not counted here{_still_said(reader)}"
        reader.complain("_class_name", said, "name the folder with its safetensors file, or give parameters")
        return None
    kept = len(reader.problems)
    network = count(reader)
    if network is None and len(reader.problems) > kept:
        _name_the_class(reader, kept, name)
    return network


def _name_the_class(reader: Reader, first: int, name: str) -> None:
    """Say at a problem of the whole configuration which class it speaks of, and how to go on without the count."""
    for location in range(first, len(reader.problems)):
        problem = reader.problems[location]
        if problem.path == reader.at:
            hint = "name the folder with its safetensors file, or give parameters"
            reader.problems[location] = IntakeProblem(problem.path, f"({name}) {problem.message}", hint)


def _still_said(reader: Reader) -> str:
    """What can be said of a network of an unknown class."""
    aside = Reader(reader.data)
    layers, heads = aside.whole("layers", *keys.LAYERS), aside.whole("heads", *keys.HEADS)
    head = aside.whole("head", "attention_head_dim")
    return f": {layers} layers, {heads * head} wide" if layers and heads and head else ""


def from_component(data: Mapping[object, object], at: str, *, name: str = "", parameters: int = 0) -> IntakeResult:
    """The shape of one network of a pipeline, by its configuration; its `parameters`, where given, stand instead."""
    reader = Reader(data, at)
    if class_of(data).endswith("Pipeline"):
        reader.complain("", "is the index of a pipeline", "name its folder: diffusers: FOLDER")
        return None, reader.problems
    network = count_network(reader)
    if network is None and parameters:
        network, reader.problems = Network(parameters), []
        reader.complain("_class_name", f"is a {shown(class_of(data))}: {NO_SPEED}", "", "warning")
    if network is None or has_errors(reader.problems):
        return None, reader.problems
    rest = "is one network of a pipeline: what stands beside it in memory (text encoders, autoencoder) is not in it"
    reader.complain("", rest, "name the pipeline's folder", "warning")
    parts = {class_of(data): parameters or network.parameters}
    return pipeline_shape(name or class_of(data), parts, data, network), reader.problems


def pipeline_shape(
    name: str,
    parts: Mapping[str, int],
    config: Mapping[object, object],
    network: Network,
    *,
    trained: int = 0,
    decoder: Network | None = None,
    steps: int = 0,
) -> ModelShape:
    """The shape of networks with so many parameters, of which `network`, with this configuration, does the work.

    `trained` are the denoiser's parameters, `steps` how often it runs, its pipeline's default where 0.
    """
    denoiser = DENOISERS.get(class_of(config))
    passes = 1 if denoiser is None or config.get("time_cond_proj_dim") else denoiser.passes
    assumed = ["parameters", "flops_per_sample", "peak_bytes_per_sample"]
    if not steps:
        assumed.append("steps")
        steps = denoiser.steps if denoiser else 1
    side = network.image_side or network.latent_side * (2**decoder.stages if decoder and decoder.stages else LATENT)
    decoding = decoder.flops * (side / decoder.image_side) ** 2 if decoder and decoder.image_side else 0.0
    peak = decoder.peak_bytes * (side / decoder.image_side) ** 2 if decoder and decoder.image_side else 0.0
    return ModelShape(
        name=name[:80],
        kind="diffusion",
        parameters=sum(parts.values()),
        layers=network.layers,
        gated_ffn=False,
        image_size=side,
        frames=network.frames,
        steps=steps,
        denoiser_passes=passes,
        flops_per_sample=passes * network.flops + decoding / steps,
        square_flops_per_sample=passes * network.square_flops,
        peak_bytes_per_sample=max(network.peak_bytes, peak),
        trained_parameters=trained,
        components=tuple(Component(part, count) for part, count in parts.items()) if len(parts) > 1 else (),
        assumed=tuple(assumed),
    )
