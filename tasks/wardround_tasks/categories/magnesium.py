"""task4: the newest magnesium of the last 24 hours."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from wardround_schemas.chart import ChartReader

from ..expect import Expected
from ..quantities import MAGNESIUM
from ..reference import Reference, last_day, newest, read_measurements
from ..survey import CodeMap, Series, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from ..wording import LAST_DAY, lab, number_answer
from .base import Candidate, Draft, Quota, Traits, patient_of, value_answer
from .series import OUTSIDE, WINDOW_OFFSETS, edge, in_last_day, named, series_candidates


class RecentMagnesium:
    """No writes; the answer is the value, -1 if none."""

    traits = Traits(
        "task4",
        "Magnesium of the last 24 hours",
        "query",
        "medium",
        "a search within a time window",
        codes=("lab",),
    )
    quotas = (
        Quota("in_window/exactly_24_hours", 2, "value"),
        Quota("in_window/one_minute_inside", 2, "value"),
        Quota("older_only/one_minute_outside", 2, "none"),
        Quota("in_window", 12, "value"),
        Quota("older_only", 8, "none"),
        Quota("never", 4, "none"),
    )
    phrases = (
        "What was the newest magnesium of patient {mrn} within the last 24 hours?",
        "Please check the latest magnesium for MRN {mrn}, no older than 24 hours.",
        "Mg last 24h {mrn}?",
        "I need the most recent magnesium level of the past day for {mrn}.",
        "Has {mrn} had a magnesium in the last 24 hours, and if so, what is the newest value?",
        "latest mag, {mrn}, 24 h window",
        "Tell me the current magnesium of the patient with MRN {mrn}; only the last 24 hours count.",
        "For rounds: most recent Mg of {mrn} since this time yesterday.",
        "Look up the last magnesium result of patient {mrn} from the past 24 hours.",
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every magnesium of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The newest in the window; `medagentbench` has no upper end to it."""
        latest = newest(last_day(task, reference, until_now=rules == "clinical"))
        return Expected(value_answer(latest, MAGNESIUM, rules))

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody whose magnesium results are clear."""
        return series_candidates(survey, "MG", WINDOW_OFFSETS, _branch)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The code, the window and the form of the answer."""
        token = codes.labs["MG"]
        return Draft(
            (lab("Magnesium", token), LAST_DAY, number_answer(MAGNESIUM.unit)),
            Facts(codes={"lab": token}, values={"unit": MAGNESIUM.unit, "window_hours": 24}),
        )


def _branch(series: Series, now: datetime) -> str:
    latest = series.newest
    if latest is None:
        return "never"
    detail = edge(latest, now)
    if in_last_day(series, now):
        return named("in_window", detail)
    return named("older_only", detail if detail == OUTSIDE else None)
