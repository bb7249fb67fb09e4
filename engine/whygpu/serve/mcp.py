"""The answers as tools of the Model Context Protocol, for programs that let a language model choose among tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import whygpu
from whygpu.errors import EngineError, InputError
from whygpu.render.output import json_text
from whygpu.render.problems import problems_data
from whygpu.serve.questions import Asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from whygpu.chain.names import EngineName
    from whygpu.serve.current import Current

INSTRUCTIONS = (
    'Which hardware for machine-learning work, and why. \'answers\' is an object such as {"phase": "inference", '
    '"model": "llama-3.1-8b", "concurrency": 8}; whatever is left out is assumed, and said to be. Figures come from '
    "rules with sources: quote them rather than your own."
)


def tools(current: Current, engine: EngineName = "evaluator") -> MCPServer:
    """A server of the tools; each gives JSON, or an error that lists every problem of what it was given."""
    server = MCPServer("whygpu", instructions=INSTRUCTIONS, version=whygpu.__version__)

    def answer(question: Callable[[Asked], dict[str, Any]]) -> dict[str, Any]:
        try:
            return question(Asked(current.get(), engine))
        except InputError as error:
            raise ToolError(json_text({"error": problems_data(error.problems)})) from error
        except EngineError as error:
            raise ToolError(f"engine: {error}") from error

    @server.tool()
    def advise(answers: dict[str, Any]) -> dict[str, Any]:
        """Recommend hardware for this work: the plan, a shortlist by role, the reasons with their sources, warnings."""
        return answer(lambda asked: asked.advise(answers))

    @server.tool()
    def why_not(answers: dict[str, Any], plan: str) -> dict[str, Any]:
        """Say why a card or plan ("RTX 4090", "2x L40S int8") is not recommended, and from which price it would be."""
        return answer(lambda asked: asked.why_not(answers, plan))

    @server.tool()
    def what_if(answers: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
        """Say what changes with other answers; null takes an answer away."""
        return answer(lambda asked: asked.what_if(answers, changes))

    @server.tool()
    def estimate(answers: dict[str, Any]) -> dict[str, Any]:
        """Memory, speed and cost of one plan: answers name one accelerator ("accelerators") and a "count"."""
        return answer(lambda asked: asked.estimate(answers))

    @server.tool()
    def catalogue(
        section: str, words: str = "", where: str | None = None, sort: str | None = None, limit: int = 20
    ) -> dict[str, Any]:
        """List accelerators, offerings (prices) or models: by words, by a condition ("gpu.usable_gib >= 80")."""
        return answer(lambda asked: asked.catalogue(section, words, where, sort, limit=limit))

    return server
