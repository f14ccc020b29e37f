"""Signing in to a remote server: what is sent, what is kept secret, what is renewed."""

from __future__ import annotations

import base64
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.server.remote_cases import BY_PATIENT, backend, observation, searchset
from tests.server.scripted import Reply, Seen, outcome, reply_json, scripted
from wardround_schemas.errors import ChartError, UserError
from wardround_server.backends.auth import RemoteAuth, parse_headers
from wardround_server.backends.remote import RemoteBackend

GOOD = reply_json(searchset([observation(1)], 1))
TOKEN = "eyJ.token-number-one.sig"


def token_file(folder: Path, token: str = TOKEN) -> Path:
    path = folder / "token"
    path.write_text(token + "\n")
    return path


@pytest.mark.anyio
async def test_a_bearer_token_comes_from_its_file_and_follows_it(tmp_path: Path) -> None:
    path = token_file(tmp_path)
    async with scripted(lambda _: GOOD) as server:
        chart = backend(server, auth=RemoteAuth(token_file=path))
        await chart.search("Observation", BY_PATIENT)
        token_file(tmp_path, "second")
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert [seen.headers["authorization"] for seen in server.seen] == [f"Bearer {TOKEN}", "Bearer second"]


@pytest.mark.anyio
async def test_a_401_is_answered_with_the_files_new_token_once(tmp_path: Path) -> None:
    path = token_file(tmp_path)

    def script(request: Seen) -> Reply:
        if request.headers["authorization"] == "Bearer fresh":
            return GOOD
        token_file(tmp_path, "fresh")
        return outcome(401, "expired")

    async with scripted(script) as server:
        chart = backend(server, auth=RemoteAuth(token_file=path))
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert len(server.seen) == 2


@pytest.mark.anyio
async def test_a_401_with_nothing_new_to_send_is_an_error_at_once(tmp_path: Path) -> None:
    for auth in (
        RemoteAuth(token_file=token_file(tmp_path)),
        RemoteAuth(username="u", password="p"),
        RemoteAuth(),
    ):
        async with scripted([outcome(401, "who are you")]) as server:
            chart = backend(server, auth=auth)
            with pytest.raises(ChartError, match="sign-in was not accepted") as caught:
                await chart.search("Observation", BY_PATIENT)
            await chart.aclose()
        assert caught.value.status == 401


@pytest.mark.anyio
async def test_basic_and_extra_headers_come_from_the_environment() -> None:
    environ = {
        "WARDROUND_FHIR_USERNAME": "wård",
        "WARDROUND_FHIR_PASSWORD": "pä:ss",
        "WARDROUND_FHIR_HEADERS": '{"X-Api-Key": "key-123456", "Epic-Client-ID": "abc"}',
    }
    async with scripted([GOOD]) as server:
        chart = backend(server, auth=RemoteAuth.from_environment(environ=environ))
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    headers = server.seen[0].headers
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode() == "wård:pä:ss"
    assert (headers["x-api-key"], headers["epic-client-id"]) == ("key-123456", "abc")


def test_nothing_is_signed_when_nothing_is_given() -> None:
    auth = RemoteAuth.from_environment(environ={})
    assert auth == RemoteAuth()
    assert not auth.sends_secrets


@pytest.mark.parametrize(
    "raw",
    [
        "not json",
        "[]",
        '{"X-Key": 1}',
        '{"X Key": "1"}',
        '{"": "1"}',
        '{"X-Key": "a\\r\\nHost: b"}',
        '{"X-Key": "a\\u0000"}',
        '{"X-Key": "sécret"}',
        '{"X-Key": ""}',
        '{"Host": "attacker.example"}',
        '{"content-length": "0"}',
        '{"Transfer-Encoding": "chunked"}',
        '{"If-None-Exist": "x"}',
    ],
)
def test_headers_that_can_not_be_sent_are_refused_without_their_values(raw: str) -> None:
    with pytest.raises(UserError, match="WARDROUND_FHIR_HEADERS") as caught:
        RemoteAuth.from_environment(environ={"WARDROUND_FHIR_HEADERS": raw})
    assert "sécret" not in str(caught.value)


def test_no_headers_are_no_headers() -> None:
    assert parse_headers(None) == parse_headers("") == {}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"token_file": "t", "username": "u", "password": "p"}, "a bearer token and a user name"),
        ({"token_file": "t", "client_id": "c", "key_file": "k"}, "a bearer token and a SMART client"),
        ({"client_id": "c"}, "belong together"),
        ({"key_file": "k"}, "belong together"),
        ({"token_url": "https://x/token"}, "needs a SMART client"),
        ({"username": "u"}, "belong together"),
        ({"password": "p"}, "belong together"),
    ],
)
def test_ways_of_signing_in_that_contradict_each_other_are_refused(
    settings: dict[str, Any], words: str
) -> None:
    given: dict[str, Any] = {k: Path(v) if k.endswith("_file") else v for k, v in settings.items()}
    with pytest.raises(UserError, match=words):
        RemoteAuth(**given)


@pytest.mark.parametrize(
    "content", [b"", b"two tokens", b"a\nb", b"Bearer abc", b"\xff\xfe", b"abc\x00", "é".encode()]
)
def test_a_token_file_that_holds_no_token_is_refused_without_its_content(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        RemoteBackend("https://h.example/fhir", auth=RemoteAuth(token_file=path))
    assert "tokens" not in str(caught.value).replace(str(path), "")
    with pytest.raises(UserError, match="can't be read"):
        RemoteBackend("https://h.example/fhir", auth=RemoteAuth(token_file=tmp_path / "none"))


@pytest.mark.anyio
async def test_a_token_file_that_goes_away_later_is_a_chart_error(tmp_path: Path) -> None:
    path = token_file(tmp_path)
    async with scripted([]) as server:
        chart = backend(server, auth=RemoteAuth(token_file=path))
        path.unlink()
        with pytest.raises(ChartError, match="signing in"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert server.seen == []


def test_credentials_do_not_go_unencrypted_to_another_machine(tmp_path: Path) -> None:
    auth = RemoteAuth(token_file=token_file(tmp_path))
    with pytest.raises(UserError, match="unencrypted"):
        RemoteBackend("http://fhir.example.org/r4", auth=auth)
    RemoteBackend("http://fhir.example.org/r4")
    RemoteBackend("http://localhost:8080/r4", auth=auth)
    environ = {"WARDROUND_FHIR_ALLOW_PLAIN_HTTP": "1"}
    trusting = RemoteAuth.from_environment(token_file=auth.token_file, environ=environ)
    RemoteBackend("http://fhir.example.org/r4", auth=trusting)


SECRETS = {"password": "hunter2hunter2", "header": "key-1234567890", "cert": "cert-pass-word"}


@pytest.mark.anyio
async def test_secrets_are_in_no_repr_and_no_error_even_when_the_server_echoes_them(tmp_path: Path) -> None:
    def echo(request: Seen) -> Reply:
        return outcome(400, f"debug: {request.headers}")

    basic = RemoteAuth(
        username="me",
        password=SECRETS["password"],
        headers={"X-Api-Key": SECRETS["header"]},
        cert_password="cert-pass-word",
    )
    encoded = base64.b64encode(f"me:{SECRETS['password']}".encode()).decode()
    for auth in (basic, RemoteAuth(token_file=token_file(tmp_path))):
        async with scripted(echo) as server:
            chart = backend(server, auth=auth)
            with pytest.raises(ChartError) as caught:
                await chart.search("Observation", BY_PATIENT)
            await chart.aclose()
        said = (
            "".join(traceback.format_exception(caught.value)) + repr(auth) + repr(chart) + str(caught.value)
        )
        assert "[secret]" in str(caught.value)
        for secret in (*SECRETS.values(), TOKEN, encoded):
            assert secret not in said
