"""The prompts that a person picks in a client, and completion of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from wardround_schemas.errors import ChartError

from . import plainjson
from .codes import CodeList
from .mcp_resources import CAPTURES, CODE_TEMPLATE
from .session import Session

Context = ServerRequestContext[Any, Any]
MAX_COMPLETIONS = 100


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """A prompt: `arguments` maps each argument's name to its description, `render` makes the text.

    Every argument is required. `render` gets the arguments' values by name.
    """

    name: str
    title: str
    description: str
    render: Callable[[dict[str, str]], str]
    arguments: dict[str, str] = field(default_factory=dict)


def _review(arguments: dict[str, str]) -> str:
    return (
        "Review the orders captured in this session, which are attached as JSON. For each one say in a "
        "line: patient, what was ordered, dose, route and time, and whether it was accepted. Then point out "
        "anything that a careful clinician would question: a wrong or missing dose, unit, route or date, the "
        "same order twice, orders for more than one patient. Look up the patient's chart with the search "
        "tools where that settles a doubt. Do not place any order."
    )


def _summarise(arguments: dict[str, str]) -> str:
    patient = arguments["patient"]
    return (
        f"Summarise the chart of patient {patient} for a colleague who takes over the ward round. Use the "
        "search tools: patient, conditions, medication orders, procedures, vital signs of the last days and "
        "recent laboratory results. Give problems, current medication, latest vital signs and abnormal "
        "results with their times, and what needs attention today. State only what the chart says, and say "
        "where it is silent. Do not place any order."
    )


OWN_PROMPTS = (
    PromptSpec(
        name="review_captured_orders",
        title="Review the captured orders",
        description="Go through every order that this session captured before anyone acts on it.",
        render=_review,
    ),
    PromptSpec(
        name="summarise_patient",
        title="Summarise this patient",
        description="A hand-over summary of one patient's chart.",
        render=_summarise,
        arguments={"patient": "The patient's MRN, for example S1234567"},
    ),
)


class Prompts:
    """The prompts of one session: ours, and those that whoever serves it adds."""

    def __init__(self, session: Session, codes: CodeList, specs: Sequence[PromptSpec]) -> None:
        self._session = session
        self._codes = codes
        self._specs = {spec.name: spec for spec in specs}

    async def listed(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """`prompts/list`."""
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=spec.name,
                    title=spec.title,
                    description=spec.description,
                    arguments=[
                        types.PromptArgument(name=name, description=text, required=True)
                        for name, text in spec.arguments.items()
                    ],
                )
                for spec in self._specs.values()
            ]
        )

    async def get(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """`prompts/get`. Unknown prompts and missing arguments are protocol errors that name them."""
        spec = self._specs.get(params.name)
        if spec is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name[:100]}")
        given = params.arguments or {}
        missing = [name for name in spec.arguments if not given.get(name, "").strip()]
        if missing:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Missing argument: {', '.join(missing)}")
        messages = [_says(types.TextContent(type="text", text=spec.render(dict(given))))]
        if spec.name == OWN_PROMPTS[0].name:
            captures = plainjson.dumps([capture.to_json() for capture in self._session.captures]).decode()
            content = types.TextResourceContents(uri=CAPTURES, mime_type="application/json", text=captures)
            messages.append(_says(types.EmbeddedResource(type="resource", resource=content)))
        return types.GetPromptResult(description=spec.description, messages=messages)

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """`completion/complete`: patients by MRN or name, codes by their beginning."""
        values: list[str] = []
        if isinstance(params.ref, types.PromptReference):
            if params.argument.name == "patient" and params.ref.name in self._specs:
                values = await self._patients(params.argument.value)
        elif params.ref.uri == CODE_TEMPLATE and params.argument.name == "code":
            values = await self._codes.starting_with(params.argument.value)
        shown = values[:MAX_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(values=shown, total=len(values), has_more=len(values) > len(shown))
        )

    async def _patients(self, text: str) -> list[str]:
        """The identifiers of patients whose identifier is the text or whose name starts with it."""
        text = text.strip()[:100]
        asks = [[("identifier", text)], [("name", text)]] if text else [[]]
        found: dict[str, None] = {}
        for params in asks:
            try:
                page = await self._session.backend.search(
                    "Patient", [*params, ("_count", str(MAX_COMPLETIONS))]
                )
            except ChartError:
                # A completion is a convenience: a text that the chart can't search for completes to nothing.
                continue
            for patient in page.resources():
                for identifier in patient.get("identifier") or ():
                    if isinstance(identifier, dict) and isinstance(identifier.get("value"), str):
                        found[identifier["value"]] = None
        return list(found)


def _says(content: types.TextContent | types.EmbeddedResource) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=content)
