"""Model intake: a preset, a mapping of sizes, a config.json or a weights file becomes a ModelShape.

Nothing here raises on bad input: each reader returns the shape, or None, and the problems found.
"""

from whygpu.intake.mapping import from_mapping
from whygpu.intake.preset import from_preset
from whygpu.intake.problems import IntakeProblem, IntakeResult
from whygpu.intake.read import read
from whygpu.intake.sizes import SizeTable

__all__ = ["IntakeProblem", "IntakeResult", "SizeTable", "from_mapping", "from_preset", "read"]
