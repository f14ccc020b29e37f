"""The running HAPI FHIR server, for the tests marked `hapi`."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def hapi_url() -> str:
    """Base URL of a HAPI FHIR JPA server that the tests may write to."""
    url = os.environ.get("WARDROUND_HAPI_URL", "").rstrip("/")
    if not url:
        pytest.skip(
            "no HAPI server: run `make test-hapi`, or set WARDROUND_HAPI_URL to one that may be written to"
        )
    return url
