"""One model of a view: what is said of an advice, whoever draws it."""

from __future__ import annotations

from whygpu.render.view.board import board
from whygpu.render.view.build import view_of
from whygpu.render.view.model import View

__all__ = ["View", "board", "view_of"]
