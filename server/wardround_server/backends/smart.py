"""Access tokens by SMART Backend Services: a signed assertion is traded for a short-lived token.

Source: SMART App Launch 2.x, "Client Authentication: Asymmetric" and "Backend Services": RS384 and ES384,
an assertion that lives five minutes at most, `jti` used once, `aud` the token endpoint.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import orjson

from wardround_schemas.errors import ChartError, UserError

from .auth import BEARER_TOKEN, read_secret_file
from .exchange import Answer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME = 240
"""Seconds; the specification's limit is 300, and the two clocks may differ."""
ASSUMED_LIFETIME = 300
"""Seconds a token is taken to live when the server does not say; the longest that SMART recommends."""

Send = Callable[[str, Callable[[], dict[str, str]]], Awaitable[Answer]]
"""Posts a form, made anew for each try, to the token endpoint and gives the whole answer."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The private key registered with the server. Its repr shows nothing of it."""

    key: RSAPrivateKey | EllipticCurvePrivateKey
    algorithm: str
    key_id: str | None

    def __repr__(self) -> str:
        return f"SigningKey({self.algorithm}, key_id={self.key_id!r})"

    def sign(self, claims: dict[str, Any]) -> str:
        """A compact JWS over `claims`."""
        import jwt

        headers = {"typ": "JWT"} | ({"kid": self.key_id} if self.key_id else {})
        return jwt.encode(claims, self.key, algorithm=self.algorithm, headers=headers)


def load_signing_key(path: Path, key_id: str | None = None) -> SigningKey:
    """A private key from PEM, a JWK or a JWK set (the member with `key_id`, or the only private one).

    RSA of at least 2048 bits signs with RS384, P-384 with ES384. Raises UserError for anything else.
    """
    text = read_secret_file(path, "--fhir-key-file").strip()
    key, found_id = _from_jwk(text, path, key_id) if text.startswith("{") else (_from_pem(text, path), None)
    return SigningKey(key, _algorithm(key, path), key_id or found_id)


def _from_pem(text: str, path: Path) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError):
        raise UserError(
            f"--fhir-key-file {path} holds no private key that can be read",
            mend="give an unencrypted PEM or JWK of RSA or P-384",
        ) from None


def _from_jwk(text: str, path: Path, key_id: str | None) -> tuple[Any, str | None]:
    import jwt

    mend = "give a JWK with its private part, or a set with one such key or WARDROUND_FHIR_KEY_ID naming it"
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise UserError(f"--fhir-key-file {path} is not JSON", mend=mend) from None
    members = value.get("keys", [value]) if isinstance(value, dict) else []
    private = [
        member
        for member in members
        if isinstance(member, dict) and "d" in member and (key_id is None or member.get("kid") == key_id)
    ]
    if len(private) != 1:
        raise UserError(f"--fhir-key-file {path} holds {len(private)} fitting private keys", mend=mend)
    try:
        key = jwt.PyJWK(private[0], algorithm="RS384" if private[0].get("kty") == "RSA" else "ES384").key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        raise UserError(f"--fhir-key-file {path} holds a JWK that can't be read", mend=mend) from None
    kid = private[0].get("kid")
    return key, kid if isinstance(kid, str) else None


def _algorithm(key: object, path: Path) -> str:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if isinstance(key, RSAPrivateKey) and key.key_size >= 2048:
        return "RS384"
    if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP384R1):
        return "ES384"
    raise UserError(
        f"--fhir-key-file {path} holds a key that SMART can't use",
        mend="make one of RSA with 2048 bits or more, or of the curve P-384",
    )


class SmartTokens:
    """The access token of one client, got when first needed and kept until shortly before it ends."""

    def __init__(
        self,
        *,
        client_id: str,
        key: SigningKey,
        scope: str,
        token_url: Callable[[], Awaitable[str]],
        send: Send,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client_id = client_id
        self._key = key
        self._scope = scope
        self._token_url = token_url
        self._send = send
        self._clock = clock
        self._lock = anyio.Lock()
        self._token: str | None = None
        self._ends = 0.0

    @property
    def current(self) -> str | None:
        """The token held now, so that it can be taken out of messages."""
        return self._token

    async def token(self, *, refused: str | None = None) -> str:
        """A token that is still good; `refused` is one that the server has just answered 401 to.

        Of many callers that find the token gone, one gets a new one and the rest take it. Raises ChartError.
        """
        async with self._lock:
            token = self._token
            if token is None or token == refused or self._clock() >= self._ends:
                token = await self._renew()
            return token

    async def _renew(self) -> str:
        self._token = None
        url = await self._token_url()
        token, lifetime = read_token_answer(await self._send(url, lambda: self._form(url)))
        self._token = token
        # Renewed a little early: a token must not end between our look at it and the server's.
        self._ends = self._clock() + lifetime - min(30.0, lifetime / 10)
        return token

    def _form(self, url: str) -> dict[str, str]:
        """A token request whose assertion, `jti` included, is used for this one try."""
        now = int(self._clock())
        claims = {
            "iss": self._client_id,
            "sub": self._client_id,
            "aud": url,
            "iat": now,
            "exp": now + ASSERTION_LIFETIME,
            "jti": secrets.token_urlsafe(24),
        }
        return {
            "grant_type": "client_credentials",
            "scope": self._scope,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": self._key.sign(claims),
        }


def read_token_answer(answer: Answer) -> tuple[str, float]:
    """Access token and lifetime in seconds from a token endpoint's answer (RFC 6749, 5.1 and 5.2).

    Raises ChartError, which repeats the server's `error` and `error_description`, never a token.
    """
    try:
        value: Any = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise ChartError(
            f"the token endpoint answered {answer.status} without a JSON object",
            status=answer.status,
        )
    if answer.status != 200:
        told = " ".join(str(value.get(k, "")) for k in ("error", "error_description")).strip()
        raise ChartError(
            f"the token endpoint refused this client ({answer.status}): {told or 'no reason given'}",
            status=answer.status,
        )
    token, kind = value.get("access_token"), value.get("token_type")
    if not isinstance(token, str) or not BEARER_TOKEN.match(token):
        raise ChartError("the token endpoint answered without a usable access_token", status=200)
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise ChartError("the token endpoint gave a token that is not a bearer token", status=200)
    return token, _lifetime(value.get("expires_in"))


def _lifetime(raw: object) -> float:
    """`expires_in`, which some servers send as a string; what is not a positive number counts as unsaid."""
    try:
        seconds = float(raw) if isinstance(raw, int | float | str) else 0.0
    except ValueError:
        seconds = 0.0
    return seconds if 0 < seconds < float("inf") else float(ASSUMED_LIFETIME)
