"""Where the remote backend goes: next links, redirects and base URLs, and where it never goes."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.remote_cases import BY_PATIENT, backend, observation, searchset
from tests.server.scripted import Reply, Seen, reply_json, scripted
from wardround_schemas.chart import search_all
from wardround_schemas.errors import ChartError, UserError
from wardround_server.backends.auth import RemoteAuth
from wardround_server.backends.remote import RemoteBackend
from wardround_server.backends.transport import Origin, is_below, parse_base_url, resolve_link

BASE = httpx.URL("https://fhir.example.org/r4")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("{base}/Observation?page=2", "/fhir/Observation?page=2"),
        ("{base}?_getpages=a-b&_getpagesoffset=20", "/fhir?_getpages=a-b&_getpagesoffset=20"),
        ("Observation?page=2", "/fhir/Observation?page=2"),
        ("/fhir/Observation?page=2", "/fhir/Observation?page=2"),
        ("?_getpages=a-b", "/fhir?_getpages=a-b"),
        ("./Observation?page=%7C2", "/fhir/Observation?page=%7C2"),
        ("{origin}/paging/opaque", "/paging/opaque"),
        ("/paging/opaque#part", "/paging/opaque"),
    ],
)
async def test_a_next_link_is_followed_in_every_form_on_this_origin(link: str, target: str) -> None:
    def script(request: Seen) -> Reply:
        if len(server.seen) > 1:
            return reply_json(searchset([observation(2)], 2))
        given_link = link.format(base=server.base, origin=server.origin)
        return reply_json(searchset([observation(1)], 2, next=given_link))

    async with scripted(script) as server:
        chart = backend(server)
        rows = await search_all(chart, "Observation", BY_PATIENT)
        await chart.aclose()
    assert [row["id"] for row in rows] == ["o1", "o2"]
    assert server.seen[1].target == target


@pytest.mark.anyio
@pytest.mark.parametrize(
    "link",
    [
        "http://attacker.example/fhir/Observation?page=2",
        "//attacker.example/fhir/Observation?page=2",
        "http://127.0.0.1:{other}/fhir/Observation?page=2",
        "http://127.0.0.1@attacker.example/fhir",
        "http://user:pw@127.0.0.1:{port}/fhir/Observation",
        "http://127.0.0.1:{port}\\@attacker.example/fhir",
        "https://127.0.0.1:{port}/fhir/Observation?page=2",
        "http://localhost:{port}/fhir/Observation?page=2",
        "ftp://127.0.0.1:{port}/fhir",
        "file:///etc/passwd",
        "javascript:alert(1)",
        " http://attacker.example/",
        "http://127.0.0.1:{port}/fhir\r\nX: y",
        "http://[::1",
        "http://127.0.0.1:99999/fhir",
        "",
    ],
)
async def test_a_next_link_that_leads_elsewhere_is_refused_and_no_token_goes_there(link: str) -> None:
    async with scripted([]) as elsewhere, scripted([]) as server:
        text = link.format(port=server.port, other=elsewhere.port)
        server.script = [
            reply_json(searchset([observation(1)], 2) | {"link": [{"relation": "next", "url": text}]})
        ]
        chart = backend(server, auth=RemoteAuth(username="me", password="a-long-secret"))
        page = await chart.search("Observation", BY_PATIENT)
        assert page.next == text
        with pytest.raises(ChartError, match="next link"):
            await chart.next_page(text)
        await chart.aclose()
    assert elsewhere.seen == []
    assert len(server.seen) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    "url",
    [
        "{origin}/admin",
        "{origin}/fhirs/Observation",
        "{origin}/fhir/../admin",
        "{origin}/fhir/%2e%2e/admin",
        "{origin}/fhir/..%2fadmin",
        "{origin}/fhir/a/%2E./%2e%2E/%2e%2e/admin",
        "../admin",
        "{origin}/fhir/..%5cadmin",
    ],
)
async def test_a_path_outside_the_base_that_the_server_never_gave_is_refused(url: str) -> None:
    async with scripted([]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="did not give"):
            await chart.next_page(url.format(origin=server.origin))
        await chart.aclose()
    assert server.seen == []


@pytest.mark.anyio
async def test_an_operation_is_not_called_by_a_link() -> None:
    async with scripted([]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="was stopped"):
            await chart.next_page(f"{server.base}/$export?_type=Patient")
        await chart.aclose()
    assert server.seen == []


@pytest.mark.anyio
async def test_a_link_from_another_process_is_still_checked_by_the_parameters_that_it_names() -> None:
    async with scripted([reply_json(searchset([observation(1, "Patient/S9")], 40))]) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="another patient"):
            await chart.next_page(f"{server.base}/Observation?patient=S100&page=2")
        await chart.aclose()


@pytest.mark.anyio
async def test_next_links_that_go_round_are_an_error() -> None:
    def script(_: Seen) -> Reply:
        return reply_json(searchset([observation(1)], None, next="Observation?page=2"))

    async with scripted(script) as server:
        chart = backend(server)
        with pytest.raises(ChartError, match="circle"):
            await search_all(chart, "Observation", BY_PATIENT)
        await chart.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_within_the_origin_is_followed(status: int) -> None:
    def script(request: Seen) -> Reply:
        if request.path == "/fhir/Observation":
            return Reply(status, headers=(("Location", "/v4/Observation?patient=S100"),))
        return reply_json(searchset([observation(1)], 1))

    async with scripted(script) as server:
        chart = backend(server)
        assert len((await chart.search("Observation", BY_PATIENT)).resources()) == 1
        await chart.aclose()
    assert server.seen[1].target == "/v4/Observation?patient=S100"


@pytest.mark.anyio
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_host_is_refused_and_no_token_goes_there(status: int) -> None:
    async with scripted([]) as elsewhere:
        location = ("Location", f"{elsewhere.base}/Observation")
        async with scripted([Reply(status, headers=(location,))]) as server:
            chart = backend(server, auth=RemoteAuth(username="me", password="a-long-secret"))
            with pytest.raises(ChartError, match="redirect leads to another host"):
                await chart.search("Observation", BY_PATIENT)
            await chart.aclose()
    assert elsewhere.seen == []


@pytest.mark.anyio
async def test_redirects_without_an_end_or_a_place_are_errors() -> None:
    for location, words in (("/fhir/Observation", "circle"), (None, "can't be read")):
        headers = () if location is None else (("Location", location),)

        def script(_: Seen, headers: tuple[tuple[str, str], ...] = headers) -> Reply:
            return Reply(302, headers=headers)

        async with scripted(script) as server:
            chart = backend(server)
            with pytest.raises(ChartError, match=words):
                await chart.search("Observation", BY_PATIENT)
            await chart.aclose()
            assert len(server.seen) <= 6


@pytest.mark.parametrize(
    ("base", "link", "expected"),
    [
        # A proxy that ends TLS; the server behind it only knows http.
        ("https://h.example/r4", "http://h.example/r4?_getpages=1", "https://h.example/r4?_getpages=1"),
        ("https://h.example/r4", "http://h.example:80/r4?x=1", "https://h.example/r4?x=1"),
        ("https://h.example/r4", "https://h.example:443/r4?x=1", "https://h.example/r4?x=1"),
        ("https://h.example/r4", "https://H.EXAMPLE/other?x=1", "https://h.example/other?x=1"),
        ("https://h.example:8443/r4", "https://h.example:8443/r4?x=1", "https://h.example:8443/r4?x=1"),
        ("https://h.example", "Observation?x=1", "https://h.example/Observation?x=1"),
        ("https://h.example", "?x=1", "https://h.example/?x=1"),
        ("http://[::1]:8080/fhir", "http://[::1]:8080/fhir?x=1", "http://[::1]:8080/fhir?x=1"),
    ],
)
def test_links_behind_proxies_and_with_ports_come_home(base: str, link: str, expected: str) -> None:
    assert str(resolve_link(parse_base_url(base), link)) == expected


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ("https://h.example/r4", "https://h.example:8443/r4?x=1"),
        ("https://h.example:8443/r4", "https://h.example/r4?x=1"),
        ("https://h.example:8443/r4", "http://h.example/r4?x=1"),
        ("http://h.example/r4", "https://h.example/r4?x=1"),
        ("https://h.example/r4", "https://h.example.attacker.example/r4"),
        ("https://h.example/r4", "https://xn--h-fka.example/r4"),
    ],
)
def test_another_port_scheme_or_name_is_another_host(base: str, link: str) -> None:
    with pytest.raises(ChartError, match="another host"):
        resolve_link(parse_base_url(base), link)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            [
                *("http:", "https:", "/", "//", "\\", "@", ":", "?", "#", "..", ".", "%2e", "%2f", "%00"),
                *("fhir", "r4", "fhir.example.org", "attacker.example", "443", "80", "8443", "[::1]"),
                *("\t", "\n", "é", "x=1", "user"),
            ]
        ),
        max_size=9,
    ).map("".join)
)
def test_whatever_the_link_the_request_stays_on_this_origin(link: str) -> None:
    try:
        url = resolve_link(BASE, link)
    except ChartError:
        return
    assert Origin.of(url) == Origin.of(BASE)
    sent = httpx.Request("GET", url)
    assert sent.headers["host"] == "fhir.example.org"
    assert not url.userinfo
    if is_below(BASE, url):
        path = httpx.URL(str(url)).path
        assert path == "/r4" or path.startswith("/r4/")
        assert ".." not in path.split("/")


@pytest.mark.parametrize(
    "raw",
    [
        "fhir.example.org/r4",
        "ftp://fhir.example.org",
        "https://",
        "https:///r4",
        "https://h/r4?x=1",
        "https://h/r4#x",
        "http://h:99999/",
        "",
    ],
)
def test_a_base_url_that_is_none_is_refused_in_one_line(raw: str) -> None:
    with pytest.raises(UserError, match="--fhir"):
        RemoteBackend(raw)


def test_a_password_in_the_base_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UserError) as caught:
        RemoteBackend("https://me:tops3cret@h.example/r4")
    assert "tops3cret" not in str(caught.value)


def test_a_trailing_slash_of_the_base_url_changes_nothing() -> None:
    assert RemoteBackend("https://H.example/r4/").base_url == "https://h.example/r4"
