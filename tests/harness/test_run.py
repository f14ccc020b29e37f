"""Whole runs over the real server and the embedded chart, from plan to run folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.fakes import FINISH, FakeModel, calls, failing, says
from wardround_harness import ground
from wardround_harness.agents.base import Agent, KeyRefused, Settings, Tool, Transcript, Turn, Usage
from wardround_harness.plan import RunPlan
from wardround_harness.reading import read_run
from wardround_harness.run import Report, execute, make_jobs
from wardround_harness.runs import ATTEMPTS, SUPERSEDED, RunWriter, read_json, read_lines
from wardround_schemas.errors import UserError
from wardround_schemas.records import check_record
from wardround_tasks.loading import load_tasks

pytestmark = pytest.mark.anyio

ONE_OF_EACH = tuple(
    {task.category: task.id for task in reversed(load_tasks("bundled").tasks)}[f"task{number}"]
    for number in range(1, 11)
)


def plan(out: Path, model: str = "builtin/oracle", **more: Any) -> RunPlan:
    """A plan over one task of each category."""
    return RunPlan(model=model, out=out, **{"only": ONE_OF_EACH, "concurrency": 4, **more})


async def carried_out(plan: RunPlan) -> Report:
    """A plan carried out in this process."""
    return await execute(plan, signals=False)


class Playing:
    """Makes `run` play with an agent of the test's own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, agent: Agent) -> None:
        self._monkeypatch.setattr(ground, "open_agent", lambda *given, **named: agent)


@pytest.fixture
def playing(monkeypatch: pytest.MonkeyPatch) -> Playing:
    return Playing(monkeypatch)


class Model(FakeModel):
    """Asks a function of the transcript what to say."""

    def __init__(self, reply: Callable[[Transcript], Turn | Exception], **more: Any) -> None:
        super().__init__([], **more)
        self._reply = reply

    async def turn(self, transcript: Transcript, tools: tuple[Tool, ...], settings: Settings) -> Turn:
        self.seen.append(transcript)
        said = self._reply(transcript)
        if isinstance(said, Exception):
            raise said
        return said


def rate(summary: dict[str, Any], rules: str = "clinical") -> Any:
    """The overall rate."""
    return summary["scores"][rules]["overall"].get("rate")


# --- builtins ---------------------------------------------------------------------------------


@pytest.mark.parametrize("results", ["fhir", "compact"])
@pytest.mark.parametrize("profile", ["medagentbench", "r4"])
async def test_the_oracle_passes_every_category_in_every_form(
    tmp_path: Path, results: Any, profile: Any
) -> None:
    report = await carried_out(plan(tmp_path / "r", results=results, profile=profile))
    summary = report.summaries["native"]
    assert (rate(summary), rate(summary, "medagentbench"), summary["ledger"]) == (1.0, 1.0, {"completed": 10})
    assert report.exit_code == 0


@pytest.mark.slow
async def test_text_and_native_oracle_runs_give_the_same_verdicts_on_all_300(tmp_path: Path) -> None:
    report = await carried_out(plan(tmp_path / "r", protocol="both", only=(), concurrency=8))
    verdicts = {}
    for lane in ("native", "text"):
        assert report.summaries[lane]["ledger"] == {"completed": 300}
        assert rate(report.summaries[lane]) == rate(report.summaries[lane], "medagentbench") == 1.0
        lines = list(read_lines(tmp_path / "r" / lane / ATTEMPTS))
        assert max(line["rounds_by_call"] for line in lines) <= 8
        verdicts[lane] = [(line["task_id"], line["verdicts"]) for line in lines]
    assert verdicts["native"] == verdicts["text"]


@pytest.mark.slow
async def test_the_trivial_agents_stay_under_their_ceilings_and_are_the_baselines(tmp_path: Path) -> None:
    null = (await carried_out(plan(tmp_path / "n", "builtin/null", only=()))).summaries["native"]
    act = (await carried_out(plan(tmp_path / "a", "builtin/always-act", only=()))).summaries["native"]
    assert rate(null) <= 0.15
    assert rate(act) <= 0.25
    for summary in (null, act):
        for name, played in (("builtin/null", null), ("builtin/always-act", act)):
            for rules in ("medagentbench", "clinical"):
                assert summary["baselines"][name][rules] == played["scores"][rules]


@pytest.mark.slow
async def test_the_oracle_works_on_the_original_files(tmp_path: Path, medagentbench_dir: Path) -> None:
    spec = f"medagentbench:{medagentbench_dir / 'test_data_v2.json'}"
    report = await carried_out(plan(tmp_path / "r", tasks=spec, only=()))
    assert report.summaries["native"]["ledger"] == {"completed": 300}
    # The original's patients are not in our chart: what asks for no value of theirs is solved all the same.
    for category in ("task3", "task4", "task5", "task6", "task7", "task8", "task9", "task10"):
        assert report.summaries["native"]["scores"]["medagentbench"][category]["rate"] == 1.0


@pytest.mark.parametrize("protocol", ["native", "text"])
async def test_a_replay_gives_the_recorded_run_again(tmp_path: Path, protocol: Any) -> None:
    await carried_out(plan(tmp_path / "r", protocol=protocol))
    await carried_out(plan(tmp_path / "again", f"builtin/replay:{tmp_path / 'r'}", protocol=protocol))
    first, second = (
        [without_times(line) for line in read_lines(tmp_path / name / ATTEMPTS)] for name in ("r", "again")
    )
    assert first == second


async def test_a_replay_in_the_other_protocol_is_refused(tmp_path: Path) -> None:
    await carried_out(plan(tmp_path / "r", only=("task2",), limit=1))
    with pytest.raises(UserError, match="native protocol"):
        await carried_out(plan(tmp_path / "x", f"builtin/replay:{tmp_path / 'r'}", protocol="text"))
    assert not (tmp_path / "x").exists()


def without_times(line: dict[str, Any]) -> dict[str, Any]:
    """A line without what differs from one run to the next: seconds."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(item) for name, item in value.items() if name != "seconds"}
        return [strip(item) for item in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = strip(line)
    return stripped


# --- what is on disk ----------------------------------------------------------------------------


async def test_every_file_is_as_its_record_schema_says(tmp_path: Path) -> None:
    await carried_out(plan(tmp_path / "r", protocol="both"))
    for lane in ("native", "text"):
        folder = tmp_path / "r" / lane
        assert check_record("manifest", read_json(folder / "manifest.json")) == []
        assert check_record("summary", read_json(folder / "summary.json")) == []
        for line in read_lines(folder / ATTEMPTS):
            assert check_record("run_line", line) == []
        assert "<html" in (folder / "report.html").read_text()
        assert read_run(folder).summary["scores"] == read_json(folder / "summary.json")["scores"]
    assert check_record("compare", read_json(tmp_path / "r" / "compare.json")) == []


async def test_lines_stand_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    await carried_out(plan(tmp_path / "r", repeats=2, only=("task2", "task3"), limit=4, concurrency=8))
    lines = [(line["repeat"], line["task_id"]) for line in read_lines(tmp_path / "r" / ATTEMPTS)]
    ids = [task.id for task in load_tasks("bundled").tasks if task.category == "task2"][:4]
    assert lines == [(repeat, task_id) for repeat in (0, 1) for task_id in ids]


async def test_a_setting_that_turns_out_not_to_be_taken_is_noted_in_the_manifest(
    tmp_path: Path, playing: Playing
) -> None:
    notes: list[str] = []

    class Picky(Model):
        def setting_notes(self, settings: Settings) -> tuple[str, ...]:
            return tuple(notes)

    def reply(transcript: Transcript) -> Turn:
        notes.append("temperature: not taken; dropped")
        return FINISH

    playing(Picky(reply))
    await carried_out(plan(tmp_path / "r", only=("task2",), limit=2))
    manifest = read_json(tmp_path / "r" / "manifest.json")
    assert manifest["setting_notes"] == ["temperature: not taken; dropped"]
    await carried_out(plan(tmp_path / "r", only=("task2",), limit=2, resume=True))


async def test_repeats_give_pass_hat_k(tmp_path: Path) -> None:
    report = await carried_out(plan(tmp_path / "r", repeats=3, only=("task2",), limit=2))
    assert set(report.summaries["native"]["pass_hat_k"]["clinical"]) == {"1", "2", "3"}
    assert report.summaries["native"]["ledger"] == {"completed": 6}


async def test_the_order_of_both_protocols_is_drawn_by_the_seed() -> None:
    tasks = load_tasks("bundled").tasks[:20]
    one, same, other = (make_jobs(tasks, 1, ("native", "text"), seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert sorted((job.task.id, job.lane) for job in one) == sorted((job.task.id, job.lane) for job in other)
    assert [job.lane for job in one[:6]] != ["native", "text"] * 3


# --- what goes wrong ------------------------------------------------------------------------------


async def test_a_refused_key_ends_with_nothing_written(tmp_path: Path, playing: Playing) -> None:
    playing(Model(lambda transcript: KeyRefused("401 from the provider", status=401)))
    with pytest.raises(UserError, match="refused the key") as caught:
        await carried_out(plan(tmp_path / "r"))
    assert caught.value.exit_code == 2
    assert not (tmp_path / "r").exists()


async def test_a_key_refused_half_way_keeps_what_is_paid_for_and_scores_nothing(
    tmp_path: Path, playing: Playing
) -> None:
    def reply(transcript: Transcript) -> Turn | Exception:
        return KeyRefused("no") if transcript.task_id == ONE_OF_EACH[4] else FINISH

    playing(Model(reply))
    with pytest.raises(UserError, match="refused the key"):
        await carried_out(plan(tmp_path / "r", concurrency=1))
    assert len(list(read_lines(tmp_path / "r" / ATTEMPTS))) == 4
    assert not (tmp_path / "r" / "summary.json").exists()


async def test_a_provider_failure_is_owed_bounds_are_given_and_resume_makes_it_up(
    tmp_path: Path, playing: Playing
) -> None:
    bad = ONE_OF_EACH[1]

    def failing_once(transcript: Transcript) -> Turn | Exception:
        return failing("server", status=500, retryable=False) if transcript.task_id == bad else FINISH

    playing(Model(failing_once))
    report = await carried_out(plan(tmp_path / "r"))
    summary = report.summaries["native"]
    assert summary["ledger"] == {"completed": 9, "provider_error": 1}
    assert summary["scores"]["clinical"]["overall"]["rate_bounds"][1] >= 0.1
    assert "rate" not in summary["scores"]["clinical"]["overall"]
    assert report.exit_code == 3
    owed = [line for line in read_lines(tmp_path / "r" / ATTEMPTS) if line["verdicts"] is None]
    assert [(line["task_id"], line["error"]) for line in owed] == [(bad, "server: it failed")]

    again = Model(lambda transcript: FINISH)
    playing(again)
    report = await carried_out(plan(tmp_path / "r", resume=True))
    assert report.exit_code == 0
    assert {transcript.task_id for transcript in again.seen} == {bad}
    assert len(list(read_lines(tmp_path / "r" / ATTEMPTS))) == 10
    assert len(list(read_lines(tmp_path / "r" / SUPERSEDED))) == 1


async def test_a_fault_of_ours_is_owed_and_the_run_goes_on(tmp_path: Path, playing: Playing) -> None:
    def reply(transcript: Transcript) -> Turn | Exception:
        return ZeroDivisionError("ours") if transcript.task_id == ONE_OF_EACH[0] else FINISH

    playing(Model(reply))
    report = await carried_out(plan(tmp_path / "r"))
    assert report.summaries["native"]["ledger"] == {"completed": 9, "harness_error": 1}


async def test_the_cost_limit_stops_the_run_and_resume_counts_what_was_spent(
    tmp_path: Path, playing: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"as_of": "x", "models": {"fake/model": {"input": 0.0, "output": 1000.0}}}))
    settings = Settings(max_tokens=10)
    limited = plan(tmp_path / "r", prices=prices, max_cost=0.055, settings=settings, concurrency=1)
    one_turn = Turn(calls=FINISH.calls, usage=Usage(output_tokens=10))
    model = Model(lambda transcript: one_turn)
    playing(model)
    report = await carried_out(limited)
    assert len(model.seen) == 5
    assert report.outcome.stopped is not None
    assert report.exit_code == 3
    assert report.summaries["native"]["cost_usd"] == pytest.approx(0.05)
    assert report.summaries["native"]["ledger"] == {"completed": 5, "interrupted": 1, "not_run": 4}
    again = Model(lambda transcript: one_turn)
    playing(again)
    await carried_out(
        plan(tmp_path / "r", prices=prices, max_cost=0.055, settings=settings, concurrency=1, resume=True)
    )
    assert again.seen == []


async def test_a_disk_that_takes_no_more_stops_the_run_and_resume_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = RunWriter.append, 0

    def append(self: RunWriter, *lines: Any) -> None:
        nonlocal written
        written += len(lines)
        if written > 3:
            raise UserError("the disk is full", exit_code=3)
        real(self, *lines)

    monkeypatch.setattr(RunWriter, "append", append)
    with pytest.raises(UserError, match="disk is full") as caught:
        await carried_out(plan(tmp_path / "r", concurrency=1))
    assert caught.value.exit_code == 3
    assert len(list(read_lines(tmp_path / "r" / ATTEMPTS))) == 3
    monkeypatch.undo()
    assert (await carried_out(plan(tmp_path / "r", resume=True))).summaries["native"]["ledger"] == {
        "completed": 10
    }


async def test_a_cost_limit_without_a_price_is_refused(tmp_path: Path, playing: Playing) -> None:
    playing(Model(lambda transcript: FINISH))
    with pytest.raises(UserError, match="price of fake/model is not known"):
        await carried_out(plan(tmp_path / "r", max_cost=1.0))
    assert not (tmp_path / "r").exists()


async def test_records_of_a_chart_that_is_not_synthetic_stay_here_without_consent(
    tmp_path: Path, playing: Playing
) -> None:
    chart = tmp_path / "chart.ndjson"
    patient = {"resourceType": "Patient", "id": "S0000001", "birthDate": "1950-01-01"}
    chart.write_text(json.dumps(patient) + "\n")
    model = Model(lambda transcript: FINISH, destination="https://api.example.org/v1")
    playing(model)
    asked = plan(tmp_path / "r", fhir=str(chart), only=("task2",), limit=1)
    with pytest.raises(UserError, match="--allow-chart-to-provider"):
        await carried_out(asked)
    assert model.seen == []
    assert not (tmp_path / "r").exists()
    playing(model)
    agreed = plan(tmp_path / "r", fhir=str(chart), only=("task2",), limit=1, allow_chart_to_provider=True)
    assert (await carried_out(agreed)).exit_code == 0
    assert len(model.seen) == 1


async def test_no_key_reaches_a_run_folder_wherever_it_was_planted(
    tmp_path: Path, playing: Playing, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = {
        "OPENAI_API_KEY": "sk-planted-openai-0001",
        "ANTHROPIC_API_KEY": "sk-ant-planted-0002",
        "SOME_SECRET": "planted-secret-0003",
    }
    for name, value in planted.items():
        monkeypatch.setenv(name, value)
    token = tmp_path / "token"
    token.write_text("planted-token-0004")
    monkeypatch.setenv("WARDROUND_FHIR_TOKEN_FILE", str(token))
    values = [*planted.values(), "planted-token-0004", "planted-password-0005"]

    def reply(transcript: Transcript) -> Turn | Exception:
        if transcript.task_id == ONE_OF_EACH[0]:
            return (
                failing("bad_request", retryable=False) if len(transcript.turns()) else says(" ".join(values))
            )
        if transcript.task_id == ONE_OF_EACH[1]:
            return ValueError(f"could not use {values}")
        if not transcript.turns():
            return calls(("patient_search", {"name": values[0]}), ("lab_search", json.dumps(values)))
        return calls(("finish", {"answers": values}))

    model = Model(reply, destination=None)
    playing(model)
    base_url = "http://me:planted-password-0005@127.0.0.1:1/v1"
    spec = f"command:agent --key {values[0]}"
    await carried_out(plan(tmp_path / "r", spec, base_url=base_url))
    everything = b"".join(path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert b"[OPENAI_API_KEY]" in everything
    for value in values:
        assert value.encode() not in everything


# --- what models send ---------------------------------------------------------------------------


async def test_hostile_and_odd_calls_cost_a_round_and_end_in_a_scored_line(
    tmp_path: Path, playing: Playing
) -> None:
    odd: list[tuple[str, Any]] = [
        ("lab_search", "{not json"),
        ("lab_search", '["a", "list"]'),
        ("no_such_tool", {}),
        (
            "vital_create",
            {"resourceType": "Observation", "valueString": float("nan"), "x": 10**40, "y": "\ud800"},
        ),
        ("patient_search", {"name": "\x00" * 10, "_count": -5}),
        ("finish", {"answers": "not a list"}),
        ("", ""),
    ]

    def reply(transcript: Transcript) -> Turn | Exception:
        place = len(transcript.turns())
        return (
            calls(odd[place])
            if place < len(odd)
            else calls(("finish", {"answers": ["\u2028", {"a": [1e308]}]}))
        )

    playing(Model(reply))
    report = await carried_out(plan(tmp_path / "r", only=("task3",), limit=1))
    line = next(read_lines(tmp_path / "r" / ATTEMPTS))
    assert report.summaries["native"]["ledger"] == {"completed": 1}
    assert line["rounds_by_call"] == 8
    assert [call["ok"] for entry in line["rounds"] for call in entry["calls"]] == [False] * 7 + [True]
    assert check_record("run_line", line) == []
    orjson.loads((tmp_path / "r" / ATTEMPTS).read_bytes().splitlines()[0])


async def test_text_actions_off_the_chart_are_answered_and_never_fetched(
    tmp_path: Path, playing: Playing
) -> None:
    urls = [
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "http://127.0.0.1:1/fhir/Patient",
        "//x/y",
    ]

    def reply(transcript: Transcript) -> Turn | Exception:
        place = len(transcript.turns())
        return says(f"GET {urls[place]}" if place < len(urls) else "FINISH([])")

    playing(Model(reply))
    await carried_out(plan(tmp_path / "r", protocol="text", only=("task2",), limit=1))
    line = next(read_lines(tmp_path / "r" / ATTEMPTS))
    assert [call["ok"] for entry in line["rounds"] for call in entry["calls"]] == [False] * 4 + [True]
    assert line["attempt"]["status"] == "completed"


# --- what is refused before anything starts ------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "builtin/orakel"}, "did you mean builtin/oracle"),
        ({"model": "gpt"}, "unknown model"),
        ({"model": "builtin/replay:nowhere"}, "no run in nowhere"),
        ({"model": "command:no-such-program-here"}, "no program"),
        ({"only": ("task99",)}, "no such task"),
        ({"tasks": "absent.json"}, "can't read absent.json"),
        ({"fhir": "absent.db"}, "absent.db"),
        ({"system_prompt": Path("absent.md")}, "--system-prompt absent.md"),
        ({"mcp": "ftp://x"}, "is no URL"),
        ({"mcp": "http://127.0.0.1:1/mcp"}, "is it running"),
    ],
)
async def test_bad_input_is_named_and_leaves_nothing_behind(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        await carried_out(plan(tmp_path / "r", **change))
    assert not (tmp_path / "r").exists()
