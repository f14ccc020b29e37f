"""Whatever is known to be secret is replaced in what is written, however it got there."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from wardround_harness.redact import Redactor, secrets_of


def test_values_of_variables_named_like_secrets_are_secret() -> None:
    environ = {
        "OPENAI_API_KEY": "sk-aaaaaaaaaaaa",
        "ANTHROPIC_API_KEY": "sk-ant-bbbbbbbb",
        "MY_TOKEN": "cccccccccccc",
        "DB_PASSWORD": "dddddddddddd",
        "PATH": "/usr/bin:/bin",
        "KEYBOARD": "a-keyboard-name",
        "SHORT_KEY": "abc",
    }
    assert secrets_of(environ) == {
        "sk-aaaaaaaaaaaa": "OPENAI_API_KEY",
        "sk-ant-bbbbbbbb": "ANTHROPIC_API_KEY",
        "cccccccccccc": "MY_TOKEN",
        "dddddddddddd": "DB_PASSWORD",
    }


def test_contents_of_token_files_and_passwords_of_urls_are_secret(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("eeeeeeeeeeee\n")
    found = secrets_of(
        {"WARDROUND_FHIR_TOKEN_FILE": str(token), "WARDROUND_MCP_TOKEN_FILE": str(tmp_path / "absent")},
        ["http://u:ffff%20ffffff@h/fhir", None, "http://h/"],
    )
    assert set(found) == {"eeeeeeeeeeee", "ffff%20ffffff", "ffff ffffff"}


def test_a_secret_is_replaced_by_its_name_in_every_spelling() -> None:
    secret = 'p"ss/w&rd-long'
    redact = Redactor({secret: "DB_PASSWORD"})
    for spelling in (secret, json.dumps(secret), "p%22ss%2Fw%26rd-long"):
        assert b"[DB_PASSWORD]" in redact(f"x {spelling} y".encode())
        assert b"w&rd" not in redact(spelling.encode())


def test_the_longer_of_two_secrets_goes_first() -> None:
    redact = Redactor({"abcdefgh": "A", "abcdefghijkl": "B"})
    assert redact(b"abcdefghijkl abcdefgh") == b"[B] [A]"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(min_size=8, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_no_line_of_json_holds_the_secret_afterwards(secret: str, before: str, after: str) -> None:
    secret = "".join(c for c in secret if c.isalnum() and c.isascii()).ljust(8, "Q") + "Z9"
    line = json.dumps({"a": before + secret + after}).encode()
    assert secret.encode() not in Redactor({secret: "K"})(line)


def test_without_secrets_nothing_changes() -> None:
    assert Redactor({})(b"anything") == b"anything"
