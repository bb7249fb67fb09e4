"""The layout that the answers fix: shards, stages and replicas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.checks.model_shape import ModelShape
    from whygpu.checks.setup import CacheSplit, ParallelLayout


def given(answer: int | None, tried: tuple[int, ...]) -> tuple[int, ...]:
    """What is tried of one part of a layout: what was answered, and nothing else."""
    return tried if answer is None else (answer,)


@dataclass(frozen=True, slots=True)
class FixedLayout:
    """The parts of a spread that the answers fix; None where they leave one open."""

    tensor: int | None = None
    pipeline: int | None = None
    replicas: int | None = None
    cache_split: CacheSplit | None = None
    expert: int | None = None

    def allows(self, layout: ParallelLayout) -> bool:
        """Whether a spread is laid out so."""
        return (
            self.tensor in (None, layout.tensor)
            and self.pipeline in (None, layout.pipeline)
            and self.replicas in (None, layout.data)
            and self.expert in (None, layout.expert)
        )

    @property
    def least(self) -> int:
        """Accelerators that the parts given take; any spread laid out so is a multiple of it."""
        return (self.tensor or 1) * (self.pipeline or 1) * (self.replicas or 1)

    def refusal(self, count: int, name: str) -> str:
        """Why so many of an accelerator are no spread that is laid out so."""
        parts = {
            "tensor_parallel": self.tensor,
            "pipeline_parallel": self.pipeline,
            "replicas": self.replicas,
            "cache_split": self.cache_split,
            "expert_parallel": self.expert,
        }
        told = " and ".join(f"'{key}' is {value}" for key, value in parts.items() if value is not None)
        return f"{told}, which {count}x {name} cannot be laid out by"

    def conflicts(self, shape: ModelShape, together: int) -> Iterator[tuple[str, str]]:
        """The answers that the model cannot be spread by, each with what is wrong; ``together``: accelerators of the
        largest machine, for shards exchange activations in every layer, which a network is too slow for (Narayanan et
        al. 2021, arXiv:2104.04473, 5.4.1).
        """
        if self.tensor is not None and self.tensor > together:
            why = "shards over several would wait for the network in each layer"
            message = f"'tensor_parallel' is {self.tensor}, more than the {together} accelerators of a machine: {why}"
            yield "tensor_parallel", message
        if self.tensor is not None and shape.heads % self.tensor:
            heads = f"the {shape.heads} attention heads of {shape.name}"
            yield "tensor_parallel", f"'tensor_parallel' is {self.tensor}, which does not divide {heads}"
        if self.expert is not None and shape.experts % self.expert:
            experts = f"the {shape.experts} experts of a layer of {shape.name}"
            yield "expert_parallel", f"'expert_parallel' is {self.expert}, which does not divide {experts}"
        if self.pipeline is not None and self.pipeline > shape.layers > 0:
            layers = f"the {shape.layers} layers of {shape.name}"
            yield "pipeline_parallel", f"'pipeline_parallel' is {self.pipeline}, more than {layers}"
