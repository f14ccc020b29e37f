"""Models that send anything at all: every attempt ends in a scored line, whatever comes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.harness.test_run import plan
from wardround_harness import ground
from wardround_harness.agents.base import Settings, Tool, ToolCall, Transcript, Turn, Usage
from wardround_harness.run import execute
from wardround_harness.runs import ATTEMPTS, read_lines
from wardround_schemas.records import check_record

pytestmark = pytest.mark.anyio

BASE = "http://127.0.0.1:8421/fhir"
NAMES = [
    "patient_search",
    "lab_search",
    "vital_search",
    "vital_create",
    "medicationrequest_create",
    "procedure_create",
    "finish",
    "nope",
    "",
    "a" * 5000,
    "Finish",
    "lab.search",
    "\ud800",
]
WORDS = [
    "",
    "S0000001",
    "ge2023-11-12T10:15:00+00:00",
    "2023-99-99",
    "K",
    "'; DROP",
    "\x00",
    "\ud800",
    "é" * 300,
    "http://evil/",
    "Patient/S1",
    "[]",
    "{}",
    "[1]",
    "NaN",
    "x" * 50_000,
]
KEYS = ["patient", "code", "date", "answers", "resourceType", "category", "_count", "page", "name", "\ud800"]
RAW = [
    "",
    "{",
    "null",
    "[]",
    "1",
    '{"a":1}{"b"',
    "\x00",
    '{"patient": "S1", "patient": 2}',
    "[" * 5000,
    '{"a":' * 3000,
]
PLACES = [
    f"{BASE}/Patient?name=a",
    f"{BASE}/../../etc/passwd",
    "//x",
    "\x00",
    f"{BASE}/Patient?" + "a=b&" * 3000,
    f"{BASE}/Observation\n" + "[" * 50_000,
    f"{BASE}/metadata",
    f"{BASE}/Patient?_count=999999999",
    f"{BASE}/Patient?birthdate=ge",
    f"{BASE}\n{{}}",
    "\ud800",
    f"{BASE}/Patient?name=%ff%00",
]


class Odd:
    """Draws its turns."""

    name = "odd"
    destination: str | None = None
    price_key: str | None = None

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        draw = self._draw
        if transcript.protocol == "text":
            word = draw.choice(["GET ", "POST ", "FINISH(", "", "GET", "FINISH([1])", "```\nGET x\n```"])
            return Turn(word + draw.choice(PLACES))
        count = draw.choice([1, 1, 1, 2, 3])
        calls = tuple(ToolCall(str(i), draw.choice(NAMES), self._arguments()) for i in range(count))
        return Turn(draw.choice(["", "hi", "\ud800"]), calls, Usage(1, 1), "tool_calls")

    def setting_notes(self, settings: Settings) -> tuple[str, ...]:
        return ()

    async def aclose(self) -> None:
        return None

    def _arguments(self) -> str | dict[str, Any]:
        kind = self._draw.randrange(5)
        if kind == 0:
            return self._draw.choice(RAW)
        value = self._value(0)
        if kind == 1:
            return json.dumps(value)
        return value if isinstance(value, dict) else {"patient": value, "code": self._value(0)}

    def _value(self, depth: int) -> Any:
        draw, kind = self._draw, self._draw.randrange(10)
        if kind < 3 or depth > 4:
            numbers = [None, True, 0, -1, 10**30, 1.5, float("nan"), float("inf"), 1e308]
            return draw.choice(numbers)
        if kind < 6:
            return draw.choice(WORDS)
        if kind < 8:
            return [self._value(depth + 1) for _ in range(draw.randrange(4))]
        return {draw.choice(KEYS): self._value(depth + 1) for _ in range(draw.randrange(5))}


@pytest.mark.parametrize("protocol", ["native", "text"])
@pytest.mark.parametrize("parallel", [False, True])
async def test_whatever_a_model_sends_the_attempt_is_scored_and_can_be_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: Any, parallel: bool
) -> None:
    monkeypatch.setattr(ground, "open_agent", lambda *given, **named: Odd(11))
    settings = Settings(parallel_tools=parallel)
    report = await execute(
        plan(tmp_path / "r", protocol=protocol, settings=settings, repeats=3), signals=False
    )
    assert report.exit_code == 0, report.summaries[protocol]["ledger"]
    for line in read_lines(tmp_path / "r" / ATTEMPTS):
        assert check_record("run_line", line) == []
        assert not line["verdicts"]["clinical"]["passed"]
