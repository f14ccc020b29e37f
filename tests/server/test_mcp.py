"""The MCP face, by the SDK's own client, in both eras of the protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp.server.subscriptions import ResourceUpdated

from tests.server.fakes import VITAL, FakeChart, make_service
from wardround_server.mcp import CAPTURE_SEQ, IDEMPOTENCY_KEY, NEXT_PAGE, build_mcp_server
from wardround_server.mcp_prompts import PromptSpec
from wardround_server.mcp_resources import CALLS, CAPABILITIES, CAPTURES, CODES
from wardround_server.service import Service
from wardround_server.session import Session

pytestmark = pytest.mark.anyio

MODES = ("legacy", "2026-07-28")
NINE = [
    "patient_search",
    "condition_search",
    "lab_search",
    "vital_search",
    "medicationrequest_search",
    "procedure_search",
    "vital_create",
    "medicationrequest_create",
    "procedure_create",
]
LAB = {"patient": "S1234567", "code": "MG"}


@asynccontextmanager
async def connected(service: Service, mode: str, **session: Any) -> AsyncIterator[tuple[Client, Session]]:
    made = service.sessions.create(**session)
    async with Client(build_mcp_server(made), mode=mode) as client:
        yield client, made


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_lists_nine_tools_with_schemas_and_hints(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service, connected(service, mode) as (client, _):
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NINE
        for tool in tools:
            assert tool.input_schema["type"] == "object"
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is tool.name.endswith("_search")
            assert tool.title == tool.name.replace("_", ".")
            # Advertised, it would demand every result twice: see wardround_server.mcp.
            assert tool.output_schema is None


@pytest.mark.parametrize("mode", MODES)
async def test_dotted_names_are_listed_where_the_operator_wants_them(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path, names="dotted") as service, connected(service, mode) as (client, _):
        assert [t.name for t in (await client.list_tools()).tools] == [n.replace("_", ".") for n in NINE]
        assert not (await client.call_tool("lab.search", LAB)).is_error


@pytest.mark.parametrize("mode", MODES)
async def test_a_search_result_is_text_once_and_carries_its_cursor(tmp_path: Path, mode: str) -> None:
    chart = FakeChart(page_size=4)
    async with make_service(tmp_path, chart) as service, connected(service, mode) as (client, _):
        result = await client.call_tool("lab_search", LAB)
        assert not result.is_error
        assert json.loads(text_of(result))["resourceType"] == "Bundle"
        assert result.structured_content is None
        assert result.meta is not None
        again = await client.call_tool("lab_search", {"page": result.meta[NEXT_PAGE]})
        assert not again.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_a_create_is_captured_and_says_so(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service, connected(service, mode) as (client, session):
        result = await client.call_tool("vital_create", VITAL)
        assert not result.is_error
        assert "Captured, not sent" in text_of(result)
        assert result.meta is not None
        assert result.meta[CAPTURE_SEQ] == 1
        assert session.captures[0].resource == VITAL


@pytest.mark.parametrize("mode", MODES)
async def test_whatever_is_wrong_with_a_call_is_a_tool_error_and_costs_a_round(
    tmp_path: Path, mode: str
) -> None:
    async with make_service(tmp_path) as service, connected(service, mode, budget=3) as (client, session):
        for name, arguments in (("lab_search", {"patient": 7}), ("no_such", {}), ("vital_create", {})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
        assert session.rounds_used == 3
        assert "budget" in text_of(await client.call_tool("lab_search", LAB))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments", ['{"patient": "S1234567", "code": "MG"}', "{", [1], 7, True])
async def test_arguments_that_are_no_object_reach_the_tool_and_not_a_protocol_error(
    tmp_path: Path, mode: str, arguments: Any
) -> None:
    class OddParams(types.CallToolRequestParams):
        arguments: Any = None

    class OddCall(types.Request[OddParams, Any]):
        method: Any = "tools/call"

    async with make_service(tmp_path) as service, connected(service, mode) as (client, session):
        request = OddCall(params=OddParams(name="lab_search", arguments=arguments))
        result = await client.session.send_request(request, types.CallToolResult)
        # JSON text of a right call is opened; anything else is a fault that the result names.
        assert result.is_error is (arguments != '{"patient": "S1234567", "code": "MG"}')
        assert session.rounds_used == 1


@pytest.mark.parametrize("mode", MODES)
async def test_an_idempotency_key_makes_a_repeated_call_one_capture(tmp_path: Path, mode: str) -> None:
    meta: Any = {IDEMPOTENCY_KEY: "order-1"}
    async with make_service(tmp_path) as service, connected(service, mode) as (client, session):
        for _ in range(3):
            assert not (await client.call_tool("vital_create", VITAL, meta=meta)).is_error
        assert len(session.captures) == 1
        for _ in range(2):
            await client.call_tool("vital_create", VITAL)
        assert len(session.captures) == 3


@pytest.mark.parametrize("mode", MODES)
async def test_equal_requests_of_two_connections_are_two_orders(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        server = build_mcp_server(session)
        for _ in range(2):
            async with Client(server, mode=mode) as client:
                await client.call_tool("vital_create", VITAL)
        assert len(session.captures) == 2


@pytest.mark.parametrize("mode", MODES)
async def test_instructions_say_which_write_mode_is_on(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(writes="off")
        async with Client(build_mcp_server(session), mode="auto" if mode != "legacy" else mode) as client:
            assert client.instructions is not None
            assert "Writes are off" in client.instructions
            assert [t.name for t in (await client.list_tools()).tools] == NINE[:6]


# --- resources, prompts, completion -------------------------------------------------------------


async def read_json(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    return json.loads(content.text)


@pytest.mark.parametrize("mode", MODES)
async def test_the_sessions_captures_and_calls_and_the_chart_are_resources(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service, connected(service, mode) as (client, session):
        await client.call_tool("vital_create", VITAL)
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        assert listed == [CAPTURES, CALLS, CAPABILITIES, CODES]
        assert await read_json(client, CAPTURES) == [session.captures[0].to_json()]
        assert (await read_json(client, f"{CAPTURES}/1"))["seq"] == 1
        assert [call["function"] for call in await read_json(client, CALLS)] == ["vital.create"]
        assert (await read_json(client, CAPABILITIES))["resourceType"] == "CapabilityStatement"
        codes = await read_json(client, CODES)
        assert codes["codes"] == [
            {"code": "MG", "display": "Magnesium", "category": "laboratory", "count": 6}
        ]
        assert (await read_json(client, f"{CODES}/MG"))["count"] == 6
        assert len((await client.list_resource_templates()).resource_templates) == 2
        assert session.rounds_used == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("uri", [f"{CAPTURES}/9", f"{CODES}/NOPE", "wardround://else", "file:///etc/passwd"])
async def test_an_unknown_resource_is_a_protocol_error_that_names_it(
    tmp_path: Path, mode: str, uri: str
) -> None:
    async with make_service(tmp_path) as service, connected(service, mode) as (client, _):
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource(uri)


@pytest.mark.filterwarnings("ignore:resources/:mcp.MCPDeprecationWarning")
async def test_a_subscriber_of_the_older_era_hears_of_a_capture(tmp_path: Path) -> None:
    heard: list[str] = []
    told = anyio.Event()

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.append(str(message.params.uri))
            told.set()

    async with make_service(tmp_path) as service:
        session = service.sessions.create()
        async with Client(build_mcp_server(session), mode="legacy", message_handler=on_message) as client:
            await client.subscribe_resource(CAPTURES)
            await client.call_tool("lab_search", LAB)
            await client.call_tool("vital_create", VITAL)
            with anyio.fail_after(5):
                await told.wait()
            assert set(heard) == {CAPTURES}
            await client.unsubscribe_resource(CAPTURES)
            with pytest.raises(MCPError):
                await client.subscribe_resource("wardround://else")


async def test_a_subscriber_of_the_newer_era_hears_of_a_capture(tmp_path: Path) -> None:
    async with make_service(tmp_path) as service, connected(service, "2026-07-28") as (client, _):
        async with client.listen(resource_subscriptions=[CAPTURES, CALLS]) as events:
            await client.call_tool("vital_create", VITAL)
            with anyio.fail_after(5):
                heard = {await anext(events), await anext(events)}
        assert heard == {ResourceUpdated(uri=CAPTURES), ResourceUpdated(uri=CALLS)}


@pytest.mark.parametrize("mode", MODES)
async def test_prompts_review_the_captures_and_summarise_a_patient(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service, connected(service, mode) as (client, _):
        await client.call_tool("vital_create", VITAL)
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["review_captured_orders", "summarise_patient"]
        review = await client.get_prompt("review_captured_orders")
        embedded = review.messages[1].content
        assert isinstance(embedded, types.EmbeddedResource)
        assert isinstance(embedded.resource, types.TextResourceContents)
        assert json.loads(embedded.resource.text)[0]["resource"] == VITAL
        summary = await client.get_prompt("summarise_patient", {"patient": "S1234567"})
        assert isinstance(summary.messages[0].content, types.TextContent)
        assert "S1234567" in summary.messages[0].content.text
        for name in ("summarise_patient", "nothing"):
            with pytest.raises(MCPError):
                await client.get_prompt(name, {})


@pytest.mark.parametrize("mode", MODES)
async def test_patients_and_codes_complete(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service, connected(service, mode) as (client, _):
        prompt = types.PromptReference(name="summarise_patient")
        patients = await client.complete(prompt, {"name": "patient", "value": "Exa"})
        assert patients.completion.values == ["S1234567"]
        template = types.ResourceTemplateReference(uri="wardround://chart/codes/{code}")
        assert (await client.complete(template, {"name": "code", "value": "m"})).completion.values == ["MG"]
        assert (await client.complete(template, {"name": "code", "value": "x"})).completion.values == []


@pytest.mark.parametrize("mode", MODES)
async def test_under_evaluation_there_are_tools_and_given_prompts_alone(tmp_path: Path, mode: str) -> None:
    async with make_service(tmp_path) as service:
        session = service.sessions.create(voice="evaluation", finish=True)
        async with Client(build_mcp_server(session), mode=mode) as client:
            assert [t.name for t in (await client.list_tools()).tools] == [*NINE, "finish"]
            with pytest.raises(MCPError):
                await client.read_resource(CODES)
            with pytest.raises(MCPError):
                await client.list_prompts()
        task = PromptSpec("task1_1", "Task", "A task.", lambda arguments: "What is the MRN?")
        async with Client(build_mcp_server(session, prompts=[task]), mode=mode) as client:
            assert [p.name for p in (await client.list_prompts()).prompts] == ["task1_1"]
            got = await client.get_prompt("task1_1")
            assert isinstance(got.messages[0].content, types.TextContent)
            assert got.messages[0].content.text == "What is the MRN?"


# --- confirm ------------------------------------------------------------------------------------


def answering(action: str, approve: Any = None, asked: list[str] | None = None) -> Any:
    async def callback(ctx: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        if asked is not None:
            asked.append(params.message)
        content = {"approve": approve} if approve is not None else None
        return types.ElicitResult(action=action, content=content)  # type: ignore[arg-type]

    return callback


@pytest.mark.parametrize("mode", MODES)
async def test_confirm_asks_the_person_with_the_order_and_sends_after_a_yes(
    tmp_path: Path, mode: str
) -> None:
    chart = FakeChart(read_only=False)
    asked: list[str] = []
    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create(budget=2)
        server = build_mcp_server(session)
        async with Client(server, mode=mode, elicitation_callback=answering("accept", True, asked)) as client:
            for number in (1, 2):
                result = await client.call_tool("vital_create", VITAL)
                assert not result.is_error
                assert len(chart.created) == number
        assert len(asked) == 2
        assert "118/77 mmHg" in asked[0]
        assert session.rounds_used == 2
        assert [c.accepted for c in session.captures] == [True, True]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("action", "approve"),
    [("decline", None), ("cancel", None), ("accept", False), ("accept", None), ("accept", "yes")],
)
async def test_confirm_without_a_yes_sends_nothing(
    tmp_path: Path, mode: str, action: str, approve: Any
) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        server = build_mcp_server(session)
        async with Client(server, mode=mode, elicitation_callback=answering(action, approve)) as client:
            result = await client.call_tool("vital_create", VITAL)
        assert result.is_error
        assert text_of(result).startswith("Not sent")
        assert chart.created == []
        assert [c.accepted for c in session.captures] == [False]


@pytest.mark.parametrize("mode", MODES)
async def test_confirm_with_a_client_that_cannot_ask_sends_nothing(tmp_path: Path, mode: str) -> None:
    chart = FakeChart(read_only=False)
    async with (
        make_service(tmp_path, chart, writes="confirm") as service,
        connected(service, mode) as (client, _),
    ):
        result = await client.call_tool("vital_create", VITAL)
        assert result.is_error
        assert "could not be asked" in text_of(result)
        assert chart.created == []


async def test_one_consent_sends_one_order_however_often_the_reply_is_repeated(tmp_path: Path) -> None:
    chart = FakeChart(read_only=False)
    async with make_service(tmp_path, chart, writes="confirm") as service:
        session = service.sessions.create()
        server = build_mcp_server(session)
        callback = answering("accept", True)
        async with Client(server, mode="2026-07-28", elicitation_callback=callback) as client:
            asked = await client.session.call_tool("vital_create", VITAL, allow_input_required=True)
            assert isinstance(asked, types.InputRequiredResult)
            assert session.rounds_used == 0
            yes: Any = {"approve-order": types.ElicitResult(action="accept", content={"approve": True})}
            reply: Any = {"input_responses": yes, "request_state": asked.request_state}
            for _ in range(3):
                done = await client.session.call_tool(
                    "vital_create", VITAL, allow_input_required=True, **reply
                )
                assert isinstance(done, types.CallToolResult)
                assert not done.is_error
            assert len(chart.created) == 1
            other = {**VITAL, "valueString": "210/120 mmHg"}
            with pytest.raises(MCPError, match="requestState"):
                await client.session.call_tool("vital_create", other, allow_input_required=True, **reply)
            forged: Any = {"input_responses": yes, "request_state": '{"digest":"x","nonce":"y"}'}
            with pytest.raises(MCPError, match="requestState"):
                await client.session.call_tool("vital_create", VITAL, allow_input_required=True, **forged)
            unasked = await client.session.call_tool(
                "vital_create", VITAL, allow_input_required=True, input_responses=yes
            )
            assert isinstance(unasked, types.InputRequiredResult)
            key: Any = {IDEMPOTENCY_KEY: "another"}
            again = await client.session.call_tool(
                "vital_create", VITAL, allow_input_required=True, meta=key, **reply
            )
            assert isinstance(again, types.InputRequiredResult)
            assert len(chart.created) == 1
