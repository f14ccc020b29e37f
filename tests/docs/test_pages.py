"""What the pages say can be done: every command parses, every `sh` block runs, every link leads somewhere."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks, command_lines

ALL = [block for page in PAGES for block in blocks(page)]
COMMANDS = [(block, words) for block in ALL for words in command_lines(block)]
RUNNABLE = [block for block in ALL if block.lang == "sh" and not block.body.startswith("make ")]


def test_there_is_something_to_hold_the_pages_to() -> None:
    assert len(COMMANDS) > 20
    assert RUNNABLE


@pytest.mark.parametrize(("block", "words"), COMMANDS, ids=lambda given: getattr(given, "name", None))
def test_every_command_on_a_page_is_one_that_the_programs_take(block: Block, words: list[str]) -> None:
    from wardround_harness.cli import make_parser
    from wardround_server.cli import build_parser

    stripped = [re.sub(r"\.\.\.$", "X", word) for word in words[1:] if word != "..."]
    parser = make_parser() if words[0] == "wardround" else build_parser()
    if stripped[:1] == ["mcp"] and words[0] == "wardround":
        parser, stripped = build_parser(), stripped[1:]
    parser.parse_args(stripped)


@pytest.mark.slow
@pytest.mark.parametrize("block", RUNNABLE, ids=lambda block: block.name)
def test_every_sh_block_runs(block: Block, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.body],
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("block", [b for b in ALL if b.lang == "json"], ids=lambda block: block.name)
def test_every_json_block_is_json(block: Block) -> None:
    json.loads(block.body)


QUOTED = [block for block in ALL if block.title is not None]


@pytest.mark.parametrize("block", QUOTED, ids=lambda block: block.name)
def test_a_block_that_names_a_file_is_a_part_of_it(block: Block) -> None:
    assert block.title is not None
    assert block.body in (ROOT / block.title).read_text(encoding="utf-8")


def test_each_kind_of_plugin_is_shown_by_lines_of_the_example_package() -> None:
    shown = {
        Path(block.title).name for block in QUOTED if block.page.name == "CONTRIBUTING.md" and block.title
    }
    assert shown == {"category.py", "agent.py", "backend.py", "section.py"}


def test_every_page_is_in_the_sites_contents() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r": ([a-z-]+\.md)$", config, re.M)
    assert len(named) == len(set(named))
    from_root = {"contributing.md", "changelog.md", "security.md"}
    assert set(named) == {page.name for page in (ROOT / "docs").glob("*.md")} | from_root


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        parts = urlsplit(target)
        if parts.scheme or not parts.path:
            continue
        assert (page.parent / unquote(parts.path)).exists(), f"{page.name}: {target}"


def test_the_install_links_carry_the_configuration_of_the_page() -> None:
    text = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    wanted = {"command": "uvx", "args": ["wardround", "mcp"]}
    (vscode,) = re.findall(r"https://insiders\.vscode\.dev/redirect/mcp/install\?[^)\s]+", text)
    query = parse_qs(urlsplit(vscode).query)
    assert query["name"] == ["wardround"]
    assert json.loads(query["config"][0]) == wanted
    (cursor,) = re.findall(r"https://cursor\.com/en/install-mcp\?[^)\s]+", text)
    query = parse_qs(urlsplit(cursor).query)
    assert json.loads(base64.b64decode(query["config"][0])) == wanted


def test_one_version_stands_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    bundle = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text(encoding="utf-8"))
    assert server["version"] == version
    assert [package["version"] for package in server["packages"]] == [version]
    assert bundle["version"] == version
    assert f"wardround=={version}" in bundle["server"]["mcp_config"]["args"]
    assert f"[{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"wardround:{version}" in (ROOT / "docker/compose.yaml").read_text(encoding="utf-8")
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_bundle_names_the_nine_tools() -> None:
    from wardround_schemas.function import load_functions

    bundle = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text(encoding="utf-8"))
    assert {tool["name"] for tool in bundle["tools"]} == {f.tool_name for f in load_functions()}


def test_nothing_of_a_machine_or_a_registry_stands_in_the_project() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    forbidden = re.compile(
        r"(^|[^.\w])/(?:home/[a-z]+/|Users/[a-z]+/)|https?://[^ ]*(?:/simple/|registry\.np)"
    )
    kept = {"docs/clients.md", "tests/docs/test_pages.py"}
    for name in filter(None, listed):
        file = ROOT / name
        if name in kept or not file.is_file() or file.suffix in (".png", ".gz", ".db"):
            continue
        found = forbidden.search(file.read_text(encoding="utf-8", errors="replace"))
        assert found is None, f"{name}: {found.group(0) if found else ''}"


@pytest.mark.parametrize("room", ["schemas", "server", "tasks", "harness"])
def test_the_architecture_names_every_module_of_a_room_and_no_other(room: str) -> None:
    folder = ROOT / room / f"wardround_{room}"
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.split(f"### `{room}/wardround_{room}`\n")[1].split("\n#")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row)]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", folder], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    inside = {Path(name).relative_to(folder.relative_to(ROOT)).parts[0] for name in filter(None, listed)}
    modules = {Path(name).stem for name in inside if not name.startswith("__") and name != "py.typed"}
    assert sorted(named) == sorted(modules)
