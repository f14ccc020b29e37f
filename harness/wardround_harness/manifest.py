"""The manifest of a run: all that is needed to run it again, and to tell two runs apart."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import orjson

FORMAT_VERSION: Final = 1

VOLATILE: Final = frozenset({"created_at", "versions", "setting_notes", "price", "executor", "concurrency"})
"""Parts that may differ when a run is resumed: they say where and when, not what."""

LIBRARIES: Final = ("mcp", "anthropic", "openai", "httpx", "pydantic")


def checksum(value: Any) -> str:
    """SHA-256 of a JSON value in one canonical spelling: sorted keys, no spaces."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def public_url(url: str) -> str:
    """A URL without what may be secret in it: user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    try:
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        port = ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


def library_versions() -> dict[str, str]:
    """Versions of this program, of Python and of the libraries that a result could depend on."""
    versions = {"python": platform.python_version(), "platform": sys.platform}
    for name in ("wardround", *LIBRARIES):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    return versions


def differences(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """In what two manifests are of different runs, one phrase per field; empty when they are of the same.

    Fields in VOLATILE are passed over.
    """
    found: list[str] = []
    for name in sorted({*held, *wanted} - VOLATILE):
        _differ(name, held.get(name), wanted.get(name), found)
    return found


def _differ(path: str, held: Any, wanted: Any, found: list[str]) -> None:
    if held == wanted:
        return
    if isinstance(held, Mapping) and isinstance(wanted, Mapping):
        for name in sorted({*held, *wanted}):
            _differ(f"{path}.{name}", held.get(name), wanted.get(name), found)
        return
    found.append(f"{path} is {_brief(held)} there and {_brief(wanted)} here")


def _brief(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"a list of {len(value)}"
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."
