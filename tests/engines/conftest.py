"""Lets the tests here import the program generator, the reference and the driver beside them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
