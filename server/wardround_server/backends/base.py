"""What every backend offers: reading as a `ChartReader`, and what sessions and commands need beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from wardround_schemas.chart import ChartReader

if TYPE_CHECKING:
    from .auth import RemoteAuth

Resource = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CreatedResource:
    """A server's answer to a create: HTTP status, the id it gave, the Location, and the stored bytes."""

    status: int
    id: str | None
    location: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class ChartInfo:
    """Facts about a chart, without any record of it.

    `counts` is the number of resources by type, `first` and `last` the start of the earliest and latest
    dated clinical record (ISO 8601, UTC), `size` the file's bytes (None for a remote server), `checksum`
    the content checksum (None for a remote server, whose content can't be summed).
    """

    counts: dict[str, int]
    patients: int
    first: str | None
    last: str | None
    size: int | None
    checksum: str | None
    name: str
    synthetic: bool = False
    notes: tuple[str, ...] = field(default=())


@runtime_checkable
class Backend(ChartReader, Protocol):
    """A chart that sessions can work on. All calls raise `ChartError` when the chart can't be read."""

    @property
    def base_url(self) -> str:
        """The FHIR base, without a slash at its end; every link in a result starts with it."""
        ...

    @property
    def synthetic(self) -> bool:
        """True only for a chart that says itself that no real person is in it."""
        ...

    @property
    def read_only(self) -> bool:
        """True where `create` is always refused."""
        ...

    async def read(self, resource_type: str, resource_id: str) -> bytes | None:
        """The bytes of one resource; None where there is none."""
        ...

    async def capabilities(self) -> Resource:
        """The CapabilityStatement."""
        ...

    async def create(self, resource: Resource, *, idempotency_key: str) -> CreatedResource:
        """Create a resource; `ChartError` where the backend is read-only or the server refuses.

        A `ChartError` without a status says that nothing was sent; where it is not known whether the
        resource was stored, raise `exchange.UncertainWriteError`.
        """
        ...

    async def info(self) -> ChartInfo:
        """Facts about the chart."""
        ...

    async def aclose(self) -> None:
        """Give back files and connections."""
        ...


async def open_backend(
    spec: str = "embedded",
    auth: RemoteAuth | None = None,
    page_size: int = 20,
    *,
    base_url: str | None = None,
    allow_writes: bool = False,
) -> Backend:
    """Open `embedded`, a chart FILE.db, a FOLDER or FILE of resources, the URL of a FHIR server, or
    NAME:REST, where NAME is an installed plugin's.

    `base_url` is what links of an embedded chart start with (default: the HTTP face's own address);
    `allow_writes` lets a remote backend create. UserError, in one line, for what can't be opened.
    """
    # The backends need this module's types, so the way back to them is taken only when it is walked.
    from .opening import open_spec

    return await open_spec(spec, auth, page_size, base_url=base_url, allow_writes=allow_writes)
