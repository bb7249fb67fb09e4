"""What was measured of a device against what the catalogue says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.knowledge.base import Knowledge
    from whygpu.measuring.programs import Results


@dataclass(frozen=True, slots=True)
class Against:
    """A figure that was measured, and the one it is held against."""

    what: str
    measured: float
    catalogue: float
    unit: str
    says: str
    """The figure of the catalogue."""

    @property
    def share(self) -> float:
        """Measured over the catalogue's."""
        return self.measured / self.catalogue


def against_catalogue(results: Results, accelerator: str, knowledge: Knowledge) -> Iterator[Against]:
    """The matrix product against the peak rate of its format, the copy against the memory's bandwidth."""
    card = knowledge.catalogue.accelerators[accelerator]
    form = knowledge.catalogue.formats[results.ran.format]
    rate = next((name for name in form.rate if card.number(name)), None)
    rows = (
        ("matrix product", results.product_tflops, rate, "TFLOPS"),
        ("copy in memory", results.copy_gb_s, "bandwidth_gb_s", "GB/s"),
    )
    for what, measured, name, unit in rows:
        said = None if name is None else card.number(name)
        if measured is not None and said:
            yield Against(what, measured, said, unit, str(name))
