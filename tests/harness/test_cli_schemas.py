"""`wardround schemas export`."""

from __future__ import annotations

import json

import pytest

from wardround_harness.cli import dispatch
from wardround_harness.cli_schemas import FORMATS
from wardround_schemas import formats
from wardround_schemas.errors import UserError


@pytest.mark.parametrize("form", formats.FORMATS)
@pytest.mark.parametrize("profile", ["medagentbench", "r4"])
def test_an_export_is_printed_as_json(
    form: formats.Format, profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(["schemas", "export", "--format", form, "--profile", profile]) == 0
    assert json.loads(capsys.readouterr().out) == formats.export(form, profile)  # type: ignore[arg-type]


def test_the_command_knows_all_formats() -> None:
    assert FORMATS == formats.FORMATS


def test_names_and_api_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["schemas", "export", "--format", "openai", "--api", "chat", "--names", "dotted"]) == 0
    assert json.loads(capsys.readouterr().out)[2]["function"]["name"] == "lab.search"


def test_options_come_from_the_environment_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WARDROUND_FORMAT", "anthropic")
    monkeypatch.setenv("WARDROUND_PROFILE", "r4")
    assert dispatch(["schemas", "export"]) == 0
    assert json.loads(capsys.readouterr().out) == formats.export("anthropic", "r4")


@pytest.mark.parametrize("arguments", [["export"], ["export", "--format", "toml"], ["import"]])
def test_bad_usage_is_a_line_that_points_at_the_help(arguments: list[str]) -> None:
    with pytest.raises(UserError, match="--help"):
        dispatch(["schemas", *arguments])


def test_schemas_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["schemas"]) == 0
    assert "export" in capsys.readouterr().out
