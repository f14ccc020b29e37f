"""Why somebody is in hospital: what a stay is coded with, what is done, and what it does to the blood.

ICD-10-CM codes and titles are as published (fiscal year 2024).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .dice import Dice

Diagnosis = tuple[str, str]
"""ICD-10-CM code and title."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a stay.

    `needs` is the long-term illness without which it does not occur, `weight` how often it occurs,
    `once` that it can't occur twice. `procedures` are done once a stay, one on each of its first days.
    `labs` are shifts on admission in units of each test's last decimal.
    """

    name: str
    weight: int
    diagnoses: tuple[Diagnosis, ...]
    labs: dict[str, float] = field(default_factory=dict)
    procedures: tuple[str, ...] = ()
    needs: str = ""
    infection: bool = False
    once: bool = False


# fmt: off
REASONS: Final[tuple[Reason, ...]] = (
    Reason("pneumonia", 12, (
        ("J18.9", "Pneumonia, unspecified organism"),
        ("J96.01", "Acute respiratory failure with hypoxia"),
        ("R05.9", "Cough, unspecified"),
        ("R50.9", "Fever, unspecified"),
    ), {"WBC": 70, "CRP": 900, "LACT": 8, "NA": -3, "ALB": -5, "PLT": 35}, infection=True),
    Reason("sepsis", 8, (
        ("A41.9", "Sepsis, unspecified organism"),
        ("R65.20", "Severe sepsis without septic shock"),
        ("N17.9", "Acute kidney failure, unspecified"),
        ("I95.9", "Hypotension, unspecified"),
    ), {"WBC": 95, "CRP": 1500, "LACT": 26, "CREAT": 55, "BUN": 16, "PLT": -60, "CO2": -5, "ALB": -8},
       procedures=("36556",), infection=True),
    Reason("urinary infection", 9, (
        ("N39.0", "Urinary tract infection, site not specified"),
        ("R50.9", "Fever, unspecified"),
        ("R31.9", "Hematuria, unspecified"),
        ("E86.0", "Dehydration"),
    ), {"WBC": 55, "CRP": 700, "BUN": 6, "CREAT": 12}, infection=True),
    Reason("skin infection", 6, (
        ("L03.115", "Cellulitis of right lower limb"),
        ("R50.9", "Fever, unspecified"),
        ("R60.0", "Localized edema"),
        ("D72.829", "Elevated white blood cell count, unspecified"),
    ), {"WBC": 50, "CRP": 800}, infection=True),
    Reason("kidney injury", 8, (
        ("N17.9", "Acute kidney failure, unspecified"),
        ("E86.0", "Dehydration"),
        ("E87.1", "Hypo-osmolality and hyponatremia"),
        ("R11.2", "Nausea with vomiting, unspecified"),
    ), {"CREAT": 105, "BUN": 30, "NA": -5, "CO2": -4, "PHOS": 8, "K": 3}),
    Reason("gastrointestinal bleeding", 7, (
        ("K92.2", "Gastrointestinal hemorrhage, unspecified"),
        ("D62", "Acute posthemorrhagic anemia"),
        ("K92.1", "Melena"),
        ("R55", "Syncope and collapse"),
    ), {"HGB": -36, "BUN": 15, "PLT": 25, "INR": 1}, procedures=("43239", "36430")),
    Reason("pancreatitis", 4, (
        ("K85.90", "Acute pancreatitis without necrosis or infection, unspecified"),
        ("R10.13", "Epigastric pain"),
        ("R11.2", "Nausea with vomiting, unspecified"),
        ("E86.0", "Dehydration"),
    ), {"WBC": 50, "CRP": 900, "CA": -8, "GLU": 30, "LACT": 7, "MG": -2}, procedures=("74177",)),
    Reason("bowel obstruction", 4, (
        ("K56.609",
         "Unspecified intestinal obstruction, unspecified as to partial versus complete obstruction"),
        ("R10.9", "Unspecified abdominal pain"),
        ("R11.2", "Nausea with vomiting, unspecified"),
        ("E86.0", "Dehydration"),
    ), {"WBC": 30, "BUN": 9, "K": -4, "CO2": 3, "MG": -2}, procedures=("74177",)),
    Reason("pulmonary embolism", 4, (
        ("I26.99", "Other pulmonary embolism without acute cor pulmonale"),
        ("R06.02", "Shortness of breath"),
        ("R07.9", "Chest pain, unspecified"),
        ("R00.0", "Tachycardia, unspecified"),
    ), {"WBC": 15, "CRP": 350, "LACT": 6}, procedures=("71275", "93306")),
    Reason("syncope", 6, (
        ("R55", "Syncope and collapse"),
        ("I95.1", "Orthostatic hypotension"),
        ("R42", "Dizziness and giddiness"),
        ("S09.90XA", "Unspecified injury of head, initial encounter"),
    ), {"BUN": 5}, procedures=("70450", "93306")),
    Reason("heart failure", 14, (
        ("I50.23", "Acute on chronic systolic (congestive) heart failure"),
        ("J81.0", "Acute pulmonary edema"),
        ("R06.02", "Shortness of breath"),
        ("R60.0", "Localized edema"),
    ), {"NA": -4, "BUN": 9, "CREAT": 18, "K": -3, "MG": -2, "ALB": -4}, ("93306",), needs="heart_failure"),
    Reason("lung disease", 14, (
        ("J44.1", "Chronic obstructive pulmonary disease with (acute) exacerbation"),
        ("J96.01", "Acute respiratory failure with hypoxia"),
        ("R06.02", "Shortness of breath"),
        ("R05.9", "Cough, unspecified"),
    ), {"WBC": 35, "CO2": 4, "CRP": 250, "GLU": 28}, needs="copd"),
    Reason("arrhythmia", 10, (
        ("I48.91", "Unspecified atrial fibrillation"),
        ("R00.0", "Tachycardia, unspecified"),
        ("R00.2", "Palpitations"),
        ("R06.02", "Shortness of breath"),
    ), {"K": -3, "MG": -2}, ("93306",), needs="afib"),
    Reason("heart attack", 8, (
        ("I21.4", "Non-ST elevation (NSTEMI) myocardial infarction"),
        ("R07.9", "Chest pain, unspecified"),
        ("R61", "Generalized hyperhidrosis"),
        ("R06.02", "Shortness of breath"),
    ), {"WBC": 25, "CRP": 220, "GLU": 25}, ("93458", "93306"), needs="coronary"),
    Reason("sugar out of control", 10, (
        ("E11.65", "Type 2 diabetes mellitus with hyperglycemia"),
        ("E86.0", "Dehydration"),
        ("E87.1", "Hypo-osmolality and hyponatremia"),
        ("R35.89", "Other polyuria"),
    ), {"GLU": 105, "NA": -5, "BUN": 10, "CREAT": 14, "PHOS": -5, "K": 2}, needs="diabetes"),
    Reason("liver failure", 12, (
        ("K76.82", "Hepatic encephalopathy"),
        ("R18.8", "Other ascites"),
        ("D68.9", "Coagulation defect, unspecified"),
        ("E87.1", "Hypo-osmolality and hyponatremia"),
    ), {"TBIL": 22, "ALT": 40, "AST": 60, "ALB": -5, "INR": 4, "NA": -5, "PLT": -25}, ("49083",),
       needs="liver"),
    Reason("knee replacement", 6, (
        ("M17.11", "Unilateral primary osteoarthritis, right knee"),
        ("Z96.651", "Presence of right artificial knee joint"),
        ("G89.18", "Other acute postprocedural pain"),
        ("D62", "Acute posthemorrhagic anemia"),
    ), {"HGB": -20, "CRP": 600, "WBC": 25}, ("27447",), needs="arthrosis", once=True),
    Reason("hip replacement", 6, (
        ("M16.11", "Unilateral primary osteoarthritis, right hip"),
        ("Z96.641", "Presence of right artificial hip joint"),
        ("G89.18", "Other acute postprocedural pain"),
        ("D62", "Acute posthemorrhagic anemia"),
    ), {"HGB": -22, "CRP": 650, "WBC": 25}, ("27130",), needs="arthrosis", once=True),
    Reason("gallbladder", 3, (
        ("K80.00", "Calculus of gallbladder with acute cholecystitis without obstruction"),
        ("R10.11", "Right upper quadrant pain"),
        ("R11.2", "Nausea with vomiting, unspecified"),
        ("R50.9", "Fever, unspecified"),
    ), {"WBC": 55, "CRP": 600, "ALP": 45, "TBIL": 9, "ALT": 35}, ("47562",), infection=True, once=True),
    Reason("appendix", 3, (
        ("K35.80", "Unspecified acute appendicitis"),
        ("R10.31", "Right lower quadrant pain"),
        ("R11.2", "Nausea with vomiting, unspecified"),
        ("R50.9", "Fever, unspecified"),
    ), {"WBC": 65, "CRP": 650}, ("44970",), infection=True, once=True),
)
# fmt: on

BY_NAME: Final = {reason.name: reason for reason in REASONS}


def draw_reasons(count: int, traits: frozenset[str], dice: Dice) -> list[str]:
    """Names of the reasons of a person's stays, in order of time."""
    possible = [reason for reason in REASONS if not reason.needs or reason.needs in traits]
    names = []
    for _ in range(count):
        mark = dice.below(sum(reason.weight for reason in possible))
        for reason in possible:
            mark -= reason.weight
            if mark < 0:
                break
        names.append(reason.name)
        if reason.once:
            possible.remove(reason)
    return names
