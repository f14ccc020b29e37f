"""task6: the mean capillary glucose of the last 24 hours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from wardround_schemas.chart import ChartReader

from ..expect import AnswerRule, Expected
from ..quantities import GLUCOSE
from ..reference import Reference, last_day, read_measurements
from ..survey import DAY, MINUTE, CodeMap, Series, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from ..wording import LAST_DAY, lab, number_answer
from .base import Candidate, Draft, Quota, Traits, patient_of
from .series import EXACT, OUTSIDE, WINDOW_OFFSETS, in_last_day, named, series_candidates


class GlucoseMean:
    """No writes; the answer is the mean, -1 if there is no value."""

    traits = Traits(
        "task6",
        "Mean glucose of the last 24 hours",
        "query",
        "medium",
        "a search within a time window and a calculation",
        codes=("lab",),
    )
    quotas = (
        Quota("several/exactly_24_hours", 1, "value"),
        Quota("single/exactly_24_hours", 1, "value"),
        Quota("several/one_minute_outside", 1, "value"),
        Quota("older_only/one_minute_outside", 1, "none"),
        Quota("single", 4, "value"),
        Quota("several", 14, "value"),
        Quota("older_only", 4, "none"),
        Quota("never", 4, "none"),
    )
    phrases = (
        "What is the average capillary glucose of patient {mrn} over the last 24 hours?",
        "Please give me the mean fingerstick glucose of MRN {mrn} for the past day.",
        "avg CBG {mrn} 24h",
        "Work out the mean of all capillary glucose values of {mrn} from the last 24 hours.",
        "How has the sugar of {mrn} been, on average, since this time yesterday?",
        "Insulin review for {mrn}: mean bedside glucose of the past 24 hours?",
        "mean gluc last 24 h, pt {mrn}",
        "Average the bedside glucose readings of the last 24 hours for the patient with MRN {mrn}.",
        "For {mrn} I need one figure: the mean capillary glucose over 24 hours back from now.",
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Every capillary glucose of the patient."""
        return Reference(task.id, await read_measurements(chart, patient_of(task), task.code("lab")))

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The mean, summed in the server's order as the original sums."""
        clinical = rules == "clinical"
        window = last_day(task, reference, until_now=clinical)
        if not window:
            # The original compares -1 like a mean; to say that there is none takes -1 itself.
            none = AnswerRule("exact", (-1,), units=GLUCOSE.spellings)
            return Expected(none if clinical else replace(none, kind="mean"))
        total = 0.0
        for measurement in window:
            value = measurement.value
            total += GLUCOSE.convert(value, measurement.unit) if clinical else value
        return Expected(AnswerRule("mean", (total / len(window),), units=GLUCOSE.spellings))

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody whose glucose results are clear."""
        return series_candidates(survey, "GLU", WINDOW_OFFSETS, _branch)

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The code, the window and the form of the answer."""
        token = codes.labs["GLU"]
        return Draft(
            (lab("Capillary glucose", token), LAST_DAY, number_answer(GLUCOSE.unit, mean=True)),
            Facts(codes={"lab": token}, values={"unit": GLUCOSE.unit, "window_hours": 24}),
        )


def _branch(series: Series, now: datetime) -> str:
    if series.newest is None:
        return "never"
    window = in_last_day(series, now)
    detail = None
    if any(measurement.at == now - DAY for measurement in window):
        detail = EXACT
    elif any(now - DAY - MINUTE <= measurement.at < now - DAY for measurement in series.measurements):
        detail = OUTSIDE
    if not window:
        return named("older_only", detail)
    return named("single" if len(window) == 1 else "several", detail)
