"""Reading an action out of a message, as the original reads it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_harness.protocols.text import Action, read_action


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("GET http://h/fhir/Patient?x=1", Action("GET", url="http://h/fhir/Patient?x=1")),
        ("  GET   http://h/Patient  \n", Action("GET", url="http://h/Patient")),
        ("```\nGET http://h/Patient\n```", Action("GET", url="http://h/Patient")),
        ("```tool_code\nGET http://h/Patient\n```", Action("GET", url="http://h/Patient")),
        (
            'POST http://h/Observation\n{"a":\n 1}',
            Action("POST", url="http://h/Observation", body='{"a":\n 1}'),
        ),
        ("POST http://h/Observation", Action("POST", url="http://h/Observation", body="")),
        ("FINISH([1, 2])", Action("FINISH", body="[1, 2]")),
        ("FINISH([])", Action("FINISH", body="[]")),
        ('FINISH(["a)"])', Action("FINISH", body='["a)"]')),
        ("FINISH(", Action("FINISH", body="")),
        ("FINISH([1]", Action("FINISH", body="[1")),
    ],
)
def test_an_action_is_read_as_the_original_reads_it(text: str, action: Action) -> None:
    assert read_action(text) == action


@pytest.mark.parametrize(
    "text", ["", "   ", "I will GET it", "finish([1])", "FINISH [1]", "```json\nGET x\n```", "DELETE x"]
)
def test_anything_else_is_no_action(text: str) -> None:
    assert read_action(text) is None


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=200))
def test_reading_never_fails(text: str) -> None:
    for prefix in ("", "GET ", "POST ", "FINISH("):
        action = read_action(prefix + text)
        assert action is None or action.kind in {"GET", "POST", "FINISH"}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet=st.characters(exclude_characters="`", codec="utf-8"), max_size=100))
def test_a_finish_keeps_its_answer_letter_for_letter(answer: str) -> None:
    action = read_action(f"FINISH({answer})")
    assert action is not None
    assert action.body == answer
