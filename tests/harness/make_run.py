"""Deterministic run folders for the tests of scores, comparison, report and viewer.

The tasks are 300 like the bundled ones (ten categories of 30), the lines and files are those of the
run-folder format; what an agent "did" is drawn from a seeded generator, never from a clock.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wardround_harness.summary import summarise

KINDS = {
    "task1": ("query", "easy"),
    "task2": ("query", "medium"),
    "task3": ("action", "easy"),
    "task4": ("query", "medium"),
    "task5": ("action", "hard"),
    "task6": ("query", "medium"),
    "task7": ("query", "medium"),
    "task8": ("action", "easy"),
    "task9": ("action", "hard"),
    "task10": ("action", "hard"),
}
NOW = "2023-11-13T10:15:00+00:00"
BASE_URL = "http://127.0.0.1:8421/fhir"
CHECKSUM = "sha256:" + hashlib.sha256(b"the tests' 300 tasks").hexdigest()
CHART = "sha256:" + hashlib.sha256(b"the tests' chart").hexdigest()


@dataclass(frozen=True, slots=True)
class FakeTask:
    """A task as far as scores need it."""

    id: str
    category: str
    kind: str
    difficulty: str


def make_tasks(per_category: int = 30) -> list[FakeTask]:
    """Ten categories of `per_category` tasks with the ids of the original files."""
    return [
        FakeTask(f"{category}_{number}", category, kind, difficulty)
        for category, (kind, difficulty) in KINDS.items()
        for number in range(1, per_category + 1)
    ]


def make_line(
    task: FakeTask,
    repeat: int = 0,
    *,
    clinical: bool = True,
    original: bool | None = None,
    status: str = "completed",
    rng: random.Random | None = None,
    cost: float | None = 0.01,
    protocol: str = "native",
    text: str = "",
) -> dict[str, Any]:
    """One line of attempts.jsonl; `original` is the medagentbench verdict (as clinical where None)."""
    rng = rng or random.Random(0)
    mrn = f"S{1000000 + int(task.id.split('_')[1])}"
    rounds = [_search_round(task, mrn, rng, text)]
    creates: list[dict[str, Any]] = []
    if task.kind == "action":
        resource = _resource(task, mrn, wrong=not clinical)
        creates.append({"resource_type": resource["resourceType"], "resource": resource, "accepted": True})
        rounds.append(_create_round(task, resource, rng))
    answer = "[1.8]" if status == "completed" else None
    if answer is not None:
        rounds.append(_finish_round(rng))
    owed = status in ("provider_error", "chart_error", "harness_error", "interrupted")
    usage = {
        key: sum(r["usage"][key] for r in rounds)
        for key in ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
    }
    calls = sum(len(r["calls"]) for r in rounds)
    return {
        "task_id": task.id,
        "repeat": repeat,
        "protocol": protocol,
        "attempt": {
            "task_id": task.id,
            "status": status,
            "answer": answer,
            "mentions_post": False,
            "calls": creates,
        },
        "rounds": rounds,
        "rounds_by_call": calls,
        "rounds_by_turn": len(rounds),
        "usage": usage,
        "cost_usd": cost,
        "seconds": round(sum(c["seconds"] for r in rounds for c in r["calls"]) + 1.5 * len(rounds), 3),
        "verdicts": None
        if owed
        else _verdicts(task, status, clinical, clinical if original is None else original),
    }


def _usage(rng: random.Random) -> dict[str, int]:
    return {
        "input_tokens": rng.randrange(1500, 4000),
        "output_tokens": rng.randrange(20, 200),
        "cached_input_tokens": rng.randrange(0, 1200),
        "reasoning_tokens": 0,
    }


ACCEPTED = "POST request accepted and executed successfully."


def _bundle(mrn: str, count: int) -> str:
    """A search result; the text of one resource tries to be markup."""
    entries = [
        {
            "resource": {
                "resourceType": "Observation",
                "id": f"o{number}",
                "subject": {"reference": f"Patient/{mrn}"},
                "effectiveDateTime": f"2023-11-13T0{number}:00:00+00:00",
                "valueQuantity": {"value": 1.8, "unit": "mg/dL"},
                "note": [{"text": "<img src=x onerror=window.hacked=1>"}],
            }
        }
        for number in range(count)
    ]
    return json.dumps({"resourceType": "Bundle", "type": "searchset", "total": count, "entry": entries})


def _search_round(task: FakeTask, mrn: str, rng: random.Random, text: str) -> dict[str, Any]:
    result = _bundle(mrn, rng.randrange(1, 4))
    function = "patient.search" if task.category in ("task1", "task2") else "lab.search"
    arguments = {"identifier": mrn} if function == "patient.search" else {"patient": mrn, "code": "MG"}
    return {
        "text": text or "I look the record up first.",
        "calls": [
            {
                "function": function,
                "arguments": arguments,
                "ok": True,
                "result": result,
                "result_bytes": len(result.encode()),
                "seconds": round(rng.uniform(0.001, 0.02), 4),
            }
        ],
        "usage": _usage(rng),
        "seconds": round(rng.uniform(0.5, 3.0), 3),
        "stop": "tool_calls",
    }


def _resource(task: FakeTask, mrn: str, *, wrong: bool) -> dict[str, Any]:
    subject = {"reference": f"Patient/{mrn}"}
    if task.category == "task3":
        return {
            "resourceType": "Observation",
            "category": [
                {
                    "coding": [
                        {
                            "system": "http://hl7.org/fhir/observation-category",
                            "code": "vital-signs",
                            "display": "Vital Signs",
                        }
                    ]
                }
            ],
            "code": {"text": "BP"},
            "effectiveDateTime": NOW,
            "status": "final",
            "valueString": "118/77 mmHg" if not wrong else "118 mmHg",
            "subject": subject,
        }
    if task.category in ("task5", "task9"):
        dose = 4 if wrong else 2
        return {
            "resourceType": "MedicationRequest",
            "medicationCodeableConcept": {
                "coding": [{"system": "http://hl7.org/fhir/sid/ndc", "code": "0338-1715-40"}],
            },
            "authoredOn": NOW,
            "dosageInstruction": [
                {"route": "IV", "doseAndRate": [{"doseQuantity": {"value": dose, "unit": "g"}}]}
            ],
            "status": "active",
            "intent": "order",
            "subject": subject,
        }
    return {
        "resourceType": "ServiceRequest",
        "code": {"coding": [{"system": "http://snomed.info/sct", "code": "306181000000106"}]},
        "authoredOn": NOW,
        "status": "active",
        "intent": "order",
        "priority": "stat" if not wrong else "routine",
        "note": {"text": "Situation: <script>window.hacked = 1</script> acute knee injury"},
        "subject": subject,
    }


def _create_round(task: FakeTask, resource: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    names = {
        "Observation": "vital.create",
        "MedicationRequest": "medicationrequest.create",
        "ServiceRequest": "procedure.create",
    }
    return {
        "text": "",
        "calls": [
            {
                "function": names[resource["resourceType"]],
                "arguments": resource,
                "ok": True,
                "result": ACCEPTED,
                "result_bytes": len(ACCEPTED),
                "seconds": round(rng.uniform(0.001, 0.005), 4),
            }
        ],
        "usage": _usage(rng),
        "seconds": round(rng.uniform(0.5, 3.0), 3),
        "stop": "tool_calls",
    }


def _finish_round(rng: random.Random) -> dict[str, Any]:
    return {
        "text": "The value is 1.8.",
        "calls": [
            {
                "function": "finish",
                "arguments": {"answers": [1.8]},
                "ok": True,
                "result_bytes": 2,
                "seconds": 0.0,
            }
        ],
        "usage": _usage(rng),
        "seconds": round(rng.uniform(0.5, 3.0), 3),
        "stop": "tool_calls",
    }


def _verdicts(task: FakeTask, status: str, clinical: bool, original: bool) -> dict[str, Any]:
    failure: dict[str, Any]
    if status != "completed":
        failure = {
            "code": status
            if status in ("invalid_action", "budget_exhausted", "context_limit")
            else "no_answer",
            "path": "$",
            "expected": "a final answer",
            "got": None,
        }
        clinical = original = False
    elif task.category == "task3":
        failure = {
            "code": "wrong_field",
            "path": "$.calls[0].resource.valueString",
            "expected": "118/77 mmHg",
            "got": "118 mmHg",
        }
    elif task.category in ("task5", "task9"):
        failure = {
            "code": "wrong_dose",
            "path": "$.calls[0].resource.dosageInstruction[0].doseAndRate[0].doseQuantity",
            "expected": {"value": 2, "unit": "g"},
            "got": {"value": 4, "unit": "g"},
        }
    elif task.kind == "action":
        failure = {
            "code": "wrong_field",
            "path": "$.calls[0].resource.priority",
            "expected": "stat",
            "got": "routine",
        }
    else:
        failure = {"code": "answer_wrong", "path": "$.answer", "expected": [2.1], "got": [1.8]}
    route = {
        "code": "wrong_field",
        "path": "$.calls[0].resource.dosageInstruction[0].route",
        "expected": "IV",
        "got": {"text": "IV"},
    }
    return {
        "medagentbench": {
            "passed": original,
            "failures": [] if original else [failure if not clinical else route],
        },
        "clinical": {"passed": clinical, "failures": [] if clinical else [failure], "notes": []},
    }


@dataclass(slots=True)
class RunSpec:
    """How a made run comes out; probabilities are per attempt."""

    model: str = "openai/example-large"
    protocol: str = "native"
    seed: int = 1
    rate: float = 0.7
    strict_loss: float = 0.1
    invalid: float = 0.03
    repeats: int = 1
    owed: int = 0
    cost: float | None = 0.012
    per_category: int = 30
    checksum: str = CHECKSUM
    chart: str = CHART
    manifest: dict[str, Any] = field(default_factory=dict)


def make_lines(spec: RunSpec) -> list[dict[str, Any]]:
    """All lines of a run; the last `owed` of them ended in a provider error."""
    rng = random.Random(spec.seed)
    lines = []
    for task in make_tasks(spec.per_category):
        # A task's own difficulty is shared by its repeats and, through the task's id, by all runs.
        ease = random.Random(task.id).gauss(0, 0.25)
        for repeat in range(spec.repeats):
            clinical = rng.random() < spec.rate + ease
            original = clinical and rng.random() >= spec.strict_loss
            status = "invalid_action" if rng.random() < spec.invalid else "completed"
            lines.append(
                make_line(
                    task,
                    repeat,
                    clinical=clinical,
                    original=original,
                    status=status,
                    rng=rng,
                    cost=spec.cost,
                    protocol=spec.protocol,
                )
            )
    for index in range(len(lines) - spec.owed, len(lines)):
        task = make_tasks(spec.per_category)[index // spec.repeats]
        lines[index] = make_line(
            task, lines[index]["repeat"], status="provider_error", rng=rng, cost=spec.cost
        )
    return lines


def make_manifest(spec: RunSpec) -> dict[str, Any]:
    """The manifest of a made run."""
    manifest: dict[str, Any] = {
        "format_version": 1,
        "created_at": "2026-01-02T03:04:05+00:00",
        "model": spec.model,
        "destination": None,
        "protocol": spec.protocol,
        "rounds": 8,
        "round_unit": "call",
        "repeats": spec.repeats,
        "seed": 0,
        "settings": {"temperature": 0},
        "setting_notes": [],
        "tasks": {
            "spec": "made-for-tests.json",
            "name": "made",
            "source": "file",
            "checksum": spec.checksum,
            "ids": [task.id for task in make_tasks(spec.per_category)],
        },
        "chart": {
            "name": "embedded",
            "checksum": spec.chart,
            "synthetic": True,
            "base_url": BASE_URL,
            "patients": 100,
        },
        "server": {"profile": "medagentbench", "results": "fhir", "functions_sha256": "2" * 64},
        "prompts": {"native": {"sha256": "0" * 64, "own": True}, "text": {"sha256": "1" * 64, "own": True}},
        "price": None,
        "executor": "local",
        "concurrency": 8,
        "versions": {"wardround": "0.1.0", "python": "3.11.0"},
    }
    return manifest | spec.manifest


def make_baselines(per_category: int = 30) -> dict[str, Any]:
    """Scores of the trivial agents: null passes a tenth of the queries, always-act a fifth of the actions."""
    tasks = make_tasks(per_category)
    scores = {}
    for name, kind, every in (("builtin/null", "query", 10), ("builtin/always-act", "action", 5)):
        lines = [
            make_line(task, clinical=task.kind == kind and index % every == 0, cost=0.0)
            for index, task in enumerate(tasks)
        ]
        scores[name] = summarise(lines, tasks, repeats=1, expected=len(tasks))["scores"]
    return scores


def make_run(folder: Path, spec: RunSpec | None = None) -> Path:
    """Write a run folder and return it."""
    spec = spec or RunSpec()
    folder.mkdir(parents=True, exist_ok=True)
    lines = make_lines(spec)
    tasks = make_tasks(spec.per_category)
    summary = summarise(
        lines,
        tasks,
        repeats=spec.repeats,
        expected=len(tasks) * spec.repeats,
        baselines=make_baselines(spec.per_category),
    )
    (folder / "manifest.json").write_text(json.dumps(make_manifest(spec), indent=2) + "\n")
    (folder / "attempts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    return folder
