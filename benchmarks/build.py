"""How long the synthetic chart takes to make, how large it is, and how soon a newcomer's first one is there.

    python benchmarks/build.py [--scale small|paper|both] [--keep FOLDER] [--json FILE]

Each measurement runs in a fresh process, so that nothing is warm that would not be warm for a user.
Times are wall-clock seconds beside the process's own CPU seconds: on a busy machine the two part.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GENERATE = """
import json, resource, sys, time
wall, cpu = time.perf_counter(), time.process_time()
from wardround_server.chart.cohort import generate
count = size = 0
for record in generate(sys.argv[1]):
    count += 1
    size += len(record)
print(json.dumps({"resources": count, "json_bytes": size}), end="\\t")
"""
BUILD = """
import json, sys, time
wall, cpu = time.perf_counter(), time.process_time()
from wardround_server.chart.build import build_chart
counts = build_chart(sys.argv[2], scale=sys.argv[1])
print(json.dumps({"resources": sum(counts.values())}), end="\\t")
"""
FIRST_USE = """
import json, sys, time
wall, cpu = time.perf_counter(), time.process_time()
from wardround_server.chart.build import ensure_embedded_chart
ensure_embedded_chart()
print(json.dumps({}), end="\\t")
"""
AFTER = """
import resource
unit = 1e6 if sys.platform == "darwin" else 1e3
print(json.dumps({
    "wall_s": round(time.perf_counter() - wall, 2),
    "cpu_s": round(time.process_time() - cpu, 2),
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
}))
"""


def measure(program: str, *arguments: str, cache: Path | None = None) -> dict[str, Any]:
    """Run one program in a fresh process; what it counted, its times in seconds and peak memory in MB."""
    settings = dict(os.environ)
    if cache is not None:
        settings["WARDROUND_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", program + AFTER, *arguments],
        env=settings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found, times = done.stdout.split("\t")
    return {**json.loads(found), **json.loads(times)}


def measure_scale(scale: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Generating alone, and generating, indexing, compressing and writing the file."""
    path = folder / f"{scale}.db"
    generated = measure(GENERATE, scale)
    built = measure(BUILD, scale, str(path))
    built["file_mb"] = round(path.stat().st_size / 1e6, 1)
    return {f"{scale}: records as JSON, not stored": generated, f"{scale}: chart build": built}


def main() -> None:
    """Measure, print a table and, where asked, write the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", choices=("small", "paper", "both"), default="both")
    parser.add_argument("--keep", type=Path, help="folder in which to keep the charts")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    args = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if args.scale != "paper":
            cache = Path(scratch) / "cache"
            rows["embedded chart, first use"] = measure(FIRST_USE, cache=cache)
            rows["embedded chart, later use"] = measure(FIRST_USE, cache=cache)
        for scale in ("small", "paper"):
            if args.scale in (scale, "both"):
                rows.update(measure_scale(scale, folder))
    show(rows)
    if args.json:
        machine = {
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
        }
        args.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")


def show(rows: dict[str, dict[str, Any]]) -> None:
    """Print the table."""
    print(f"{'what':<36} {'resources':>10} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'file MB':>8}")
    for name, row in rows.items():
        resources = f"{row['resources']:,}" if "resources" in row else "-"
        print(
            f"{name:<36} {resources:>10} {row['wall_s']:>8.2f} {row['cpu_s']:>8.2f} "
            f"{row['peak_mb']:>8.0f} {row.get('file_mb', '-'):>8}"
        )


if __name__ == "__main__":
    main()
