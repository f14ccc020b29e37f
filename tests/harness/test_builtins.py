"""The builtins' scripts: what the oracle does with cut, odd and foreign results, turn by turn."""

from __future__ import annotations

from typing import Any

import pytest

from wardround_harness.agents.base import Settings, Tool, ToolMessage, ToolResult, Transcript, UserMessage
from wardround_harness.agents.brief import Brief, read_brief
from wardround_harness.agents.builtin_oracle import SOLVERS, script
from wardround_harness.agents.orders import magnesium_tier
from wardround_harness.agents.scripted import Create, Finish, Intent, Reply, Scripted, Search, read_reply
from wardround_tasks.loading import load_tasks

NOW = "2023-11-13T10:15:00+00:00"
PATIENT = {
    "resourceType": "Patient",
    "id": "p-17",
    "identifier": [{"value": "S0000001"}],
    "birthDate": "1960-11-14",
}


def brief(category: str, **more: Any) -> Brief:
    """A brief of a category."""
    return Brief("t", category, NOW, mrn="S0000001", lab="X", medication="m", order="o", **more)


def lab(value: Any, at: str, unit: str = "mg/dL") -> dict[str, Any]:
    """An observation."""
    return {
        "resourceType": "Observation",
        "effectiveDateTime": at,
        "valueQuantity": {"value": value, "unit": unit},
    }


def played(of: Brief, *replies: Reply) -> list[Intent]:
    """The intents of a script that gets these replies, and then that all is well."""
    running, intents, given = script(of), [], list(replies)
    intents.append(next(running))
    try:
        while True:
            intents.append(running.send(given.pop(0) if given else Reply(True)))
    except StopIteration:
        return intents


def answers(intents: list[Intent]) -> list[Any]:
    """What a script answered."""
    last = intents[-1]
    assert isinstance(last, Finish)
    return last.answers


FOUND = Reply(True, (PATIENT,))


def test_a_mean_takes_every_page_of_the_last_day() -> None:
    pages = [Reply(True, (lab(100 + i, f"2023-11-13T0{i}:00:00Z"),), f"next{i}") for i in range(3)]
    intents = played(brief("task6"), FOUND, *pages, Reply(True, (lab(200, "2023-11-12T11:00:00Z"),)))
    assert answers(intents) == [(100 + 101 + 102 + 200) / 4]
    searches = [intent for intent in intents if isinstance(intent, Search)]
    assert [dict(search.arguments).get("page") for search in searches[2:]] == ["next0", "next1", "next2"]
    assert searches[2].arguments["patient"] == "Patient/p-17"


@pytest.mark.parametrize("category", sorted(SOLVERS))
def test_results_that_never_end_still_leave_eight_rounds(category: str) -> None:
    endless = Reply(True, (lab(1.2, "2023-11-13T09:00:00Z"),), "more")
    intents = played(brief(category, given="a", family="b"), *[endless] * 20)
    assert any("page" in intent.arguments for intent in intents if isinstance(intent, Search))
    assert len(intents) <= 8
    assert isinstance(intents[-1], Finish)


def test_the_newest_value_needs_no_further_page_once_it_is_there() -> None:
    first = Reply(True, (lab(None, NOW), lab(3.9, "2023-11-01T00:00:00Z", "mmol/L")), "next")
    intents = played(brief("task7"), FOUND, first)
    assert answers(intents) == [3.9 * 18.0156]
    assert len(intents) == 3


def test_a_page_without_a_number_is_followed_by_the_next() -> None:
    intents = played(brief("task7"), FOUND, Reply(True, (lab(None, NOW),), "n"), Reply(True, (lab(90, NOW),)))
    assert answers(intents) == [90]


def test_values_outside_the_window_do_not_count() -> None:
    values = (
        lab(5.0, "2023-11-13T10:15:01+00:00"),
        lab(2.0, "2023-11-12T10:15:00+00:00"),
        lab(9.0, "2023-11-12T10:14:59+00:00"),
    )
    assert answers(played(brief("task4"), FOUND, Reply(True, values))) == [2.0]


@pytest.mark.parametrize(
    ("value", "grams"), [(0.99, 4), (1.0, 2), (1.49, 2), (1.5, 1), (1.9, 1), (1.91, None)]
)
def test_magnesium_is_dosed_by_tier(value: float, grams: int | None) -> None:
    tier = magnesium_tier(value)
    assert (tier.grams if tier else None) == grams


def test_orders_name_the_patient_by_the_charts_own_id() -> None:
    intents = played(brief("task9"), FOUND, Reply(True, (lab(3.1, NOW, "mmol/L"),)))
    orders = [intent for intent in intents if isinstance(intent, Create)]
    assert [order.resource["subject"]["reference"] for order in orders] == ["Patient/p-17"] * 2
    assert orders[0].resource["dosageInstruction"][0]["doseAndRate"][0]["doseQuantity"][
        "value"
    ] == pytest.approx(40)
    assert orders[1].resource["occurrenceDateTime"] == "2023-11-14T08:00:00+00:00"


def test_a_name_that_only_begins_alike_is_not_the_patient() -> None:
    other = {"id": "x", "birthDate": "1960-01-01", "name": [{"given": ["Annabel"], "family": "Lee"}]}
    asked = Brief(
        "t", "task1", NOW, given="Anna", family="Lee", birth_date="1960-01-01", not_found="Patient not found"
    )
    assert answers(played(asked, Reply(True, (other,)))) == ["Patient not found"]
    right = {**other, "name": [{"given": ["Anna"], "family": "Lee"}], "identifier": [{"value": "S7"}]}
    assert answers(played(asked, Reply(True, (other, right)))) == ["S7"]


def test_a_refused_search_is_no_value_and_no_crash() -> None:
    assert answers(played(brief("task5"), Reply(False), Reply(False))) == [-1]


def test_a_brief_holds_nothing_but_what_the_text_says() -> None:
    for task in load_tasks("bundled").tasks:
        known = read_brief(task)
        text = f"{task.instruction} {task.context}"
        for field in ("mrn", "lab", "medication", "order", "flowsheet", "reading", "note", "given", "family"):
            value = getattr(known, field)
            assert not value or value in text, (task.id, field, value)
        if task.category == "task1" and task.solution and task.patient is not None:
            assert task.patient.mrn not in {known.mrn, known.given, known.family, known.note}


@pytest.mark.parametrize(
    ("text", "resources", "following"),
    [
        (
            '{"resourceType":"Bundle","entry":[{"resource":{"id":"a"}}],"link":[{"relation":"next","url":"u"}]}',
            1,
            "u",
        ),
        ('The answer:\n{"resourceType":"Bundle","total":0}\n\nNext?', 0, None),
        (
            '{"total":2,"returned":2,"next":"u","shared":{"code":"K"},"entries":[{"id":"a"},{"id":"b"}]}',
            2,
            "u",
        ),
        ('{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"OperationOutcome"}}]}', 0, None),
        ("accepted", 0, None),
        ('{"broken', 0, None),
    ],
)
def test_results_are_read_in_both_forms_with_words_around_them(
    text: str, resources: int, following: str | None
) -> None:
    reply = read_reply(text, ok=True)
    assert (len(reply.resources), reply.next) == (resources, following)


@pytest.mark.anyio
async def test_the_same_transcript_gives_the_same_turn_and_no_state_is_kept() -> None:
    agent = Scripted("x", script, {"t": brief("task7")}, "http://h/fhir/")
    tools = (Tool("lab.search", "", {}), Tool("patient.search", "", {}), Tool("finish", "", {}))
    transcript = Transcript("", [UserMessage("task")], task_id="t")
    first = await agent.turn(transcript, tools, Settings())
    assert first == await agent.turn(transcript, tools, Settings())
    assert first.calls[0].name == "patient.search"
    transcript.messages += [
        first,
        ToolMessage((ToolResult("call_1", "patient.search", '{"resourceType":"Bundle"}'),)),
    ]
    assert (await agent.turn(transcript, tools, Settings())).calls[0].name == "lab.search"
    text = Transcript("", [UserMessage("task")], task_id="t", protocol="text")
    assert (await agent.turn(text, (), Settings())).text == "GET http://h/fhir/Patient?identifier=S0000001"
