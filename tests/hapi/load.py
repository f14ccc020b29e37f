"""Put a chart into a FHIR server by transaction Bundles of PUTs, so that every resource keeps its id.

    python -m tests.hapi.load PATH... --to BASE_URL

PATH is a chart file (.db), NDJSON, or a Bundle or resource as JSON, any of them with .gz, or a folder of such
files. Patients go first: a server that does not insist on references still indexes only those it can resolve.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from wardround_schemas.errors import ChartError, UserError
from wardround_server.chart.store import Chart

SUFFIXES = (".json", ".ndjson", ".jsonl")
TRIES = 6


@dataclass(frozen=True, slots=True)
class Item:
    """One resource to put: its type, its id, its JSON."""

    kind: str
    name: str
    body: bytes

    @property
    def entry(self) -> bytes:
        request = orjson.dumps({"method": "PUT", "url": f"{self.kind}/{self.name}"})
        return b'{"resource":%s,"request":%s}' % (self.body, request)


@dataclass
class Loaded:
    """What was put, and how long it took in seconds."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def total(self) -> int:
        return self.counts.total()


def items_of(resource: dict[str, Any]) -> Iterator[Item]:
    """The resource, or those inside it where it is a Bundle."""
    if resource.get("resourceType") == "Bundle":
        for entry in resource.get("entry") or ():
            yield from items_of(entry["resource"])
    else:
        yield Item(resource["resourceType"], resource["id"], orjson.dumps(resource))


def read_path(path: Path) -> Iterator[Item]:
    """Every resource of a chart file, a file of JSON or NDJSON, or a folder of them, one at a time."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and file.name.removesuffix(".gz").endswith((*SUFFIXES, ".db")):
                yield from read_path(file)
    elif path.suffix == ".db":
        with Chart(path) as chart:
            names = {key: name for name, key in chart.types.items()}
            for key, name, body in chart.execute("SELECT type, id, body FROM resource ORDER BY seq"):
                yield Item(names[key], name, chart.body(body))
    else:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if path.suffix == ".gz" else raw
        whole = path.name.removesuffix(".gz").endswith(".json")
        for line in [text] if whole else text.splitlines():
            if line.strip():
                yield from items_of(orjson.loads(line))


def in_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Batches of one type each: HAPI finds ids of one type by index, of several by a scan."""
    batches: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        batch = batches[item.kind]
        batch.append(item)
        if len(batch) == size:
            yield batches.pop(item.kind)
    yield from batches.values()


async def load(
    base_url: str,
    read: Callable[[], Iterable[Item]],
    *,
    workers: int = 4,
    batch: int = 250,
    progress: bool = False,
) -> Loaded:
    """Put everything that `read` gives (it is called twice) into the server; ChartError when that fails."""
    begun = time.monotonic()
    loaded = Loaded()
    timeout = httpx.Timeout(600.0, connect=10.0)
    async with httpx.AsyncClient(timeout=timeout, trust_env=False) as client:
        for patients in (True, False):
            part = (item for item in read() if (item.kind == "Patient") is patients)
            await _put_all(
                client, base_url, in_batches(part, batch), workers, loaded, begun if progress else None
            )
    loaded.seconds = time.monotonic() - begun
    return loaded


async def load_resources(base_url: str, resources: Iterable[dict[str, Any]]) -> Loaded:
    """Put resources that are at hand."""
    items = [item for resource in resources for item in items_of(resource)]
    return await load(base_url, lambda: items)


async def _put_all(
    client: httpx.AsyncClient,
    base_url: str,
    batches: Iterator[list[Item]],
    workers: int,
    loaded: Loaded,
    begun: float | None,
) -> None:
    giving: MemoryObjectSendStream[list[Item]]
    taking: MemoryObjectReceiveStream[list[Item]]
    giving, taking = anyio.create_memory_object_stream(workers)

    async def work(source: MemoryObjectReceiveStream[list[Item]]) -> None:
        async with source:
            async for batch in source:
                await _put(client, base_url, batch)
                loaded.counts.update(item.kind for item in batch)
                if begun is not None:
                    rate = loaded.total / (time.monotonic() - begun)
                    print(
                        f"\r{loaded.total:,} resources, {rate:,.0f}/s ", end="", file=sys.stderr, flush=True
                    )

    async with anyio.create_task_group() as tasks, giving:
        for _ in range(workers):
            tasks.start_soon(work, taking.clone())
        taking.close()
        for batch in batches:
            await giving.send(batch)


async def _put(client: httpx.AsyncClient, base_url: str, batch: list[Item]) -> None:
    """One transaction. Two that meet in the database's locks are a 409 or 5xx and go again; PUTs may."""
    body = b'{"resourceType":"Bundle","type":"transaction","entry":[%s]}' % b",".join(i.entry for i in batch)
    headers = {"Content-Type": "application/fhir+json", "Prefer": "return=minimal"}
    for number in range(1, TRIES + 1):
        answer = await client.post(base_url, content=body, headers=headers)
        if answer.status_code == 200:
            break
        if number == TRIES or (answer.status_code < 500 and answer.status_code != 409):
            raise ChartError(f"the server refused a transaction ({answer.status_code}): {answer.text[:800]}")
        await anyio.sleep(0.1 * 2**number)
    entries = answer.json().get("entry") or []
    put = sum(str(entry["response"]["status"])[:3] in ("200", "201") for entry in entries)
    if put != len(batch):
        raise ChartError(f"the server stored {put} of {len(batch)} resources of a transaction")


def main() -> int:
    parser = argparse.ArgumentParser(description="Put a chart into a FHIR server.")
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--to", required=True, help="base URL of the server")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=250)
    asked = parser.parse_args()

    def read() -> Iterator[Item]:
        for path in asked.paths:
            yield from read_path(path)

    async def run() -> Loaded:
        return await load(
            asked.to.rstrip("/"), read, workers=asked.workers, batch=asked.batch, progress=sys.stderr.isatty()
        )

    loaded = None
    try:
        loaded = anyio.run(run)
    except* (ChartError, UserError, OSError, httpx.TransportError) as group:
        print(f"load.py: {group.exceptions[0]}", file=sys.stderr)
    if loaded is None:
        return 1
    print(orjson.dumps({"counts": loaded.counts, "seconds": round(loaded.seconds, 1)}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
