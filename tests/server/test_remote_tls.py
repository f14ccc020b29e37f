"""TLS to a remote server: whom it trusts, whom it shows itself to, and HTTP/2 where it is offered."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.server.certificates import Authority
from tests.server.remote_cases import BY_PATIENT, Pauses, backend, observation, searchset
from tests.server.scripted import reply_json, scripted
from tests.server.scripted_h2 import Http2Server, http2
from wardround_schemas.errors import ChartError, UserError
from wardround_server.backends.auth import RemoteAuth
from wardround_server.backends.remote import RemoteBackend

GOOD = reply_json(searchset([observation(1)], 1))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.in_folder(tmp_path_factory.mktemp("ca"))


@pytest.mark.anyio
async def test_a_client_certificate_is_shown_to_the_server(authority: Authority) -> None:
    tls = authority.server_context(ask_client=True)
    certificate = authority.issue("ward-client", "pass word")
    auth = RemoteAuth(cert_file=certificate, cert_password="pass word", ca_file=authority.file)
    async with scripted([GOOD], tls=tls) as server:
        chart = backend(server, auth=auth)
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert server.seen[0].certificate == "ward-client"


@pytest.mark.anyio
async def test_a_server_that_wants_a_certificate_gets_none_and_the_error_says_so(
    authority: Authority,
) -> None:
    async with scripted([], tls=authority.server_context(ask_client=True)) as server:
        chart = backend(server, auth=RemoteAuth(ca_file=authority.file))
        with pytest.raises(ChartError, match="search of Observation: the connection"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert server.seen == []


@pytest.mark.anyio
async def test_a_server_of_an_unknown_authority_is_refused_at_once(authority: Authority) -> None:
    pauses = Pauses()
    async with scripted([], tls=authority.server_context()) as server:
        chart = backend(server, pauses=pauses)
        with pytest.raises(ChartError, match="certificate can't be trusted") as caught:
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert server.seen == []
    assert pauses.seconds == []
    assert not caught.value.retryable


def test_certificate_files_that_can_not_be_used_are_refused(authority: Authority, tmp_path: Path) -> None:
    locked = authority.issue("locked", "right")
    empty = tmp_path / "empty.pem"
    empty.write_bytes(b"")
    cases: list[RemoteAuth] = [
        RemoteAuth(cert_file=locked, cert_password="wrong-password"),
        RemoteAuth(cert_file=locked),
        RemoteAuth(cert_file=authority.file),
        RemoteAuth(cert_file=tmp_path / "none.pem"),
        RemoteAuth(cert_file=empty),
        RemoteAuth(ca_file=empty),
        RemoteAuth(ca_file=tmp_path / "none.pem"),
    ]
    for auth in cases:
        with pytest.raises(UserError, match="can't be used") as caught:
            RemoteBackend("https://h.example/fhir", auth=auth)
        assert "wrong-password" not in str(caught.value)


@pytest.mark.anyio
async def test_http2_is_spoken_where_the_server_offers_it(authority: Authority) -> None:
    wire = Http2Server(GOOD.body)
    async with http2(wire, authority.server_context()) as server:
        chart = backend(server.base, auth=RemoteAuth(ca_file=authority.file))
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(chart.search, "Observation", BY_PATIENT)
        await chart.aclose()
    assert wire.paths == ["/fhir/Observation?patient=S100&_count=20"] * 5


@pytest.mark.anyio
async def test_streams_and_connections_that_http2_turns_away_are_tried_again(authority: Authority) -> None:
    wire = Http2Server(GOOD.body, refusals=1, goaways=1)
    async with http2(wire, authority.server_context()) as server:
        chart = backend(server.base, auth=RemoteAuth(ca_file=authority.file))
        assert len((await chart.search("Observation", BY_PATIENT)).resources()) == 1
        await chart.aclose()
    assert len(wire.paths) == 3
    assert wire.connections == 2
