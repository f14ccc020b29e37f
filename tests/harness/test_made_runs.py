"""The made runs that other tests build on are runs by the published schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.make_run import RunSpec, make_run
from wardround_harness.compare import compare_runs
from wardround_harness.reading import read_run
from wardround_schemas.records import check_record


@pytest.mark.parametrize(
    "spec", [RunSpec(per_category=2), RunSpec(per_category=2, owed=3, repeats=2, cost=None)]
)
def test_made_runs_and_their_summaries_follow_the_schemas(tmp_path: Path, spec: RunSpec) -> None:
    folder = make_run(tmp_path / "run", spec)
    assert check_record("manifest", json.loads((folder / "manifest.json").read_bytes())) == []
    assert check_record("summary", json.loads((folder / "summary.json").read_bytes())) == []
    for line in (folder / "attempts.jsonl").read_text().splitlines():
        assert check_record("run_line", json.loads(line)) == []


def test_a_comparison_follows_its_schema(tmp_path: Path) -> None:
    runs = [read_run(make_run(tmp_path / name, RunSpec(seed=seed))) for name, seed in (("a", 1), ("b", 2))]
    repeated = [read_run(make_run(tmp_path / f"r{seed}", RunSpec(seed=seed, repeats=2))) for seed in (3, 4)]
    assert check_record("compare", compare_runs(*runs)) == []
    assert check_record("compare", compare_runs(*repeated)) == []
