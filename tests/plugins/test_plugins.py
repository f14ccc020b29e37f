"""One plugin of each kind, installed, through the real program; and what is told of a broken one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.harness.make_run import RunSpec, make_run
from tests.plugins.example.wardround_example.backend import open_masked
from wardround_schemas.errors import ChartError, UserError
from wardround_schemas.records import check_record
from wardround_server.backends.opening import find_plugged
from wardround_server.backends.plugged import BackendContext
from wardround_tasks.categories import find_category
from wardround_tasks.categories.plugged import plugin_category

EXAMPLE = Path(__file__).parent / "example"
TASKS = EXAMPLE / "tasks.json"
BIN = Path(sys.executable).parent


def install(project: Path, target: Path) -> Path:
    """A package built and unpacked into a folder, without any network."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    command += ["--no-deps", "--no-build-isolation", "--target", str(target), str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the example package is installed in."""
    work = tmp_path_factory.mktemp("plugins")
    # A copy, so that what a build leaves behind is not left in the repository.
    for file in [*EXAMPLE.rglob("*.py"), EXAMPLE / "pyproject.toml"]:
        copy = work / "project" / file.relative_to(EXAMPLE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return install(work / "project", work / "site")


def declare(target: Path, group: str, **plugins: str) -> None:
    """Entry points as an installed package has them, of a package that need not exist."""
    info = target / f"stub_{group.replace('.', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: stub-{group}\nVersion: 1.0\n")
    lines = [f"{name.replace('_', '-')} = {value}" for name, value in plugins.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))


def program(
    *words: str | Path, cwd: Path, plugins: Path | None, name: str = "wardround"
) -> tuple[int, str, str]:
    """Exit code, output and errors of one of our programs, with a folder of plugins or without."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [BIN / name, *words],
        cwd=cwd,
        env=env | ({} if plugins is None else {"PYTHONPATH": str(plugins)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def run_words(out: Path, *more: str) -> list[str]:
    return ["run", "--model", "example/x", "--tasks", str(TASKS), "-o", str(out), *more]


@pytest.fixture(scope="module")
def finished(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the plugin's agent on the plugin's category over the plugin's backend."""
    work = tmp_path_factory.mktemp("run")
    code, _, errors = program(
        *run_words(work / "run", "--fhir", "masked:embedded"), cwd=work, plugins=installed
    )
    assert code == 0, errors
    return work / "run"


@pytest.mark.slow
def test_a_plugins_agent_solves_a_plugins_tasks_over_a_plugins_chart(finished: Path) -> None:
    scores = json.loads((finished / "summary.json").read_text())["scores"]
    for rules in ("medagentbench", "clinical"):
        assert set(scores[rules]) == {"overall", "query", "easy", "heart-rate"}
        for score in scores[rules].values():
            assert (score["passed"], score["total"]) == (3, 3)
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["model"] == "example/x"
    assert manifest["chart"]["name"].startswith("masked ")
    assert manifest["chart"]["synthetic"] is True


@pytest.mark.slow
def test_the_trivial_agents_do_not_pass_the_plugins_tasks(finished: Path) -> None:
    baselines = json.loads((finished / "summary.json").read_text())["baselines"]
    assert {name: scores["clinical"]["heart-rate"]["passed"] for name, scores in baselines.items()} == {
        "builtin/null": 0,
        "builtin/always-act": 0,
    }


@pytest.mark.slow
def test_a_report_has_the_plugins_section_and_the_plugins_category(
    finished: Path, installed: Path, tmp_path: Path
) -> None:
    code, _, errors = program("report", finished, "-o", "report.html", cwd=tmp_path, plugins=installed)
    assert code == 0, errors
    page = (tmp_path / "report.html").read_text()
    assert "Slowest attempts" in page
    assert "Newest heart rate (query)" in page


@pytest.mark.slow
def test_a_report_names_the_category_whose_package_is_gone(finished: Path, tmp_path: Path) -> None:
    code, _, errors = program("report", finished, "-o", "report.html", cwd=tmp_path, plugins=None)
    assert code == 2, errors
    assert errors.count("\n") == 1
    assert "heart-rate" in errors


@pytest.mark.slow
def test_a_plugins_tasks_are_listed_and_checked(installed: Path, tmp_path: Path) -> None:
    code, output, _ = program("tasks", "list", "--tasks", TASKS, cwd=tmp_path, plugins=installed)
    assert code == 0
    assert "heart-rate_1" in output
    code, output, errors = program("tasks", "check", TASKS, cwd=tmp_path, plugins=installed)
    assert code == 0, errors
    assert "of 3 tasks of plugins' categories the reference solutions alone were tried" in output
    assert "3 of 3 tasks" in output


@pytest.mark.slow
def test_what_a_failing_grader_could_not_judge_is_owed_and_made_up_once_it_is_mended(
    installed: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    category = site / "wardround_example" / "category.py"
    line = "        latest = newest(reference.measurements)\n"
    assert line in category.read_text()
    category.write_text(category.read_text().replace(line, '        raise RuntimeError("nope")\n'))
    code, _, errors = program(*run_words(tmp_path / "run"), cwd=tmp_path, plugins=site)
    assert code == 2
    assert "the task category plugin heart-rate" in errors.splitlines()[-1]
    assert "RuntimeError: nope" in errors
    lines = [json.loads(text) for text in (tmp_path / "run" / "attempts.jsonl").read_text().splitlines()]
    assert [line["attempt"]["status"] for line in lines] == ["harness_error"] * 3
    code, _, errors = program(*run_words(tmp_path / "run", "--resume"), cwd=tmp_path, plugins=installed)
    assert code == 0, errors
    scores = json.loads((tmp_path / "run" / "summary.json").read_text())["scores"]
    assert scores["clinical"]["heart-rate"]["passed"] == 3


@pytest.mark.slow
def test_a_failing_section_is_one_line_and_no_report(tmp_path: Path) -> None:
    declare(tmp_path / "site", "wardround.report_sections", bad="builtins:len")
    runs = make_run(tmp_path / "made", RunSpec(per_category=1))
    code, _, errors = program("report", runs, "-o", "r.html", cwd=tmp_path, plugins=tmp_path / "site")
    assert code == 2
    assert errors.count("\n") == 1
    assert "the report section plugin bad (builtins:len) gave no Section but int" in errors
    assert not (tmp_path / "r.html").exists()


@pytest.mark.slow
def test_without_the_package_each_plugin_is_refused_in_one_line(tmp_path: Path) -> None:
    for words, said in (
        (run_words(tmp_path / "a"), "category is 'heart-rate', not one of task1 to task10"),
        (["run", "--model", "example/x", "-o", str(tmp_path / "b")], "unknown model 'example/x'"),
        (
            ["run", "--model", "builtin/null", "--fhir", "masked:embedded", "-o", str(tmp_path / "c")],
            "--fhir masked:embedded: there is no such file or folder",
        ),
    ):
        code, _, errors = program(*words, cwd=tmp_path, plugins=None)
        assert code == 2
        assert said in errors
        assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_server_opens_a_plugins_chart(installed: Path, tmp_path: Path) -> None:
    code, output, errors = program(
        "doctor", "--fhir", "masked:embedded", cwd=tmp_path, plugins=installed, name="wardround-mcp"
    )
    assert code == 0, output + errors
    assert "masked" in output


BROKEN = {
    "agent": ("wardround.agents", {"bad": "nowhere_at_all:x"}, ["--model", "bad/x"]),
    "backend": (
        "wardround.backends",
        {"bad": "nowhere_at_all:x"},
        ["--model", "builtin/null", "--fhir", "bad:x"],
    ),
    "category": (
        "wardround.categories",
        {"heart_rate": "nowhere_at_all:x"},
        ["--model", "builtin/null", "--tasks", str(TASKS)],
    ),
    "no agent": ("wardround.agents", {"bad": "builtins:str"}, ["--model", "bad/x"]),
    "no backend": (
        "wardround.backends",
        {"bad": "anyio:sleep_forever_and_a_day"},
        ["--model", "builtin/null", "--fhir", "bad:x"],
    ),
    "no category": (
        "wardround.categories",
        {"heart_rate": "builtins:dict"},
        ["--model", "builtin/null", "--tasks", str(TASKS)],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_one_line_that_names_it_and_leaves_nothing(kind: str, tmp_path: Path) -> None:
    group, plugins, words = BROKEN[kind]
    declare(tmp_path / "site", group, **plugins)
    code, _, errors = program("run", *words, "-o", "run", cwd=tmp_path, plugins=tmp_path / "site")
    assert code == 2, errors
    assert errors.count("\n") == 1, errors
    (name,) = plugins
    assert f"plugin {name.replace('_', '-')} ({plugins[name]})" in errors
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_broken_plugins_that_nobody_asks_for_are_not_imported(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "loud.py").write_text("raise SystemExit('imported')\n")
    for group in ("wardround.agents", "wardround.backends", "wardround.categories"):
        declare(site, group, loud="loud:x")
    code, _, errors = program(
        "run", "--model", "builtin/null", "--only", "task1_1", "-o", "run", cwd=tmp_path, plugins=site
    )
    assert code == 0, errors
    for name in ("wardround", "wardround-mcp"):
        code, _, errors = program("--help", cwd=tmp_path, plugins=site, name=name)
        assert (code, errors) == (0, "")


@pytest.mark.slow
def test_one_name_in_two_packages_is_refused(installed: Path, tmp_path: Path) -> None:
    declare(tmp_path / "site", "wardround.agents", example="elsewhere:open_agent")
    both = Path(f"{tmp_path / 'site'}{os.pathsep}{installed}")
    code, _, errors = program(*run_words(tmp_path / "run"), cwd=tmp_path, plugins=both)
    assert code == 2
    assert "the agent plugin example comes from 2 packages" in errors
    assert "elsewhere:open_agent" in errors


@pytest.mark.anyio
async def test_the_masked_chart_shows_people_without_where_they_live() -> None:
    chart = await open_masked(BackendContext("masked:embedded", "embedded"))
    try:
        page = await chart.search("Patient", [("_count", "60")])
        assert page.next is not None
        found = page.resources() + (await chart.next_page(page.next)).resources()
        assert len(found) == 100
        assert all("name" in each and not {"address", "telecom"} & set(each) for each in found)
        body = await chart.read("Patient", found[0]["id"])
        assert body is not None
        assert "address" not in json.loads(body)
        with pytest.raises(ChartError, match="hidden"):
            await chart.search("Patient", [("address-city", "Alder Falls")])
    finally:
        await chart.aclose()


@pytest.mark.parametrize("spec", ["C:charts", "http:x", "embedded", "Acme:x", "other:x"])
def test_a_spec_of_another_kind_is_no_plugins(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [
        metadata.EntryPoint(name, "x:y", "wardround.backends") for name in ("C", "c", "acme", "embedded")
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: known)
    assert find_plugged(spec) is None


def test_a_file_of_that_name_is_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = metadata.EntryPoint("acme", "x:y", "wardround.backends")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [plugin])
    monkeypatch.chdir(tmp_path)
    assert find_plugged("acme:chart") == (plugin, "chart")
    (tmp_path / "acme:chart").touch()
    assert find_plugged("acme:chart") is None


@pytest.mark.parametrize("name", ["overall", "task11", "Heart", "a", "x_y"])
def test_a_category_may_not_be_called_like_something_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = metadata.EntryPoint(name, "x:y", "wardround.categories")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [plugin])
    plugin_category.cache_clear()
    with pytest.raises(UserError, match="name that no category can have"):
        find_category(name)


def test_records_take_a_plugins_category_only_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    task = json.loads(TASKS.read_text())[0]
    score = {"passed": 1, "total": 1, "rate": 1.0, "ci95": [0.2, 1.0]}
    scores = {"overall": score, "heart-rate": score}
    usage = dict.fromkeys(("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"), 0)
    summary = {
        "scores": {"medagentbench": scores, "clinical": scores},
        "pass_hat_k": {},
        "baselines": {},
        "ledger": {"completed": 1},
        "usage": usage,
        "cost_usd": None,
    }
    assert [line.split(":")[0] for line in check_record("task", task)] == ["$.category"]
    assert len(check_record("summary", summary)) == 2
    plugin = metadata.EntryPoint("heart-rate", "x:y", "wardround.categories")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [plugin])
    assert check_record("task", task) == []
    assert check_record("summary", summary) == []
    assert check_record("task", task | {"category": "heart"}) != []
