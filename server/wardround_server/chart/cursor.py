"""Where the next page of a search begins: signed, so that a caller can only hand back what it was given.

A cursor names the last entry of a page by its sort values and its number in the chart, not by how many came
before it: pages stay stable whatever is added meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Any, NamedTuple

import orjson

from .outcome import SearchFault

_MAC_BYTES = 12


class Cursor(NamedTuple):
    """The last entry's number and sort values, and the total that the first page gave (-1: none)."""

    seq: int
    keys: tuple[Any, ...]
    total: int


def _mac(secret: bytes, search: str, payload: bytes) -> bytes:
    return hmac.digest(secret, search.encode("utf-8", "surrogatepass") + b"\0" + payload, hashlib.sha256)[
        :_MAC_BYTES
    ]


def seal(cursor: Cursor, search: str, secret: bytes) -> str:
    """A cursor as text for a URL, valid for this search alone."""
    payload = orjson.dumps([cursor.seq, cursor.total, *cursor.keys])
    return base64.urlsafe_b64encode(_mac(secret, search, payload) + payload).rstrip(b"=").decode()


def unseal(text: str, search: str, secret: bytes, width: int) -> Cursor:
    """The cursor that `seal` made; SearchFault for anything else. `width`: number of sort values."""
    refusal = SearchFault(
        "this is not a next link of this search: take it as the last page gave it, or search again"
    )
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise refusal from None
    mac, payload = content[:_MAC_BYTES], content[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(secret, search, payload)):
        raise refusal
    seq, total, *keys = orjson.loads(payload)
    if len(keys) != width:
        raise refusal
    return Cursor(seq, tuple(keys), total)
