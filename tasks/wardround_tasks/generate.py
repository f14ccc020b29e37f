"""Fresh tasks from any chart: 300 where its data supply every branch, in balance, fixed by a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from wardround_schemas.chart import ChartReader, search_all

from .categories import CATEGORIES, Category
from .categories.base import Candidate, Quota
from .choosing import mixed, rank
from .loading import tasks_document
from .survey import CodeMap, Progress, Survey, read_survey
from .task import Task
from .wording import moment, who

BUNDLED_SEED: Final = 300
"""The seed of the bundled set, data/bundled.json: `tasks generate --fhir embedded` with it."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """A branch for which the chart supplies fewer tasks than it should have.

    `filled` says how many of the missing ones others of the same side stand in for.
    """

    category: str
    branch: str
    wanted: int
    supplied: int
    filled: int


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated set: its tasks in order, and what the chart could not supply."""

    tasks: tuple[Task, ...]
    shortages: tuple[Shortage, ...]


async def generate_tasks(
    chart: ChartReader,
    seed: int,
    codes: CodeMap | None = None,
    *,
    now: datetime | None = None,
    progress: Progress | None = None,
) -> Generated:
    """Make a set of tasks from a chart, through searches alone.

    The same seed and data give the same tasks. `now` sets all tasks at one moment; without it see
    `survey.read_survey`. Raises ChartError when the chart can't be read, UserError when it has no
    patients.
    """
    codes = codes or CodeMap()
    survey = await read_survey(chart, codes, now=now, progress=progress)
    tasks: list[Task] = []
    shortages: list[Shortage] = []
    for category in CATEGORIES:
        chosen, short = await _choose(category, survey, chart, seed)
        shortages.extend(short)
        # Mixed once more, so that neither the place nor the phrase tells the branch.
        ordered = mixed(chosen, lambda candidate: candidate.key, seed, category.traits.id, "order")
        shift = rank(seed, category.traits.id, "phrase")
        for number, candidate in enumerate(ordered, start=1):
            phrase = category.phrases[(number + shift) % len(category.phrases)]
            tasks.append(_task(category, candidate, number, phrase, codes, seed))
    return Generated(tuple(tasks), tuple(shortages))


async def _choose(
    category: Category, survey: Survey, chart: ChartReader, seed: int
) -> tuple[list[Candidate], list[Shortage]]:
    """Candidates for every quota, each once; what a branch lacks is made up from its side, if it can be."""
    name = category.traits.id
    pool = _Pool(mixed(category.candidates(survey, seed), _candidate_key, seed, name))
    chosen: list[Candidate] = []
    missing: list[tuple[Quota, int]] = []
    for quota in category.quotas:
        found = await pool.take(chart, quota.count, {quota.branch})
        chosen.extend(found)
        if len(found) < quota.count:
            missing.append((quota, len(found)))
    shortages = []
    for quota, supplied in missing:
        side = [other.branch for other in category.quotas if other.side == quota.side]
        near = {branch for branch in side if branch.split("/")[0] == quota.branch.split("/")[0]}
        filled = await pool.take(chart, quota.count - supplied, near)
        filled += await pool.take(chart, quota.count - supplied - len(filled), set(side))
        chosen.extend(filled)
        shortages.append(Shortage(name, quota.branch, quota.count, supplied, len(filled)))
    return chosen, shortages


def _candidate_key(candidate: Candidate) -> str:
    return f"{candidate.branch}/{candidate.key}/{candidate.now.isoformat()}"


class _Pool:
    """Candidates in a fixed order, of which each patient (or name) is taken once."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._left = list(candidates)
        self._taken: set[str] = set()

    async def take(self, chart: ChartReader, count: int, branches: set[str]) -> list[Candidate]:
        """Up to `count` candidates of these branches that the chart confirms."""
        found: list[Candidate] = []
        rest: list[Candidate] = []
        for candidate in self._left:
            wanted = len(found) < count and candidate.branch in branches and candidate.key not in self._taken
            if wanted and await _confirmed(candidate, chart):
                found.append(candidate)
                self._taken.add(candidate.key)
            elif candidate.key not in self._taken:
                rest.append(candidate)
        self._left = rest
        return found


async def _confirmed(candidate: Candidate, chart: ChartReader) -> bool:
    """Whether a search by name and birth date finds just whom a task about a name means."""
    if "family" not in candidate.texts:
        return True
    texts = candidate.texts
    params = [("family", texts["family"]), ("given", texts["given"]), ("birthdate", texts["birthdate"])]
    found = await search_all(chart, "Patient", params)
    ids = [f"Patient/{resource.get('id')}" for resource in found]
    return ids == ([] if candidate.person is None else [candidate.person.ref.reference])


def _task(
    category: Category, candidate: Candidate, number: int, phrase: str, codes: CodeMap, seed: int
) -> Task:
    traits = category.traits
    draft = category.draft(candidate, codes, seed)
    person = candidate.person
    context = [moment(candidate.now.isoformat()), *draft.context]
    words = dict(draft.facts.texts)
    if person is not None:
        words["mrn"] = person.ref.mrn
        if traits.id != "task1":
            context.insert(1, who(person.ref))
    return Task(
        id=f"{traits.id}_{number}",
        category=traits.id,
        kind=traits.kind,
        difficulty=traits.difficulty,
        branch=candidate.branch,
        instruction=phrase.format(**words),
        context=" ".join(context),
        now=candidate.now.isoformat(),
        patient=None if person is None else person.ref,
        facts=draft.facts,
        solution=draft.solution,
    )


def branch_counts(tasks: Iterable[Task]) -> dict[str, Counter[str]]:
    """How many tasks of each branch each category has."""
    counts: dict[str, Counter[str]] = {}
    for task in tasks:
        counts.setdefault(task.category, Counter())[task.branch] += 1
    return counts


def generated_document(made: Generated, seed: int) -> str:
    """The text of a generated set's file: seed, what the chart lacks, and the tasks."""
    lacking = [
        {
            "category": short.category,
            "branch": short.branch,
            "wanted": short.wanted,
            "supplied": short.supplied,
        }
        for short in made.shortages
    ]
    return tasks_document(made.tasks, seed=seed, lacking=lacking)
