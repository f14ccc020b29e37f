"""What MCP costs over the bare chart search, how fast the program starts, and what sessions weigh.

    python benchmarks/mcp.py [--calls 300] [--starts 7] [--sessions 64]

Everything is measured in one run, against a bare server of the same SDK with one tool that returns
a fixed text of the same size, call by call in turn. Beside the time on the clock stands the processor
time that each server spent on a call: other programs do not change it much. Compare by ratio and
difference within a run, not across machines.
"""

# ruff: noqa: E402 - see below

from __future__ import annotations

import sys
from pathlib import Path

# Run as a script, this file's own folder comes first on the path, and `import mcp` would find this file.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

import argparse
import asyncio
import gc
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from wardround_server.backends import open_backend
from wardround_server.service import open_service
from wardround_server.settings import ServerSettings

BARE = """
import sys, anyio, mcp_types as types
from mcp.server.lowlevel import Server

TEXT = "x" * int(sys.argv[1])

async def list_tools(ctx, params):
    schema = {"type": "object"}
    return types.ListToolsResult(tools=[types.Tool(name="one", input_schema=schema)])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text=TEXT)])

server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)

async def stdio():
    from mcp.server.stdio import stdio_server
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

if sys.argv[2] == "stdio":
    anyio.run(stdio)
else:
    import uvicorn
    config = uvicorn.Config(server.streamable_http_app(), port=int(sys.argv[2]), log_level="error")
    uvicorn.Server(config).run()
"""


WARM_UP = 20


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of repeated calls."""

    values: list[float]

    @property
    def p50(self) -> float:
        return statistics.median(self.values)

    @property
    def p99(self) -> float:
        return sorted(self.values)[min(len(self.values) - 1, int(len(self.values) * 0.99))]

    def __str__(self) -> str:
        return f"{self.p50:8.2f} {self.p99:8.2f}"


async def timed(count: int, *acts: Callable[[], Awaitable[Any]]) -> list[Times]:
    """Time `count` calls of each act, in turn, so that whatever else the machine does meets all alike."""
    for act in acts:
        for _ in range(min(WARM_UP, count)):
            await act()
    gc.collect()
    values: list[list[float]] = [[] for _ in acts]
    for _ in range(count):
        for kept, act in zip(values, acts, strict=True):
            start = time.perf_counter()
            await act()
            kept.append((time.perf_counter() - start) * 1000)
    return [Times(kept) for kept in values]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "WARDROUND_JOURNAL": str(folder / "journal")}


@asynccontextmanager
async def http_process(command: list[str], ready: str, folder: Path) -> AsyncIterator[int]:
    """A server process; gives its pid once the client of the caller can connect to `ready`."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment(folder)) as process:  # noqa: ASYNC220
        try:
            import httpx

            async with httpx.AsyncClient() as http:
                for _ in range(600):
                    try:
                        await http.get(ready)
                        break
                    except httpx.TransportError:
                        await asyncio.sleep(0.05)
            yield process.pid
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def patient_with_labs() -> tuple[str, str]:
    """A patient and a code of the chart with a middling number of results."""
    backend = await open_backend("embedded")
    page = await backend.search("Observation", [("category", "laboratory"), ("_count", "1")])
    resource = page.resources()[0]
    await backend.aclose()
    return resource["subject"]["reference"].rsplit("/", 1)[1], resource["code"]["coding"][0]["code"]


async def latency(calls: int, folder: Path) -> None:
    """One lab search: bare search, through a session, and over each transport beside the bare server."""
    patient, code = await patient_with_labs()
    arguments = {"patient": patient, "code": code}
    async with await open_service(ServerSettings(journal=folder / "j")) as service:
        session = service.sessions.create()
        params = [("patient", patient), ("code", code)]
        size = len((await session.call("lab_search", arguments)).text)
        search, inside = await timed(
            calls,
            lambda: service.backend.search("Observation", params),
            lambda: session.call("lab_search", arguments),
        )
    print(f"\nlab search, {size:,} bytes of result, {calls} calls, ms{'':14}p50      p99  server")
    print(f"  {'chart search in process':52}{search}")
    print(f"  {'session call in process':52}{inside}")
    for mode in ("legacy", "2026-07-28"):
        for name, pair in (("stdio", stdio_pair), ("HTTP", http_pair)):
            before = set(children())
            async with pair(folder, size, mode) as (bare, ours):
                # The bare server was started first in each pair.
                pids = sorted(set(children()) - before)
                started = [processor_ms(pid) for pid in pids]
                times = await timed(
                    calls,
                    lambda: bare.call_tool("one", {}),
                    lambda: ours.call_tool("lab_search", arguments),
                )
                rounds = calls + min(WARM_UP, calls)
                spent = [
                    (processor_ms(pid) - begun) / rounds for pid, begun in zip(pids, started, strict=True)
                ]
            report(f"{name}, {mode}", times, spent, search)


def report(name: str, times: list[Times], spent: list[float], search: Times) -> None:
    bare, ours = times
    added = statistics.median(o - b for o, b in zip(ours.values, bare.values, strict=True)) - search.p50
    print(f"  {name + ': bare server of the SDK':52}{bare} {spent[0]:8.2f}")
    print(f"  {name + ': wardround-mcp':52}{ours} {spent[1]:8.2f}")
    extra = spent[1] - spent[0] - search.p50
    print(f"  {'':4}added beyond the search: {added:+.2f} ms, processor {extra:+.2f} ms; target <= +0.50 ms")


def children() -> list[int]:
    """The processes that this one has started and not yet waited for, oldest first."""
    text = Path("/proc/self/task").glob("*/children")
    return sorted(int(pid) for path in text for pid in path.read_text().split())


def processor_ms(pid: int) -> float:
    """Processor time of a process so far, user and system, in ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def stdio_pair(folder: Path, size: int, mode: str) -> AsyncIterator[tuple[Client, Client]]:
    """Clients of the bare server and of ours, both over stdio."""
    bare, ours = stdio_servers(folder, size)
    async with Client(bare, mode=mode) as one, Client(ours, mode=mode) as other:
        yield one, other


def stdio_servers(folder: Path, size: int) -> tuple[StdioServerParameters, StdioServerParameters]:
    script = folder / "bare.py"
    script.write_text(BARE)
    bare = StdioServerParameters(command=sys.executable, args=[str(script), str(size), "stdio"])
    program = ["-m", "wardround_server.cli"]
    return bare, StdioServerParameters(command=sys.executable, args=program, env=environment(folder))


@asynccontextmanager
async def http_pair(folder: Path, size: int, mode: str) -> AsyncIterator[tuple[Client, Client]]:
    """Clients of the bare server and of ours, both over HTTP."""
    script = folder / "bare.py"
    script.write_text(BARE)
    port, other = free_port(), free_port()
    urls = [f"http://127.0.0.1:{number}/mcp" for number in (port, other)]
    bare = [sys.executable, str(script), str(size), str(port)]
    ours = [sys.executable, "-m", "wardround_server.cli", "http", "--port", str(other)]
    async with (
        http_process(bare, urls[0], folder),
        http_process(ours, urls[1], folder),
        Client(urls[0], mode=mode) as first,
        Client(urls[1], mode=mode) as second,
    ):
        yield first, second


async def start_up(starts: int, folder: Path) -> None:
    """From starting the process to the first tool result, ours and the bare server in turn."""
    bare, ours = stdio_servers(folder, 100)

    async def once(server: StdioServerParameters, tool: str, arguments: dict[str, Any]) -> float:
        start = time.perf_counter()
        async with Client(server, mode="2026-07-28") as client:
            await client.call_tool(tool, arguments)
            return (time.perf_counter() - start) * 1000

    found: dict[str, list[float]] = {"bare": [], "ours": []}
    for number in range(starts + 1):
        pair = (await once(bare, "one", {}), await once(ours, "patient_search", {"_count": 1}))
        if number:
            found["bare"].append(pair[0])
            found["ours"].append(pair[1])
    medians = {name: statistics.median(values) for name, values in found.items()}
    ratio = medians["ours"] / medians["bare"]
    print(f"\nstart to first tool result over stdio, median of {starts}, ms")
    print(f"  bare server of the SDK {medians['bare']:8.0f}")
    print(f"  wardround-mcp          {medians['ours']:8.0f}   ratio {ratio:.2f}, target <= 1.30")


def resident(pid: int) -> float:
    """Resident memory of a process in MB, from the proc file system."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found.group(1)) / 1024 if found else float("nan")


async def memory(sessions: int, folder: Path) -> None:
    """Resident memory of the HTTP server with one session and with many, each with a client's connection."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "wardround_server.cli", "http", "--port", str(port)]
    async with http_process(command, f"{base}/readyz", folder) as pid:
        found = {}
        for number in range(1, sessions + 1):
            async with Client(f"{base}/mcp/s{number}", mode="legacy") as client:
                await client.list_tools()
                await client.call_tool("patient_search", {"_count": 1})
            if number in (1, sessions):
                found[number] = resident(pid)
    print("\nresident memory of wardround-mcp http, MB")
    for number, size in found.items():
        print(f"  {number:3} session{'s' if number > 1 else ' '} {size:8.1f}")


async def copied(folder: Path, calls: int) -> None:
    """What a copy of the result in structured content would cost: bytes on the wire and time."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    bundle = {
        "resourceType": "Bundle",
        "entry": [{"resource": {"id": str(n), "text": "x" * 900}} for n in range(500)],
    }
    text = json.dumps(bundle, separators=(",", ":"))

    def make(*, structured: bool) -> Server[Any]:
        async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
            content: list[Any] = [types.TextContent(type="text", text=text)]
            return types.CallToolResult(content=content, structured_content=bundle if structured else None)

        async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=[types.Tool(name="one", input_schema={"type": "object"})])

        return Server("copy", on_list_tools=list_tools, on_call_tool=call_tool)

    print(f"\na result of {len(text):,} bytes, in memory, ms{'':22}p50      p99")
    for structured in (False, True):
        async with Client(make(structured=structured), mode="legacy") as client:
            result = await client.session.call_tool("one", {})
            size = len(result.model_dump_json(by_alias=True, exclude_none=True))
            (times,) = await timed(calls, lambda: client.session.call_tool("one", {}))
        name = "text and structured content" if structured else "text alone"
        print(f"  {name + f', {size:,} bytes':52}{times}")


async def run(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="wardround-bench-") as name:
        folder = Path(name)
        await latency(args.calls, folder)
        await start_up(args.starts, folder)
        await memory(args.sessions, folder)
        await copied(folder, max(20, args.calls // 10))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=300, help="calls timed for each line")
    parser.add_argument("--starts", type=int, default=7, help="starts timed for each program")
    parser.add_argument("--sessions", type=int, default=64, help="sessions of the memory measurement")
    asyncio.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
