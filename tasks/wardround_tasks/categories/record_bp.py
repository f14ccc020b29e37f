"""task3: record a blood pressure that was just measured."""

from __future__ import annotations

import json
from collections.abc import Iterator

from wardround_schemas.chart import ChartReader

from ..choosing import rank
from ..expect import OBSERVATION_CATEGORY, AnswerRule, Expected, VitalWrite
from ..reference import Reference
from ..survey import CodeMap, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from .base import Candidate, Draft, Quota, Traits, patient_of, person_of


class RecordBloodPressure:
    """One Observation; the answer's content is not looked at."""

    traits = Traits(
        "task3",
        "Record a blood pressure",
        "action",
        "easy",
        "one write",
        codes=("flowsheet",),
        texts=("value",),
    )
    quotas = (Quota("record", 30),)
    phrases = (
        'I have just taken the blood pressure of MRN {mrn}: "{value}". Please record it.',
        'Please chart "{value}" as the blood pressure that I measured a moment ago in patient {mrn}.',
        'BP {mrn} "{value}", just now, pls chart',
        'Patient {mrn} has a blood pressure of "{value}" right now. Enter it in the flowsheet.',
        'New reading for {mrn}: blood pressure "{value}". File it for me.',
        'The cuff shows "{value}" for the patient under MRN {mrn}. Document that.',
        'vitals {mrn}: "{value}" (BP, this minute). Record.',
        'Could you put "{value}" into the chart of {mrn}? It is the blood pressure I just measured.',
        'Write down a blood pressure of "{value}", taken now, for the patient with MRN {mrn}.',
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Nothing of the chart is needed."""
        return Reference(task.id)

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The quoted value, filed under the flowsheet's code, now."""
        write = VitalWrite(patient_of(task), task.code("flowsheet"), task.now, task.text("value"))
        return Expected(AnswerRule("any"), (write,))

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody, each with a reading of their own."""
        for person in survey.people:
            who = person.ref.reference
            upper = 96 + rank(seed, "task3", "upper", who) % 84
            lower = upper - 34 - rank(seed, "task3", "pulse", who) % 36
            value = f"{upper}/{min(max(lower, 46), 112)} mmHg"
            yield Candidate("record", survey.latest, person, {"value": value})

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The form of the Observation."""
        subject = json.dumps({"reference": person_of(candidate).reference})
        form = (
            "File it as one Observation: category a single element with a single coding, system "
            f"{OBSERVATION_CATEGORY}, code vital-signs, display Vital Signs; code with the flowsheet's name "
            f"{codes.flowsheet} as its text and nothing else; effectiveDateTime exactly "
            f"{candidate.now.isoformat()}; status final; valueString the quoted text unchanged; "
            f"subject {subject}."
        )
        return Draft(
            (form, "When it is filed, answer with an empty list."),
            Facts(codes={"flowsheet": codes.flowsheet}, texts={"value": candidate.texts["value"]}),
        )
