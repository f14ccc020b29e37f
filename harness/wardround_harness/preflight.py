"""`wardround preflight`: what one model's API really does with tools, and what a run with it would cost."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from wardround_schemas.errors import UserError
from wardround_schemas.formats import export
from wardround_tasks.task import Task

from .agents.base import Agent, KeyRefused, ProviderError, Usage
from .costs import Price, Purse
from .ground import Ground, open_ground
from .ledger import SCORED
from .limits import Caller, RateLimiter, RetryPolicy
from .manifest import library_versions, public_url
from .plan import RunPlan
from .probes import PROBES, Asker, Probe, Verdict
from .run import execute
from .runs import ATTEMPTS, read_lines

FORMAT_VERSION: Final = 1
LONG_CHARACTERS: Final = 40_000
"""About a page of twenty results in FHIR's own form."""
ROUNDS_ASSUMED: Final = 4
"""Rounds of an attempt where none was made to measure: two searches, a write or another search, `finish`."""
RETRIES: Final = RetryPolicy(tries=3, cap=10.0, patience=60.0)


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the card. `usage` is None where nobody counted, `cost_usd` where a price is unknown."""

    name: str
    question: str
    verdict: Verdict
    detail: str
    facts: dict[str, Any] = field(default_factory=dict)
    requests: int = 0
    usage: Usage | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One attempt that was made to measure."""

    task_id: str
    kind: str
    status: str
    rounds: int
    usage: Usage
    cost_usd: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run over the task set would take. A number that can't be known is None, never 0.

    `basis`: `sample` (attempts that were made), `probe` (the request with the nine functions, times
    ROUNDS_ASSUMED), or None. `seconds` are of requests, one after the other; concurrency divides them.
    """

    attempts: int
    basis: Literal["sample", "probe"] | None
    usage: Usage | None
    cost_usd: float | None
    seconds: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Card:
    """All that preflight found of a model."""

    model: str
    destination: str | None
    findings: tuple[Finding, ...]
    samples: tuple[Sample, ...]
    estimate: Estimate
    tasks: dict[str, Any]
    settings: dict[str, Any]
    setting_notes: tuple[str, ...]
    price: Price | None
    spent_usd: float | None
    made_at: str

    @property
    def usable(self) -> bool:
        """Whether a run makes sense: no probe failed, and one of the two protocols works."""
        verdicts = {finding.name: finding.verdict for finding in self.findings}
        works = "yes" in (verdicts["tool_call"], verdicts["text_protocol"])
        return works and "failed" not in verdicts.values()

    def to_json(self) -> dict[str, Any]:
        """The card as a JSON object, with the versions of what made it."""
        return {
            "format_version": FORMAT_VERSION,
            "usable": self.usable,
            **asdict(self),
            "versions": library_versions(),
        }


@dataclass(frozen=True, slots=True)
class Wishes:
    """What preflight is to do besides the plan: `samples` attempts to make, `repeats` of the run foreseen."""

    samples: int = 2
    repeats: int = 1
    long_characters: int = LONG_CHARACTERS


Say = Callable[[str], None]


async def preflight(plan: RunPlan, wishes: Wishes, say: Say) -> Card:
    """Probe the plan's model and estimate what the plan's tasks would cost.

    `say` is told of each probe as it is done. UserError for bad input, for records that would leave the house
    unasked, for a model without an API, and for a refused key; a probe that fails is a row of the card.
    """
    async with open_ground(plan) as ground:
        agent = ground.agent
        if not isinstance(agent, Agent) or agent.destination is None:
            raise UserError(
                f"{plan.model} has no API to probe", mend="give anthropic/, openai/ or openai-chat/NAME"
            )
        try:
            findings = await probe_all(ground, agent, wishes, say)
            samples = await make_samples(plan, ground, findings, wishes, say)
        except KeyRefused as error:
            raise UserError(f"the provider refused the key: {error}", mend="check the key") from error
        spent = total_cost([f.cost_usd for f in findings if f.requests] + [s.cost_usd for s in samples])
        return Card(
            model=plan.model,
            destination=public_url(agent.destination),
            findings=tuple(findings),
            samples=tuple(samples),
            estimate=estimate(ground, findings, samples, wishes.repeats),
            tasks={
                "spec": plan.tasks,
                "name": ground.task_set.name,
                "checksum": ground.task_set.checksum,
                "count": len(ground.tasks),
            },
            settings=asdict(plan.settings),
            setting_notes=agent.setting_notes(plan.settings),
            price=ground.price,
            spent_usd=spent,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )


async def probe_all(ground: Ground, agent: Agent, wishes: Wishes, say: Say) -> list[Finding]:
    """Every probe in order. Once the first has failed the others are not asked: they would fail alike."""
    plan = ground.plan
    caller = Caller(agent, plan.settings, RateLimiter(1), Purse(ground.price), RETRIES)
    prompt = ground.prompts.text_message(
        middle(ground.tasks), plan.rounds, ground.backend.base_url, export("medagentbench", plan.profile)
    )
    findings: list[Finding] = []
    for probe in PROBES:
        if findings and findings[0].verdict == "failed":
            findings.append(Finding(probe.name, probe.question, "not asked", "the first probe failed"))
            continue
        finding = await ask_probe(probe, Asker(caller, prompt, wishes.long_characters))
        findings.append(finding)
        say(f"{finding.question} {finding.verdict} ({finding.seconds:.1f} s)")
    return findings


async def ask_probe(probe: Probe, asker: Asker) -> Finding:
    """One probe's finding. A provider's failure is one; KeyRefused passes through."""
    verdict: Verdict
    try:
        answer = await probe.run(asker)
        verdict, detail, facts = answer.verdict, answer.detail, answer.facts
    except ProviderError as error:
        verdict, detail, facts = "failed", f"{error.kind}: {error}", {}
    return Finding(
        probe.name,
        probe.question,
        verdict,
        detail,
        facts,
        asker.requests,
        asker.usage if asker.counted and asker.turns else None,
        asker.cost if asker.turns else None,
        asker.seconds,
        tuple(dict.fromkeys(note for turn in asker.turns for note in turn.notes)),
    )


def middle(tasks: Sequence[Task]) -> Task:
    """The task in the middle of a list. Sets are ordered by category."""
    return tasks[len(tasks) // 2]


def choose_samples(tasks: Sequence[Task], count: int) -> list[Task]:
    """Tasks to measure with: the kinds in turn, evenly spread within each."""
    kinds: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        kinds[task.kind].append(task)
    chosen: list[Task] = []
    groups = [kinds[kind] for kind in sorted(kinds)]
    for place, group in enumerate(groups):
        share = min(len(group), count // len(groups) + (place < count % len(groups)))
        chosen += [group[(2 * index + 1) * len(group) // (2 * share)] for index in range(share)]
    return chosen


async def make_samples(
    plan: RunPlan, ground: Ground, findings: Sequence[Finding], wishes: Wishes, say: Say
) -> list[Sample]:
    """Attempts made by the machinery of `wardround run`, in a folder that is thrown away.

    In the protocol that works, the native one first; none where neither does. KeyRefused does not come out of
    here: `execute` makes a UserError of it.
    """
    verdicts = {finding.name: finding.verdict for finding in findings}
    lane = next((lane for lane, name in LANES if verdicts[name] == "yes"), None)
    if lane is None or wishes.samples == 0:
        return []
    chosen = choose_samples(ground.tasks, wishes.samples)
    samples: list[Sample] = []
    for task in chosen:
        with tempfile.TemporaryDirectory(prefix="wardround-preflight-") as name:
            out = Path(name) / "run"
            one = replace(
                plan,
                out=out,
                only=(task.id,),
                limit=None,
                protocol=lane,
                repeats=1,
                concurrency=1,
                max_cost=None,
            )
            await execute(one)
            samples += [_sample(line, task) for line in read_lines(out / ATTEMPTS)]
        say(f"sample attempt on {task.id}: {samples[-1].status}")
        if samples[-1].status == "interrupted":
            raise KeyboardInterrupt
    return samples


LANES: Final[tuple[tuple[Literal["native", "text"], str], ...]] = (
    ("native", "tool_call"),
    ("text", "text_protocol"),
)
"""The protocols and the probe that says whether each works."""


def _sample(line: Mapping[str, Any], task: Task) -> Sample:
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
    counted = line.get("usage") or {}
    usage = Usage(**{name: int(counted.get(name) or 0) for name in names})
    return Sample(
        task.id,
        task.kind,
        line["attempt"]["status"],
        line["rounds_by_turn"],
        usage,
        line["cost_usd"],
        line["seconds"],
    )


def total_cost(costs: Sequence[float | None]) -> float | None:
    """A sum of costs, None where any is unknown."""
    return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)


def estimate(
    ground: Ground, findings: Sequence[Finding], samples: Sequence[Sample], repeats: int
) -> Estimate:
    """What a run over the ground's tasks would take, from samples where there are any, else from a probe."""
    attempts = len(ground.tasks) * repeats
    whole = [sample for sample in samples if sample.status in SCORED and sample.usage.input_tokens]
    if whole:
        return _from_samples(ground.tasks, whole, repeats)
    functions = next(finding for finding in findings if finding.name == "functions")
    if functions.usage is None:
        return Estimate(
            attempts, None, None, None, None, "no request was answered with a count of its tokens"
        )
    each = functions.cost_usd
    return Estimate(
        attempts,
        "probe",
        scaled(functions.usage, ROUNDS_ASSUMED * attempts),
        None if each is None else each * ROUNDS_ASSUMED * attempts,
        functions.seconds * ROUNDS_ASSUMED * attempts,
        f"no sample attempt: one request with the nine functions, times {ROUNDS_ASSUMED} rounds an attempt; "
        "results that come back are not in it",
    )


def _from_samples(tasks: Sequence[Task], samples: Sequence[Sample], repeats: int) -> Estimate:
    """Each kind of task at the mean of its samples; a kind without one at the mean of all."""
    usage, seconds = Usage(), 0.0
    costs: list[float | None] = []
    for kind in sorted({task.kind for task in tasks}):
        count = sum(task.kind == kind for task in tasks) * repeats
        like = [sample for sample in samples if sample.kind == kind] or list(samples)
        share = count / len(like)
        usage += scaled(sum((sample.usage for sample in like), Usage()), share)
        seconds += share * sum(sample.seconds for sample in like)
        total = total_cost([sample.cost_usd for sample in like])
        costs.append(None if total is None else total * share)
    names = ", ".join(f"{sample.task_id} ({sample.rounds} turns)" for sample in samples)
    return Estimate(len(tasks) * repeats, "sample", usage, total_cost(costs), seconds, f"measured on {names}")


def scaled(usage: Usage, factor: float) -> Usage:
    """Tokens times a factor, rounded."""
    return Usage(**{name: round(value * factor) for name, value in asdict(usage).items()})
