"""The file formats against their schemas."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from wardround_schemas.records import MAX_LINES, RECORD_KINDS, RecordKind, check_record, record_schema

SHA = "0" * 64
USAGE = {"input_tokens": 10, "output_tokens": 5, "cached_input_tokens": 0, "reasoning_tokens": 0}
FAILURE = {"code": "wrong_dose", "path": "$.calls[0].resource", "expected": 2, "got": None}
VERDICTS = {
    "medagentbench": {"passed": False, "failures": [FAILURE]},
    "clinical": {"passed": True, "failures": [], "notes": [{**FAILURE, "code": "answer_format"}]},
}
ATTEMPT = {
    "task_id": "task5_1",
    "status": "completed",
    "answer": "[1.8]",
    "mentions_post": False,
    "calls": [{"resource_type": "MedicationRequest", "resource": {"status": "active"}, "accepted": True}],
}
WHOLE = {"passed": 1, "total": 2, "rate": 0.5, "ci95": [0.1, 0.9]}
SCORES = {"medagentbench": {"overall": WHOLE, "task10": WHOLE}, "clinical": {"overall": WHOLE}}

RECORDS: dict[RecordKind, dict[str, Any]] = {
    "task": {
        "id": "task4_1",
        "category": "task4",
        "kind": "query",
        "difficulty": "medium",
        "branch": "recent",
        "instruction": "What is the newest magnesium?",
        "context": "",
        "now": "2023-11-13T10:15:00+00:00",
        "patient": {"reference": "Patient/S1", "mrn": "S1"},
        "facts": {"codes": {"lab": "MG"}, "texts": {}, "values": {"asks_value": True}},
        "solution": [1.8],
    },
    "attempt": ATTEMPT,
    "verdict": {"task_id": "task5_1", **VERDICTS},
    "run_line": {
        "task_id": "task5_1",
        "repeat": 0,
        "protocol": "native",
        "attempt": ATTEMPT,
        "rounds": [
            {
                "text": "",
                "calls": [
                    {"function": "lab.search", "arguments": {}, "ok": True, "result_bytes": 3, "seconds": 0.1}
                ],
                "usage": USAGE,
                "stop": "tool_calls",
            }
        ],
        "rounds_by_call": 1,
        "rounds_by_turn": 1,
        "usage": USAGE,
        "cost_usd": None,
        "seconds": 1.5,
        "verdicts": VERDICTS,
    },
    "summary": {
        "scores": SCORES,
        "pass_hat_k": {"clinical": {"1": {"rate": 0.5, "ci95": [0.1, 0.9]}}},
        "baselines": {"builtin/null": SCORES},
        "ledger": {"completed": 2},
        "usage": USAGE,
        "cost_usd": 0.25,
    },
    "capture": {
        "at": "2023-11-13T10:15:00.000Z",
        "session": "s",
        "seq": 1,
        "function": "vital.create",
        "resource_type": "Observation",
        "resource": "anything",
        "canonical": None,
        "accepted": False,
        "failures": [{"path": "$", "message": "not an object"}],
        "previous": None,
    },
    "manifest": {
        "format_version": 1,
        "created_at": "2023-11-13T10:15:00+00:00",
        "model": "openai/x",
        "destination": None,
        "protocol": "text",
        "rounds": 8,
        "round_unit": "call",
        "repeats": 1,
        "seed": 0,
        "settings": {"temperature": 0},
        "tasks": {
            "spec": "bundled",
            "name": "bundled",
            "source": "bundled",
            "checksum": SHA,
            "ids": ["task1_1"],
        },
        "chart": {
            "name": "embedded",
            "checksum": SHA,
            "synthetic": True,
            "base_url": "http://127.0.0.1/fhir",
        },
        "server": {"profile": "r4", "results": "compact", "functions_sha256": SHA},
        "prompts": {"native": {"sha256": SHA, "own": True}},
        "executor": "local",
        "concurrency": 8,
        "versions": {"wardround": "0.1.0", "python": "3.11.7"},
    },
    "compare": {
        "format_version": 1,
        "wardround": "0.1.0",
        "runs": {
            side: {"name": side, "model": "m", "protocol": "native", "repeats": 1, "manifest_sha256": SHA}
            for side in "ab"
        },
        "tasks": 2,
        "differences": [],
        "margin": 0.05,
        "seed": 0,
        "rules": {
            rules: {
                "rate": {"a": 0.5, "b": 1.0},
                "difference": 0.5,
                "table": {"both": 1, "a_only": 0, "b_only": 1, "neither": 0},
                "test": {"name": "McNemar, exact", "p": 1.0, "mid_p": 0.5},
                "bootstrap95": [0, 1],
                "tango95": None,
                "cluster95": None,
                "noninferiority": {"margin": 0.05, "shown": True},
                "categories": {"task1": {}},
                "flipped": [{"task_id": "t", "category": "task1", "direction": "gained", "a": {}, "b": {}}],
            }
            for rules in ("medagentbench", "clinical")
        },
        "effort": {},
    },
}


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_a_record_schema_is_valid_and_versioned(kind: RecordKind) -> None:
    schema = record_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:wardround:record:{kind}:1"
    assert schema["description"]


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_a_right_record_is_right_and_lacks_nothing_it_needs(kind: RecordKind) -> None:
    record = RECORDS[kind]
    assert check_record(kind, record) == []
    for name in record_schema(kind)["required"]:
        without = {key: value for key, value in record.items() if key != name}
        assert any(name in line for line in check_record(kind, without)), name


def changed(kind: RecordKind, path: list[str | int], value: Any) -> list[str]:
    record = copy.deepcopy(RECORDS[kind])
    holder: Any = record
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return check_record(kind, record)


@pytest.mark.parametrize(
    ("kind", "path", "value", "place"),
    [
        ("task", ["category"], "task11", "$.category"),
        ("task", ["now"], "2023-11-13", "$.now"),
        ("task", ["patient", "reference"], "S1", "$.patient"),
        ("task", ["solution"], "[1.8]", "$.solution"),
        ("attempt", ["answer"], [1.8], "$.answer"),
        ("attempt", ["status"], "fine", "$.status"),
        ("attempt", ["calls", 0], {"resource_type": "x"}, "$.calls[0]"),
        ("verdict", ["medagentbench", "failures", 0, "code"], "odd", "$.medagentbench.failures[0].code"),
        ("verdict", ["medagentbench", "notes"], [], "$.medagentbench"),
        ("verdict", ["clinical", "failures"], [1], "$.clinical.failures[0]"),
        ("run_line", ["attempt", "status"], "fine", "$.attempt.status"),
        ("run_line", ["rounds", 0, "calls", 0, "ok"], "yes", "$.rounds[0].calls[0].ok"),
        ("run_line", ["usage", "input_tokens"], -1, "$.usage.input_tokens"),
        ("run_line", ["verdicts"], {}, "$.verdicts"),
        (
            "summary",
            ["scores", "clinical", "overall"],
            {"passed": 1, "total": 2},
            "$.scores.clinical.overall",
        ),
        ("summary", ["scores", "clinical", "task11"], WHOLE, "$.scores.clinical"),
        ("summary", ["scores", "clinical", "overall", "rate"], 50, "$.scores.clinical.overall"),
        ("summary", ["ledger", "fine"], 1, "$.ledger"),
        ("capture", ["seq"], 0, "$.seq"),
        ("capture", ["previous"], "x", "$.previous"),
        ("capture", ["extra"], 1, "$"),
        ("manifest", ["format_version"], 2, "$.format_version"),
        ("manifest", ["server", "profile"], "r5", "$.server.profile"),
        ("compare", ["rules", "clinical", "difference"], 2, "$.rules.clinical.difference"),
        ("compare", ["runs", "c"], {}, "$.runs"),
    ],
)
def test_a_wrong_value_is_found_at_its_place(
    kind: RecordKind, path: list[Any], value: Any, place: str
) -> None:
    found = changed(kind, path, value)
    assert any(line.startswith(f"{place}: ") for line in found), found


def test_a_score_that_is_owed_has_bounds_in_place_of_a_rate() -> None:
    owed = {"passed": 1, "total": 3, "rate_bounds": [0.33, 0.67]}
    assert changed("summary", ["scores", "clinical", "overall"], owed) == []
    assert changed("summary", ["scores", "clinical", "overall"], {**owed, **WHOLE})


def test_an_attempt_may_leave_out_all_but_its_task() -> None:
    assert check_record("attempt", {"task_id": "task1_1"}) == []
    assert check_record("attempt", {"task_id": "task1_1", "repeat": 3}) == []
    assert check_record("attempt", []) == ["$: [] is not of type 'object'"]


def test_the_findings_are_bounded_in_number_and_length() -> None:
    found = check_record("attempt", {"task_id": "t", "calls": [["x" * 10_000]] * 500})
    assert len(found) == MAX_LINES
    assert max(map(len, found)) < 600


def test_the_original_tasks_are_tasks_once_read(medagentbench_dir: Any) -> None:
    from wardround_tasks.loading import load_tasks

    for name in ("test_data_v1.json", "test_data_v2.json"):
        tasks = load_tasks(f"medagentbench:{medagentbench_dir / name}").tasks
        assert tasks
        assert [line for task in tasks for line in check_record("task", task.to_json())] == []
