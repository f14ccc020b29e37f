"""Records: whatever a model sends can be written down, and read back as it was written."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_harness.agents.base import Transcript, Usage
from wardround_harness.loop import CallLog, Play, RoundLog
from wardround_harness.records import clean, clean_attempt, encode_line, run_line, verdict_json
from wardround_tasks.attempt import Attempt, CreateCall
from wardround_tasks.verdict import Failure, Verdict, Verdicts

HOSTILE: Any = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**80), 2**80),
        st.floats(),
        st.text(alphabet=st.characters(), max_size=20),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(HOSTILE)
def test_any_value_a_model_can_send_is_written_and_read_back_the_same(value: Any) -> None:
    cleaned = clean(value)
    line = orjson.dumps(cleaned)
    assert orjson.loads(line) == cleaned
    assert json.loads(line) == cleaned
    assert clean(cleaned) == cleaned


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.text(max_size=9)),
        lambda i: st.lists(i),
    )
)
def test_what_json_has_room_for_is_kept_as_it_is(value: Any) -> None:
    assert clean(value) == value


def test_what_json_has_no_room_for_becomes_text() -> None:
    assert clean({"a": math.nan, "b": [math.inf], "c": 10**30}) == {
        "a": "nan",
        "b": ["inf"],
        "c": str(10**30),
    }
    assert clean("\ud800x") == "\ufffdx"


def test_nesting_without_end_is_cut() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert len(orjson.dumps(clean(deep))) < 1000


def test_what_is_graded_is_what_is_recorded() -> None:
    attempt = clean_attempt(Attempt("t", calls=(CreateCall("Observation", {"value": math.nan}, True),)))
    assert Attempt.from_json(orjson.loads(orjson.dumps(attempt.to_json()))) == attempt


def test_a_line_holds_both_counts_of_rounds_and_every_call() -> None:
    play = Play(Transcript("", task_id="task1_1"), status="provider_error", actions=2, error="server: away")
    two = [CallLog("lab.search", {"code": "K"}, True, "résult", 0.25), CallLog("x", "{bad", False, "no", 0.0)]
    play.rounds.append(RoundLog("hm", two, Usage(5, 1), "tool_calls", 1.0, 2, 0.125, ("note",)))
    line = orjson.loads(
        encode_line(
            run_line(repeat=1, play=play, attempt=Attempt("task1_1", "provider_error"), verdicts=None)
        )
    )
    assert (line["rounds_by_call"], line["rounds_by_turn"], line["repeat"]) == (2, 1, 1)
    assert line["rounds"][0]["calls"][0] == {
        "function": "lab.search",
        "arguments": {"code": "K"},
        "ok": True,
        "result": "résult",
        "result_bytes": 7,
        "seconds": 0.25,
    }
    assert (line["cost_usd"], line["seconds"], line["verdicts"], line["error"]) == (
        0.125,
        1.25,
        None,
        "server: away",
    )


def test_a_verdict_that_quotes_half_a_character_can_be_written() -> None:
    failure = Failure("answer_wrong", "$.answer", [1], ["\ud800", float("inf")])
    verdict = Verdict((failure,))
    line = {"verdicts": verdict_json(Verdicts("task4_1", verdict, verdict))}
    assert json.loads(encode_line(line))["verdicts"]["clinical"]["failures"][0]["got"] == ["\ufffd", "inf"]
