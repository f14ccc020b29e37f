"""SMART Backend Services: signed assertions, tokens kept and renewed, endpoints found and refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import jwt
import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.server.remote_cases import BY_PATIENT, backend, observation, searchset
from tests.server.scripted import Reply, ScriptedServer, Seen, html, outcome, reply_json, scripted
from wardround_schemas.errors import ChartError, UserError
from wardround_server.backends.auth import RemoteAuth
from wardround_server.backends.remote import RemoteBackend
from wardround_server.backends.smart import ASSERTION_TYPE, load_signing_key

GOOD = reply_json(searchset([observation(1)], 1))


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class TokenEndpoint:
    """Checks each assertion as SMART requires and gives tokens `t1`, `t2`, ...; `answers` go before that."""

    def __init__(self, public: Any, algorithm: str, answers: list[Reply] | None = None, **extra: Any) -> None:
        self.public = public
        self.algorithm = algorithm
        self.answers = answers or []
        self.extra = {"expires_in": 300} | extra
        self.given = 0
        self.used: set[str] = set()
        self.url = ""
        self.headers: dict[str, Any] = {}
        self.scopes: list[str] = []

    def __call__(self, request: Seen) -> Reply:
        assert (request.method, request.path) == ("POST", "/token")
        assert "authorization" not in request.headers
        form = dict(Seen("", "?" + request.body.decode(), {}, b"").params)
        assert form["grant_type"] == "client_credentials"
        assert form["client_assertion_type"] == ASSERTION_TYPE
        assertion = form["client_assertion"]
        claims = jwt.decode(assertion, self.public, algorithms=[self.algorithm], audience=self.url)
        assert claims["iss"] == claims["sub"] == "ward-client"
        assert 0 < claims["exp"] - claims["iat"] <= 300
        assert claims["jti"] not in self.used
        self.used.add(claims["jti"])
        self.headers = jwt.get_unverified_header(assertion)
        self.scopes.append(form["scope"])
        if self.answers:
            return self.answers.pop(0)
        self.given += 1
        return reply_json({"access_token": f"access-t{self.given}", "token_type": "bearer", **self.extra})


def accepting(*tokens: str) -> Callable[[Seen], Reply]:
    def script(request: Seen) -> Reply:
        if request.headers.get("authorization") in {f"Bearer access-{token}" for token in tokens}:
            return GOOD
        return outcome(401, "no such token")

    return script


def smart(tmp_path: Path, key: bytes, tokens: ScriptedServer | None, **more: Any) -> RemoteAuth:
    path = tmp_path / "key"
    path.write_bytes(key)
    url = None if tokens is None else f"{tokens.origin}/token"
    return RemoteAuth(client_id="ward-client", key_file=path, token_url=url, **more)


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["RS384", "ES384"])
@pytest.mark.parametrize("form", ["pem", "jwk", "jwks"])
async def test_a_signed_assertion_is_traded_for_a_token_that_is_kept(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey, kind: str, form: str
) -> None:
    key: Any = rsa_key if kind == "RS384" else ec.generate_private_key(ec.SECP384R1())
    algorithm: Any = jwt.get_algorithm_by_name(kind)
    jwk = {**algorithm.to_jwk(key, as_dict=True), "kid": "k-1"}
    other = algorithm.to_jwk(key.public_key(), as_dict=True)
    content = {"pem": pem(key), "jwk": orjson.dumps(jwk), "jwks": orjson.dumps({"keys": [other, jwk]})}[form]
    endpoint = TokenEndpoint(key.public_key(), kind)
    async with scripted(endpoint) as tokens, scripted(accepting("t1")) as server:
        endpoint.url = f"{tokens.origin}/token"
        chart = backend(server, auth=smart(tmp_path, content, tokens, headers={"X-Api-Key": "for-fhir-only"}))
        for _ in range(3):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert len(tokens.seen) == 1
    assert "x-api-key" not in tokens.seen[0].headers
    assert endpoint.headers["alg"] == kind
    assert endpoint.headers.get("kid") == (None if form == "pem" else "k-1")
    assert endpoint.scopes == ["system/*.read"]


@pytest.mark.anyio
async def test_a_token_is_renewed_before_it_ends(tmp_path: Path, rsa_key: rsa.RSAPrivateKey) -> None:
    endpoint = TokenEndpoint(rsa_key.public_key(), "RS384", expires_in=1e-6)
    async with scripted(endpoint) as tokens, scripted(accepting("t1", "t2")) as server:
        endpoint.url = f"{tokens.origin}/token"
        chart = backend(server, auth=smart(tmp_path, pem(rsa_key), tokens))
        await chart.search("Observation", BY_PATIENT)
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert endpoint.given == 2


@pytest.mark.anyio
async def test_a_401_renews_the_token_once(tmp_path: Path, rsa_key: rsa.RSAPrivateKey) -> None:
    endpoint = TokenEndpoint(rsa_key.public_key(), "RS384")
    async with scripted(endpoint) as tokens, scripted(accepting("t2")) as server:
        endpoint.url = f"{tokens.origin}/token"
        chart = backend(server, auth=smart(tmp_path, pem(rsa_key), tokens))
        await chart.search("Observation", BY_PATIENT)
        server.script = accepting()
        with pytest.raises(ChartError, match="sign-in was not accepted"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert endpoint.given == 3
    assert len(server.seen) == 4


@pytest.mark.anyio
async def test_many_searches_at_once_get_one_token(tmp_path: Path, rsa_key: rsa.RSAPrivateKey) -> None:
    endpoint = TokenEndpoint(rsa_key.public_key(), "RS384")
    async with scripted(endpoint) as tokens, scripted(accepting("t2")) as server:
        endpoint.url = f"{tokens.origin}/token"
        chart = backend(server, auth=smart(tmp_path, pem(rsa_key), tokens))
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(chart.search, "Observation", BY_PATIENT)
        await chart.aclose()
    assert endpoint.given == 2


@pytest.mark.anyio
async def test_the_token_endpoint_is_found_in_the_servers_smart_configuration(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey
) -> None:
    endpoint = TokenEndpoint(rsa_key.public_key(), "RS384")
    async with scripted(endpoint) as tokens:
        endpoint.url = f"{tokens.origin}/token"

        def script(request: Seen) -> Reply:
            if request.path == "/fhir/.well-known/smart-configuration":
                assert "authorization" not in request.headers
                return reply_json({"token_endpoint": endpoint.url})
            return accepting("t1")(request)

        async with scripted(script) as server:
            chart = backend(server, auth=smart(tmp_path, pem(rsa_key), None))
            await chart.search("Observation", BY_PATIENT)
            await chart.aclose()
    assert endpoint.given == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    "reply",
    [
        outcome(404, "no such thing"),
        html(),
        reply_json([]),
        reply_json({"token_endpoint": 7}),
        reply_json({"token_endpoint": "http://attacker.example/token"}),
        reply_json({"token_endpoint": "https://u:p@h.example/token"}),
        reply_json({"token_endpoint": "token"}),
    ],
)
async def test_a_smart_configuration_without_a_safe_endpoint_is_an_error(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey, reply: Reply
) -> None:
    async with scripted([reply]) as server:
        chart = backend(server, auth=smart(tmp_path, pem(rsa_key), None))
        with pytest.raises(ChartError, match="smart-configuration"):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (
            reply_json({"error": "invalid_client", "error_description": "key unknown"}, 400),
            "invalid_client key unknown",
        ),
        (reply_json({}, 401), "no reason given"),
        (html(), "without a JSON object"),
        (reply_json([1]), "without a JSON object"),
        (reply_json({"token_type": "bearer"}), "usable access_token"),
        (reply_json({"access_token": "a\r\nb", "token_type": "bearer"}), "usable access_token"),
        (reply_json({"access_token": "abc", "token_type": "mac"}), "not a bearer"),
        (Reply(200, b" " * 300_000), "larger than"),
    ],
)
async def test_a_token_endpoint_that_gives_no_token_is_a_clear_error(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey, reply: Reply, words: str
) -> None:
    async with (
        scripted(TokenEndpoint(rsa_key.public_key(), "RS384", [reply])) as tokens,
        scripted([]) as server,
    ):
        endpoint = tokens.script
        assert isinstance(endpoint, TokenEndpoint)
        endpoint.url = f"{tokens.origin}/token"
        chart = backend(server, auth=smart(tmp_path, pem(rsa_key), tokens))
        with pytest.raises(ChartError, match=words):
            await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert server.seen == []


@pytest.mark.anyio
async def test_a_busy_token_endpoint_is_asked_again_with_a_new_assertion(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey
) -> None:
    endpoint = TokenEndpoint(rsa_key.public_key(), "RS384", [Reply(503), Reply(hang_up=True)])
    async with scripted(endpoint) as tokens, scripted(accepting("t1")) as server:
        endpoint.url = f"{tokens.origin}/token"
        chart = backend(server, auth=smart(tmp_path, pem(rsa_key), tokens, scope="system/Observation.rs"))
        await chart.search("Observation", BY_PATIENT)
        await chart.aclose()
    assert len(endpoint.used) == 3
    assert endpoint.scopes[-1] == "system/Observation.rs"


@pytest.mark.anyio
async def test_a_token_endpoint_that_redirects_is_not_followed(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey
) -> None:
    async with scripted([]) as elsewhere:
        moved = Reply(307, b"{}", (("Location", f"{elsewhere.origin}/token"),))
        endpoint = TokenEndpoint(rsa_key.public_key(), "RS384", [moved])
        async with scripted(endpoint) as tokens, scripted([]) as server:
            endpoint.url = f"{tokens.origin}/token"
            chart = backend(server, auth=smart(tmp_path, pem(rsa_key), tokens))
            with pytest.raises(ChartError, match="refused this client"):
                await chart.search("Observation", BY_PATIENT)
            await chart.aclose()
    assert elsewhere.seen == []


@pytest.mark.anyio
async def test_a_writing_client_asks_for_writing_and_its_create_renews_the_token(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey
) -> None:
    endpoint = TokenEndpoint(rsa_key.public_key(), "RS384")
    statement = {"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1"}

    def script(request: Seen) -> Reply:
        if request.path.endswith("metadata"):
            return reply_json(statement)
        if request.headers["authorization"] != "Bearer access-t2":
            return Reply(401)
        return reply_json({"resourceType": "Basic", "id": "x"}, 201)

    async with scripted(endpoint) as tokens, scripted(script) as server:
        endpoint.url = f"{tokens.origin}/token"
        chart = backend(server, auth=smart(tmp_path, pem(rsa_key), tokens), allow_writes=True)
        assert (await chart.create({"resourceType": "Basic"}, idempotency_key="k")).id == "x"
        await chart.aclose()
    assert endpoint.scopes == ["system/*.read system/*.write"] * 2


def test_keys_that_smart_can_not_use_are_refused_without_showing_them(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey
) -> None:
    small = ec.generate_private_key(ec.SECP256R1())
    public = rsa_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    locked = rsa_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    jwk = jwt.get_algorithm_by_name("RS384").to_jwk(rsa_key, as_dict=True)
    twins = orjson.dumps({"keys": [{**jwk, "kid": "a"}, {**jwk, "kid": "b"}]})
    path = tmp_path / "key"
    for content in (
        pem(small),
        public,
        locked,
        b"",
        b"{",
        b"{}",
        b'{"d": "x"}',
        b'{"kty":"RSA","d":"x"}',
        twins,
    ):
        path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            load_signing_key(path)
        assert str(jwk["d"]) not in str(caught.value)
    assert load_signing_key(path, "b").key_id == "b"
    assert str(jwk["d"])[:20] not in repr(load_signing_key(path, "b"))


@pytest.mark.parametrize("url", ["http://h.example/token", "ftp://h/token", "token", "https://u:p@h/token"])
def test_a_token_url_that_is_not_safe_is_refused(
    tmp_path: Path, rsa_key: rsa.RSAPrivateKey, url: str
) -> None:
    path = tmp_path / "key"
    path.write_bytes(pem(rsa_key))
    with pytest.raises(UserError, match="token endpoint"):
        RemoteBackend("https://h/fhir", auth=RemoteAuth(client_id="c", key_file=path, token_url=url))
