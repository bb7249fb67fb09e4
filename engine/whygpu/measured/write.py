"""Writes a measurement file, that whoever reads it next gets the same measurement."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import yaml

from whygpu.files import write_whole
from whygpu.measured.measurement import VERSION, Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEADER = "# yaml-language-server: $schema=measurement.schema.json  ('whygpu schema measurement')\n"


def plain(found: Measurement) -> dict[str, Any]:
    """A measurement as plain data: what a measurement file says."""
    setup = {**found.setup.answers.given, "model": found.setup.model_name or found.setup.answers.given.get("model")}
    setup |= {"accelerator": found.setup.accelerator, "nodes": found.setup.nodes}
    return {
        "measurement": VERSION,
        **_given(
            {
                "tool": None if found.tool is None else _given(asdict(found.tool)),
                "date": found.date,
                "source": found.source,
                "setup": _given(setup),
                "figures": {key: _plain(value) for key, value in found.figures.items()},
                "points": [_given(asdict(point)) for point in found.points],
                "scaling": [_given(asdict(row)) for row in found.scaling],
            }
        ),
    }


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is given of these values."""
    return {key: _plain(value) for key, value in values.items() if value is not None and value not in ({}, [])}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value == int(value) else value


def measurement_text(found: Measurement) -> str:
    """A measurement as the text of its file."""
    return HEADER + yaml.safe_dump(plain(found), sort_keys=False, allow_unicode=True, width=120)


def write_measurement(path: Path, found: Measurement) -> None:
    """Write a measurement to a file, all of it or nothing; raises AnswerError."""
    write_whole(path, measurement_text(found))
