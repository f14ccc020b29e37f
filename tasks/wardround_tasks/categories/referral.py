"""task8: refer to orthopaedic surgery with a given SBAR text."""

from __future__ import annotations

from collections.abc import Iterator

from wardround_schemas.chart import ChartReader

from ..choosing import mixed
from ..expect import SNOMED, AnswerRule, Expected, ServiceWrite
from ..reference import Reference
from ..survey import CodeMap, Survey
from ..task import Facts, Task
from ..verdict import RuleSet
from ..wording import service_form
from .base import Candidate, Draft, Quota, Traits, patient_of, person_of

TEXTS = (
    "Situation: twisted right knee at football two days ago, now swollen and locking. Background: no earlier "
    "injury to this knee. Assessment: suspected bucket-handle meniscal tear. Recommendation: please examine "
    "and advise on arthroscopy.",
    "Situation: fall on the outstretched left hand this morning. Background: on alendronate for "
    "osteoporosis. Assessment: displaced distal radius fracture on the plain film. Recommendation: please "
    "decide between reduction and fixation.",
    "Situation: groin pain and unable to bear weight after a fall at home. Background: walks with a frame. "
    "Assessment: hip fracture, neck of femur, on X-ray. Recommendation: please assess for surgery today.",
    "Situation: right shoulder pain for four months, cannot lift the arm. Background: physiotherapy without "
    "gain. Assessment: full-thickness supraspinatus tear on ultrasound. Recommendation: please give an "
    "opinion on repair.",
    "Situation: sudden pop behind the left ankle while running. Background: took ciprofloxacin last month. "
    "Assessment: Achilles tendon rupture, positive squeeze test. Recommendation: please advise on operative "
    "or functional treatment.",
    "Situation: fever and a hot, stiff left knee since yesterday. Background: knee replaced six years ago. "
    "Assessment: possible infection of the joint replacement. Recommendation: please see urgently and "
    "aspirate.",
    "Situation: numb right foot and worsening leg pain for a week. Background: known disc protrusion at "
    "L5/S1. Assessment: radiculopathy with new weakness of plantar flexion. Recommendation: please assess "
    "for decompression.",
    "Situation: night pain in both hips, walking distance now 100 metres. Background: arthritis for ten "
    "years. Assessment: end-stage osteoarthritis, right worse than left. Recommendation: please consider hip "
    "replacement.",
    "Situation: stepped off a kerb, ankle swollen and bruised. Background: takes apixaban. Assessment: "
    "bimalleolar ankle fracture on X-ray. Recommendation: please plan fixation and advise on "
    "anticoagulation.",
    "Situation: little finger cannot be straightened after a ball hit it. Background: works as a pianist. "
    "Assessment: mallet finger with a small bony avulsion. Recommendation: please advise on splint or "
    "pinning.",
    "Situation: persistent pain over the outer elbow for eight months. Background: two steroid injections. "
    "Assessment: lateral epicondylitis not settling. Recommendation: please review for further treatment.",
    "Situation: back pain with fever, pain on percussion at L3. Background: treated for a skin abscess three "
    "weeks ago. Assessment: discitis on MRI. Recommendation: please advise on biopsy and stabilisation.",
)
"""Referral texts of invented cases, in the order situation, background, assessment, recommendation."""


class Referral:
    """One ServiceRequest; the answer's content is not looked at."""

    traits = Traits(
        "task8", "Orthopaedic referral", "action", "easy", "one write", codes=("order",), texts=("note",)
    )
    quotas = (Quota("refer", 30),)
    phrases = (
        'Please refer patient {mrn} to orthopaedic surgery with this text: "{note}"',
        'Order an orthopaedics referral for MRN {mrn}. The referral should read: "{note}"',
        'ortho consult {mrn}, note: "{note}"',
        '{mrn} needs to be seen by orthopaedic surgery. Put in the referral and quote: "{note}"',
        'Send {mrn} to the orthopaedic surgeons, and write in the order: "{note}"',
        'Refer to ortho. Pt {mrn}. "{note}"',
        "I would like orthopaedic surgery to see the patient with MRN {mrn}. Free text of the referral: "
        '"{note}"',
        'Could you place a referral to orthopaedic surgery for {mrn}? Say in it: "{note}"',
        'New orthopaedic surgery referral, MRN {mrn}; SBAR as follows: "{note}"',
    )

    async def read(self, task: Task, chart: ChartReader) -> Reference:
        """Nothing of the chart is needed."""
        return Reference(task.id)

    def expected(self, task: Task, reference: Reference, rules: RuleSet) -> Expected:
        """The referral, signed now, with the text in its note."""
        write = ServiceWrite(
            patient_of(task),
            task.facts.codes.get("order_system", SNOMED),
            task.code("order"),
            task.now,
            note=task.text("note"),
        )
        return Expected(AnswerRule("any"), (write,))

    def candidates(self, survey: Survey, seed: int) -> Iterator[Candidate]:
        """Everybody, the texts dealt in turn."""
        people = mixed(survey.people, lambda person: person.ref.reference, seed, "task8", "texts")
        for place, person in enumerate(people):
            yield Candidate("refer", survey.latest, person, {"note": TEXTS[place % len(TEXTS)]})

    def draft(self, candidate: Candidate, codes: CodeMap, seed: int) -> Draft:
        """The form of the referral."""
        now, patient = candidate.now.isoformat(), person_of(candidate)
        note = '; note one object {"text": ...} with the quoted text unchanged'
        form = service_form("the referral", SNOMED, codes.referral_snomed, now, patient, note)
        facts = Facts(
            codes={"order": codes.referral_snomed, "order_system": SNOMED},
            texts={"note": candidate.texts["note"]},
        )
        return Draft((form, "When it is placed, answer with an empty list."), facts)
