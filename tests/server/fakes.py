"""A chart in memory and helpers to make services over it, for tests of the session layer alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson

from wardround_schemas.chart import SearchPage
from wardround_schemas.errors import ChartError
from wardround_server.backends.base import ChartInfo, CreatedResource
from wardround_server.journal import Journal
from wardround_server.service import Service
from wardround_server.settings import ServerSettings

BASE = "http://127.0.0.1:8421/fhir"
NOW = "2023-11-13T10:15:00+00:00"

PATIENT: dict[str, Any] = {
    "resourceType": "Patient",
    "id": "S1234567",
    "identifier": [{"value": "S1234567"}],
    "name": [{"family": "Example", "given": ["Ada"]}],
    "birthDate": "1950-01-01",
}
LABS: list[dict[str, Any]] = [
    {
        "resourceType": "Observation",
        "id": f"O{number}",
        "status": "final",
        "category": [{"coding": [{"code": "laboratory"}]}],
        "code": {"coding": [{"code": "MG", "display": "Magnesium"}], "text": "MG"},
        "subject": {"reference": "Patient/S1234567"},
        "effectiveDateTime": f"2023-11-12T{number:02d}:00:00+00:00",
        "valueQuantity": {"value": 1.5 + number / 10, "unit": "mg/dL"},
    }
    for number in range(6)
]

VITAL: dict[str, Any] = {
    "resourceType": "Observation",
    "category": [
        {
            "coding": [
                {
                    "system": "http://hl7.org/fhir/observation-category",
                    "code": "vital-signs",
                    "display": "Vital Signs",
                }
            ]
        }
    ],
    "code": {"text": "BP"},
    "effectiveDateTime": NOW,
    "status": "final",
    "valueString": "118/77 mmHg",
    "subject": {"reference": "Patient/S1234567"},
}
"""A right call of vital.create."""


class FakeChart:
    """A `Backend` over lists: it notes what it was asked and can be told to fail."""

    base_url = BASE
    synthetic = True

    def __init__(self, *, read_only: bool = True, page_size: int = 20) -> None:
        self.read_only = read_only
        self.page_size = page_size
        self.asked: list[tuple[str, list[tuple[str, str]]]] = []
        self.created: list[tuple[str, dict[str, Any]]] = []
        self.error: ChartError | None = None
        self.closed = False

    async def search(self, resource_type: str, params: Sequence[tuple[str, str]]) -> SearchPage:
        self.asked.append((resource_type, list(params)))
        self._fail()
        found = {"Patient": [PATIENT], "Observation": LABS}.get(resource_type, [])
        count = next((int(value) for name, value in params if name == "_count"), self.page_size)
        return self._page(f"{resource_type}?{urlencode(list(params))}", found, 0, count)

    async def next_page(self, url: str) -> SearchPage:
        self._fail()
        start, count = (int(part) for part in url.rsplit("=", 1)[1].split("-"))
        return self._page("Observation", LABS, start, count)

    async def read(self, resource_type: str, resource_id: str) -> bytes | None:
        self._fail()
        return orjson.dumps(PATIENT) if (resource_type, resource_id) == ("Patient", "S1234567") else None

    async def capabilities(self) -> dict[str, Any]:
        self._fail()
        return {"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1"}

    async def create(self, resource: dict[str, Any], *, idempotency_key: str) -> CreatedResource:
        self._fail()
        if self.read_only:
            raise ChartError("this chart takes no writes", status=405)
        known = [key for key, _ in self.created]
        if idempotency_key not in known:
            self.created.append((idempotency_key, resource))
        number = [key for key, _ in self.created].index(idempotency_key) + 1
        location = f"{BASE}/{resource['resourceType']}/new{number}"
        return CreatedResource(201, f"new{number}", location, orjson.dumps(resource))

    async def info(self) -> ChartInfo:
        return ChartInfo(
            {"Patient": 1, "Observation": len(LABS)}, 1, None, None, None, "abc", "fake", synthetic=True
        )

    async def aclose(self) -> None:
        self.closed = True

    def _page(self, resource_type: str, found: list[dict[str, Any]], start: int, count: int) -> SearchPage:
        shown = found[start : start + count]
        end = start + count
        next_url = f"{BASE}?page={end}-{count}" if end < len(found) else None
        links = [{"relation": "self", "url": f"{BASE}/{resource_type}"}]
        if next_url is not None:
            links.append({"relation": "next", "url": next_url})
        bundle: dict[str, Any] = {
            "resourceType": "Bundle",
            "type": "searchset",
            "total": len(found),
            "link": links,
        }
        if shown:
            bundle["entry"] = [
                {
                    "fullUrl": f"{BASE}/{r['resourceType']}/{r['id']}",
                    "resource": r,
                    "search": {"mode": "match"},
                }
                for r in shown
            ]
        return SearchPage(orjson.dumps(bundle), total=len(found), next=next_url, self_link=links[0]["url"])

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


def make_service(folder: Path, chart: FakeChart | None = None, **settings: Any) -> Service:
    """A service over a fake chart, its journal in `folder`."""
    settings.setdefault("journal", folder / "journal")
    made = ServerSettings(**settings)
    return Service(chart if chart is not None else FakeChart(), Journal(made.journal), made)
