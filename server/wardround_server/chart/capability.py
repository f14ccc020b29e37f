"""The CapabilityStatement of the embedded chart: what can be searched, as the parameter table has it."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from .params import SEARCHED_TYPES, search_params
from .store import Chart

_READ = {"code": "read"}
_SEARCH = {"code": "search-type"}


def capability_statement(base_url: str, chart: Chart) -> dict[str, Any]:
    """An R4 CapabilityStatement of kind `instance`, read-only."""
    others = sorted(set(chart.types) - set(SEARCHED_TYPES))
    modified = datetime.fromtimestamp(chart.path.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": modified,
        "kind": "instance",
        "software": {"name": "wardround", "version": version("wardround")},
        "implementation": {"description": "A read-only chart for evaluating agents", "url": base_url},
        "fhirVersion": "4.0.1",
        "format": ["application/fhir+json", "json"],
        "rest": [
            {
                "mode": "server",
                "resource": [
                    *(_searched(resource_type) for resource_type in SEARCHED_TYPES),
                    *({"type": name, "interaction": [_READ], "versioning": "no-version"} for name in others),
                ],
            }
        ],
    }


def _searched(resource_type: str) -> dict[str, Any]:
    params = search_params(resource_type)
    return {
        "type": resource_type,
        "interaction": [_READ, _SEARCH],
        "versioning": "no-version",
        "searchInclude": [
            f"{resource_type}:{name}" for name, param in params.items() if param.kind == "reference"
        ],
        "searchParam": [
            {"name": "_id", "type": "token"},
            *({"name": name, "type": param.kind} for name, param in params.items()),
        ],
    }
