"""What the official conformance suite asks a server for by name: tools, resources and prompts of its own.

They are added to the product's own MCP server, so that the suite exercises our transport, sessions,
middleware and request handling with them.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
ToolResult = types.CallToolResult | types.InputRequiredResult
Tool = Callable[[Context, types.CallToolRequestParams], Awaitable[ToolResult]]

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
        "0000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
    )
).decode()
WAV = base64.b64encode(b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00").decode()
NAME_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OK_SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def said(*parts: Any) -> types.CallToolResult:
    """A result of text, or of ready content."""
    content = [types.TextContent(type="text", text=p) if isinstance(p, str) else p for p in parts]
    return types.CallToolResult(content=content)


def embedded(uri: str, kind: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(
        type="resource", resource=types.TextResourceContents(uri=uri, mime_type=kind, text=text)
    )


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def form(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str, tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens)
    )


def asked(requests: dict[str, Any], state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def answers(params: Any) -> dict[str, Any]:
    return dict(params.input_responses or {})


# --- tools with plain content -------------------------------------------------------------------


async def simple_text(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    return said("This is a simple text response for testing.")


async def image_content(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    return said(image())


async def audio_content(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    return said(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav"))


async def embedded_resource(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    return said(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))


async def multiple_content_types(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    data = json.dumps({"test": "data", "value": 123})
    mixed = embedded("test://mixed-content-resource", "application/json", data)
    return said("Multiple content types test:", image(), mixed)


async def error_handling(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    text = types.TextContent(type="text", text="This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[text], is_error=True)


async def echo(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    return said(json.dumps(params.arguments or {}))


# --- tools that speak while they work -----------------------------------------------------------


async def with_logging(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", text, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return said("Logged.")


async def with_progress(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    for step in (0, 50, 100):
        await ctx.session.report_progress(step, 100)
        await asyncio.sleep(0.05)
    return said("Progressed.")


async def sample(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    request = sampling((params.arguments or {})["prompt"], 100)
    result = await ctx.session.create_message(
        request.params.messages, max_tokens=100, related_request_id=ctx.request_id
    )
    return said(f"LLM response: {result.content}")


async def elicit(ctx: Context, schema: dict[str, Any], message: str) -> ToolResult:
    result = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return said(f"Elicitation completed: action={result.action}, content={json.dumps(result.content)}")


async def elicitation(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    schema = {"type": "object", "properties": properties, "required": ["username", "email"]}
    return await elicit(ctx, schema, (params.arguments or {})["message"])


async def elicitation_defaults(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicit(ctx, {"type": "object", "properties": properties}, "Defaults?")


async def elicitation_enums(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    options = ["option1", "option2", "option3"]

    def titled(word: str) -> list[dict[str, str]]:
        return [
            {"const": f"value{n}", "title": f"{name} {word}"} for n, name in enumerate(("First", "Second"), 1)
        ]

    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }
    return await elicit(ctx, {"type": "object", "properties": properties}, "Which?")


# --- tools that ask for input with their answer (2026-07-28) ------------------------------------


async def input_elicitation(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    reply = answers(params).get("user_name")
    if not isinstance(reply, types.ElicitResult):
        return asked({"user_name": form("What is your name?", NAME_SCHEMA)})
    return said(f"Hello, {(reply.content or {}).get('name')}!")


async def input_sampling(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    reply = answers(params).get("capital_question")
    if reply is None:
        return asked({"capital_question": sampling("What is the capital of France?", 100)})
    return said(str(reply.content))


async def input_roots(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    reply = answers(params).get("client_roots")
    if not isinstance(reply, types.ListRootsResult):
        return asked({"client_roots": types.ListRootsRequest()})
    return said(", ".join(str(root.uri) for root in reply.roots))


async def input_state(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    if "confirm" not in answers(params) or params.request_state != "confirming":
        return asked({"confirm": form("Please confirm", OK_SCHEMA)}, "confirming")
    return said("state-ok")


async def input_multiple(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    wanted = {
        "user_name": form("What is your name?", NAME_SCHEMA),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    if set(wanted) - set(answers(params)):
        return asked(wanted, "several")
    return said("All answered.")


async def input_rounds(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    given = answers(params)
    if params.request_state == "second" and "step2" in given:
        return said("Both answered.")
    if params.request_state == "first" and "step1" in given:
        schema = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
        return asked({"step2": form("Step 2: What is your favorite color?", schema)}, "second")
    return asked({"step1": form("Step 1: What is your name?", NAME_SCHEMA)}, "first")


async def input_capabilities(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    capabilities = ctx.session.client_capabilities
    wanted: dict[str, Any] = {}
    if capabilities is not None and capabilities.sampling is not None:
        wanted["greeting"] = sampling("Generate a greeting", 50)
    if capabilities is not None and capabilities.elicitation is not None:
        wanted["user_name"] = form("What is your name?", NAME_SCHEMA)
    return asked(wanted, "capabilities") if wanted and not answers(params) else said("Done.")


async def missing_capability(ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="this tool needs the client's sampling capability",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return said("Sampling is declared.")


TOOLS: dict[str, Tool] = {
    "test_simple_text": simple_text,
    "test_image_content": image_content,
    "test_audio_content": audio_content,
    "test_embedded_resource": embedded_resource,
    "test_multiple_content_types": multiple_content_types,
    "test_error_handling": error_handling,
    "test_tool_with_logging": with_logging,
    "test_logging_tool": with_logging,
    "test_tool_with_progress": with_progress,
    "test_sampling": sample,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": elicitation_defaults,
    "test_elicitation_sep1330_enums": elicitation_enums,
    "test_input_required_result_elicitation": input_elicitation,
    "test_streaming_elicitation": input_elicitation,
    "test_input_required_result_sampling": input_sampling,
    "test_input_required_result_list_roots": input_roots,
    "test_input_required_result_request_state": input_state,
    "test_input_required_result_tampered_state": input_state,
    "test_input_required_result_multiple_inputs": input_multiple,
    "test_input_required_result_multi_round": input_rounds,
    "test_input_required_result_capabilities": input_capabilities,
    "test_missing_capability": missing_capability,
    "test_headers": echo,
    "json_schema_2020_12_tool": echo,
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}},
    "test_headers": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}


def tool_schema(name: str) -> dict[str, Any] | None:
    """The input schema of a fixture; None for every other tool."""
    return SCHEMAS.get(name, {"type": "object"}) if name in TOOLS else None


def listed_tools() -> list[types.Tool]:
    return [
        types.Tool(name=name, description=f"Fixture {name} of the conformance suite.", input_schema=schema)
        for name in TOOLS
        if (schema := tool_schema(name)) is not None
    ]


# --- resources and prompts ----------------------------------------------------------------------

RESOURCES = [
    types.Resource(uri="test://static-text", name="static-text", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="static-binary", mime_type="image/png"),
    types.Resource(uri="test://watched-resource", name="watched-resource", mime_type="text/plain"),
]
TEMPLATE = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")


def read_resource(uri: str) -> types.ReadResourceResult | None:
    """A fixture's contents; None for every other resource."""
    contents: types.TextResourceContents | types.BlobResourceContents
    if uri == "test://static-binary":
        contents = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    elif uri in ("test://static-text", "test://watched-resource"):
        text = "This is the content of the static text resource."
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    elif uri.startswith("test://template/") and uri.endswith("/data"):
        ident = uri.split("/")[3]
        data = json.dumps({"id": ident, "templateTest": True, "data": f"Data for ID: {ident}"})
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
    else:
        return None
    return types.ReadResourceResult(contents=[contents])


PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


def listed_prompts() -> list[types.Prompt]:
    return [
        types.Prompt(
            name=name,
            description=f"Fixture {name} of the conformance suite.",
            arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
        )
        for name, arguments in PROMPTS.items()
    ]


def get_prompt(params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}

    def says(*parts: Any) -> types.GetPromptResult:
        content = [types.TextContent(type="text", text=p) if isinstance(p, str) else p for p in parts]
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=c) for c in content])

    if params.name == "test_prompt_with_arguments":
        return says(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
    if params.name == "test_prompt_with_embedded_resource":
        text = "Embedded resource content for testing."
        return says(
            embedded(given["resourceUri"], "text/plain", text), "Please process the embedded resource above."
        )
    if params.name == "test_prompt_with_image":
        return says(image(), "Please analyze the image above.")
    if params.name == "test_input_required_result_prompt":
        if "user_context" not in answers(params):
            schema = {
                "type": "object",
                "properties": {"context": {"type": "string"}},
                "required": ["context"],
            }
            return asked({"user_context": form("What context should the prompt use?", schema)})
        return says("Thank you.")
    return says("This is a simple prompt for testing.")
