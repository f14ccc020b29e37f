"""Whatever a server sends, the remote backend gives the rows that it should or a ChartError, nothing else."""

from __future__ import annotations

import copy
from typing import Any

import anyio
import httpx
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.remote_cases import BY_PATIENT, Pauses, backend, observation, searchset
from tests.server.scripted import Reply, outcome_body, scripted
from wardround_schemas.errors import ChartError
from wardround_server.backends.exchange import Answer, RemoteLimits
from wardround_server.backends.searchset import Asked, patient_id, read_searchset, split_or

BASE = "https://fhir.example.org/r4"
ASKED = Asked.of("Observation", [*BY_PATIENT, ("_id", "o1,o2")], BASE)

SCALARS = st.none() | st.booleans() | st.integers(-3, 99) | st.floats(allow_nan=False) | st.text(max_size=6)
JSON = st.recursive(
    SCALARS
    | st.sampled_from(["next", "self", "match", "include", "Observation", "Patient/S100", "Patient/S9"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "resource",
                    "resourceType",
                    "search",
                    "mode",
                    "subject",
                    "reference",
                    "id",
                    "url",
                    "relation",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value in a piece of JSON."""
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += spots(inner, (*path, key))
    return found


def put(bundle: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(bundle)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def good_bundle() -> dict[str, Any]:
    bundle = searchset(
        [observation(1), observation(2)],
        2,
        self_="Observation?patient=S100&_id=o1,o2",
        next="Observation?p=2",
    )
    bundle["entry"].append({"resource": outcome_body("fyi", "information"), "search": {"mode": "outcome"}})
    return bundle


GOOD = good_bundle()
BUNDLES = st.builds(lambda spot, value: put(GOOD, spot, value), st.sampled_from(spots(GOOD)), JSON)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(BUNDLES)
def test_a_bundle_with_anything_anywhere_is_a_page_or_a_chart_error(bundle: Any) -> None:
    answer = Answer(200, httpx.Headers(), orjson.dumps(bundle), httpx.URL(BASE))
    try:
        page, after = read_searchset(answer, ASKED, BASE, "search")
    except ChartError:
        return
    rows = page.resources()
    assert after is not None
    assert after.rows == len(rows)
    for row in rows:
        assert row["resourceType"] == "Observation"
        assert row["subject"]["reference"] in ("Patient/S100", "Patient/S100/_history/1")
    if page.total is not None and page.next is None:
        assert len(rows) >= page.total


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.binary(max_size=60) | st.text(max_size=40).map(str.encode), st.sampled_from(["", "text/html", "x/xml"])
)
def test_a_body_of_anything_is_a_chart_error(body: bytes, media_type: str) -> None:
    answer = Answer(200, httpx.Headers({"content-type": media_type}), body, httpx.URL(BASE))
    with pytest.raises(ChartError):
        read_searchset(answer, ASKED, BASE, "search")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.sampled_from([b"", b"\0", b"\xff", b'"', b"}", b"\r\n", b"NaN"]),
    st.integers(0, 3),
)
def test_a_damaged_body_never_gives_other_rows(at: int, bit: bytes, removed: int) -> None:
    whole = orjson.dumps(searchset([observation(n) for n in range(3)], 3))
    at %= len(whole)
    answer = Answer(200, httpx.Headers(), whole[:at] + bit + whole[at + removed :], httpx.URL(BASE))
    try:
        page, _ = read_searchset(answer, ASKED, BASE, "search")
    except ChartError:
        return
    assert len(page.resources()) == 3


@pytest.mark.anyio
async def test_a_server_that_sends_any_bytes_at_all_gives_a_chart_error() -> None:
    heads = [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-99\r\nContent-Length: 2\r\n\r\n{]",
        b"HTTP/1.1 200 \xff\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 302 Found\r\nLocation: \xff\xfe://\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
        bytes(range(256)),
    ]
    for head in heads:
        async with scripted(lambda _, head=head: Reply(raw=head)) as server:  # type: ignore[misc]
            chart = backend(server, limits=RemoteLimits(tries=2, read=2.0))
            with pytest.raises(ChartError) as caught:
                await chart.search("Observation", BY_PATIENT)
            await chart.aclose()
        assert "\n" not in str(caught.value)


@pytest.mark.anyio
async def test_a_search_that_is_given_up_leaves_the_backend_usable() -> None:
    replies = [Reply(stall=True), Reply(200, orjson.dumps(searchset([observation(1)], 1)))]
    async with scripted(replies) as server:
        chart = backend(server, pauses=Pauses(), limits=RemoteLimits(connections=1))
        with anyio.move_on_after(0.1) as scope:
            await chart.search("Observation", BY_PATIENT)
        assert scope.cancelled_caught
        assert len((await chart.search("Observation", BY_PATIENT)).resources()) == 1
        await chart.aclose()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.text(alphabet="aB,\\|$ 1/", min_size=1, max_size=5), min_size=1, max_size=4))
def test_alternatives_are_split_where_no_backslash_escapes_the_comma(parts: list[str]) -> None:
    escaped = ",".join(part.replace("\\", "\\\\").replace(",", "\\,") for part in parts)
    assert split_or(escaped) == parts


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("S1", "S1"),
        ("Patient/S1", "S1"),
        (f"{BASE}/Patient/S1", "S1"),
        ("https://other.example/Patient/S1", None),
        ("Group/S1", None),
        ("Patient/S1/x", None),
        ("", None),
        ("Patient/", None),
        ("urn:uuid:0", None),
    ],
)
def test_the_patient_a_parameter_names(reference: str, expected: str | None) -> None:
    assert patient_id(reference, BASE) == expected
