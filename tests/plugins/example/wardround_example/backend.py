"""A FHIR backend: `masked:SPEC` opens any other chart and hides where people live."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError
from wardround_server.backends import Backend, ChartInfo, CreatedResource, open_backend
from wardround_server.backends.plugged import BackendContext

HIDDEN = ("telecom", "address")


class Masked:
    """Another backend, seen through a mask."""

    read_only = True

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self.base_url = inner.base_url
        self.synthetic = inner.synthetic

    async def search(self, resource_type: str, params: Params) -> SearchPage:
        """First page of a search; a search by what is hidden would tell it, so it is refused."""
        for name, _ in params:
            if resource_type == "Patient" and name.startswith((*HIDDEN, "phone", "email")):
                raise ChartError(f"{name} is hidden in this chart", status=400)
        return masked_page(await self._inner.search(resource_type, params))

    async def next_page(self, url: str) -> SearchPage:
        """The page of a next link that this chart gave."""
        return masked_page(await self._inner.next_page(url))

    async def read(self, resource_type: str, resource_id: str) -> bytes | None:
        """One resource, None where there is none."""
        body = await self._inner.read(resource_type, resource_id)
        return None if body is None else json.dumps(masked(json.loads(body))).encode()

    async def capabilities(self) -> dict[str, Any]:
        """Those of the other chart."""
        return await self._inner.capabilities()

    async def create(self, resource: dict[str, Any], *, idempotency_key: str) -> CreatedResource:
        """Always refused."""
        raise ChartError("a masked chart takes no writes", status=405)

    async def info(self) -> ChartInfo:
        """Facts about the other chart, under a name of its own."""
        info = await self._inner.info()
        return replace(info, name=f"masked {info.name}")

    async def aclose(self) -> None:
        """Close the other chart."""
        await self._inner.aclose()


def masked_page(page: SearchPage) -> SearchPage:
    """A page with every resource masked; its links stay as they are."""
    bundle = json.loads(page.body)
    for entry in bundle.get("entry") or ():
        entry["resource"] = masked(entry["resource"])
    return replace(page, body=json.dumps(bundle).encode())


def masked(resource: dict[str, Any]) -> dict[str, Any]:
    """A resource without what tells where a person lives."""
    return {key: value for key, value in resource.items() if key not in HIDDEN}


async def open_masked(context: BackendContext) -> Masked:
    """What the entry point names: `--fhir masked:SPEC` opens SPEC and masks it."""
    inner = await open_backend(
        context.rest or "embedded", context.auth, context.page_size, base_url=context.base_url
    )
    return Masked(inner)
