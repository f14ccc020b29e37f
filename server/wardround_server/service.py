"""Everything that one server process holds: the chart, the journal, the sessions."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from wardround_schemas.errors import UserError

from .backends.base import Backend
from .journal import Journal
from .sessions import SessionStore
from .settings import ServerSettings, reach

if TYPE_CHECKING:
    from .backends.auth import RemoteAuth


class Service:
    """Chart, journal and sessions together; `async with` closes all of them."""

    def __init__(self, backend: Backend, journal: Journal, settings: ServerSettings) -> None:
        self.backend = backend
        self.journal = journal
        self.settings = settings
        self.sessions = SessionStore(backend, journal, settings)

    async def aclose(self) -> None:
        """Let go of the chart and the journal; what was on its way to the disk is written first."""
        for session in self.sessions:
            await session.settle()
            self.sessions.close(session.id)
        self.journal.close()
        await self.backend.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def open_service(settings: ServerSettings, *, base_url: str | None = None) -> Service:
    """Open the chart and the journal that the settings name; `base_url` is what links of an embedded
    chart start with.

    Raises UserError for a chart that can't be opened, a journal that can't be written, or `forward`
    with a chart that takes no writes.
    """
    from .backends import open_backend

    backend = await open_backend(
        settings.fhir,
        remote_auth(settings),
        page_size=settings.page_size,
        base_url=base_url,
        allow_writes=reach(settings.writes) >= reach("confirm"),
    )
    try:
        _check_writes(settings, backend)
        return Service(backend, Journal(settings.journal), settings)
    except BaseException:
        await backend.aclose()
        raise


def remote_auth(settings: ServerSettings) -> RemoteAuth | None:
    """How to sign in to a remote server; None where nothing asks for it, so that nothing is imported."""
    asked = (
        settings.fhir_token_file,
        settings.fhir_client_id,
        settings.fhir_key_file,
        settings.fhir_token_url,
        settings.fhir_cert,
    )
    if "://" not in settings.fhir and not any(asked):
        return None
    from .backends.auth import RemoteAuth

    return RemoteAuth.from_environment(
        token_file=settings.fhir_token_file,
        client_id=settings.fhir_client_id,
        key_file=settings.fhir_key_file,
        token_url=settings.fhir_token_url,
        cert_file=settings.fhir_cert,
    )


def _check_writes(settings: ServerSettings, backend: Backend) -> None:
    if settings.writes == "forward" and backend.read_only:
        raise UserError(
            "--writes forward needs a FHIR server to send to, and this chart takes no writes",
            mend="give the server's URL with --fhir, or use --writes capture",
        )
