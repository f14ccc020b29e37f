"""Whether the oracle solves a task set through the tools: the last proof that a set can be solved."""

from __future__ import annotations

import tempfile
from pathlib import Path

from wardround_server.backends import Backend
from wardround_tasks.check import OURS, Finding
from wardround_tasks.loading import TaskSet
from wardround_tasks.survey import Progress

from .agents.registry import open_agent
from .attempts import Job, Line, References, play_job
from .bench import open_bench
from .ground import Ground, price_of
from .plan import RunPlan
from .prompts import Prompts

ORACLE = "builtin/oracle"


async def oracle_findings(
    task_set: TaskSet, chart: Backend, *, progress: Progress | None = None
) -> list[Finding]:
    """What the oracle does not pass, under either rule set, in eight rounds of the native protocol.

    The attempts are played on an open chart, one after the other, and leave nothing behind. Tasks of
    plugins' categories, which it can't know how to solve, are passed over. Raises ChartError where
    the chart can't be read.
    """
    tasks = [task for task in task_set.tasks if task.category in OURS]
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="wardround-check-") as folder:
        plan = RunPlan(model=ORACLE, out=Path(folder))
        agent = open_agent(ORACLE, tasks=task_set.tasks, fhir_base=chart.base_url, protocols=plan.lanes)
        ground = Ground(
            plan=plan,
            task_set=task_set,
            tasks=task_set.tasks,
            backend=chart,
            chart=await chart.info(),
            agent=agent,
            prompts=Prompts.load(None, None),
            price=price_of(agent, plan),
        )
        references = References(chart)
        async with open_bench(
            ground, references, journal=plan.out / "journal", spent=0.0, concurrency=1
        ) as bench:
            for done, task in enumerate(tasks, start=1):
                lines: list[Line] = []

                async def keep(line: Line, lines: list[Line] = lines) -> None:
                    lines.append(line)

                await play_job(Job(task, 0, "native"), bench, keep)
                findings.extend(Finding(task.id, problem) for problem in _problems(lines[0]))
                if progress is not None:
                    progress(done, len(tasks))
    return findings


def _problems(line: Line) -> list[str]:
    verdicts = line.get("verdicts")
    if not verdicts:
        return [f"the oracle's attempt ended as {line['attempt']['status']}"]
    return [
        f"the oracle fails under {rules}: {verdict['failures'][0]}"
        for rules, verdict in verdicts.items()
        if not verdict["passed"]
    ]
