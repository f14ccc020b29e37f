"""The MCP client of the OpenAI Agents SDK."""

# Runs in an environment whose packages ours does not have.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys

from agents.mcp import MCPServerStreamableHttp


async def main() -> None:
    target, job = sys.argv[1], json.loads(sys.argv[2])
    async with MCPServerStreamableHttp(params={"url": target}) as server:
        tools = await server.list_tools()
        found = await server.call_tool("patient_search", job["search"])
        created = await server.call_tool("vital_create", job["order"])
        said = {
            "tools": [tool.name for tool in tools],
            "found": found.content[0].text,
            "created": created.content[0].text,
        }
    print(json.dumps(said))


asyncio.run(main())
