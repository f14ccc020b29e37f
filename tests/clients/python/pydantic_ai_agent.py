"""An agent of Pydantic AI whose model is a function: it calls two of our tools, then answers."""

# Runs in an environment whose packages ours does not have.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


async def main() -> None:
    target, job = sys.argv[1], json.loads(sys.argv[2])
    plan = [("patient_search", job["search"]), ("vital_create", job["order"])]
    seen: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen[:] = [tool.name for tool in info.function_tools]
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if done < len(plan):
            name, arguments = plan[done]
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(target)])
    result = await agent.run("Record the blood pressure.")
    returns = [
        part.content if isinstance(part.content, str) else json.dumps(part.content)
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    print(json.dumps({"tools": seen, "found": returns[0], "created": returns[1]}))


asyncio.run(main())
