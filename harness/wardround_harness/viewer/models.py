"""What the viewer's API answers. The front end's types are generated from these models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Rules = Literal["medagentbench", "clinical"]


class Model(BaseModel):
    """A model whose every field is in its JSON Schema's required list, as answers always carry them."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class Score(Model):
    """A group's score: a rate with its interval, or bounds while attempts are owed."""

    passed: int
    total: int
    rate: float | None = None
    ci95: tuple[float, float] | None = None
    rate_bounds: tuple[float, float] | None = None


class RunRow(Model):
    """A run in the list. `error` says why a folder that looks like a run can't be opened."""

    id: str
    name: str
    model: str
    protocol: str
    created_at: str
    tasks: int
    repeats: int
    task_set: str
    scores: dict[Rules, Score]
    ledger: dict[str, int]
    owed: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    marks: list[str]
    error: str | None = None


class AttemptRow(Model):
    """An attempt in a run's list. Verdicts are null where the attempt is owed."""

    task_id: str
    repeat: int
    category: str
    kind: str
    difficulty: str
    status: str
    owed: bool
    medagentbench: bool | None
    clinical: bool | None
    codes: list[str]
    notes: list[str]
    rounds_by_call: int
    rounds_by_turn: int
    tokens: int
    cost_usd: float | None
    seconds: float


class RunDetail(Model):
    """One run with its manifest, scores by group and attempts."""

    run: RunRow
    manifest: dict[str, Any]
    manifest_sha256: str
    scores: dict[Rules, dict[str, Score]]
    pass_hat_k: dict[str, Any]
    baselines: dict[str, Any]
    severity: dict[str, Any]
    torn: bool
    attempts: list[AttemptRow]


class TaskText(Model):
    """What the agent was told, where the task set is at hand."""

    instruction: str
    context: str
    branch: str
    now: str


class FailureNote(Model):
    """One failure, or a note that does not fail, of one rule set."""

    rules: Rules
    note: bool
    code: str
    path: str
    expected: Any
    got: Any


class Call(Model):
    """One call of a round. `preview` is the beginning of its result; the rest is fetched when unfolded."""

    function: str
    arguments: Any
    ok: bool
    seconds: float
    result_bytes: int
    result_chars: int | None
    preview: str
    accepted: bool | None = None
    write: int | None = None


class Round(Model):
    """One turn of the model with the calls that came of it."""

    text: str
    stop: str
    seconds: float | None
    tries: int
    notes: list[str]
    usage: dict[str, int] | None
    calls: list[Call]


class DiffLine(Model):
    """A line of a captured resource beside what was expected there.

    mark: "wrong" (another value was expected), "missing" (nothing was captured), or null.
    """

    indent: int
    text: str
    expected: str | None
    mark: Literal["wrong", "missing"] | None
    codes: list[str]
    rules: list[Rules]


class Write(Model):
    """One create call: what was captured, line by line, with the verdicts' objections."""

    index: int
    resource_type: str
    accepted: bool
    verdict: str | None
    lines: list[DiffLine]


class AttemptDetail(Model):
    """One attempt in full, results folded."""

    run_id: str
    run_name: str
    row: AttemptRow
    protocol: str
    task: TaskText | None
    answer: str | None
    mentions_post: bool
    error: str | None
    rounds: list[Round]
    writes: list[Write]
    failures: list[FailureNote]
    previous: tuple[str, int] | None
    next: tuple[str, int] | None


class ResultPart(Model):
    """A part of a call's result. `next` is the offset of the following part, null at the end."""

    text: str
    offset: int
    total: int
    next: int | None


class Hit(Model):
    """One attempt in which a search found something; `where` names the field."""

    run_id: str
    run_name: str
    task_id: str
    repeat: int
    where: str
    before: str
    match: str
    after: str


class SearchResult(Model):
    """What a search found; `more` when it stopped at its limit; `skipped` names runs that can't be read."""

    query: str
    hits: list[Hit]
    more: bool
    skipped: list[str]


class ComparedTask(Model):
    """One task in two runs: passes of each, per rule set, out of the repeats."""

    task_id: str
    category: str
    kind: str
    difficulty: str
    a: dict[Rules, int]
    b: dict[Rules, int]
    repeats_a: int
    repeats_b: int
    flipped: bool
    codes_a: list[str]
    codes_b: list[str]


class Compared(Model):
    """Two runs side by side. `reasons` say why they can't be compared as they are; the statistics are
    then null unless different runs were asked for."""

    a: RunRow
    b: RunRow
    reasons: list[str]
    statistics: dict[str, Any] | None
    sentences: dict[Rules, list[str]]
    tasks: list[ComparedTask]


class Problem(Model):
    """An error, in one line."""

    detail: str
