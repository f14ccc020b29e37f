"""LangChain's MCP adapters: our tools as LangChain tools."""

# Runs in an environment whose packages ours does not have.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient


def text_of(result: Any) -> str:
    return result if isinstance(result, str) else result[0]["text"]


async def main() -> None:
    target, job = sys.argv[1], json.loads(sys.argv[2])
    client = MultiServerMCPClient({"wardround": {"transport": "streamable_http", "url": target}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    found = await tools["patient_search"].ainvoke(job["search"])
    created = await tools["vital_create"].ainvoke(job["order"])
    print(json.dumps({"tools": list(tools), "found": text_of(found), "created": text_of(created)}))


asyncio.run(main())
