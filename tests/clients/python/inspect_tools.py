"""Inspect's MCP tools, called as its agents call them."""

# Runs in an environment whose packages ours does not have.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from inspect_ai.tool import ToolDef, mcp_connection, mcp_server_http


def text_of(result: Any) -> str:
    return result if isinstance(result, str) else result[0].text


async def main() -> None:
    target, job = sys.argv[1], json.loads(sys.argv[2])
    server = mcp_server_http(name="wardround", url=target)
    async with mcp_connection(server):
        tools = {ToolDef(tool).name: tool for tool in await server.tools()}
        found = await tools["patient_search"](**job["search"])
        created = await tools["vital_create"](**job["order"])
        said = {"tools": list(tools), "found": text_of(found), "created": text_of(created)}
    print(json.dumps(said))


asyncio.run(main())
