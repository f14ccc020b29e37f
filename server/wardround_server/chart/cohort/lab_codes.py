"""The laboratory's catalogue: codes, units, reference ranges and how values behave.

LOINC codes and names are LOINC's; units are UCUM. Values are whole numbers of the last decimal that the
laboratory reports (`decimals`): a potassium of 3.4 is 34.

The reference range of magnesium begins at 2.0, so that what the protocol of the tasks calls a deficiency
(1.9 and below) is flagged low in the chart too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LabCode:
    """One test. `low`/`high` bound the reference range, `critical` what is called through at once,
    `limits` what any value in the chart keeps to; `noise` is one standard deviation within a patient."""

    code: str
    name: str
    loinc: str
    loinc_name: str
    unit: str
    decimals: int
    low: int
    high: int
    critical: tuple[int, int]
    limits: tuple[int, int]
    noise: float
    women: tuple[int, int] | None = None

    def range_for(self, gender: str) -> tuple[int, int]:
        """Reference range for a person of this gender."""
        return self.women if self.women is not None and gender == "female" else (self.low, self.high)


def _lab(
    code: str, name: str, loinc: str, loinc_name: str, unit: str, decimals: int,
    reference: tuple[int, int], critical: tuple[int, int], limits: tuple[int, int], noise: float,
    women: tuple[int, int] | None = None,
) -> LabCode:  # fmt: skip
    return LabCode(code, name, loinc, loinc_name, unit, decimals, *reference, critical, limits, noise, women)


_SERUM = " in Serum or Plasma"
_ACTIVITY = "[Enzymatic activity/volume]" + _SERUM

# fmt: off
LABS: Final[tuple[LabCode, ...]] = (
    _lab("NA", "Sodium", "2951-2", "Sodium [Moles/volume]" + _SERUM, "mmol/L", 0,
         (135, 145), (120, 160), (116, 164), 2.0),
    _lab("K", "Potassium", "2823-3", "Potassium [Moles/volume]" + _SERUM, "mmol/L", 1,
         (35, 51), (28, 62), (25, 59), 2.8),
    _lab("CO2", "Carbon dioxide, total", "2028-9", "Carbon dioxide, total [Moles/volume]" + _SERUM,
         "mmol/L", 0,
         (22, 29), (10, 40), (11, 38), 1.6),
    _lab("CL", "Chloride", "2075-0", "Chloride [Moles/volume]" + _SERUM, "mmol/L", 0,
         (98, 107), (80, 120), (78, 126), 1.2),
    _lab("BUN", "Urea nitrogen", "3094-0", "Urea nitrogen [Mass/volume]" + _SERUM, "mg/dL", 0,
         (7, 20), (2, 100), (4, 118), 3.0),
    _lab("CREAT", "Creatinine", "2160-0", "Creatinine [Mass/volume]" + _SERUM, "mg/dL", 2,
         (74, 135), (20, 740), (40, 890), 7.0, women=(59, 104)),
    _lab("CA", "Calcium", "17861-6", "Calcium [Mass/volume]" + _SERUM, "mg/dL", 1,
         (86, 102), (60, 130), (65, 124), 2.6),
    _lab("MG", "Magnesium", "19123-9", "Magnesium [Mass/volume]" + _SERUM, "mg/dL", 1,
         (20, 26), (10, 47), (6, 42), 1.7),
    _lab("PHOS", "Phosphate", "2777-1", "Phosphate [Mass/volume]" + _SERUM, "mg/dL", 1,
         (25, 45), (10, 89), (12, 82), 3.5),
    _lab("WBC", "Leukocytes", "6690-2", "Leukocytes [#/volume] in Blood by Automated count", "10*3/uL", 1,
         (40, 110), (20, 300), (12, 340), 9.0),
    _lab("HGB", "Hemoglobin", "718-7", "Hemoglobin [Mass/volume] in Blood", "g/dL", 1,
         (135, 175), (70, 200), (58, 190), 4.5, women=(120, 155)),
    _lab("HCT", "Hematocrit", "4544-3", "Hematocrit [Volume Fraction] of Blood by Automated count", "%", 1,
         (410, 530), (210, 600), (170, 585), 5.0, women=(360, 460)),
    _lab("PLT", "Platelets", "777-3", "Platelets [#/volume] in Blood by Automated count", "10*3/uL", 0,
         (150, 400), (20, 1000), (22, 690), 20.0),
    _lab("ALB", "Albumin", "1751-7", "Albumin [Mass/volume]" + _SERUM, "g/dL", 1,
         (35, 50), (15, 60), (16, 54), 1.6),
    _lab("ALT", "Alanine aminotransferase", "1742-6",
         "Alanine aminotransferase " + _ACTIVITY, "U/L", 0,
         (7, 56), (0, 1000), (5, 880), 5.0),
    _lab("AST", "Aspartate aminotransferase", "1920-8",
         "Aspartate aminotransferase " + _ACTIVITY, "U/L", 0,
         (10, 40), (0, 1000), (7, 930), 4.5),
    _lab("ALP", "Alkaline phosphatase", "6768-6", "Alkaline phosphatase " + _ACTIVITY, "U/L", 0,
         (44, 147), (0, 1000), (28, 620), 9.0),
    _lab("TBIL", "Bilirubin, total", "1975-2", "Bilirubin.total [Mass/volume]" + _SERUM, "mg/dL", 1,
         (1, 12), (0, 150), (1, 140), 1.2),
    _lab("INR", "INR", "6301-6", "INR in Platelet poor plasma by Coagulation assay", "{INR}", 1,
         (8, 11), (0, 50), (8, 58), 0.9),
    _lab("LACT", "Lactate", "2524-7", "Lactate [Moles/volume]" + _SERUM, "mmol/L", 1,
         (5, 20), (0, 40), (4, 98), 2.8),
    _lab("CRP", "C-reactive protein", "1988-5", "C reactive protein [Mass/volume]" + _SERUM, "mg/L", 1,
         (0, 100), (0, 2000), (1, 3200), 14.0),
    _lab("LDL", "LDL cholesterol", "13457-7", "Cholesterol in LDL [Mass/volume]" + _SERUM + " by calculation",
         "mg/dL", 0, (50, 130), (0, 400), (28, 262), 11.0),
    _lab("HDL", "HDL cholesterol", "2085-9", "Cholesterol in HDL [Mass/volume]" + _SERUM, "mg/dL", 0,
         (40, 90), (0, 150), (21, 108), 4.0, women=(50, 100)),
    _lab("TRIG", "Triglycerides", "2571-8", "Triglyceride [Mass/volume]" + _SERUM, "mg/dL", 0,
         (40, 150), (0, 1000), (38, 395), 24.0),
    _lab("CHOL", "Cholesterol, total", "2093-3", "Cholesterol [Mass/volume]" + _SERUM, "mg/dL", 0,
         (100, 200), (0, 500), (66, 450), 2.0),
    _lab("TSH", "Thyrotropin", "3016-3", "Thyrotropin [Units/volume]" + _SERUM, "m[IU]/L", 2,
         (40, 400), (1, 5000), (3, 2600), 45.0),
    _lab("A1C", "Hemoglobin A1c", "4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "%", 1,
         (40, 56), (0, 150), (43, 139), 2.2),
    _lab("GLU", "Glucose, capillary", "41653-7", "Glucose [Mass/volume] in Capillary blood by Glucometer",
         "mg/dL", 0,
         (70, 140), (50, 400), (44, 468), 17.0),
)

SHIFTS: Final[dict[str, dict[str, float]]] = {
    # illness: how far it moves a test's usual value, in units of the last decimal
    "kidney": {"CREAT": 115, "BUN": 21, "K": 3, "CO2": -2, "PHOS": 7, "HGB": -9, "CA": -2},
    "diabetes": {"GLU": 58, "A1C": 23, "TRIG": 35, "HDL": -5},
    "heart_failure": {"NA": -3, "BUN": 9, "K": -2, "MG": -1, "ALB": -3},
    "anemia": {"HGB": -20},
    "liver": {"ALT": 48, "AST": 55, "ALP": 40, "TBIL": 14, "ALB": -7, "PLT": -65, "INR": 3, "NA": -2},
    "afib": {"INR": 11},
    "copd": {"CO2": 4},
    "lipids": {"LDL": 28, "TRIG": 38},
    "obesity": {"HDL": -6, "TRIG": 24, "CRP": 25, "ALT": 8, "A1C": 1},
    "thyroid": {"TSH": 240},
}
DRIFTS: Final[dict[str, dict[str, float]]] = {
    # illness: by how much it moves a test's usual value in a year
    "kidney": {"CREAT": 9, "BUN": 1.5, "HGB": -1.5},
    "diabetes": {"A1C": -1.5, "GLU": -3},
    "lipids": {"LDL": -6},
    "liver": {"ALB": -0.8, "PLT": -6},
    "obesity": {"TRIG": 3},
}
# fmt: on

BY_CODE: Final = {lab.code: lab for lab in LABS}
USUAL: Final[dict[str, float]] = {
    # a healthy person's usual value where the middle of the reference range would be off
    "A1C": 52, "GLU": 108, "CRP": 18, "INR": 10, "TBIL": 6, "LACT": 12, "TSH": 190, "ALT": 24, "AST": 22,
    "BUN": 14, "TRIG": 105, "LDL": 100, "MG": 22, "CREAT": 92,
}  # fmt: skip
BASIC: Final = ("NA", "K", "CO2", "CL", "BUN", "CREAT", "CA")
BLOOD_COUNT: Final = ("WBC", "HGB", "HCT", "PLT")
LIVER: Final = ("ALB", "ALT", "AST", "ALP", "TBIL")
LIPIDS: Final = ("LDL", "HDL", "TRIG", "CHOL")
