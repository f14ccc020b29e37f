"""A captured write beside what was expected: every line once, every objection where it belongs."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_harness.viewer.captured import diff_lines, parse_path
from wardround_harness.viewer.details import write_places
from wardround_harness.viewer.models import FailureNote

RESOURCE = {"status": "active", "dosage": [{"route": "IV", "dose": {"value": 4, "unit": "g"}}]}


def objection(path: str, expected: Any, code: str = "wrong_field") -> FailureNote:
    return FailureNote(
        rules="clinical",
        note=False,
        code=code,
        path=f"$.calls[0].resource{path}",
        expected=expected,
        got=None,
    )


def marked(
    objections: list[FailureNote], resource: Any = RESOURCE
) -> list[tuple[str, str | None, str | None]]:
    return [(line.text, line.expected, line.mark) for line in diff_lines(resource, objections) if line.mark]


def test_an_object_that_was_to_be_another_is_marked_where_it_differs() -> None:
    expected = {"value": 2, "unit": "g", "code": "g"}
    assert marked([objection(".dosage[0].dose", expected)]) == [
        ("", '"code": g', "missing"),
        ('"value": 4,', '"value": 2', "wrong"),
    ]


def test_an_absent_field_is_a_line_of_its_own_below_its_parent() -> None:
    assert marked([objection(".dosage[0].rate.value", 1)]) == [("", "rate.value: 1", "missing")]
    assert marked([objection(".intent", "order")]) == [("", '"intent": order', "missing")]


def test_an_object_in_the_place_of_a_text_is_marked_as_a_whole() -> None:
    resource = {"route": {"text": "IV"}, "status": "active"}
    assert marked([objection(".route", "IV")], resource) == [
        ('"route": {', '"route": IV', "wrong"),
        ('"text": "IV"', None, "wrong"),
        ("},", None, "wrong"),
    ]


def test_both_rule_sets_objecting_to_one_field_are_one_line() -> None:
    both = [objection(".status", "active"), objection(".status", "active")]
    both[1] = both[1].model_copy(update={"rules": "medagentbench"})
    (line,) = [line for line in diff_lines({"status": "draft"}, both) if line.mark]
    assert (line.expected, line.rules) == ('"status": active', ["clinical", "medagentbench"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(json_values, st.lists(st.tuples(st.text(".[]a0", max_size=8), json_values), max_size=4))
def test_any_resource_and_any_objection_can_be_shown(
    resource: Any, objections: list[tuple[str, Any]]
) -> None:
    lines = diff_lines(resource, [objection(path, expected) for path, expected in objections])
    captured = "".join(line.text for line in lines if line.mark != "missing")
    assert json.loads(captured) == resource


def test_paths_are_read_step_by_step() -> None:
    assert parse_path(".a[0].b-c[12]") == ("a", 0, "b-c", 12)
    assert parse_path("") == ()


def create(resource: Any, **more: Any) -> dict[str, Any]:
    return {"function": "procedure.create", "arguments": resource} | more


def test_a_write_is_that_of_the_call_that_sent_it() -> None:
    one, two = {"resourceType": "ServiceRequest", "id": "1"}, {"resourceType": "ServiceRequest", "id": "2"}
    captured = [{"resource": one}, {"resource": two}]
    search = {"function": "lab.search", "arguments": {}}
    assert write_places([create(one), search, create(two)], captured) == [0, None, 1]
    # A call that was refused before anything was captured takes no write from the one after it.
    assert write_places([create("not json"), create(one), create(two)], captured) == [None, 0, 1]
    posts = [{"function": "POST", "arguments": {"url": "u", "body": json.dumps(body)}} for body in ({}, two)]
    assert write_places(posts, captured[1:]) == [None, 0]
    assert write_places([create({"text": "sent"})], [{"resource": {"text": "kept otherwise"}}]) == [0]
