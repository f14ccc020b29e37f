"""Rules of the house that a machine can see: how long a file may be, and what stays out of the tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = (".py", ".ts", ".tsx", ".java", ".css", ".sh", ".mjs", ".js")
BUILT = "harness/wardround_harness/viewer/static/"
LONGEST = 500


def tracked() -> list[str]:
    """Every file that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_code_file_is_longer_than_a_reader_can_hold() -> None:
    sizes = {
        name: (ROOT / name).read_text(encoding="utf-8").count("\n")
        for name in tracked()
        if name.endswith(CODE) and not name.startswith(BUILT)
    }
    assert len(sizes) > 100
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST} == {}


def test_no_large_file_and_no_chart_is_in_the_tree() -> None:
    large = {name for name in tracked() if (ROOT / name).stat().st_size > 1 << 20}
    assert large == set()
    assert [name for name in tracked() if name.endswith((".db", ".gguf", ".whl"))] == []


def test_the_originals_files_are_not_in_the_tree() -> None:
    names = {Path(name).name for name in tracked()}
    assert not names & {"test_data_v1.json", "test_data_v2.json", "funcs_v1.json"}
