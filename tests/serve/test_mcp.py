"""The tools of MCP, asked by the official SDK's own client."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

from tests.serve.loops import finish
from whygpu.render.output import json_text
from whygpu.serve.current import Current

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

CHAT = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8}


async def ask(server: Any) -> dict[str, Any]:
    """What the tools say, called over a session."""
    from mcp import Client  # noqa: PLC0415

    calls: dict[str, dict[str, Any]] = {
        "advise": {"answers": CHAT},
        "why_not": {"answers": CHAT, "plan": "H100"},
        "what_if": {"answers": CHAT, "changes": {"concurrency": 512}},
        "estimate": {"answers": CHAT | {"accelerators": ["l4"]}},
        "catalogue": {"section": "accelerators", "words": "h100", "limit": 3},
    }
    async with Client(server) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == set(calls)
        found = {name: await client.call_tool(name, arguments) for name, arguments in calls.items()}
        assert not any(result.is_error for result in found.values())
        bad = await client.call_tool("advise", {"answers": {"modle": 1}})
        assert bad.is_error
        assert "unknown-key" in str(bad.content)
    return {name: json.loads(getattr(result.content[0], "text", "")) for name, result in found.items()}


def check(found: dict[str, Any], current: Current) -> None:
    """Hold what the tools said against the library."""
    advice = current.get().advise(CHAT, engine="evaluator")
    assert found["advise"] == json.loads(json_text(advice.to_dict(every=False, trace=False)))
    assert "H100" in found["why_not"]["sections"][0]["title"]
    assert found["what_if"]["changed"] is advice.what_if(concurrency=512).changed
    assert found["estimate"]["accelerator"]["id"] == "l4"
    assert found["catalogue"]["rows"]


def test_the_tools_answer_as_the_library(current: Current) -> None:
    from whygpu.serve.mcp import tools  # noqa: PLC0415

    check(finish(ask(tools(current))), current)


@pytest.mark.slow
def test_a_process_speaks_mcp_over_its_standard_streams(current: Current) -> None:
    from mcp import StdioServerParameters  # noqa: PLC0415

    server = StdioServerParameters(command=sys.executable, args=["-m", "whygpu.cli", "mcp"], env=dict(os.environ))
    check(finish(ask(server)), current)
