"""The viewer's API: it shows what lies on disk, gives out nothing else, and stays quick."""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.harness.make_run import RunSpec, make_run
from tests.harness.test_viewer_writes import json_values
from tests.harness.viewer_server import running_viewer
from wardround_harness.viewer.api import build_viewer_app, load_static
from wardround_harness.viewer.index import RunIndex
from wardround_harness.viewer.serve import listen
from wardround_schemas.errors import UserError

OLD = Path(__file__).parent / "data" / "run_v1"
LOCAL = "http://127.0.0.1"


def client_of(folder: Path) -> TestClient:
    return TestClient(build_viewer_app(folder), base_url=LOCAL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "native", RunSpec(per_category=3))
    make_run(root / "deep" / "text", RunSpec(per_category=3, protocol="text", seed=2, rate=0.4))
    make_run(root / "other", RunSpec(per_category=3, chart="sha256:other", repeats=2))
    make_run(root / "owing", RunSpec(per_category=3, owed=4))
    return root


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[int]:
    """The port of a real server: unlike a test client it takes a path as it is written."""
    with running_viewer(folder) as port:
        yield port


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with client_of(folder) as client:
        yield client


def test_every_run_below_the_folder_is_listed_with_both_scores(client: TestClient) -> None:
    runs = {run["id"]: run for run in client.get("/api/runs").json()}
    assert set(runs) == {"native", "deep~text", "other", "owing"}
    assert runs["deep~text"]["name"] == "deep/text"
    for run in runs.values():
        assert run["error"] is None
        assert set(run["scores"]) == {"medagentbench", "clinical"}
    assert runs["owing"]["owed"] == 4
    assert runs["owing"]["scores"]["clinical"]["rate"] is None
    assert runs["owing"]["scores"]["clinical"]["rate_bounds"][0] < 1
    assert runs["other"]["repeats"] == 2


def test_a_run_has_its_attempts_in_order_with_their_failures(client: TestClient, folder: Path) -> None:
    detail = client.get("/api/runs/native").json()
    lines = [json.loads(line) for line in (folder / "native" / "attempts.jsonl").read_text().splitlines()]
    assert [row["task_id"] for row in detail["attempts"]] == [line["task_id"] for line in lines]
    for row, line in zip(detail["attempts"], lines, strict=True):
        assert row["clinical"] is line["verdicts"]["clinical"]["passed"]
        assert set(row["codes"]) == {
            failure["code"] for rules in line["verdicts"].values() for failure in rules["failures"]
        }
    assert detail["manifest"]["model"] == "openai/example-large"


def test_an_attempt_shows_rounds_calls_and_neighbours(client: TestClient) -> None:
    detail = client.get("/api/runs/native/attempts/task3_2/0").json()
    assert [call["function"] for turn in detail["rounds"] for call in turn["calls"]] == [
        "lab.search",
        "vital.create",
        "finish",
    ]
    assert detail["previous"] == ["task3_1", 0]
    assert detail["next"] == ["task3_3", 0]
    assert detail["rounds"][1]["calls"][0]["write"] == 0
    assert detail["writes"][0]["resource_type"] == "Observation"


def test_a_failed_write_is_marked_where_it_differs(client: TestClient) -> None:
    rows = client.get("/api/runs/deep~text").json()["attempts"]
    row = next(row for row in rows if row["codes"] == ["wrong_dose"])
    detail = client.get(f"/api/runs/deep~text/attempts/{row['task_id']}/0").json()
    marked = [line for line in detail["writes"][0]["lines"] if line["mark"]]
    assert [(line["text"], line["expected"]) for line in marked] == [('"value": 4,', '"value": 2')]
    assert marked[0]["rules"] == ["medagentbench", "clinical"]


def test_a_long_result_comes_folded_and_then_in_parts(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunSpec(per_category=1))
    lines = [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]
    text = "".join(f"row {number} é\n" for number in range(90_000))
    lines[0]["rounds"][0]["calls"][0].update(result=text, result_bytes=len(text.encode()))
    (folder / "attempts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with client_of(folder) as client:
        run = client.get("/api/runs").json()[0]["id"]
        answer = client.get(f"/api/runs/{run}/attempts/task1_1/0")
        assert len(answer.content) < 20_000
        call = answer.json()["rounds"][0]["calls"][0]
        assert call["result_bytes"] > 1_000_000
        assert text.startswith(call["preview"])
        parts: list[str] = []
        offset: int | None = 0
        while offset is not None:
            path = f"/api/runs/{run}/attempts/task1_1/0/rounds/0/calls/0/result?offset={offset}"
            part = client.get(path).json()
            parts.append(part["text"])
            offset = part["next"]
        assert "".join(parts) == text
        assert len(parts) > 10


def test_listing_runs_reads_no_attempt_of_a_run_that_is_summed_up(tmp_path: Path) -> None:
    """What keeps a list of many runs quick: `benchmarks/viewer.py` measures it."""
    folder = make_run(tmp_path / "run", RunSpec(per_category=1, invalid=0))
    attempts = folder / "attempts.jsonl"
    attempts.write_text("no line of a run\n")
    os.utime(attempts, ns=(0, 0))
    with client_of(tmp_path) as client:
        assert client.get("/api/runs").json()[0]["ledger"] == {"completed": 10}
        assert client.get("/api/runs/run").status_code == 404


def test_a_run_that_goes_on_is_shown_as_it_is_now(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunSpec(per_category=1))
    lines = (folder / "attempts.jsonl").read_text().splitlines(keepends=True)
    (folder / "summary.json").unlink()
    (folder / "attempts.jsonl").write_text("".join(lines[:4]))
    with client_of(tmp_path) as client:
        assert client.get("/api/runs").json()[0]["ledger"]["not_run"] == 6
        assert len(client.get("/api/runs/run").json()["attempts"]) == 4
        (folder / "attempts.jsonl").write_text("".join(lines[:7]) + lines[7][:30])
        assert client.get("/api/runs").json()[0]["ledger"]["not_run"] == 3
        detail = client.get("/api/runs/run").json()
        assert len(detail["attempts"]) == 7
        assert detail["torn"] is True


def test_a_folder_that_can_not_be_read_is_listed_with_its_reason(tmp_path: Path) -> None:
    make_run(tmp_path / "good", RunSpec(per_category=1))
    make_run(tmp_path / "future", RunSpec(per_category=1, manifest={"format_version": 99}))
    broken = make_run(tmp_path / "broken", RunSpec(per_category=1))
    (broken / "manifest.json").write_text("{")
    odd = make_run(tmp_path / "odd", RunSpec(per_category=1))
    (odd / "summary.json").write_text('{"scores": 7}')
    with client_of(tmp_path) as client:
        runs = {run["id"]: run for run in client.get("/api/runs").json()}
        assert runs["good"]["error"] is None
        assert "format 99" in runs["future"]["error"]
        assert "manifest.json" in runs["broken"]["error"]
        assert runs["odd"]["error"]
        assert client.get("/api/runs/future").status_code == 404


def test_a_run_folder_of_format_1_is_shown(tmp_path: Path) -> None:
    with client_of(OLD) as client:
        run = client.get("/api/runs").json()[0]
        assert (run["name"], run["error"], run["repeats"]) == ("run_v1", None, 2)
        detail = client.get("/api/runs/run_v1/attempts/task5_1/1").json()
        assert detail["row"]["repeat"] == 1
        call = detail["rounds"][0]["calls"][0]
        assert call["result_chars"] is None
        assert call["result_bytes"] > 0
        gone = client.get("/api/runs/run_v1/attempts/task5_1/1/rounds/0/calls/0/result")
        assert gone.status_code == 404
        assert "size of this result" in gone.json()["detail"]


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("task5_2", "task id"),
        ("wrong_dose", "failure, "),
        ("I LOOK THE RECORD", "round 1"),
        ('"code":"MG"', "round 1, call"),
        ("onerror=window", "round 1, result"),
        ("acute knee injury", "round 2, call"),
    ],
)
def test_search_finds_a_text_wherever_it_stands(client: TestClient, query: str, where: str) -> None:
    found = client.get("/api/search", params={"q": query}).json()
    assert found["hits"]
    for hit in found["hits"]:
        assert hit["where"].startswith(where)
        assert hit["match"].lower() == query.lower()


def test_search_can_be_held_to_one_run_and_says_when_it_stops(client: TestClient, tmp_path: Path) -> None:
    one = client.get("/api/search", params={"q": "task5_2", "run": "native"}).json()
    assert [hit["run_id"] for hit in one["hits"]] == ["native"]
    assert client.get("/api/search", params={"q": "x"}).json()["hits"] == []
    make_run(tmp_path / "big", RunSpec())
    with client_of(tmp_path) as big:
        found = big.get("/api/search", params={"q": "task"}).json()
        assert (len(found["hits"]), found["more"]) == (200, True)


def test_two_runs_side_by_side_have_statistics_or_the_reason_why_not(client: TestClient) -> None:
    same = client.get("/api/compare", params={"a": "native", "b": "deep~text"}).json()
    assert same["reasons"] == []
    assert same["statistics"]["tasks"] == 30
    assert len(same["tasks"]) == 30
    assert sum(task["flipped"] for task in same["tasks"]) > 0
    other = client.get("/api/compare", params={"a": "native", "b": "other"}).json()
    assert other["reasons"] == ["their charts differ"]
    assert other["statistics"] is None
    told = client.get("/api/compare", params={"a": "native", "b": "other", "allow_different": "true"}).json()
    assert told["statistics"]["differences"] == ["their charts differ"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/..",
        "/api/runs/%2e%2e",
        "/api/runs/..%2f..%2fetc",
        "/api/runs/..~..",
        "/api/runs/native/attempts/..%2f..%2fmanifest.json/0",
        "/api/runs/native/attempts/task1_1/99",
        "/api/runs/native/attempts/task1_1/0/rounds/99/calls/0/result",
        "/static/../api.py",
        "/static/..%2fapi.py",
        "/static/%2e%2e/models.py",
        "/static/api.py",
        "/static/.hidden",
        "/etc/passwd",
        "/native/manifest.json",
        "/docs",
        "/redoc",
    ],
)
def test_no_address_leads_to_a_file(served: int, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    assert answer.status in (404, 422)
    assert "root:" not in body
    assert "format_version" not in body


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30), st.integers(-5, 10**20))
def test_any_run_and_task_name_gets_an_answer_and_no_fault(run: str, task: str, repeat: int) -> None:
    from urllib.parse import quote

    client = client_of(OLD)
    for path in (
        f"/api/runs/{quote(run, safe='')}",
        f"/api/runs/run_v1/attempts/{quote(task, safe='')}/{repeat}",
    ):
        assert client.get(path).status_code in (200, 307, 404, 422)


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    for path in ("/", "/api/runs", "/static/app.js", "/api/runs/none", "/openapi.json"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.7", ""])
def test_another_name_for_this_machine_is_refused(client: TestClient, host: str) -> None:
    """A page elsewhere that points its own name at loopback reads nothing."""
    assert client.get("/api/runs", headers={"host": host}).status_code == 400


def test_nothing_can_be_written(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {method for item in paths.values() for method in item} == {"get"}
    for path in ("/api/runs", "/api/runs/native"):
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert client.request(method, path).status_code == 405


def test_the_front_end_is_built_and_loads_only_itself() -> None:
    static = load_static()
    assert {"index.html", "app.js", "app.css"} <= set(static)
    page = static["index.html"][0].decode()
    assert "//" not in page.replace("<!doctype", "")
    assert 'src="/static/app.js"' in page


def test_symbolic_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    make_run(tmp_path / "elsewhere" / "run", RunSpec(per_category=1))
    inside = tmp_path / "inside"
    make_run(inside / "own", RunSpec(per_category=1))
    (inside / "out").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert [run.id for run in RunIndex(inside).runs()] == ["own"]


def test_runs_whose_names_would_share_an_id_get_two(tmp_path: Path) -> None:
    make_run(tmp_path / "a" / "b", RunSpec(per_category=1))
    make_run(tmp_path / "a~b", RunSpec(per_category=1))
    assert [run.id for run in RunIndex(tmp_path).runs()] == ["a~b", "a~b~2"]


def test_a_taken_port_is_one_line() -> None:
    with listen(0) as sock, pytest.raises(UserError, match="choose another with --port"):
        listen(sock.getsockname()[1])


def test_a_run_that_can_not_be_read_is_skipped_by_search_and_named(tmp_path: Path) -> None:
    make_run(tmp_path / "good", RunSpec(per_category=1))
    bad = make_run(tmp_path / "bad", RunSpec(per_category=1))
    (bad / "attempts.jsonl").write_text('{"task_id": 7}\n')
    with client_of(tmp_path) as client:
        found = client.get("/api/search", params={"q": "task1_1"}).json()
        assert [hit["run_id"] for hit in found["hits"]] == ["good"]
        assert found["skipped"] == ["bad"]


def test_a_run_that_has_only_begun_is_shown_empty(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", RunSpec(per_category=1))
    for name in ("attempts.jsonl", "summary.json"):
        (folder / name).unlink()
    with client_of(tmp_path) as client:
        assert client.get("/api/runs").json()[0]["ledger"] == {"not_run": 10}
        assert client.get("/api/runs/run").json()["attempts"] == []


def test_folders_of_odd_names_open(tmp_path: Path) -> None:
    names = ["run #1 100%", "a&b=c?d", "é~ü", "run..", "<b>"]
    for name in names:
        make_run(tmp_path / name, RunSpec(per_category=1))
    make_run(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")), RunSpec(per_category=1))
    from urllib.parse import quote

    with client_of(tmp_path) as client:
        runs = client.get("/api/runs").json()
        assert len(runs) == 6
        for run in runs:
            assert client.get(f"/api/runs/{quote(run['id'], safe='')}").json()["run"]["name"] == run["name"]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_line_damaged_anywhere_is_shown_or_refused_and_never_a_fault(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any one value of a run line replaced by any other JSON value."""
    line = json.loads((OLD / "attempts.jsonl").read_text().splitlines()[8])
    target: Any = line
    for _ in range(data.draw(st.integers(0, 6))):
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(target[key], dict | list):
            break
        target = target[key]
    keys = list(target) if isinstance(target, dict) else list(range(len(target)))
    if keys:
        target[data.draw(st.sampled_from(keys))] = data.draw(json_values)
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "manifest.json").write_bytes((OLD / "manifest.json").read_bytes())
    (folder / "attempts.jsonl").write_text(json.dumps(line) + "\n")
    client = client_of(folder)
    for path in (
        "/api/runs",
        f"/api/runs/{folder.name}",
        f"/api/runs/{folder.name}/attempts/task5_1/0",
        f"/api/runs/{folder.name}/attempts/task5_1/0/rounds/0/calls/0/result",
        f"/api/compare?a={folder.name}&b={folder.name}",
        "/api/search?q=resource",
    ):
        answer = client.get(path)
        assert answer.status_code in (200, 404, 422)
        assert answer.status_code == 200 or answer.json()["detail"]


def test_the_front_ends_types_are_made_from_these_models() -> None:
    """`python -m wardround_harness.viewer.schema` writes the file from which the types are generated."""
    from wardround_harness.viewer.schema import api_schema

    held = ROOT / "harness" / "viewer_ui" / "src" / "api.schema.json"
    assert json.loads(held.read_bytes()) == api_schema()


def test_a_run_that_is_rewritten_while_it_is_read_is_never_a_fault(tmp_path: Path) -> None:
    """What a resume does to a folder: lines come, the file is put in order, a last line is torn."""
    folder = make_run(tmp_path / "live", RunSpec(per_category=2))
    (folder / "summary.json").unlink()
    lines = (folder / "attempts.jsonl").read_text().splitlines(keepends=True)
    rng = random.Random(8)
    done = threading.Event()

    def rewrite() -> None:
        for _ in range(150):
            part = folder / "attempts.part"
            part.write_text("".join(rng.sample(lines, rng.randrange(21))) + lines[0][: rng.randrange(40)])
            part.replace(folder / "attempts.jsonl")
        done.set()

    statuses: list[int] = []
    with running_viewer(tmp_path) as port:
        writer = threading.Thread(target=rewrite)
        writer.start()
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while not done.is_set() or len(statuses) < 30:
            for path in (
                "/api/runs",
                "/api/runs/live",
                "/api/runs/live/attempts/task5_1/0",
                "/api/search?q=task5",
            ):
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                statuses.append(answer.status)
        connection.close()
        writer.join()
    assert set(statuses) <= {200, 404}
