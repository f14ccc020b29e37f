"""The URLs of the text protocol: what an agent may GET or POST, and nothing else.

A URL comes from a model. It names a place under the chart's base URL or it is refused; it is never
handed to an HTTP client.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

_TYPE = re.compile(r"[A-Z][A-Za-z]{1,63}")
_ID = re.compile(r"[A-Za-z0-9.\-]{1,64}")
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class ChartPath:
    """A place under the chart's base: `path` without its leading slash, and decoded parameters."""

    path: str
    params: tuple[tuple[str, str], ...]

    @property
    def search_type(self) -> str | None:
        """The resource type, where the path is a search of one."""
        return self.path if _TYPE.fullmatch(self.path) else None

    @property
    def read_target(self) -> tuple[str, str] | None:
        """Type and id, where the path is one resource."""
        kind, _, ident = self.path.partition("/")
        if _TYPE.fullmatch(kind) and _ID.fullmatch(ident) and ident not in {".", ".."}:
            return kind, ident
        return None


def chart_path(url: str, base_url: str) -> ChartPath | str:
    """Where `url` points under `base_url`, or one sentence saying why it is refused.

    Relative URLs (`Patient?name=x`, `/Patient?name=x`) are read under the base. `_format` is
    dropped: results are JSON. A raw space is taken for itself and a raw `+` for a space, as in any
    query string; a time zone that lost its plus sign is the chart's to repair.
    """
    url = url.strip()
    if not url or len(url) > 8000:
        return "the URL is empty or longer than 8,000 characters"
    if _CONTROL.search(url) or _HALF.search(url):
        return "the URL contains control characters or half a character"
    base = base_url.rstrip("/")
    rest = _below(url, base)
    if rest is None:
        return f"the URL is not under the FHIR base {base}"
    parts = urlsplit("//chart/" + rest)
    if parts.fragment:
        return "the URL has a fragment (#)"
    try:
        params = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return "the URL has too many parameters"
    kept = tuple((name, value) for name, value in params if name != "_format")
    return ChartPath(parts.path[1:], kept)


def _below(url: str, base: str) -> str | None:
    """The part of `url` below `base`, None where it points elsewhere."""
    if url == base or url.startswith((base + "/", base + "?")):
        return url[len(base) :].removeprefix("/")
    if "\\" in url or url.startswith("//"):
        return None
    head = re.split(r"[/?#]", url, maxsplit=1)[0]
    if ":" in head:
        return None
    path = urlsplit(base).path
    if path and (url == path or url.startswith((path + "/", path + "?"))):
        return url[len(path) :].removeprefix("/")
    return url.removeprefix("/")
