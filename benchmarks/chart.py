"""The embedded chart's searches against its targets, and against a HAPI FHIR server over the same data.

    python benchmarks/chart.py [--chart FILE.db] [--hapi URL] [--calls 200] [--seconds 4] [--json FILE]

Without --chart a paper-scale chart is built first. The HAPI server (or WARDROUND_HAPI_URL) must hold the
same chart: `python -m tests.hapi.load FILE.db --to URL`. Every search is checked before it is timed: both
servers must give the same ids. Times are wall-clock milliseconds; where other programs share the machine,
compare by ratio within a run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.dates import DAY, parse_span
from wardround_server.chart.request import query_string
from wardround_server.chart.store import Chart

Params = list[tuple[str, str]]
CONNECTIONS = (1, 8, 64)
_ACCEPT = "Accept: application/fhir+json"
NOW = "2023-11-13T10:15:00+00:00"


@dataclass(frozen=True, slots=True)
class Search:
    """One search of the benchmark; `target_ms` is what the median in process may take (0: any)."""

    name: str
    resource_type: str
    params: Params
    target_ms: float = 0.0

    @property
    def path(self) -> str:
        return f"/{self.resource_type}?{query_string(self.params)}"


@dataclass(slots=True)
class Row:
    """What was measured of one search, in ms; `rows` is the number of resources on the page."""

    name: str
    rows: int
    bytes: int
    target_ms: float
    in_process: list[float]
    http: list[float]
    hapi: list[float] | None = None


@dataclass(slots=True)
class Report:
    """Everything that one run measured."""

    machine: dict[str, Any]
    chart: dict[str, Any]
    cold_start_ms: dict[str, float]
    searches: list[Row]
    requests_per_second: dict[str, dict[int, float]] = field(default_factory=dict)


def pick_searches(chart: Chart) -> list[Search]:
    """The searches, made for the patients of this chart whose records come nearest to the targets' sizes."""

    def one(statement: str, *values: Any) -> tuple[Any, ...]:
        (row,) = chart.fetch(statement, values)
        return row

    counted = (
        "SELECT f.id, {code} k, count(*) n FROM observation o JOIN reference f ON f.set_key = o.subject "
        "WHERE {where} GROUP BY o.subject, k ORDER BY abs(n - ?), f.id LIMIT 1"
    )
    vital_key = one("SELECT set_key FROM token WHERE code = 'vital-signs' LIMIT 1")[0]
    lab_patient, lab_key, _ = one(counted.format(code="o.code", where="o.category <> ?"), vital_key, 31)
    lab = one("SELECT code FROM token WHERE set_key = ? LIMIT 1", lab_key)[0]
    vital_patient = one(counted.format(code="0", where="o.category = ?"), vital_key, 1249)[0]
    large_patient = one(counted.format(code="0", where="1 OR o.category = ?"), vital_key, 10**6)[0]
    patient = orjson.loads(chart.read("Patient", lab_patient) or b"{}")
    name, born = patient["name"][0], patient["birthDate"]
    procedure = one(
        "SELECT f.id, t.code FROM procedure p JOIN reference f ON f.set_key = p.subject "
        "JOIN token t ON t.set_key = p.code WHERE f.id = ? LIMIT 1",
        lab_patient,
    )
    now = parse_span(NOW).low
    recent_patient, recent = one(
        "SELECT f.id, t.code FROM observation o JOIN reference f ON f.set_key = o.subject "
        "JOIN token t ON t.set_key = o.code WHERE o.category <> ? AND o.date_low BETWEEN ? AND ? "
        "GROUP BY o.subject, o.code ORDER BY count(*) DESC, f.id LIMIT 1",
        vital_key,
        now - DAY,
        now,
    )
    by_lab: Params = [("patient", lab_patient), ("code", lab)]
    vitals: Params = [("patient", vital_patient), ("category", "vital-signs")]
    return [
        Search("patient by identifier", "Patient", [("identifier", patient["identifier"][0]["value"])], 0.25),
        Search(
            "patient by family, given and birth date",
            "Patient",
            [("family", name["family"]), ("given", name["given"][0]), ("birthdate", born)],
            0.25,
        ),
        Search("labs by code", "Observation", [*by_lab, ("_count", "31")], 0.25),
        Search(
            "labs by code, last 24 h",
            "Observation",
            [
                ("patient", recent_patient),
                ("code", recent),
                ("date", f"ge2023-11-12{NOW[10:]}"),
                ("date", f"le{NOW}"),
            ],
            0.25,
        ),
        Search("vitals, first 20", "Observation", [*vitals, ("_count", "20")]),
        Search("vitals, all", "Observation", [*vitals, ("_count", "1249")], 10.0),
        Search("conditions", "Condition", [("patient", lab_patient)]),
        Search("medication requests", "MedicationRequest", [("patient", lab_patient)]),
        Search(
            "procedures by code and date range",
            "Procedure",
            [
                ("patient", procedure[0]),
                ("code", procedure[1]),
                ("date", "ge2015-01-01"),
                ("date", "le2023-11-13"),
            ],
        ),
        Search("a page of 5,000", "Observation", [("patient", large_patient), ("_count", "5000")], 50.0),
    ]


class Connection:
    """One kept-alive HTTP/1.1 connection: as little client as possible between us and the server."""

    def __init__(self, base: str) -> None:
        parts = urlsplit(base)
        self.host, self.port, self.prefix = parts.hostname or "127.0.0.1", parts.port or 80, parts.path
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, path: str) -> bytes:
        """The body of a 200; RuntimeError for anything else."""
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self.host, self.port, limit=1 << 26)
        head = (f"GET {self.prefix}{path} HTTP/1.1", f"Host: {self.host}:{self.port}", _ACCEPT, "", "")
        self._writer.write("\r\n".join(head).encode())
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        if "content-length" in headers:
            body = await self._reader.readexactly(int(headers["content-length"]))
        else:
            body = await self._chunks()
        if " 200" not in lines[0]:
            raise RuntimeError(f"GET {path}: {lines[0]}: {body[:300]!r}")
        return body

    async def _chunks(self) -> bytes:
        assert self._reader is not None
        pieces = []
        while size := int(await self._reader.readline(), 16):
            pieces.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readline()
        return b"".join(pieces)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def ids_of(body: bytes) -> list[str]:
    """The ids of a page; RuntimeError where it is no searchset."""
    bundle = orjson.loads(body)
    if bundle.get("type") != "searchset":
        raise RuntimeError(f"not a searchset: {body[:300]!r}")
    return sorted(entry["resource"]["id"] for entry in bundle.get("entry", ()))


def timed(call: Callable[[], Any], calls: int) -> list[float]:
    """Milliseconds of each call."""
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1e3)
    return times


async def timed_async(call: Callable[[], Awaitable[Any]], calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        await call()
        times.append((time.perf_counter() - begun) * 1e3)
    return times


async def requests_per_second(base: str, path: str, connections: int, seconds: float) -> float:
    """Answers per second over some connections, each asking again as soon as it is answered."""
    lines = [Connection(base) for _ in range(connections)]
    for line in lines:
        await line.get(path)
    begun = time.perf_counter()
    done = 0

    async def ask(line: Connection) -> None:
        nonlocal done
        while time.perf_counter() - begun < seconds:
            await line.get(path)
            done += 1

    await asyncio.gather(*(ask(line) for line in lines))
    spent = time.perf_counter() - begun
    for line in lines:
        line.close()
    return done / spent


async def measure_search(
    search: Search, backend: EmbeddedBackend, base: str, hapi: str | None, calls: int
) -> Row:
    """Check that all give the same ids, then time each."""
    page = backend.search_now(search.resource_type, search.params)
    expected = ids_of(page.body)
    calls = max(5, calls if len(expected) < 500 else calls // 10)
    lines = {"http": Connection(base)} | ({"hapi": Connection(hapi)} if hapi else {})
    for name, line in lines.items():
        found = ids_of(await line.get(search.path))
        # Without an order, servers may begin a page where they like: then the sizes must agree.
        whole = page.total == len(expected)
        same = found == expected if whole else len(found) == len(expected)
        if not same:
            raise RuntimeError(f"{search.name}: {name} gave {len(found)} rows, the chart {len(expected)}")
    row = Row(
        search.name,
        len(expected),
        len(page.body),
        search.target_ms,
        timed(lambda: backend.search_now(search.resource_type, search.params), calls),
        await timed_async(lambda: lines["http"].get(search.path), calls),
    )
    if "hapi" in lines:
        row.hapi = await timed_async(lambda: lines["hapi"].get(search.path), calls)
    for line in lines.values():
        line.close()
    return row


COLD = """
import json, sys
from wardround_server.backends.embedded import EmbeddedBackend
params = [tuple(pair) for pair in json.loads(sys.argv[3])]
assert EmbeddedBackend.open(sys.argv[1]).search_now(sys.argv[2], params).total
"""


def cold_start(chart: Path, search: Search, runs: int = 5) -> dict[str, float]:
    """Median ms from starting Python to a first answer, beside Python's own start."""

    def median(command: list[str]) -> float:
        return statistics.median(
            timed(lambda: subprocess.run(command, check=True, capture_output=True), runs)
        )

    first = [sys.executable, "-c", COLD, str(chart), search.resource_type, json.dumps(search.params)]
    return {"python alone": median([sys.executable, "-c", ""]), "first answer": median(first)}


class Served:
    """The product's own HTTP face over the chart, as a process of its own."""

    def __init__(self, chart: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}/fhir"
        self.journal = tempfile.TemporaryDirectory(prefix="wardround-bench-")
        command = [sys.executable, "-m", "wardround_server.cli", "http", "--fhir", str(chart)]
        command += ["--port", str(self.port), "--journal", self.journal.name]
        self.log = Path(self.journal.name) / "server.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)

    async def ready(self) -> None:
        """Wait until it answers; RuntimeError where it ends instead."""
        for _ in range(600):
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()[-500:]}")
            try:
                await Connection(self.base).get("/metadata")
            except OSError:
                await asyncio.sleep(0.1)
            else:
                return
        raise RuntimeError("the server does not answer")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)
        self.journal.cleanup()


async def run(chart_file: Path, hapi: str | None, calls: int, seconds: float) -> Report:
    backend = EmbeddedBackend.open(chart_file)
    searches = pick_searches(backend.chart)
    info = await backend.info()
    served = Served(chart_file)
    try:
        await served.ready()
        if hapi:
            await check_same_chart(hapi, info.counts)
        rows = [await measure_search(search, backend, served.base, hapi, calls) for search in searches]
        lab = searches[2]
        rates = {
            "embedded": {n: await requests_per_second(served.base, lab.path, n, seconds) for n in CONNECTIONS}
        }
        if hapi:
            rates["hapi"] = {n: await requests_per_second(hapi, lab.path, n, seconds) for n in CONNECTIONS}
    finally:
        served.stop()
    return Report(
        {"cpus": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]},
        {
            "resources": sum(info.counts.values()),
            "megabytes": (info.size or 0) / 1e6,
            "checksum": info.checksum,
        },
        cold_start(chart_file, lab),
        rows,
        rates,
    )


async def check_same_chart(hapi: str, counts: dict[str, int]) -> None:
    """RuntimeError where the other server does not hold as many resources of each type."""
    line = Connection(hapi)
    for resource_type, count in counts.items():
        body = await line.get(f"/{resource_type}?_summary=count")
        total = orjson.loads(body).get("total")
        if total != count:
            raise RuntimeError(f"{hapi} holds {total} of {resource_type}, the chart {count}")
    line.close()


def quantile(times: Sequence[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show(report: Report) -> str:
    """The report as a Markdown table."""
    compared = any(row.hapi for row in report.searches)
    head = ["search", "rows", "in process p50 / p95", "target", "HTTP p50 / p95"]
    lines = [head + (["HAPI p50 / p95", "HAPI / HTTP"] if compared else [])]
    for row in report.searches:
        cells = [row.name, f"{row.rows:,}", _pair(row.in_process)]
        cells += [f"{row.target_ms:g}" if row.target_ms else "-", _pair(row.http)]
        if row.hapi:
            cells += [_pair(row.hapi), f"{quantile(row.hapi, 0.5) / quantile(row.http, 0.5):.1f}"]
        lines.append(cells)
    table = ["| " + " | ".join(cells) + " |" for cells in lines]
    table.insert(1, "|" + "---|" * len(lines[0]))
    rates = [
        f"{name}: " + ", ".join(f"{rate:,.0f}/s at {n}" for n, rate in by_connections.items())
        for name, by_connections in report.requests_per_second.items()
    ]
    cold = ", ".join(f"{name} {ms:.0f} ms" for name, ms in report.cold_start_ms.items())
    facts = [
        f"{report.chart['resources']:,} resources, {report.chart['megabytes']:.0f} MB",
        f"load of the machine: {report.machine['load']:.1f} on {report.machine['cpus']} cores",
        f"cold start: {cold}",
        "lab search by connections: " + "; ".join(rates),
    ]
    return "\n".join([*table, "", *facts])


def _pair(times: Sequence[float]) -> str:
    return f"{quantile(times, 0.5):.2f} / {quantile(times, 0.95):.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="The searches of the embedded chart, timed.")
    parser.add_argument("--chart", type=Path, help="a paper-scale chart; built where it is left out")
    parser.add_argument(
        "--hapi", default=os.environ.get("WARDROUND_HAPI_URL"), help="a HAPI server with that chart"
    )
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each throughput measurement")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wardround-bench-") as folder:
        chart = asked.chart
        if chart is None:
            from wardround_server.chart.build import build_chart

            chart = Path(folder) / "paper.db"
            build_chart(chart, scale="paper")
        hapi = asked.hapi.rstrip("/") if asked.hapi else None
        report = asyncio.run(run(chart, hapi, asked.calls, asked.seconds))
    print(show(report))
    if asked.json:
        asked.json.write_text(json.dumps(asdict(report), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
