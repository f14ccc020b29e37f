"""Prompts: ours or a file's, filled once, and never with what a task's text asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from wardround_harness.prompts import Prompts, fill
from wardround_schemas.errors import UserError
from wardround_tasks.task import Facts, Task

TASK = Task(
    "task2_1",
    "task2",
    "query",
    "medium",
    "",
    "How old is {rounds}?",
    "It is {api_base}.",
    "2023-11-13T10:15:00+00:00",
    None,
    Facts(),
)


def test_placeholders_are_filled_in_one_pass_and_other_braces_stay() -> None:
    assert fill('{a} {b} {"c": {d}} {{a}}', {"a": "{b}", "b": "2"}) == '{b} 2 {"c": {d}} {{b}}'


def test_the_native_prompt_says_how_many_rounds_there_are_and_how_they_count() -> None:
    prompts = Prompts.load()
    by_call, user = prompts.native(TASK, 5)
    assert "5 calls" in by_call
    assert "5 turns" in prompts.native(TASK, 5, by_turn=True)[0]
    assert user == "Context: It is {api_base}.\n\nTask: How old is {rounds}?"


def test_the_text_prompt_names_the_base_and_the_functions() -> None:
    message = Prompts.load().text_message(TASK, 8, "http://h/fhir", [{"name": "GET {api_base}/Patient"}])
    assert "base URL is http://h/fhir" in message
    assert '"GET http://h/fhir/Patient"' in message
    assert "How old is {rounds}?" in message
    assert "It is {api_base}." in message
    assert '{"resourceType": "ResourceType", "...": "..."}' in message


def test_a_file_takes_the_place_of_our_words_and_the_manifest_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("{question} at {api_base} with {functions} and {context}")
    prompts = Prompts.load(text=path)
    assert prompts.text_message(TASK, 8, "B", []) == "How old is {rounds}? at B with [] and It is {api_base}."
    manifest = prompts.manifest()
    assert (manifest["text"]["own"], manifest["native"]["own"]) == (False, True)
    assert manifest["text"]["sha256"] != Prompts.load().manifest()["text"]["sha256"]


def test_a_text_prompt_without_the_question_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("You are an expert.")
    with pytest.raises(UserError, match=r"no \{question\}"):
        Prompts.load(text=path)


def test_a_prompt_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't be read"):
        Prompts.load(system=tmp_path / "absent")
    (tmp_path / "latin").write_bytes(b"\xff\xfe{question}")
    with pytest.raises(UserError, match="can't be read"):
        Prompts.load(text=tmp_path / "latin")
