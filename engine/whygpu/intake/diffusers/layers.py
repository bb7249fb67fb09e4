"""Parameters and operations of the layers that networks for images are built of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whygpu.intake.limits import Reader, shown

MOST_STAGES = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """Parameters, and operations of one pass (a multiplication and an addition count as two).

    `square` are those of the operations that grow with the square of the positions: of attention to themselves.
    """

    parameters: int = 0
    flops: float = 0.0
    square: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.parameters + other.parameters, self.flops + other.flops, self.square + other.square)

    def times(self, count: int) -> Cost:
        """So many of it, each with its own parameters."""
        return Cost(self.parameters * count, self.flops * count, self.square * count)


def linear(inputs: int, outputs: int, at: float = 0.0, *, bias: bool = True) -> Cost:
    """A linear layer that works `at` so many positions."""
    return Cost(inputs * outputs + (outputs if bias else 0), 2.0 * inputs * outputs * at)


def convolution(inputs: int, outputs: int, window: int, at: float = 0.0, *, bias: bool = True) -> Cost:
    """A convolution whose window covers so many positions, and that has so many outputs."""
    return linear(inputs * window, outputs, at, bias=bias)


def norm(width: int, *, bias: bool = True) -> Cost:
    """A norm with a weight for each channel."""
    return Cost(2 * width if bias else width)


def scores(width: int, queries: float, keys: float) -> Cost:
    """Attention's own products: queries with keys, and their weights with values."""
    flops = 4.0 * width * queries * keys
    return Cost(0, flops, flops if queries == keys else 0.0)


def attention(width: int, queries: float, source: int = 0, keys: float = 0.0, *, bias: bool = False) -> Cost:
    """Four projections, the last with a bias; of itself, or of a source `source` wide with so many `keys`."""
    keys = keys if source else queries
    inputs = linear(width, width, queries, bias=bias) + linear(source or width, width, keys, bias=bias).times(2)
    return inputs + linear(width, width, queries) + scores(width, queries, keys)


def feed_forward(width: int, inner: int, at: float) -> Cost:
    """Two linear layers with biases."""
    return linear(width, inner, at) + linear(inner, width, at)


def embedding(inputs: int, width: int) -> Cost:
    """Two linear layers over one vector: a time step, a pooled text."""
    return linear(inputs, width, 1) + linear(width, width, 1)


def whole_numbers(reader: Reader, limit: str, key: str, otherwise: Sequence[int], stages: int = 0) -> tuple[int, ...]:
    """A list of whole numbers under the key, or one number that stands for all `stages`.

    What is wrong is kept as a problem, and `otherwise` given instead.
    """
    value = reader.raw(key)[1]
    if value is None:
        return tuple(otherwise)
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        if not stages:
            reader.complain(key, f"is {shown(value)}, not a list of numbers")
            return tuple(otherwise)
        one = reader.whole(limit, key)
        return tuple(otherwise) if one is None else (one,) * stages
    named = {str(number): item for number, item in enumerate(value[: MOST_STAGES + 1])}
    inner = Reader(named, reader.path(key), reader.problems)
    found = tuple(number for name in inner.data if (number := inner.whole(limit, name)) is not None)
    if not 1 <= len(value) <= MOST_STAGES or (stages and len(value) != stages):
        wanted = f"{stages} numbers" if stages else f"1 to {MOST_STAGES} numbers"
        reader.complain(key, f"is {shown(value)}, not {wanted}")
        return tuple(otherwise)
    return found if len(found) == len(value) else tuple(otherwise)


def words(reader: Reader, key: str, otherwise: Sequence[str]) -> tuple[str, ...]:
    """A list of short texts under the key; `otherwise` where there is none."""
    value = reader.raw(key)[1]
    if value is None:
        return tuple(otherwise)
    if (
        not isinstance(value, Sequence)
        or isinstance(value, (str, bytes))
        or not 1 <= len(value) <= MOST_STAGES
        or not all(isinstance(word, str) and len(word) <= 80 for word in value)
    ):
        reader.complain(key, f"is {shown(value)}, not a list of names")
        return tuple(otherwise)
    return tuple(value)
