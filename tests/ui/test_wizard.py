"""The wizard's steps: what is asked when, what is kept, what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from conftest_ui import plain

from whygpu.errors import AnswerError
from whygpu.render.text import sentence
from whygpu_ui.model_field import MAX_CONFIG_BYTES, read_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import KnowledgeBase
