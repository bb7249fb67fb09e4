"""Build hook: a wheel carries the knowledge base as ``whygpu/kb``; an editable install reads the checkout's ``kb/``."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KnowledgeBaseBuildHook(BuildHookInterface[Any]):
    """Force-include ``kb/`` in standard wheels only."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add ``kb/`` to the wheel; ``version`` is hatchling's name of the wheel kind (standard or editable)."""
        if version == "standard":
            build_data["force_include"]["kb"] = "whygpu/kb"
