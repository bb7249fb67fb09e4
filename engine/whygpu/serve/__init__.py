"""The same answers for other programs: over HTTP (extra ``serve``) and as tools of MCP (extra ``mcp``)."""
