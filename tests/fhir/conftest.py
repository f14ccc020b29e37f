"""The chart of the conformance suite, for every test of the embedded FHIR server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fhir.serving import served
from tests.fhir.suite.chart import RESOURCES
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.writer import ChartWriter


@pytest.fixture(scope="session")
def suite_chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite's chart as a file."""
    path = tmp_path_factory.mktemp("suite") / "suite.db"
    with ChartWriter(path, name="conformance suite") as writer:
        writer.put_all(RESOURCES)
    return path


@pytest.fixture(scope="module")
def suite_backend(suite_chart: Path) -> Iterator[EmbeddedBackend]:
    """The suite's chart, open in this process."""
    backend = EmbeddedBackend.open(suite_chart)
    yield backend
    backend.chart.close()


@pytest.fixture(scope="module")
def suite_url(suite_chart: Path) -> Iterator[str]:
    """The base URL of a real HTTP server over the suite's chart."""
    backend = EmbeddedBackend.open(suite_chart)
    with served(backend) as url:
        yield url
    backend.chart.close()
