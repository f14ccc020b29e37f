"""Records of a chart that is not synthetic leave this machine by consent alone."""

from __future__ import annotations

import sys

import pytest

from tests.harness.fakes import FakeModel
from wardround_harness.agents.command import Command
from wardround_harness.consent import check_consent, stays_here
from wardround_schemas.errors import UserError

HERE = [None, "http://127.0.0.1:8000/v1", "http://localhost:11434", "http://[::1]:80", "https://127.8.0.1/v1"]
ELSEWHERE = [
    "https://api.example.org/v1",
    "http://10.0.0.5:8000",
    "http://localhost.example.org/",
    "http://127.0.0.1.example.org/",
    "http://127.0.0.1@example.org/",
    "http://0.0.0.0:8000",
    "not a url",
]


@pytest.mark.parametrize("destination", HERE)
def test_a_model_on_this_machine_needs_no_consent(destination: str | None) -> None:
    check_consent(FakeModel([], destination=destination), synthetic=False, allowed=False)


@pytest.mark.parametrize("destination", ELSEWHERE)
def test_a_model_elsewhere_is_refused_without_the_flag(destination: str) -> None:
    model = FakeModel([], destination=destination)
    assert not stays_here(model)
    with pytest.raises(UserError, match="--allow-chart-to-provider"):
        check_consent(model, synthetic=False, allowed=False)


def test_a_synthetic_chart_or_the_flag_is_enough() -> None:
    model = FakeModel([], destination=ELSEWHERE[0])
    check_consent(model, synthetic=True, allowed=False)
    check_consent(model, synthetic=False, allowed=True)


def test_a_program_may_send_what_it_reads_anywhere() -> None:
    program = Command("command:x", sys.executable, time_limit=1.0)
    with pytest.raises(UserError, match="not known"):
        check_consent(program, synthetic=False, allowed=False)


def test_the_refusal_shows_no_password_of_the_url() -> None:
    model = FakeModel([], destination="https://me:hunter2hunter2@api.example.org/v1?key=abc")
    with pytest.raises(UserError) as caught:
        check_consent(model, synthetic=False, allowed=False)
    assert "hunter2" not in str(caught.value)
    assert "abc" not in str(caught.value)
