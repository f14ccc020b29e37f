"""task7: the newest capillary glucose, however old."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from wardround_schemas.chart import ChartReader

from ..expect import Expected
from ..quantities import GLUCOSE
from ..reference import Reference, newest, read_measurements
from ..survey import CodeMap, Series, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from ..wording import lab, number_answer
from .base import Candidate, Draft, Quota, Traits, patient_of, value_answer
from .series import in_last_day, series_candidates


class NewestGlucose:
    """No writes; the answer is the value, -1 if none."""

    traits = Traits(
        "task7", "Newest glucose", "query", "medium", "a search and the newest of many", codes=("lab",)
    )
    quotas = (
        Quota("of_the_last_day/many", 12, "value"),
        Quota("of_the_last_day", 2, "value"),
        Quota("older", 12, "value"),
        Quota("never", 4, "none"),
    )
    phrases = (
        "What is the newest capillary glucose of patient {mrn}?",
        "Please give me the last fingerstick glucose of MRN {mrn}, whenever it was.",
        "last CBG {mrn}?",
        "Which was the most recent bedside glucose recorded for {mrn}?",
        "I need the latest capillary glucose in the chart of {mrn}, however old.",
        "gluc, most recent, pt {mrn}",
        "Look up the latest glucose reading of the patient with MRN {mrn}.",
        "When {mrn} was last checked for capillary glucose, what was the value?",
        "Diabetes clinic asks: most recent capillary glucose for {mrn}?",
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every capillary glucose of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The newest value."""
        return Expected(value_answer(newest(reference.measurements), GLUCOSE, rules))

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody whose glucose results are clear."""
        return series_candidates(survey, "GLU", (timedelta(hours=2), timedelta(days=40)), _branch)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The code and the form of the answer."""
        token = codes.labs["GLU"]
        whenever = "The newest result counts, however old it is."
        return Draft(
            (lab("Capillary glucose", token), whenever, number_answer(GLUCOSE.unit)),
            Facts(codes={"lab": token}, values={"unit": GLUCOSE.unit}),
        )


def _branch(series: Series, now: datetime) -> str:
    if series.newest is None:
        return "never"
    recent = in_last_day(series, now)
    if not recent:
        return "older"
    return "of_the_last_day/many" if len(recent) > 1 else "of_the_last_day"
