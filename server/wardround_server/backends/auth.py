"""How this program makes itself known to a remote FHIR server.

Secrets come from files that the operator names and from the environment, never from an argument. They are
kept out of every repr, and `RemoteAuth.redact` takes them out of text that a server sent back.
"""

from __future__ import annotations

import base64
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson

from wardround_schemas.errors import UserError

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?\Z")
BEARER_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+\Z")
NOT_OURS_TO_SET = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "if-none-exist",
        "prefer",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that frame a request or carry its meaning: an operator's extra headers can't replace them."""

_SHORTEST_REDACTED = 6
"""A shorter value than this turns up in ordinary text, so it is not searched for."""


@dataclass(frozen=True, slots=True)
class RemoteAuth:
    """Everything a remote FHIR server may want before it answers; all of it optional.

    At most one of bearer token (`token_file`), basic (`username` with `password`) and SMART Backend
    Services (`client_id` with `key_file`) may be given. A client certificate, a CA file and extra headers
    go with any of them. Raises UserError when the parts contradict each other.
    """

    token_file: Path | None = None
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    client_id: str | None = None
    key_file: Path | None = None
    key_id: str | None = None
    token_url: str | None = None
    scope: str | None = None
    cert_file: Path | None = None
    cert_password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow_plain_http: bool = False

    def __post_init__(self) -> None:
        ways = [
            name
            for name, given in (
                ("a bearer token", self.token_file is not None),
                ("a user name", self.username is not None),
                ("a SMART client", self.client_id is not None),
            )
            if given
        ]
        if len(ways) > 1:
            raise UserError(
                f"{' and '.join(ways)} are given for the FHIR server", mend="keep one way of signing in"
            )
        if (self.client_id is None) != (self.key_file is None):
            raise UserError("--fhir-client-id and --fhir-key-file belong together", mend="give both or none")
        if self.token_url is not None and self.client_id is None:
            raise UserError("--fhir-token-url needs a SMART client", mend="add --fhir-client-id")
        if (self.username is None) != (self.password is None):
            raise UserError(
                "WARDROUND_FHIR_USERNAME and WARDROUND_FHIR_PASSWORD belong together",
                mend="set both or none",
            )
        check_headers(self.headers)

    @classmethod
    def from_environment(
        cls,
        *,
        token_file: Path | None = None,
        client_id: str | None = None,
        key_file: Path | None = None,
        token_url: str | None = None,
        cert_file: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> RemoteAuth:
        """The options of the command line, completed by what only the environment may hold.

        Read are WARDROUND_FHIR_USERNAME, _PASSWORD, _HEADERS (a JSON object of strings), _KEY_ID, _SCOPE,
        _CERT_PASSWORD, _CA_FILE and _ALLOW_PLAIN_HTTP, each after WARDROUND_FHIR. Raises UserError.
        """

        def given(name: str) -> str | None:
            return environ.get(f"WARDROUND_FHIR_{name}") or None

        ca_file = given("CA_FILE")
        return cls(
            token_file=token_file,
            username=given("USERNAME"),
            password=given("PASSWORD"),
            client_id=client_id,
            key_file=key_file,
            key_id=given("KEY_ID"),
            token_url=token_url,
            scope=given("SCOPE"),
            cert_file=cert_file,
            cert_password=given("CERT_PASSWORD"),
            ca_file=Path(ca_file) if ca_file else None,
            headers=parse_headers(given("HEADERS")),
            allow_plain_http=(given("ALLOW_PLAIN_HTTP") or "0").strip().lower() in {"1", "true", "yes", "on"},
        )

    @property
    def sends_secrets(self) -> bool:
        """Whether requests carry something that must not be read on the way."""
        return bool(self.token_file or self.username is not None or self.client_id or self.headers)

    def bearer_token(self) -> str | None:
        """The token in `token_file`, read anew at each call, since such files are rotated in place.

        Raises UserError when the file can't be read or holds anything but one token.
        """
        if self.token_file is None:
            return None
        text = read_secret_file(self.token_file, "--fhir-token-file").strip()
        if not BEARER_TOKEN.match(text):
            raise UserError(
                f"{self.token_file} does not hold one bearer token",
                mend="put the token alone on one line, without the word Bearer",
            )
        return text

    def basic_header(self) -> str | None:
        """The Authorization value of basic authentication (RFC 7617, UTF-8), if that way was chosen."""
        if self.username is None or self.password is None:
            return None
        if ":" in self.username:
            raise UserError("WARDROUND_FHIR_USERNAME has a colon in it", mend="basic authentication has none")
        pair = f"{self.username}:{self.password}".encode()
        return "Basic " + base64.b64encode(pair).decode("ascii")

    def ssl_context(self, *, encrypted: bool = True) -> ssl.SSLContext:
        """TLS with the usual authorities (or SSL_CERT_FILE's), the CA file and the client certificate.

        For a server without TLS (not `encrypted`) the usual authorities, which take longest to load, are left
        out: such a context trusts nobody. Raises UserError when a file can't be used.
        """
        context = httpx.create_ssl_context() if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.ca_file is not None:
            try:
                context.load_verify_locations(cafile=str(self.ca_file))
            except (OSError, ssl.SSLError) as error:
                raise UserError(
                    f"WARDROUND_FHIR_CA_FILE {self.ca_file} can't be used: {_reason(error)}",
                    mend="give a PEM file of certificates",
                ) from None
        if self.cert_file is not None:
            # A password is passed even where there is none: without it OpenSSL would ask on the terminal.
            password = self.cert_password or ""
            try:
                context.load_cert_chain(str(self.cert_file), password=lambda: password)
            except (OSError, ssl.SSLError) as error:
                raise UserError(
                    f"--fhir-cert {self.cert_file} can't be used: {_reason(error)}",
                    mend="give a PEM file with the certificate and its private key; a password goes in "
                    "WARDROUND_FHIR_CERT_PASSWORD",
                ) from None
        return context

    def redact(self, text: str, *more: str | None) -> str:
        """`text` without any secret of this auth, nor any of `more` (tokens got meanwhile)."""
        known = [self.password, self.cert_password, *self.headers.values(), *more]
        basic = self.basic_header()
        if basic is not None:
            known.append(basic.removeprefix("Basic "))
        for secret in sorted({s for s in known if s and len(s) >= _SHORTEST_REDACTED}, key=len, reverse=True):
            text = text.replace(secret, "[secret]")
        return text


def parse_headers(raw: str | None) -> dict[str, str]:
    """The headers of WARDROUND_FHIR_HEADERS, a JSON object of strings. Raises UserError, values unsaid."""
    if not raw:
        return {}
    try:
        value: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise UserError(
            "WARDROUND_FHIR_HEADERS is not a JSON object of strings", mend='for example {"X-Api-Key": "..."}'
        )
    return value


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that could not be sent, or that would change what a request means. Raises UserError."""
    for name, value in headers.items():
        if not HEADER_NAME.match(name):
            raise UserError("WARDROUND_FHIR_HEADERS has a name that is no header name", mend=repr(name)[:80])
        if name.lower() in NOT_OURS_TO_SET:
            raise UserError(f"WARDROUND_FHIR_HEADERS may not set {name}", mend="leave it out")
        if not HEADER_VALUE.match(value):
            raise UserError(
                f"WARDROUND_FHIR_HEADERS has a value for {name} that can't be sent",
                mend="use visible ASCII characters on one line",
            )


def read_secret_file(path: Path, option: str) -> str:
    """The text of a file that an option names. Raises UserError; the text is never in it."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"{option} {path} can't be read", mend=_reason(error)) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{option} {path} is not text", mend="give a UTF-8 file") from None


def _reason(error: Exception) -> str:
    """Why a file could not be used, in a few words that repeat nothing of its content."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).split(" (_ssl.c")[0]
