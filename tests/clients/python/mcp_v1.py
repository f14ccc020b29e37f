"""The Python SDK of the 1.x line."""

# Runs in an environment whose packages ours does not have.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def talk(session: ClientSession, job: dict) -> dict:
    hello = await session.initialize()
    tools = await session.list_tools()
    found = await session.call_tool("patient_search", job["search"])
    created = await session.call_tool("vital_create", job["order"])
    return {
        "protocol": str(hello.protocolVersion),
        "tools": [tool.name for tool in tools.tools],
        "found": found.content[0].text,
        "created": created.content[0].text,
    }


async def main() -> None:
    target, job = sys.argv[1], json.loads(sys.argv[2])
    if target.startswith("http"):
        async with streamablehttp_client(target) as (read, write, _), ClientSession(read, write) as session:
            print(json.dumps(await talk(session, job)))
    else:
        command, *arguments = json.loads(target)
        server = StdioServerParameters(command=command, args=arguments, env=job["env"])
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            print(json.dumps(await talk(session, job)))


asyncio.run(main())
