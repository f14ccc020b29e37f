"""How quickly the viewer answers: 50 runs of 300 attempts, and an attempt with a result of 1 MB.

    python -m benchmarks.viewer [--runs 50] [--json FILE]

Targets: the list of runs, a run and the attempt each within a second, the first time they are asked
for, over HTTP on loopback. Exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.harness.make_run import RunSpec, make_run
from tests.harness.viewer_server import running_viewer

LIMIT = 1.0
"""Seconds."""


def prepare(folder: Path, runs: int) -> None:
    """A folder of runs, each of 300 attempts with lines of its own; the first has a result of 1 MB."""
    for number in range(runs):
        make_run(folder / f"run{number:03}", RunSpec(seed=number))
    path = folder / "run000" / "attempts.jsonl"
    lines = path.read_text().splitlines()
    first = json.loads(lines[0])
    first["rounds"][0]["calls"][0].update(result="x" * 1_000_000, result_bytes=1_000_000)
    path.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")


def measure(port: int, path: str) -> tuple[float, int]:
    """Seconds and bytes of one answer."""
    started = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
    return time.perf_counter() - started, len(body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the targets were met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(arguments)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), args.runs)
        with running_viewer(Path(name)) as port:
            measure(port, "/healthz")
            for label, path in (
                (f"list of {args.runs} runs", "/api/runs"),
                ("one run of 300 attempts", "/api/runs/run001"),
                ("attempt with a 1 MB result", "/api/runs/run000/attempts/task1_1/0"),
                ("comparison of two runs", "/api/compare?a=run001&b=run002"),
                (f"search over {args.runs} runs", "/api/search?q=nowhere"),
            ):
                seconds, size = measure(port, path)
                found[label] = seconds
                print(f"{label:32} {seconds:8.3f} s {size:10,} bytes")
    if args.json:
        args.json.write_text(json.dumps({"limit": LIMIT, "seconds": found}, indent=2) + "\n")
    missed = [label for label, seconds in list(found.items())[:3] if seconds > LIMIT]
    for label in missed:
        print(f"missed: {label} took more than {LIMIT} s")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
