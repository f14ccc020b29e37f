"""What the four questioned laboratory codes hold for each patient: the table behind the bundled tasks.

A task asks for the newest magnesium of the last 24 hours, the mean capillary glucose, the newest
potassium, the newest HbA1c. Whether a right and a wrong way of looking can be told apart depends on what
the chart holds, so that is planned here, case by case, and not left to chance.

One case is one patient's series for one code, newest first, each as `value@age`; the age counts back from
now as hours:minutes (`24:00`) or days and hours:minutes (`12d03:40`). An empty case is a patient in whom
it was never measured. No result of that code is younger than its case says, nor lies between its values:
what the rest of the chart adds is older than the case's oldest value and older than a day.

`Case.today` cases (something within about a day) go to the patients who are in hospital now, the others
to the rest; which patient gets which case is drawn by the seed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .clock import DAY
from .dice import Dice
from .quota import PATIENTS

INPATIENTS: Final = 57
"""Patients in hospital now; each has something measured in the last 24 hours and a minute."""

DECIMALS: Final = {"MG": 1, "K": 1, "A1C": 1, "GLU": 0}
QUESTIONED: Final = tuple(DECIMALS)


@dataclass(frozen=True, slots=True)
class Case:
    """One patient's planned series of one code, newest first.

    `values` are pairs of (minute counted from now, value in units of the code's last decimal).
    """

    values: tuple[tuple[int, int], ...]

    @property
    def today(self) -> bool:
        """Whether the newest value is of the last 24 hours, or one minute older."""
        return bool(self.values) and self.values[0][0] >= -DAY - 1

    @property
    def frontier(self) -> int:
        """The minute before which the rest of the chart may add results of this code."""
        return min(self.values[-1][0], -DAY - 1)


NEVER: Final = Case(())

MG_CASES: Final[tuple[str, ...]] = (
    # severe: newest below 1.0
    "0.6@2:10",
    "0.7@5:40 0.9@17:25",
    "0.8@1:05 1.2@9:30 1.7@20:15",
    "0.9@3:45 0.7@11:20",
    "0.9@6:15 1.6@14:50 2.1@22:05",
    "0.8@8:00 2.2@30:00",
    "0.7@12:35",
    "0.9@23:10 2.0@47:00",
    # exactly 1.0: moderate, not severe
    "1.0@4:20 0.8@13:10",
    "1.0@7:45",
    # moderate
    "1.1@2:30",
    "1.2@5:05 0.9@15:30",
    "1.3@3:15 1.8@12:00 2.1@21:40",
    "1.4@9:50",
    "1.4@1:40 0.8@10:25 1.6@19:35",
    "1.2@10:30",
    "1.3@16:20 1.9@40:00",
    "1.1@19:55 0.7@28:30",
    # exactly 1.5: mild, not moderate
    "1.5@3:05 1.3@14:15",
    "1.5@11:10",
    # mild
    "1.6@2:55",
    "1.7@4:35 1.4@16:40",
    "1.8@6:50 0.9@18:05",
    "1.6@1:25 2.0@13:45",
    "1.7@8:40",
    "1.8@13:30 1.1@21:15",
    "1.6@17:50",
    "1.8@20:25 1.2@33:00",
    # exactly 1.9: mild, the highest value that is low
    "1.9@2:05",
    "1.9@5:30 1.4@17:00",
    "1.9@10:05 2.3@22:20",
    # not low; among them some whose lowest or first value of the day was
    "2.0@1:50",
    "2.0@4:10 0.9@12:25",
    "2.0@9:15 1.8@21:50",
    "2.0@15:05",
    "2.1@3:30 1.3@11:45",
    "2.1@7:20",
    "2.2@2:45 1.9@14:25",
    "2.2@6:05 1.6@18:30 1.1@23:30",
    "2.3@5:25",
    "2.3@10:50 2.0@22:40",
    "2.4@8:25",
    "2.6@13:55 2.2@38:00",
    "2.1@18:15",
    "2.2@12:10 2.4@23:45",
    "2.4@4:55",
    "2.5@16:30",
    "2.1@1:15 1.7@6:45",
    "2.3@19:40",
    # 24 hours ago to the minute: still within; one minute younger; one minute older
    "1.3@24:00 1.9@2d01:10",
    "2.2@24:00 1.4@2d03:30",
    "1.7@23:59 2.1@36:20",
    "2.1@23:59 1.2@35:15",
    "1.2@24:01 1.8@45:40",
    "2.0@24:01 0.9@44:05",
    # only older ones, low ones among them
    "0.8@30:00",
    "1.4@26:20 1.9@50:10",
    "1.7@28:45",
    "2.1@33:30",
    "0.9@2d05:00 1.5@3d04:20",
    "1.2@4d02:15",
    "1.8@7d01:30",
    "2.2@9d23:10 0.7@11d20:00",
    "1.5@16d00:45",
    "2.0@34d03:05",
    *("1.9@61d05:25", "2.3@88d02:10", "1.6@120d01:40", "2.1@150d04:30", "1.3@203d22:50", "2.2@240d03:15"),
    *("2.0@301d00:20", "1.1@350d05:05", "2.4@410d02:35", "1.8@476d01:55", "2.1@590d03:45", "1.4@702d02:00"),
    *(
        "2.2@810d04:10",
        "1.9@941d01:25",
        "2.0@1066d03:50",
        "1.7@1205d02:20",
        "2.3@1333d00:55",
        "2.1@1501d04:40",
    ),
    *("2.2@40d02:25", "1.9@75d21:35", "2.0@99d01:50", "2.4@181d03:00", "1.8@22d04:05", "2.1@51d02:50"),
    # never measured
    *[""] * 11,
)

K_CASES: Final[tuple[str, ...]] = (
    # low, and measured today; in some the level was normal before, in some it fell further and is recovering
    "2.5@3:20",
    "2.6@5:15 3.1@17:40",
    "2.7@2:35 3.9@14:05",
    "2.8@7:10 2.5@19:20",
    "2.9@1:55 3.6@10:40 4.2@22:10",
    "3.0@9:05 3.4@21:30",
    "3.1@4:45 2.8@13:25",
    "3.2@6:30",
    "3.3@11:50 4.4@31:15",
    "3.4@2:15 3.8@15:10",
    "3.4@8:35 2.9@20:45",
    "3.0@12:20",
    "3.3@16:05 3.0@29:40",
    # exactly 3.5, which is not low; and just above
    "3.5@3:55 3.2@15:50",
    "3.5@10:15",
    "3.6@5:35 2.7@16:25",
    "3.6@13:05",
    # normal, after low ones
    "3.8@2:50 3.1@14:30",
    "4.0@6:10 2.6@18:55 3.3@30:25",
    "4.1@4:05 3.4@12:45",
    "3.9@9:40 2.9@21:05",
    # normal throughout
    "3.7@1:35 3.9@13:15",
    "4.2@7:25",
    "4.3@3:10 4.1@15:20",
    "4.4@11:05",
    "4.5@5:50",
    "4.6@8:15 4.2@20:20",
    "4.7@14:40",
    "4.8@2:20",
    "4.9@17:10",
    "5.0@6:55",
    "5.1@10:25",
    *("4.0@3:35", "4.1@4:30", "4.2@5:05", "3.9@6:20", "4.4@7:50", "4.3@8:55", "3.8@9:25", "4.5@10:55"),
    *("4.6@11:35", "4.0@12:50", "3.7@13:40", "4.2@18:25", "4.1@19:10", "4.7@22:30"),
    # high, some after low ones
    "5.2@4:25 4.8@16:15",
    "5.3@8:05 3.2@19:50",
    "5.4@2:00",
    "5.5@12:15 4.9@23:20",
    # the newest is days or months old, and low
    "2.5@6d02:40",
    "2.8@33d04:15 3.7@41d01:20",
    "2.9@2d07:05",
    "3.1@90d03:30",
    "3.2@12d01:05 4.0@15d02:50",
    "3.4@210d02:10",
    "3.3@27:30 3.6@52:10",
    # ... exactly at or just above the threshold
    "3.5@19d04:50 3.1@26d01:10",
    "3.6@4d03:25",
    # ... normal, after low ones
    "3.9@8d02:55 2.8@9d02:30",
    "4.2@57d01:35 3.0@58d05:00",
    "4.4@130d03:40 3.3@133d02:15",
    # ... normal
    *(
        "4.0@3d04:35",
        "4.1@26:10",
        "3.7@17d02:20",
        "4.3@28d05:10",
        "4.5@49d01:15",
        "3.9@66d03:20",
        "4.8@81d00:40",
    ),
    *("4.2@112d02:45", "4.6@160d04:05", "3.8@195d01:30", "4.0@233d03:55", "4.4@280d02:30", "4.1@330d01:45"),
    *("4.3@385d04:25", "5.0@455d00:50", "3.9@520d03:05", "4.7@640d02:05", "4.2@730d01:10", "4.0@905d04:55"),
    *("4.5@1100d03:35", "4.1@38d02:05", "3.8@61d04:25", "4.4@92d01:35", "4.0@147d03:00", "4.6@218d00:45"),
    *("4.3@305d05:20", "3.9@410d02:40", "4.2@571d01:15"),
    # ... high
    "5.3@23d02:35",
    # never measured
    *[""] * 9,
)

A1C_CASES: Final[tuple[str, ...]] = (
    # exactly one year old: not over a year; one minute older: over it; one minute younger
    "7.4@365d00:00 8.1@472d03:15",
    "5.6@365d00:00",
    "6.9@365d00:01 7.2@455d01:30",
    "5.8@365d00:01",
    "8.3@364d23:59 9.0@468d02:20",
    "5.4@364d23:59",
    # over a year old
    *("6.1@366d02:30", "7.8@371d04:10 8.4@463d00:50", "5.5@389d01:25", "9.2@402d03:40", "5.9@430d02:05"),
    *("6.6@466d05:15", "5.3@498d00:35", "7.1@540d03:05 6.8@631d02:45", "5.7@602d04:50", "8.8@655d01:10"),
    *(
        "6.3@719d02:50",
        "5.2@808d03:55",
        "7.5@913d01:45",
        "5.6@1004d04:20",
        "10.4@1187d02:15",
        "5.5@1302d03:30",
    ),
    *("6.0@1441d00:55", "5.8@1560d05:05", "6.4@377d03:25", "5.4@395d02:10", "7.0@445d01:50", "5.7@515d04:35"),
    # within the year; in some, an older one is over a year old and quite different
    *(
        "5.4@2d03:15",
        "6.8@5d01:40 9.9@412d02:25",
        "7.2@9d04:55",
        "5.7@14d02:05",
        "8.1@20d03:35 6.2@530d01:15",
    ),
    *(
        "6.0@27d00:45",
        "9.6@33d05:10",
        "5.5@41d02:40 5.3@433d03:50",
        "7.7@50d01:20",
        "6.4@58d04:05",
        "5.2@66d03:00",
    ),
    *(
        "10.9@74d02:15 7.3@398d04:30",
        "5.9@83d01:55",
        "7.0@92d00:25",
        "8.5@101d03:45",
        "5.6@115d05:00",
        "6.2@128d02:30",
    ),
    *(
        "7.9@140d04:15",
        "5.3@155d01:05",
        "6.7@171d03:20 7.4@266d02:00",
        "5.8@188d02:55",
        "11.8@204d00:50",
        "5.5@219d04:40",
    ),
    *("7.3@236d01:30", "6.1@251d03:10", "5.7@268d02:20", "8.9@284d05:20", "5.4@300d01:00", "6.6@317d03:50"),
    *(
        "5.9@333d02:35",
        "7.6@345d04:00",
        "5.6@356d00:30",
        "6.5@24d02:10",
        "5.5@47d03:55",
        "7.1@79d01:35",
        "5.8@96d04:45",
    ),
    *("6.3@133d02:50", "5.3@162d01:15", "8.0@177d03:30", "5.7@193d04:20", "6.9@226d00:40", "5.6@244d02:05"),
    *("7.5@262d03:40", "5.4@279d01:50", "6.0@295d04:10", "5.9@309d02:25", "7.8@322d00:55", "5.5@338d03:15"),
    *("9.1@110d01:25", "5.2@146d04:35", "6.2@11d03:50", "5.7@36d02:15", "8.7@62d04:20", "5.5@88d01:05"),
    *("6.6@105d02:50", "5.9@137d03:35", "7.4@168d00:20", "5.3@212d04:40", "6.0@259d01:55", "5.6@288d03:05"),
    # never measured
    *[""] * 12,
)

GLU_CASES: Final[tuple[str, ...]] = (
    # 24 hours ago to the minute counts; one minute older does not, however much it would move the mean
    "132@2:00 118@13:20 141@24:00",
    "207@24:00 166@29:10",
    "128@5:30 151@16:45 312@24:01",
    "96@24:01 104@32:20",
    # lists with one to eight values in the last 24 hours; none of the means is a whole number
    *("143@2:25", "97@3:50", "221@7:35", "68@10:10", "118@15:25", "164@21:00"),
    *(
        "131@1:20 158@13:05",
        "92@4:35 107@11:50",
        "246@2:40 201@14:55",
        "119@6:05 84@18:10",
        "177@8:30 150@20:15",
    ),
    *("103@3:05 126@15:40 188@27:30",),
    *("112@1:45 139@6:30 155@12:20", "208@2:20 187@7:55 243@14:10", "95@4:10 101@10:35 88@22:05"),
    *("167@3:25 142@9:15 131@21:20 240@26:40", "74@1:30 129@5:45 116@17:30", "281@2:05 254@8:20 199@13:50"),
    *("122@6:40 137@12:30 109@18:45", "148@0:50 161@4:55 175@11:10"),
    *("134@1:10 120@5:20 153@11:35 171@17:05", "99@2:50 113@7:15 108@13:40 125@20:05"),
    *("226@1:25 195@6:10 248@12:05 262@18:20", "144@3:15 136@8:50 128@14:35 119@22:55 301@25:15"),
    *("86@0:55 104@5:05 97@10:45 116@16:50", "183@2:30 170@6:55 205@13:15 159@19:30"),
    *("111@1:55 127@7:40 140@12:55 121@23:15", "155@4:20 149@9:35 162@15:15 133@21:45"),
    *("118@1:05 131@4:50 146@9:20 125@14:15 109@20:40", "212@0:45 236@5:35 198@10:20 224@15:35 187@21:10"),
    *(
        "94@2:15 106@6:25 115@11:25 98@16:35 124@22:15",
        "173@1:35 159@5:55 181@10:50 166@16:10 144@21:55 92@28:05",
    ),
    *("129@3:40 141@8:10 135@12:40 150@17:45 124@23:05",),
    *(
        "137@0:40 124@4:15 158@8:05 146@12:25 133@16:55 119@22:35",
        "251@1:15 229@4:40 244@8:45 206@13:30 218@17:20 193@23:25",
    ),
    *(
        "101@2:00 112@5:25 95@9:45 118@14:00 107@18:35 90@22:50",
        "168@1:50 152@6:15 179@10:05 161@14:25 147@19:05 136@23:40",
    ),
    *("122@3:30 130@7:05 144@11:15 139@15:05 126@19:20 115@23:50",),
    *("119@0:35 133@3:55 127@7:30 142@11:00 150@14:50 136@18:50 121@22:25",),
    *("234@1:00 211@4:25 248@8:15 226@11:40 203@15:55 219@19:45 190@23:35",),
    *("98@1:40 110@5:10 104@8:35 116@12:15 93@16:20 107@20:20 88@23:00",),
    *("154@2:35 147@6:35 166@10:00 159@13:35 171@17:15 140@20:55 132@23:55",),
    *("128@0:30 135@3:20 149@6:45 142@9:55 156@13:00 130@16:05 124@19:35 117@22:45",),
    *("261@1:20 238@4:05 217@7:20 244@10:40 229@13:55 208@17:00 252@20:30 196@23:20",),
    *("106@0:55 113@3:35 97@7:00 121@10:15 109@13:20 102@16:40 118@19:55 91@23:10",),
    *("172@1:45 164@4:45 183@8:00 157@11:20 176@14:30 148@17:55 161@21:05 139@23:45",),
    # in hospital, the last one more than a day ago
    "126@25:30 138@31:45",
    "204@27:15 181@33:40",
    # only older ones
    *(
        "113@2d04:20",
        "187@3d01:35",
        "99@5d06:10",
        "142@8d03:05",
        "265@12d02:40",
        "108@21d04:30",
        "151@36d01:10",
    ),
    *("94@54d03:25", "218@73d05:15", "127@97d02:00", "116@126d00:50", "173@158d04:05", "89@190d01:55"),
    *("134@231d03:40", "246@275d02:30", "105@318d04:45", "159@362d01:20", "121@420d03:10", "98@511d02:15"),
    *("182@603d00:35", "110@744d04:55", "139@902d01:45", "226@1050d03:30", "117@1211d02:50", "92@1404d04:10"),
    *("129@15d03:00", "103@44d02:20", "147@64d04:25", "115@84d01:30", "194@140d03:50", "101@175d02:05"),
    *(
        "123@255d00:55",
        "166@300d03:15",
        "109@388d04:35",
        "136@470d02:10",
        "99@29d03:30",
        "178@112d01:20",
        "111@203d04:15",
    ),
    # never measured
    *[""] * 10,
)

_VALUE = re.compile(r"(?P<value>\d+(?:\.\d)?)@(?:(?P<days>\d+)d)?(?P<hours>\d+):(?P<minutes>[0-5]\d)")


def parse_case(code: str, text: str) -> Case:
    """One line of the tables above. Raises ValueError where it is not of their form, or out of order."""
    values: list[tuple[int, int]] = []
    for word in text.split():
        match = _VALUE.fullmatch(word)
        if match is None or ("." in match["value"]) != (DECIMALS[code] == 1):
            raise ValueError(f"{code} case {text!r}: {word!r} is not value@age")
        age = int(match["days"] or 0) * DAY + int(match["hours"]) * 60 + int(match["minutes"])
        if values and -age >= values[-1][0]:
            raise ValueError(f"{code} case {text!r}: the newest must come first")
        values.append((-age, int(match["value"].replace(".", ""))))
    return Case(tuple(values))


CASES: Final[dict[str, tuple[Case, ...]]] = {
    code: tuple(parse_case(code, text) for text in texts)
    for code, texts in (("MG", MG_CASES), ("K", K_CASES), ("A1C", A1C_CASES), ("GLU", GLU_CASES))
}


@dataclass(frozen=True, slots=True)
class PatientPlan:
    """The four series of one patient, and whether the patient is in hospital now."""

    inpatient: bool
    cases: dict[str, Case]


def assign_plan(seed: int) -> list[PatientPlan]:
    """One plan for each of the 100 patients.

    For each code, the cases with a value of about the last day go to inpatients and the others fill up;
    HbA1c, which is no matter of the day, goes to anybody.
    """
    inpatients = set(Dice(seed, "plan", "inpatients").shuffled(range(PATIENTS))[:INPATIENTS])
    plans: list[dict[str, Case]] = [{} for _ in range(PATIENTS)]
    for code, cases in CASES.items():
        dice = Dice(seed, "plan", code)
        places = dice.shuffled(range(PATIENTS))
        if code != "A1C":
            places.sort(key=lambda place: place not in inpatients)
        now = dice.shuffled([case for case in cases if case.today])
        then = dice.shuffled([case for case in cases if not case.today])
        for place, case in zip(places, now + then, strict=True):
            plans[place][code] = case
    return [PatientPlan(place in inpatients, plans[place]) for place in range(PATIENTS)]
