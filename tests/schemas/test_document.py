"""docs/functions.md says what the function files say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wardround_schemas.document import page
from wardround_schemas.function import find_function, load_functions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "functions.md"


def test_the_page_is_up_to_date() -> None:
    """Where this fails: `python -m wardround_schemas.document docs/functions.md`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_function_has_its_row_and_every_parameter_its_place() -> None:
    text = page()
    for function in load_functions():
        row = next(line for line in text.splitlines() if line.startswith(f"| [{function.name}]"))
        assert row.count("|") - row.count("\\|") == 6
        for name in function.input_schema["properties"]:
            assert name in row
            assert f"| {name} |" in text or f"| **{name}** |" in text


def test_the_request_of_a_search_is_encoded_once() -> None:
    assert find_function("lab.search") is not None
    assert "date=ge2023-11-12T10%3A15%3A00%2B00%3A00&_sort=-date" in page()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wardround_schemas.document", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_check_tells_a_page_that_is_right_from_one_that_is_not(tmp_path: Path) -> None:
    target = tmp_path / "functions.md"
    assert run("--check", str(target)).returncode == 1
    assert run(str(target)).returncode == 0
    assert run("--check", str(target)).returncode == 0
    target.write_text(target.read_text() + "x")
    ended = run("--check", str(target))
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    ended = run()
    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)
