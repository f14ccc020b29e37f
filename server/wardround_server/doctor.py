"""`wardround-mcp doctor`: does it all work? One table for a person, exit code 1 where something does not."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from wardround_schemas.errors import ChartError, UserError
from wardround_schemas.function import Function

from .journal import check_journal, read_captures
from .service import Service, open_service
from .session import Session
from .settings import ServerSettings, reach

Verdict = Literal["ok", "warning", "failed"]

_MARKS: dict[Verdict, str] = {"ok": "ok", "warning": "!", "failed": "FAILED"}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the table: what was looked at, how it went, what was seen."""

    name: str
    verdict: Verdict
    seen: str


def run_doctor(settings: ServerSettings) -> int:
    """Run every check and print the table; 0 when nothing failed, 1 otherwise."""
    checks = asyncio.run(examine(settings))
    print_table(checks)
    return 1 if any(check.verdict == "failed" for check in checks) else 0


async def examine(settings: ServerSettings) -> list[Check]:
    """All checks. The capture that is made on trial goes to a journal of its own, which is removed."""
    checks = [_check_journal(settings.journal)]
    with tempfile.TemporaryDirectory(prefix="wardround-doctor-") as folder:
        trial = replace(
            settings,
            journal=Path(folder),
            writes=min(settings.writes, "overlay", key=reach),
            allow_forward=False,
        )
        try:
            async with await open_service(trial) as service:
                checks += await _examine_service(service, settings)
        except UserError as error:
            checks.append(Check("chart", "failed", str(error)))
    return checks


async def _examine_service(service: Service, settings: ServerSettings) -> list[Check]:
    checks = [await _try("chart", lambda: _look_at_chart(service))]
    if checks[0].verdict == "failed":
        return checks
    before = await _fingerprint(service)
    session = service.sessions.create()
    checks.append(await _try("tools over MCP", lambda: _list_tools(session)))
    patient = await _some_patient(service)
    searches = [function for function in session.functions() if function.kind == "search"]
    checks += [await _try(f.name, partial(_search, session, f, patient)) for f in searches]
    checks.append(await _try("write", lambda: _write(service, session, patient, settings)))
    checks.append(await _try("chart unchanged", lambda: _unchanged(service, before)))
    return checks


def _check_journal(folder: Path) -> Check:
    if not folder.exists():
        return Check("journal", "ok", f"{folder}, made at the first write")
    try:
        faults = check_journal(folder)
        count = sum(1 for _ in read_captures(folder))
    except (UserError, OSError) as error:
        return Check("journal", "failed", str(error))
    if faults:
        return Check("journal", "failed", "; ".join(faults)[:300])
    return Check("journal", "ok", f"{folder}: {count} captures, chain whole")


async def _try(name: str, look: Callable[[], Awaitable[str]]) -> Check:
    """Run one check; what a chart or a result says against it is its finding."""
    try:
        return Check(name, "ok", await look())
    except (ChartError, _Finding) as error:
        return Check(name, "failed", " ".join(str(error).split())[:300])


class _Finding(Exception):
    """Something is not as it should be."""


async def _look_at_chart(service: Service) -> str:
    statement = await service.backend.capabilities()
    if statement.get("resourceType") != "CapabilityStatement":
        raise _Finding("it gave no CapabilityStatement")
    info = await service.backend.info()
    kind = "synthetic" if service.backend.synthetic else "NOT marked as synthetic: treat it as real records"
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(info.counts.items()))
    return f"{info.name}, FHIR {statement.get('fhirVersion', '?')}, {kind}; {counts or 'no counts'}"


async def _list_tools(session: Session) -> str:
    from mcp import Client

    from .mcp import build_mcp_server

    seen: dict[str, int] = {}
    server = build_mcp_server(session)
    for mode in ("legacy", "auto"):
        async with Client(server, mode=mode) as client:
            seen[client.protocol_version] = len((await client.list_tools()).tools)
    expected = len(session.functions())
    if set(seen.values()) != {expected}:
        raise _Finding(f"listed {seen}, expected {expected} each")
    return f"{expected} tools for clients of {' and '.join(seen)}"


async def _some_patient(service: Service) -> str | None:
    try:
        page = await service.backend.search("Patient", [("_count", "1")])
        found = page.resources()
    except ChartError:
        return None
    return str(found[0].get("id")) if found else None


async def _search(session: Session, function: Function, patient: str | None) -> str:
    arguments = dict(function.example)
    if "patient" in arguments and patient is not None:
        arguments["patient"] = patient
    result = await session.call(function.tool_name, arguments)
    if not result.ok:
        raise _Finding(result.text)
    body = json.loads(result.text)
    total = body.get("total")
    count = "an unknown number of" if total is None else f"{total:,}"
    return f"{count} results, {len(result.text.encode()):,} bytes"


async def _write(service: Service, session: Session, patient: str | None, settings: ServerSettings) -> str:
    if settings.writes == "off":
        return "writes are off: create tools are not offered"
    order: dict[str, Any] = dict(next(f for f in session.functions() if f.name == "vital.create").example)
    if patient is not None:
        order["subject"] = {"reference": f"Patient/{patient}"}
    result = await session.call("vital_create", order)
    kept = list(service.journal.captures(session.id))
    if not result.ok or len(kept) != 1 or not kept[0].accepted:
        raise _Finding(result.text)
    said = "captured in a journal on trial, not sent"
    if reach(settings.writes) >= reach("confirm"):
        said += f"; the server itself runs with --writes {settings.writes}, which was not tried"
    return said


async def _fingerprint(service: Service) -> tuple[str | None, int | None]:
    """What tells whether the chart changed: its checksum, or how many vital signs it has."""
    info = await service.backend.info()
    page = await service.backend.search("Observation", [("category", "vital-signs"), ("_count", "1")])
    return info.checksum, page.total


async def _unchanged(service: Service, before: tuple[str | None, int | None]) -> str:
    after = await _fingerprint(service)
    if after != before:
        raise _Finding(f"it was {before} before the checks and is {after} after them")
    if after[0] is not None:
        return f"checksum {after[0][:16]} before and after"
    return f"{after[1]} vital signs before and after"


def print_table(checks: Sequence[Check]) -> None:
    """The table on standard output, in colour where that is a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    colours: dict[Verdict, str] = {"ok": "green", "warning": "yellow", "failed": "red"}
    table = Table("check", "", "seen", box=None, pad_edge=False)
    for check in checks:
        mark = f"[{colours[check.verdict]}]{_MARKS[check.verdict]}[/]"
        table.add_row(escape(check.name), mark, escape(check.seen))
    Console().print(table)
