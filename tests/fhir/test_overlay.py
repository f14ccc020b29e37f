"""The overlay: captured resources take part in later searches, in order, page by page, without doubles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from wardround_schemas.chart import search_all
from wardround_schemas.errors import ChartError
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_server.chart.writer import ChartWriter
from wardround_server.overlay import OverlayReader

pytestmark = pytest.mark.anyio


def vital(name: str, minute: int, value: str = "120/80") -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": name,
        "status": "final",
        "category": [{"coding": [{"code": "vital-signs"}]}],
        "code": {"text": "BP"},
        "subject": {"reference": "Patient/p1"},
        "effectiveDateTime": f"2023-11-13T10:{minute:02d}:00+00:00",
        "valueString": value,
    }


@pytest.fixture
def backend(tmp_path: Path) -> EmbeddedBackend:
    with ChartWriter(tmp_path / "a.db") as writer:
        writer.put(
            {
                "resourceType": "Patient",
                "id": "p1",
                "identifier": [{"value": "S1"}],
                "name": [{"family": "Ash"}],
            }
        )
        for number in range(5):
            writer.put(vital(f"v{number}", number * 10))
    return EmbeddedBackend.open(tmp_path / "a.db")


BY_CATEGORY = [("patient", "p1"), ("category", "vital-signs")]


def ids(resources: list[dict[str, Any]]) -> list[str]:
    return [resource["id"] for resource in resources]


async def test_without_captures_the_page_is_the_backends_own(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    overlay.add({"resourceType": "ServiceRequest", "subject": {"reference": "Patient/p1"}}, "c1")
    assert (await overlay.search("Observation", BY_CATEGORY)).body == (
        await backend.search("Observation", BY_CATEGORY)
    ).body


async def test_a_captured_resource_is_found_last_where_no_order_is_asked_for(
    backend: EmbeddedBackend,
) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("ignored", 5), "c1")
    page = await overlay.search("Observation", BY_CATEGORY)
    assert page.total == 6
    assert ids(page.resources()) == ["v0", "v1", "v2", "v3", "v4", "c1"]
    assert (await backend.search("Observation", BY_CATEGORY)).total == 5


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("date", ["v0", "c1", "v1", "v2", "c2", "v3", "v4", "c3"]),
        ("-date", ["c3", "v4", "v3", "c2", "v2", "v1", "c1", "v0"]),
        ("_id", ["c1", "c2", "c3", "v0", "v1", "v2", "v3", "v4"]),
    ],
)
async def test_pages_are_merged_in_the_order_of_the_search(
    backend: EmbeddedBackend, sort: str, order: list[str], count: int
) -> None:
    overlay = OverlayReader(backend)
    for name, minute in (("c1", 5), ("c2", 25), ("c3", 59)):
        overlay.add(vital(name, minute), name)
    asked = [*BY_CATEGORY, ("_sort", sort), ("_count", str(count))]
    page = await overlay.search("Observation", asked)
    seen: list[str] = []
    while True:
        assert page.total == 8
        assert len(page.resources()) <= count
        seen += ids(page.resources())
        if page.next is None:
            break
        following = await overlay.next_page(page.next)
        assert (await overlay.next_page(page.next)).body == following.body
        page = following
    assert seen == order


async def test_what_is_captured_between_two_pages_does_not_shift_them(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("c1", 5), "c1")
    asked = [*BY_CATEGORY, ("_sort", "date"), ("_count", "3")]
    page = await overlay.search("Observation", asked)
    overlay.add(vital("c2", 1), "c2")
    assert page.next is not None
    rest = await overlay.next_page(page.next)
    assert ids(page.resources()) + ids(rest.resources()) == ["v0", "c1", "v1", "v2", "v3", "v4"]
    assert len(await search_all(overlay, "Observation", asked)) == 7


async def test_counting_counts_the_captured_ones(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("c1", 5), "c1")
    for asked in (("_summary", "count"), ("_count", "0")):
        page = await overlay.search("Observation", [*BY_CATEGORY, asked])
        assert (page.total, page.resources()) == (6, [])
        assert orjson.loads(page.body)["total"] == 6


@pytest.mark.parametrize(
    ("param", "value", "found"),
    [
        ("patient.identifier", "S1", True),
        ("patient.identifier", "S2", False),
        ("subject:Patient.name", "ash", True),
        ("date", "gt2023-11-13T10:05:00Z", False),
        ("date", "2023-11-13", True),
        ("code", "BP", False),
        ("code:text", "bp", True),
        ("status:not", "final", False),
        ("encounter:missing", "true", True),
        ("_id", "c1,v1", True),
    ],
)
async def test_captured_resources_are_judged_by_the_same_rules(
    backend: EmbeddedBackend, param: str, value: str, *, found: bool
) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("c1", 5), "c1")
    assert ("c1" in ids(await search_all(overlay, "Observation", [(param, value)]))) is found


async def test_a_captured_resource_brings_its_patient_along_once(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("c1", 5), "c1")
    for asked in ([("_id", "c1")], [("patient", "p1")]):
        page = await overlay.search("Observation", [*asked, ("_include", "Observation:patient")])
        included = [
            entry["fullUrl"]
            for entry in orjson.loads(page.body)["entry"]
            if entry["search"]["mode"] == "include"
        ]
        assert included == ["http://127.0.0.1:8421/fhir/Patient/p1"]


async def test_elements_are_cut_from_captured_resources_too(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("c1", 5), "c1")
    page = await overlay.search("Observation", [("_id", "c1"), ("_elements", "status")])
    assert set(page.resources()[0]) == {"resourceType", "id", "status", "code", "meta"}


async def test_reads_find_captured_resources_first(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("x", 5, "99/60"), "v1")
    assert orjson.loads(await overlay.read("Observation", "v1") or b"")["valueString"] == "99/60"
    assert await overlay.read("Observation", "v2") is not None
    assert await overlay.read("Observation", "none") is None


async def test_a_made_up_link_is_refused(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    for url in (
        "http://127.0.0.1:8421/fhir/Observation?_cursor=~abc",
        "http://evil.example/fhir/Patient?_cursor=x",
    ):
        with pytest.raises(ChartError):
            await overlay.next_page(url)


async def test_a_resource_that_is_not_quite_fhir_does_not_break_a_search(backend: EmbeddedBackend) -> None:
    overlay = OverlayReader(backend)
    overlay.add({"resourceType": "Observation", "code": ["x"], "effectiveDateTime": 5, "subject": "p1"}, "c1")
    assert "c1" not in ids(await search_all(overlay, "Observation", BY_CATEGORY))
    assert "c1" in ids(await search_all(overlay, "Observation", []))


@pytest.mark.parametrize(
    "value",
    ["\ud800", "a\udfffb", 10**40, float("nan"), float("inf"), {"a": [[[["deep"]]]]}, "\x00", None, True],
)
async def test_whatever_a_model_sent_can_be_laid_over(backend: EmbeddedBackend, value: object) -> None:
    overlay = OverlayReader(backend)
    overlay.add(vital("x", 5) | {"valueString": value, "note": value, "code": {"text": value}}, "c1")
    page = await overlay.search("Observation", [*BY_CATEGORY, ("_sort", "-date,value-string,code")])
    assert ids(page.resources())[-2:] == ["c1", "v0"]
    assert await overlay.read("Observation", "c1") is not None


async def test_numbers_of_the_backend_keep_their_digits_on_a_merged_page(tmp_path: Path) -> None:
    with ChartWriter(tmp_path / "b.db") as writer:
        writer.put(b'{"resourceType":"Observation","id":"o1","valueQuantity":{"value":1.50},"x":%d}' % 10**30)
    overlay = OverlayReader(EmbeddedBackend.open(tmp_path / "b.db"))
    overlay.add({"resourceType": "Observation"}, "c1")
    body = (await overlay.search("Observation", [])).body
    assert b'{"value":1.50},"x":1000000000000000000000000000000' in body


@pytest.mark.parametrize("value", ["\ud800", "a\udfff"])
async def test_half_a_surrogate_pair_is_refused_as_a_search_value(
    backend: EmbeddedBackend, value: str
) -> None:
    for name in ("code", "patient", value):
        with pytest.raises(ChartError, match="surrogate"):
            await backend.search("Observation", [(name, value)])
