"""Writes the screens of tests/render/golden anew: ``python -m tests.render.write_golden``. Read what changed."""

from __future__ import annotations

import re

import whygpu
from tests.render.cases import CASES, GOLDEN, TODAY, WIDTHS
from whygpu.render.screen import Screen
from whygpu.render.view import View, view_of


def screen(view: View, width: int) -> str:
    """A screen without the knowledge base's hash, which every edit changes."""
    return re.sub(r"\([0-9a-f]{16}\)", "(hash)", Screen(width=width).render(view))


def main() -> None:
    """Write every case at every width."""
    kb = whygpu.load()
    for name, answers in CASES.items():
        view = view_of(kb.advise(answers, engine="evaluator", today=TODAY), flips="loads")
        for width in WIDTHS:
            (GOLDEN / f"{name}-{width}.txt").write_text(screen(view, width), encoding="utf-8")


if __name__ == "__main__":
    main()
