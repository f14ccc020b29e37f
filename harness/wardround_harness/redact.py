"""Secrets never reach a run folder: whatever is written goes through here last.

A key gets into a record by ways that nobody means: a command line in which the shell has put it, an
error message that quotes it, a model that was shown it. So every value that is known to be secret is
looked for in the bytes themselves.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

SHORTEST: Final = 8
"""Shorter values are no secrets worth the name, and would be found in ordinary text."""

_SECRET_NAME: Final = re.compile(
    r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)", re.IGNORECASE
)
_FILE_NAME: Final = re.compile(r"^WARDROUND_.*(TOKEN|KEY)_FILE$")


def secrets_of(
    environ: Mapping[str, str] = os.environ,
    urls: Iterable[str | None] = (),
    files: Iterable[Path] = (),
) -> dict[str, str]:
    """Every secret that this process can know of: value to the name it is replaced by.

    Values of environment variables that are named like secrets, contents of the files given and of
    those that the WARDROUND_..._FILE variables name, and users' passwords in the urls given.
    """
    found: dict[str, str] = {}
    for name, value in environ.items():
        if _FILE_NAME.match(name):
            _add_file(found, Path(value), name)
        elif _SECRET_NAME.search(name):
            _add(found, value, name)
    for path in files:
        _add_file(found, path, path.name)
    for url in urls:
        if url is not None:
            _add_url(found, url)
    return found


def _add(found: dict[str, str], value: str, name: str) -> None:
    if len(value.strip()) >= SHORTEST:
        found[value.strip()] = name


def _add_file(found: dict[str, str], path: Path, name: str) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    for line in text.splitlines():
        _add(found, line, name)


def _add_url(found: dict[str, str], url: str) -> None:
    try:
        password = urlsplit(url).password
    except ValueError:
        return
    if password:
        _add(found, password, "password")
        _add(found, unquote(password), "password")


class Redactor:
    """Replaces secrets in bytes that are about to be written, by their names in square brackets."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        spelled: dict[bytes, bytes] = {}
        for value, name in secrets.items():
            for spelling in {value, quote(value, safe=""), json.dumps(value)[1:-1]}:
                spelled[spelling.encode()] = f"[{name}]".encode()
        longest_first = sorted(spelled, key=len, reverse=True)
        self._spelled = spelled
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first))) if spelled else None

    def __call__(self, data: bytes) -> bytes:
        """The data without secrets."""
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda match: self._spelled[match[0]], data)


NOTHING_SECRET: Final = Redactor({})
