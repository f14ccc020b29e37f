"""A chart of a few resources in memory, for tests: a `ChartReader` that pages and can break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError

NOW = "2023-11-13T10:15:00+00:00"


def observation(
    mrn: str, code: str, value: Any, when: str, unit: str = "mg/dL", **more: Any
) -> dict[str, Any]:
    """An Observation as the chart has them."""
    return {
        "resourceType": "Observation",
        "status": "final",
        "code": {"coding": [{"code": code}], "text": code},
        "subject": {"reference": f"Patient/{mrn}"},
        "effectiveDateTime": when,
        "valueQuantity": {"value": value, "unit": unit},
        **more,
    }


def patient(
    mrn: str, born: str | None = "1950-01-01", given: str = "Ada", family: str = "Byron"
) -> dict[str, Any]:
    """A Patient with an MRN, a name and a birth date."""
    resource = {
        "resourceType": "Patient",
        "id": mrn,
        "identifier": [{"value": mrn}],
        "name": [{"family": family, "given": [given]}],
    }
    return resource if born is None else {**resource, "birthDate": born}


@dataclass
class FakeChart:
    """Answers by patient, code and identifier; everything in the order given, `page_size` a page."""

    resources: Sequence[dict[str, Any]]
    page_size: int = 3
    broken: bool = False
    searches: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        self.searches.append((resource_type, list(params)))
        if self.broken:
            raise ChartError("the server is down", status=503, retryable=True)
        wanted = dict(params)
        found = [
            resource
            for resource in self.resources
            if resource["resourceType"] == resource_type and self._matches(resource, wanted)
        ]
        return self._page(found, 0)

    def _matches(self, resource: dict[str, Any], wanted: dict[str, str]) -> bool:
        if "patient" in wanted:
            who = wanted["patient"].removeprefix("Patient/")
            if resource["subject"]["reference"] != f"Patient/{who}":
                return False
        if "code" in wanted and not any(c["code"] == wanted["code"] for c in resource["code"]["coding"]):
            return False
        if "family" in wanted and not _named(resource, wanted):
            return False
        if "identifier" in wanted:
            return any(i["value"] == wanted["identifier"] for i in resource["identifier"])
        return True

    def _page(self, found: list[dict[str, Any]], start: int) -> SearchPage:
        self._found = found
        entries = [{"resource": resource} for resource in found[start : start + self.page_size]]
        bundle: dict[str, Any] = {"resourceType": "Bundle", "type": "searchset", "total": len(found)}
        if entries:
            bundle["entry"] = entries
        more = start + self.page_size < len(found)
        return SearchPage(
            orjson.dumps(bundle), total=len(found), next=f"fake:{start + self.page_size}" if more else None
        )

    async def next_page(self, url: str) -> SearchPage:
        return self._page(self._found, int(url.removeprefix("fake:")))


def _named(resource: dict[str, Any], wanted: dict[str, str]) -> bool:
    """By the beginnings of the names, as FHIR's string search does."""
    name = resource["name"][0]
    return (
        name["family"].lower().startswith(wanted["family"].lower())
        and name["given"][0].lower().startswith(wanted["given"].lower())
        and resource.get("birthDate") == wanted["birthdate"]
    )
