"""The pages on clients and on writes say what the program does."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_clients import PYTHON
from wardround_server.cli import build_parser
from wardround_server.mcp_prompts import OWN_PROMPTS
from wardround_server.mcp_resources import CALLS, CAPABILITIES, CAPTURES, CODES
from wardround_server.settings import WRITE_MODES

ROOT = Path(__file__).resolve().parent.parent.parent
CLIENTS = (ROOT / "docs" / "clients.md").read_text()
WRITES = (ROOT / "docs" / "writes-and-safety.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def servers(entry: Any) -> list[dict[str, Any]]:
    """The server entries of a client's configuration, wherever they stand."""
    if not isinstance(entry, dict):
        return []
    if "command" in entry:
        return [entry]
    return [found for value in entry.values() for found in servers(value)]


def test_every_configuration_parses_and_starts_the_program_with_options_that_it_has() -> None:
    parsed = [json.loads(block) for block in blocks(CLIENTS, "json")]
    parsed += [tomllib.loads(block) for block in blocks(CLIENTS, "toml")]
    found = [server for entry in parsed for server in servers(entry)]
    assert len(found) >= 6
    for server in found:
        assert server["command"].endswith("wardround-mcp")
        build_parser().parse_args(server["args"])


@pytest.mark.parametrize("page", [CLIENTS, WRITES])
def test_every_command_line_of_ours_is_one_that_the_program_takes(page: str) -> None:
    lines = [
        re.split(r"\s{3,}", line)[0].split()
        for block in blocks(page, "text")
        for line in block.splitlines()
        if line.startswith("wardround-mcp")
    ]
    assert lines
    for _, *arguments in lines:
        build_parser().parse_args(arguments)


@pytest.mark.parametrize("page", [CLIENTS, WRITES])
def test_every_option_that_a_page_names_exists(page: str) -> None:
    known = build_parser().format_help() + _help_of("http") + _help_of("captures export")
    foreign = {"--cli", "--strict", "--transport"}
    for option in set(re.findall(r"`?(--[a-z][a-z-]+)", page)) - foreign:
        assert option in known, option


def _help_of(command: str) -> str:
    parser = build_parser()
    for name in command.split():
        actions = [action for action in parser._actions if action.choices and not action.option_strings]
        choices = actions[0].choices
        assert isinstance(choices, dict)
        parser = choices[name]
    return parser.format_help()


def test_the_write_modes_resources_and_prompts_are_all_named() -> None:
    for mode in WRITE_MODES:
        assert f"| `{mode}`" in WRITES
    for name in (CAPTURES, CALLS, CAPABILITIES, CODES, *(prompt.name for prompt in OWN_PROMPTS)):
        assert f"`{name}`" in CLIENTS


def test_the_versions_of_the_matrix_are_the_ones_that_are_installed() -> None:
    environments = (ROOT / "tests" / "clients" / "python" / "environments.txt").read_text()
    pinned = dict(re.findall(r"([\w.-]+)(?:\[\w+\])?==([\d.]+)", environments))
    package = json.loads((ROOT / "tests" / "clients" / "node" / "package.json").read_text())
    for version in (*pinned.values(), *package["dependencies"].values()):
        assert version in CLIENTS, version
    suite = json.loads((ROOT / "tests" / "conformance" / "package.json").read_text())
    assert suite["dependencies"]["@modelcontextprotocol/conformance"] in CLIENTS
    assert len(PYTHON) >= 8
