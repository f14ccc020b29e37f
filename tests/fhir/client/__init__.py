"""The suite through fhir-kit-client, a FHIR client of the npm registry."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fhir.suite.case import Case
from tests.fhir.targets import Found

HERE = Path(__file__).resolve().parent


def run_client(base: str, cases: Sequence[Case]) -> list[Found]:
    """What the client finds for each case; it is installed on first use."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("fhir-kit-client needs Node.js 20 and npm")
    if not (HERE / "node_modules").is_dir():
        command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(HERE)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    asked = [
        {
            "type": case.resource_type,
            # A raw plus sign is for the server to mend; a client that encodes for itself never sends one.
            "params": [(name, _mended(value.replace("{base}", base))) for name, value in case.params],
            "lenient": case.lenient,
        }
        for case in cases
    ]
    done = subprocess.run(
        [node, str(HERE / "run.mjs")],
        input=json.dumps({"base": base, "cases": asked}),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [Found(one["status"], one["ids"], one["included"], one["total"]) for one in answers]


def _mended(value: str) -> str:
    return value.replace(" 00:00", "+00:00")
