"""Problems as the page shows them: what is wrong, and how to fix it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from whygpu_ui.markdown import literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu import Problem

_MOST = 12


def show_problems(problems: Iterable[Problem], before: str = "") -> None:
    """A box with every problem and its fix; nothing where there is none."""
    listed = list(problems)
    if not listed:
        return
    lines = [f"{literal(item.message)}{f' ({literal(item.help)})' if item.help else ''}" for item in listed[:_MOST]]
    if len(listed) > _MOST:
        lines.append(f"and {len(listed) - _MOST} more")
    text = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
    show = st.warning if all(item.severity == "warning" for item in listed) else st.error
    show(f"{before}\n\n{text}" if before else text)
