"""How long it takes to grade the bundled 300 on a chart: reading the references, then judging.

    python benchmarks/grading.py [--fhir embedded] [--json FILE]

Wall and processor time of this process, once, the chart opened beforehand. The attempts are the reference
solutions, whose writes are judged in every field. The paper-scale chart comes from
`wardround-mcp chart build --scale paper -o FILE`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from wardround_server.backends import open_backend
from wardround_tasks.categories.base import gold_attempt
from wardround_tasks.grading import category_of, grade, read_reference
from wardround_tasks.loading import load_tasks

TARGET = 2.0
"""Seconds that grading may take on the paper-scale chart."""


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds by step, and how much there was to do."""

    tasks: int
    measurements: int
    reading: float
    reading_cpu: float
    judging: float
    judging_cpu: float
    passed: int

    @property
    def total(self) -> float:
        """Wall time of both steps."""
        return self.reading + self.judging


async def measure(fhir: str) -> Result:
    """Read and judge once."""
    tasks = load_tasks("bundled").tasks
    chart = await open_backend(fhir)
    try:
        start, cpu = time.perf_counter(), time.process_time()
        references = {task.id: await read_reference(task, chart) for task in tasks}
        reading, reading_cpu = time.perf_counter() - start, time.process_time() - cpu
    finally:
        await chart.aclose()
    attempts = [
        gold_attempt(task, category_of(task).expected(task, references[task.id], "clinical"), "original")
        for task in tasks
    ]
    start, cpu = time.perf_counter(), time.process_time()
    verdicts = [
        grade(task, attempt, references[task.id]) for task, attempt in zip(tasks, attempts, strict=True)
    ]
    return Result(
        tasks=len(tasks),
        measurements=sum(len(reference.measurements) for reference in references.values()),
        reading=reading,
        reading_cpu=reading_cpu,
        judging=time.perf_counter() - start,
        judging_cpu=time.process_time() - cpu,
        passed=sum(verdict.medagentbench.passed and verdict.clinical.passed for verdict in verdicts),
    )


def main() -> None:
    """Measure, print, and write the numbers where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fhir", default="embedded")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    result = asyncio.run(measure(args.fhir))
    print(
        f"{result.tasks} tasks, {result.measurements} results read, {result.passed} passed under both rule "
        "sets"
    )
    print(f"reading {result.reading:.2f} s ({result.reading_cpu:.2f} s of processor)")
    print(f"judging {result.judging:.2f} s ({result.judging_cpu:.2f} s of processor)")
    print(f"together {result.total:.2f} s; target {TARGET:.1f} s")
    if args.json is not None:
        args.json.write_text(json.dumps({**asdict(result), "total": result.total}, indent=2) + "\n")


if __name__ == "__main__":
    main()
