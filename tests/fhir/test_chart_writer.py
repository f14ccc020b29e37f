"""The chart writer: whole files or none, replacing, the content checksum."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from wardround_schemas.errors import UserError
from wardround_server.chart.store import Chart
from wardround_server.chart.writer import ChartWriter, ResourceFault

Resource = dict[str, Any]


def patient(name: str, family: str = "Ash") -> Resource:
    return {"resourceType": "Patient", "id": name, "name": [{"family": family}]}


def lab(name: str, value: float = 1.5) -> Resource:
    return {
        "resourceType": "Observation",
        "id": name,
        "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": "2601-3"}]},
        "subject": {"reference": "Patient/p1"},
        "effectiveDateTime": "2023-11-12T10:15:00+00:00",
        "valueQuantity": {"value": value, "unit": "mg/dL"},
    }


def write(path: Path, resources: Iterable[Resource], **settings: Any) -> None:
    with ChartWriter(path, **settings) as writer:
        writer.put_all(resources)


def failing() -> Iterator[Resource]:
    yield patient("p2")
    raise ZeroDivisionError


def test_a_chart_gives_back_the_very_bytes_it_was_given(tmp_path: Path) -> None:
    body = b'{"resourceType":"Observation","id":"o1","valueQuantity":{"value":1.50}}'
    with ChartWriter(tmp_path / "a.db") as writer:
        writer.put(body)
    with Chart(tmp_path / "a.db") as chart:
        assert chart.read("Observation", "o1") == body
        assert chart.read("Observation", "o2") is None
        assert chart.read("Encounter", "o1") is None


def test_the_file_appears_only_when_the_block_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(ZeroDivisionError):
        write(path, failing())
    assert list(tmp_path.iterdir()) == []


def test_a_failed_rewrite_leaves_the_old_chart(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, [patient("p1")])
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        write(path, failing(), extend=True)
    assert path.read_bytes() == before


def test_a_chart_is_for_its_owners_eyes_only(tmp_path: Path) -> None:
    write(tmp_path / "a.db", [patient("p1")])
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600


def test_the_checksum_depends_on_content_alone(tmp_path: Path) -> None:
    resources = [patient("p1"), patient("p2"), lab("o1"), lab("o2")]
    write(tmp_path / "a.db", resources, name="a", seed=1)
    write(tmp_path / "b.db", resources[::-1], name="b", seed=2)
    write(tmp_path / "c.db", [*resources[:3], lab("o2", 1.6)])
    write(tmp_path / "d.db", [lab("o2", 9.9), *resources])
    sums = {name: Chart(tmp_path / f"{name}.db").checksum for name in "abcd"}
    assert sums["a"] == sums["b"] == sums["d"]
    assert sums["c"] != sums["a"]


def test_the_same_type_and_id_is_replaced_and_never_doubled(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with ChartWriter(path) as writer:
        assert writer.put(patient("p1", "Ash")) == "added"
        assert writer.put(patient("p1", "Ash")) == "unchanged"
        assert writer.put(patient("p1", "Oak")) == "replaced"
    with ChartWriter(path, extend=True) as writer:
        assert writer.put(patient("p1", "Oak")) == "unchanged"
        assert writer.put(patient("p2", "Elm")) == "added"
    with Chart(path) as chart:
        assert chart.counts == {"Patient": 2}
        assert orjson.loads(chart.read("Patient", "p1") or b"")["name"] == [{"family": "Oak"}]
        assert chart.fetch("SELECT count(*) FROM text WHERE folded = 'ash'") == [(0,)]


def test_a_synthetic_chart_that_takes_in_other_records_is_no_longer_one(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, [patient("p1")], synthetic=True)
    assert Chart(path).meta["synthetic"] == 1
    write(path, [patient("p2")], extend=True)
    assert Chart(path).meta["synthetic"] == 0


@pytest.mark.parametrize(
    ("resource", "word"),
    [
        (b"[]", "object"),
        (b"{", "JSON"),
        (b'{"id":"a"}', "resourceType"),
        (b'{"resourceType":"Patient"}', "id"),
        (b'{"resourceType":"Patient","id":"a/b"}', "id"),
        (b'{"resourceType":"../x","id":"a"}', "resourceType"),
        (b'{"resourceType":"Patient","id":"a","birthDate":"1950-02-30"}', "Patient.birthDate"),
        (b'{"resourceType":"Patient","id":"a","name":["x"]}', "Patient.name"),
    ],
)
def test_what_could_not_be_found_again_is_refused(tmp_path: Path, resource: bytes, word: str) -> None:
    with ChartWriter(tmp_path / "a.db") as writer, pytest.raises(ResourceFault, match=word):
        writer.put(resource)
    assert Chart(tmp_path / "a.db").counts == {}


def test_a_file_that_is_no_chart_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"hello" * 1000)
    with pytest.raises(UserError, match="not a chart"):
        Chart(tmp_path / "a.db")
    with pytest.raises(UserError, match="no chart at"):
        Chart(tmp_path / "b.db")


WRITE_AND_STOP = """
import os, signal, sys
from wardround_server.chart.writer import ChartWriter
with ChartWriter(sys.argv[1], extend=True) as writer:
    for number in range(20_000):
        writer.put({"resourceType": "Patient", "id": f"n{number}", "name": [{"family": "x" * 2000}]})
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_the_old_chart_and_its_remains_go_in_time(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, [patient("p1")])
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", WRITE_AND_STOP, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    (remains,) = tmp_path.glob(".a.db.*.partial")
    assert stat.S_IMODE(remains.stat().st_mode) == 0o600
    write(path, [patient("p1")])
    assert remains.exists()
    os.utime(remains, (0, 0))
    write(path, [patient("p1")])
    assert list(tmp_path.iterdir()) == [path]


def test_a_large_chart_is_compressed_and_gives_back_the_same_bytes(tmp_path: Path) -> None:
    def many() -> Iterator[Resource]:
        for number in range(12_000):
            yield lab(f"o{number}", number / 8) | {"note": [{"text": f"note {number} " + "words " * 350}]}

    path = tmp_path / "a.db"
    write(path, many())
    assert path.stat().st_size < 8_000_000
    with Chart(path) as chart:
        assert chart.meta["dictionary"]
        for resource in (lab("o7", 7 / 8), lab("o11999", 11_999 / 8)):
            stored = orjson.loads(chart.read("Observation", resource["id"]) or b"")
            assert {key: stored[key] for key in resource} == resource
        before = chart.checksum
    with ChartWriter(path, extend=True) as writer:
        assert writer.put(orjson.loads(chart_body(path, "o5"))) == "unchanged"
        writer.put(lab("o5", 99.0))
        writer.put(patient("late"))
    with Chart(path) as chart:
        assert chart.checksum != before
        assert chart.counts == {"Observation": 12_000, "Patient": 1}
        assert orjson.loads(chart.read("Observation", "o5") or b"")["valueQuantity"]["value"] == 99.0


def chart_body(path: Path, name: str) -> bytes:
    with Chart(path) as chart:
        return chart.read("Observation", name) or b""


def test_many_readers_see_the_chart_that_they_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, [patient("p1")])
    early = Chart(path)
    write(path, [patient("p2")])
    late = Chart(path)
    assert (early.read("Patient", "p2"), late.read("Patient", "p1")) == (None, None)
    with ThreadPoolExecutor(4) as threads:
        reads = list(threads.map(lambda _: late.read("Patient", "p2"), range(50)))
    assert len(set(reads)) == 1
    assert reads[0] is not None


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can't write a chart to"):
        write(tmp_path / "no" / "such" / "a.db", [patient("p1")])
