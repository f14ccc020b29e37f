"""The Python SDK of the 2.x line; the third argument is the client's mode."""

# Runs in an environment whose packages ours does not have.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def main() -> None:
    target, job, mode = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
    server: str | StdioServerParameters = target
    if not target.startswith("http"):
        command, *arguments = json.loads(target)
        server = StdioServerParameters(command=command, args=arguments, env=job["env"])
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        found = await client.call_tool("patient_search", job["search"])
        created = await client.call_tool("vital_create", job["order"])
        said = {
            "protocol": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "found": found.content[0].text,
            "created": created.content[0].text,
        }
    print(json.dumps(said))


asyncio.run(main())
