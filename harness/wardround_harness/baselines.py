"""What the trivial agents score on the tasks of a run: the floor that its score stands on.

Nothing is played: their attempts are known beforehand, so they are judged as they would have been.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from wardround_schemas.errors import ChartError
from wardround_tasks.attempt import Attempt, CreateCall
from wardround_tasks.grading import grade
from wardround_tasks.task import Task

from .agents.brief import read_brief
from .agents.builtin_always_act import script as always_act
from .agents.builtin_null import script as null
from .agents.scripted import Create, Finish, Reply
from .attempts import References
from .records import verdict_json
from .summary import summarise

TRIVIAL: Final = {"builtin/null": null, "builtin/always-act": always_act}
ENDPOINTS: Final[Mapping[str, str]] = {
    "vital.create": "Observation",
    "medicationrequest.create": "MedicationRequest",
    "procedure.create": "ServiceRequest",
}


def trivial_attempt(name: str, task: Task) -> Attempt:
    """What a trivial agent does on a task: its script, every write accepted."""
    calls: list[CreateCall] = []
    script = TRIVIAL[name](read_brief(task))
    intent = next(script)
    while isinstance(intent, Create):
        calls.append(CreateCall(ENDPOINTS[intent.function], intent.resource))
        intent = script.send(Reply(ok=True))
    answers = intent.answers if isinstance(intent, Finish) else []
    return Attempt(task.id, answer=json.dumps(answers), calls=tuple(calls))


async def baseline_scores(tasks: Sequence[Task], references: References) -> dict[str, Any]:
    """The scores of `summary.json` for each trivial agent, one repeat each.

    Empty when the chart can't be read: a run that is owed its chart gets its baselines when it is
    made up.
    """
    scores: dict[str, Any] = {}
    for name in TRIVIAL:
        lines: list[dict[str, Any]] = []
        for task in tasks:
            attempt = trivial_attempt(name, task)
            try:
                verdicts = grade(task, attempt, await references.get(task))
            except ChartError:
                return {}
            lines.append(
                {"task_id": task.id, "repeat": 0, "attempt": {"status": "completed"}, "cost_usd": 0.0}
                | {"verdicts": verdict_json(verdicts)}
            )
        scores[name] = summarise(lines, tasks, repeats=1, expected=len(tasks))["scores"]
    return scores
