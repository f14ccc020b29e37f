"""Loading FHIR files: every container, faults named by file and line, references resolved."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from wardround_schemas.errors import UserError
from wardround_server.backends import open_backend
from wardround_server.chart.load import load_paths
from wardround_server.chart.store import Chart

PATIENT = {"resourceType": "Patient", "id": "p1", "birthDate": "1950-01-02"}


def lab(name: str, subject: str = "Patient/p1") -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": name,
        "status": "final",
        "code": {"coding": [{"code": "GLU"}]},
        "subject": {"reference": subject},
    }


def ndjson(*resources: dict[str, Any]) -> bytes:
    return b"".join(orjson.dumps(resource) + b"\n" for resource in resources)


def bundle(kind: str, *entries: dict[str, Any]) -> bytes:
    return orjson.dumps({"resourceType": "Bundle", "type": kind, "entry": list(entries)})


def test_every_container_gives_the_same_chart(tmp_path: Path) -> None:
    resources = [PATIENT, lab("o1"), lab("o2")]
    entries = [{"resource": resource} for resource in resources]
    files = {
        "a.ndjson": ndjson(*resources),
        "b.ndjson.gz": gzip.compress(ndjson(*resources)),
        "c.json": bundle("collection", *entries),
        "d.json": bundle("searchset", *entries),
        "e.json": orjson.dumps(orjson.loads(bundle("transaction", *entries)), option=orjson.OPT_INDENT_2),
        "f.json": b"\xef\xbb\xbf" + orjson.dumps(resources),
        "g.json": b"\n\n" + ndjson(*resources).replace(b"\n", b"\r\n\r\n"),
        "h.json.gz": gzip.compress(bundle("batch", *entries)),
        "i.ndjson": bundle("collection", *entries[:1]) + b"\n" + ndjson(*resources[1:]),
    }
    sums = set()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        report = load_paths([tmp_path / name], tmp_path / f"{name}.db")
        assert (report.added, report.faulty) == (3, 0), name
        sums.add(Chart(tmp_path / f"{name}.db").checksum)
    assert len(sums) == 1


def test_bad_lines_are_named_and_good_ones_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_bytes(
        ndjson(PATIENT)
        + b"\n{oops}\n[1]\n"
        + b'{"resourceType":"Patient"}\n'
        + b'{"resourceType":"Patient","id":"p2","birthDate":"1950-13-01"}\n'
        + b'{"resourceType":"Patient","id":"p\xff"}\n'
        + ndjson(lab("o1"))
    )
    report = load_paths([path], tmp_path / "x.db")
    assert (report.added, report.faulty) == (2, 5)
    assert [fault.place for fault in report.faults] == [
        "line 3",
        "line 4, item 0",
        "line 5",
        "line 6",
        "line 7",
    ]
    assert all(fault.file == str(path) for fault in report.faults)
    assert "birthDate" in report.faults[3].message


def test_a_torn_gzip_file_gives_what_came_before_the_tear(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson.gz"
    content = gzip.compress(b"".join(ndjson(lab(f"o{number}")) for number in range(3000)))
    path.write_bytes(content[: len(content) // 2])
    report = load_paths([path], tmp_path / "x.db")
    assert 0 < report.added < 3000
    assert report.faulty == 1
    assert "can't be read further" in report.faults[0].message


def test_a_pretty_printed_file_that_is_not_json_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{\n "resourceType": "Patient",\n "id": oops\n}')
    (tmp_path / "b.json").write_bytes(orjson.dumps(PATIENT))
    report = load_paths([tmp_path], tmp_path / "x.db")
    assert report.faults[0].place == "line 3"
    assert report.added == 1


def test_references_by_uuid_and_full_url_become_relative(tmp_path: Path) -> None:
    uuid = "urn:uuid:0d8aeb56-6a7c-4f4c-9d5b-1c1f1f4e9b0a"
    base = "https://ehr.example/fhir/Patient/p9"
    content = bundle(
        "transaction",
        {"fullUrl": uuid, "resource": {"resourceType": "Patient", "name": [{"family": "Ash"}]}},
        {"fullUrl": base, "resource": {"resourceType": "Patient", "id": "p9"}},
        {"resource": lab("o1", uuid)},
        {"resource": lab("o2", base)},
        {"resource": lab("o3", "https://elsewhere.example/fhir/Patient/p9")},
    )
    (tmp_path / "x.json").write_bytes(content)
    load_paths([tmp_path / "x.json"], tmp_path / "x.db")
    chart = Chart(tmp_path / "x.db")
    assert chart.read("Patient", uuid[9:]) is not None
    subjects = [
        orjson.loads(chart.read("Observation", name) or b"")["subject"]["reference"]
        for name in ("o1", "o2", "o3")
    ]
    assert subjects == [f"Patient/{uuid[9:]}", "Patient/p9", "https://elsewhere.example/fhir/Patient/p9"]


def test_an_entry_without_any_name_gets_the_same_id_every_time(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(
        bundle("transaction", {"resource": {"resourceType": "Patient", "gender": "male"}})
    )
    for expected in ((1, 0), (0, 1)):
        report = load_paths([tmp_path / "x.json"], tmp_path / "x.db")
        assert (report.added, report.unchanged) == expected
    assert Chart(tmp_path / "x.db").counts == {"Patient": 1}


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(
        b'{"resourceType":"Bundle","type":"collection","entry":[{"resource":{"resourceType":"Observation",'
        b'"id":"o1", "valueQuantity":{"value":1.500}}}]}'
    )
    load_paths([tmp_path / "x.json"], tmp_path / "x.db")
    assert b'"value":1.500}' in (Chart(tmp_path / "x.db").read("Observation", "o1") or b"")


def test_numbers_beyond_64_bits_are_kept_and_what_is_no_number_is_not(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_bytes(
        b'{"resourceType":"Patient","id":"p1", "extension":[{"v":123456789012345678901}]}\n'
        b'{"resourceType":"Patient","id":"p2", "multipleBirthInteger":NaN}\n'
        b'{"resourceType":"Patient","id":"p3", "multipleBirthInteger":1e400}\n'
    )
    report = load_paths([tmp_path / "x.ndjson"], tmp_path / "x.db")
    assert (report.added, report.faulty) == (1, 2)
    kept = Chart(tmp_path / "x.db").read("Patient", "p1") or b""
    assert kept.endswith(b'"extension":[{"v":123456789012345678901}]}')


def test_other_types_are_kept_for_reads_and_counted(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_bytes(ndjson(PATIENT, {"resourceType": "Encounter", "id": "e1"}))
    report = load_paths([tmp_path / "x.ndjson"], tmp_path / "x.db")
    assert report.read_only_types == {"Encounter": 1}
    assert Chart(tmp_path / "x.db").read("Encounter", "e1") == b'{"resourceType":"Encounter","id":"e1"}'


def test_loading_again_replaces_and_never_doubles(tmp_path: Path) -> None:
    source, out = tmp_path / "x.ndjson", tmp_path / "x.db"
    source.write_bytes(ndjson(PATIENT, lab("o1")))
    load_paths([source], out)
    source.write_bytes(ndjson(PATIENT, lab("o1", "Patient/p2"), lab("o2")))
    report = load_paths([source], out)
    assert (report.added, report.replaced, report.unchanged) == (1, 1, 1)
    assert Chart(out).counts == {"Observation": 2, "Patient": 1}


def test_nothing_readable_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"hello")
    with pytest.raises(UserError, match=r"no FHIR resource could be read: .*x\.json, line 1"):
        load_paths([tmp_path / "x.json"], tmp_path / "x.db")
    with pytest.raises(UserError, match="no file or folder"):
        load_paths([tmp_path / "y.json"], tmp_path / "x.db")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no FHIR files"):
        load_paths([tmp_path / "empty"], tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


@pytest.mark.anyio
async def test_a_folder_opens_as_a_chart_and_is_loaded_once_per_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARDROUND_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.ndjson").write_bytes(ndjson(PATIENT, lab("o1")))
    for _ in range(2):
        backend = await open_backend(str(folder))
        assert (await backend.search("Observation", [("patient", "p1")])).total == 1
        assert backend.synthetic is False
        await backend.aclose()
    assert len(list((tmp_path / "cache" / "charts").iterdir())) == 1
    (folder / "b.ndjson").write_bytes(ndjson(lab("o2")))
    backend = await open_backend(str(folder))
    assert (await backend.search("Observation", [("patient", "p1")])).total == 2
    await backend.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("spec", ["nowhere.db", "ftp://host/fhir", ""])
async def test_a_spec_that_names_nothing_is_refused_in_one_line(spec: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        await open_backend(
            str(tmp_path / "x" / spec) if spec == "nowhere.db" else spec or str(tmp_path / "x")
        )
