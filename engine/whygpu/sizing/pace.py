"""What the measurement of a training run says of its pace: work a second of one accelerator, and how it scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whygpu.sizing.scaling import Law, Scales, fit_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu.measured.measurement import Measurement, Scaling

Unit = Literal["tokens", "samples", "steps"]


@dataclass(frozen=True, slots=True)
class Pace:
    """Work of one ``unit`` a second that ``count`` accelerators on ``nodes`` machines do together."""

    unit: Unit
    per_s: float
    count: int
    nodes: int


def layout_of(found: Measurement) -> tuple[int, int]:
    """Accelerators and machines that the figures are of: as the figures say, else the setup; one where neither does."""
    count = found.number("accelerators") or found.setup.count or 1
    nodes = found.number("nodes") or found.setup.nodes or 1
    return int(count), int(nodes)


def pace_of(found: Measurement, unit: Unit) -> Pace | None:
    """The pace by the figures, else by the row of the scaling with fewest accelerators; None where none tells it.

    Of a step in milliseconds the batch tells samples, and the sequence tokens: batch and sequence are per accelerator.
    """
    count, nodes = layout_of(found)
    rate = _rate(
        found, unit, count, found.number("step_ms"), found.number("samples_per_s"), found.number("tokens_per_s")
    )
    if rate is not None:
        return Pace(unit, rate, count, nodes)
    for row in sorted(found.scaling, key=lambda row: row.accelerators):
        rate = _rate(found, unit, int(row.accelerators), row.step_ms, row.samples_per_s, row.tokens_per_s)
        if rate is not None:
            return Pace(unit, rate, int(row.accelerators), int(row.nodes or 1))
    return None


def _rate(
    found: Measurement, unit: Unit, count: int, step_ms: float | None, samples: float | None, tokens: float | None
) -> float | None:
    batch, sequence = (_answer(found, key) for key in ("batch_size", "sequence_tokens"))
    batch = found.number("batch") or batch
    accumulated = _answer(found, "gradient_accumulation") or 1
    a_step = None if not batch else batch * accumulated * count
    samples = samples if samples is not None else a_step * 1000 / step_ms if a_step and step_ms else None
    if unit == "steps":
        return 1000 / step_ms if step_ms else samples / a_step if samples and a_step else None
    if unit == "samples":
        return samples
    return tokens if tokens is not None else samples * sequence if samples and sequence else None


def _answer(found: Measurement, key: str) -> float | None:
    value = found.setup.answers.values.get(key)
    return value if isinstance(value, float) else None


def relative_rate(row: Scaling) -> float | None:
    """Work a second of a row in some unit; of a step alone it is steps x accelerators, each with its own batch."""
    for value in (row.samples_per_s, row.tokens_per_s):
        if value is not None:
            return value
    return row.accelerators / row.step_ms if row.step_ms else None


Rows = list[tuple[float, float]]


def efficiencies(rows: Sequence[Scaling], per_node: int) -> tuple[Rows, Rows]:
    """Rows of (accelerators, efficiency) within a machine, and of (machines, efficiency) of full ones."""
    known = [(row, rate) for row in rows if (rate := relative_rate(row)) is not None]
    one = next((rate for row, rate in known if row.accelerators == 1), None)
    within = [(row.accelerators, rate / row.accelerators / one) for row, rate in known if one and (row.nodes or 1) == 1]
    full = next((rate for row, rate in known if row.accelerators == per_node and (row.nodes or 1) == 1), None)
    across = [
        (float(row.nodes), rate / row.nodes / full)
        for row, rate in known
        if full and row.nodes and row.nodes > 1 and row.accelerators == per_node * row.nodes
    ]
    return within, across


def scales_of(rows: Sequence[Scaling], per_node: int, assumed: float) -> Scales:
    """The laws fitted to the rows; where there are none, Amdahl's with the ``assumed`` contention."""
    within, across = efficiencies(rows, per_node)
    default = Law(assumed, 0.0, 0)
    return Scales(fit_law(within) or default, fit_law(across) or default, per_node)


def split_of(found: Measurement) -> tuple[tuple[str, float], ...]:
    """The parts of a step as shares of it, with what is left."""
    names = ("compute", "memory", "input", "communication")
    parts = [(name, value) for name in names if (value := found.number(f"{name}_share")) is not None]
    left = 1 - sum(value for _, value in parts)
    return (*parts, ("other", left)) if parts and left > 0.005 else tuple(parts)
