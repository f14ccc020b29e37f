"""A model that does what each probe of preflight hopes for, and a server in a thread for subprocesses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.providers.wires import Says, Wire
from tests.server.scripted import Reply, ScriptedServer, Seen, reply_json, scripted
from wardround_harness.probes import ASK_BEDS

LAB = {"code": "MG", "patient": "S1234567"}
NULLS = {"date": None, "_count": None, "_sort": None, "page": None}


def tool_names(body: dict[str, Any]) -> set[str]:
    """The names of the tools that a request offers, whichever API it is of."""
    return {tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())}


def is_strict(body: dict[str, Any]) -> bool:
    """Whether a request asks for a strict schema."""
    return any(tool.get("strict") or tool.get("function", {}).get("strict") for tool in body.get("tools", ()))


def capable(wire: Wire) -> Callable[[Seen], Reply]:
    """A script that checks every request and then does what is asked of it."""

    def script(request: Seen) -> Reply:
        wire.check(request)
        body = request.json()
        back = [text for _, text in wire.results(request)]
        return reply_json(wire.answer(_says(wire, body, back), len(back)))

    return script


def _says(wire: Wire, body: dict[str, Any], back: list[str]) -> Says:
    names, text = tool_names(body), json.dumps(body)
    if not names:
        if 16 in (body.get("max_tokens"), body.get("max_output_tokens")):
            return Says(text="one two", stop=wire.cut().stop)
        return Says(text="FINISH([])" if "FINISH" in text else "ready")
    if "finish" in names:
        return Says(calls=[("finish", {"answers": [-1]})])
    if back:
        return Says(text="In ward Quince." if "Quince" in back[-1] else "At night.")
    if "find_bed" in names:
        several = ASK_BEDS in text
        allowed = body.get("parallel_tool_calls", "tool_choice" not in body)
        beds = ["B12", "C03"] if several and allowed else ["B12"]
        return Says(thinking="Let me look.", calls=[("find_bed", {"bed": bed}) for bed in beds])
    if "current_shift" in names:
        return Says(calls=[("current_shift", {})])
    if "order_infusion" in names:
        order = {"patient": "S1234567", "medication": "magnesium sulfate", "grams": 2}
        return Says(calls=[("order_infusion", order)])
    return Says(calls=[("lab_search", LAB | NULLS if is_strict(body) else LAB)])


@contextlib.contextmanager
def served(script: Callable[[Seen], Reply]) -> Iterator[ScriptedServer]:
    """A scripted server on an event loop and a thread of its own, for clients in other processes."""
    started: list[ScriptedServer] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def serve() -> None:
        async with scripted(script) as server:
            started.append(server)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(30), "the server did not start"
        yield started[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(30)
        loop.close()
