"""The grader certificate: what the graders say of right, idle, blind and mutated attempts.

Every trial has a fair verdict, known beforehand. The certificate holds when the `clinical` rules give it
on every trial, and the `medagentbench` rules depart from it only where a known fault of theirs says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .attempt import Attempt, CreateCall
from .categories import CATEGORIES
from .categories.base import Form, gold_attempt, resource_for
from .expect import Expected, MedicationWrite
from .grading import category_of, grade
from .mutants import mutators, needless_order
from .scenes import Scene, scenes
from .verdict import RULE_SETS, RuleSet, Verdicts

FORMS: Final[tuple[Form, ...]] = ("original", "medagentbench", "r4")
MIDDLE_DOSES: Final = {"g": 2.0, "mEq": 50.0}


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt on one scene. `right` is the fair verdict; `family` groups trials of one kind."""

    category: str
    scene: str
    name: str
    family: str
    right: bool
    verdicts: Verdicts

    def passed(self, rules: RuleSet) -> bool:
        """Whether it passed."""
        return self.verdicts.of(rules).passed

    @property
    def place(self) -> str:
        """Category and scene."""
        return f"{self.category} ({self.scene})"


@dataclass(frozen=True, slots=True)
class KnownFault:
    """A way in which the original's rules depart from a fair verdict, and why."""

    reason: str
    names: tuple[str, ...]
    scenes: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def covers(self, trial: Trial) -> bool:
        """Whether this fault explains the trial's verdict."""
        return (
            (not self.names or trial.name in self.names)
            and (not self.scenes or trial.scene in self.scenes)
            and (not self.categories or trial.category in self.categories)
        )


TOO_LENIENT: Final = (
    KnownFault("with no value in the window any answer passes", (), ("older only",), ("task5",)),
    KnownFault(
        "`[]` passes where the value was asked for",
        ("empty list", "no-op", "always-act"),
        categories=("task5", "task9", "task10"),
    ),
    KnownFault("true equals 1 in Python", ("[true]",), ("moderate",)),
    KnownFault(
        "the window of 24 hours has no upper end, so a value dated after now is taken",
        ("value of the wrong window or unit", "empty list", "no-op"),
        ("dated after now",),
    ),
    KnownFault(
        "units are not looked at, so 0.9 mmol/L is taken for 0.9 mg/dL",
        ("value of the wrong window or unit",),
        ("other unit",),
    ),
    KnownFault("an order with doNotPerform is an order all the same", ("do not perform",)),
    KnownFault("only the first dosage is looked at", ("second dosage beside the first",)),
    KnownFault("only the first coding is looked at", ("second, different drug code",)),
    KnownFault(
        "the comparator of an oral dose is not looked at", ("dose at most (comparator)",), (), ("task9",)
    ),
    KnownFault(
        "a time is searched for a text, whatever its zone",
        ("signed at this hour elsewhere", "level at 8 elsewhere"),
    ),
    KnownFault("nothing checks that the resource is valid FHIR", ("an element that R4 lacks",)),
)
TOO_STRICT: Final = (
    KnownFault(
        "route must be a plain string, where the function's schema and FHIR have an object",
        ("gold in the medagentbench form", "gold in the r4 form", "route as an object"),
        categories=("task5", "task9"),
    ),
    KnownFault(
        "note must be one object, where FHIR has a list",
        ("gold in the r4 form", "note as a list"),
        categories=("task8",),
    ),
    KnownFault(
        "category must be in the older code system, not in R4's",
        ("gold in the r4 form", "category in R4's system"),
        categories=("task3",),
    ),
    KnownFault("code must be its text alone", ("code with a coding beside its text",)),
    KnownFault(
        "a quantity must be value and unit alone, and the rate a number of hours",
        ("quantities with UCUM codes", "infusion rate in g/h"),
    ),
    KnownFault(
        "times are compared letter by letter", ("times with Z and milliseconds", "answered time with Z")
    ),
    KnownFault(
        "subject must be the relative reference alone",
        ("subject as an absolute URL", "subject with display and type"),
    ),
    KnownFault("the medication must be ordered before the level", ("the two orders the other way round",)),
    KnownFault(
        "the answer must be a list, and a number a number", ("number as text", "bare value for a list of one")
    ),
    KnownFault("a value dated after now is taken for the newest", (), ("dated after now",)),
    KnownFault("units are not looked at", (), ("other unit",)),
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """All trials, and what follows from them."""

    trials: tuple[Trial, ...]

    def harmful(self, category: str | None = None, family: str | None = None) -> list[Trial]:
        """Trials that ought to fail."""
        return [trial for trial in self.trials if not trial.right and _of(trial, category, family)]

    def harmless(self, category: str | None = None, family: str | None = None) -> list[Trial]:
        """Trials that ought to pass."""
        return [trial for trial in self.trials if trial.right and _of(trial, category, family)]

    def unfair(self, rules: RuleSet) -> list[Trial]:
        """Trials on which a rule set departs from the fair verdict."""
        return [trial for trial in self.trials if trial.passed(rules) != trial.right]

    def unexplained(self) -> list[Trial]:
        """Departures of the `medagentbench` rules that no known fault explains."""
        return [
            trial
            for trial in self.unfair("medagentbench")
            if not any(fault.covers(trial) for fault in (TOO_STRICT if trial.right else TOO_LENIENT))
        ]

    def idle_faults(self) -> list[KnownFault]:
        """Known faults that explain nothing any more."""
        unfair = self.unfair("medagentbench")
        return [
            fault
            for right, faults in ((True, TOO_STRICT), (False, TOO_LENIENT))
            for fault in faults
            if not any(trial.right == right and fault.covers(trial) for trial in unfair)
        ]

    @property
    def holds(self) -> bool:
        """Whether the graders are what docs/grading.md says."""
        return not self.unfair("clinical") and not self.unexplained() and not self.idle_faults()


def certify() -> Certificate:
    """Run every trial; no chart is needed, the scenes bring what it says."""
    return Certificate(tuple(trial for scene in scenes() for trial in _trials(scene)))


def _of(trial: Trial, category: str | None, family: str | None) -> bool:
    return category in (None, trial.category) and family in (None, trial.family)


def _trials(scene: Scene) -> Iterator[Trial]:
    expected = category_of(scene.task).expected(scene.task, scene.reference, "clinical")
    gold = gold_attempt(scene.task, expected, "original")
    for form in FORMS:
        attempt = gold_attempt(scene.task, expected, form)
        yield _trial(scene, f"gold in the {form} form", "gold", True, attempt)
    yield _trial(scene, "no-op", "no-op", False, Attempt(scene.task.id, answer="[]"))
    blind = _blind(scene, expected)
    yield _trial(scene, "always-act", "always-act", scene.task.category in ("task3", "task8"), blind)
    for mutator in mutators():
        mutant = mutator.mutate(scene, gold)
        if mutant is not None:
            yield _trial(scene, mutator.name, mutator.family, not mutator.harm, mutant)


def _trial(scene: Scene, name: str, family: str, right: bool, attempt: Attempt) -> Trial:
    verdicts = grade(scene.task, attempt, scene.reference)
    return Trial(scene.task.category, scene.name, name, family, right, verdicts)


def _blind(scene: Scene, expected: Expected) -> Attempt:
    """The category's write without a look at the chart, at the middle dose, then `[]`."""
    calls: list[CreateCall] = []
    for write in expected.writes:
        if isinstance(write, MedicationWrite):
            dose = MIDDLE_DOSES[write.unit]
            resource = resource_for(write, "original")
            amounts = resource["dosageInstruction"][0]["doseAndRate"][0]
            amounts["doseQuantity"]["value"] = dose
            if "rateQuantity" in amounts:
                amounts["rateQuantity"]["value"] = dose
            calls.append(CreateCall(write.resource_type, resource))
        else:
            calls.append(CreateCall(write.resource_type, resource_for(write, "original")))
    if not calls and scene.task.kind == "action":
        calls.append(needless_order())
    return Attempt(scene.task.id, answer="[]", calls=tuple(calls))


# --- the certificate as text ---------------------------------------------------------------------


def _rate(trials: Sequence[Trial], rules: RuleSet, *, passed: bool) -> str:
    count = sum(trial.passed(rules) == passed for trial in trials)
    return f"{count} of {len(trials)}" if trials else "-"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def _rows(certificate: Certificate, groups: Sequence[tuple[str, str | None, str | None]]) -> list[list[str]]:
    rows = []
    for title, category, family in groups:
        wrong = certificate.harmful(category, family)
        right = certificate.harmless(category, family)
        rows.append(
            [title]
            + [_rate(wrong, rules, passed=False) for rules in RULE_SETS]
            + [_rate(right, rules, passed=True) for rules in RULE_SETS]
        )
    return rows


def _faults(certificate: Certificate, right: bool) -> list[list[str]]:
    unfair = [trial for trial in certificate.unfair("medagentbench") if trial.right == right]
    rows = []
    for fault in TOO_STRICT if right else TOO_LENIENT:
        hit = [trial for trial in unfair if fault.covers(trial)]
        names = ", ".join(dict.fromkeys(trial.name for trial in hit))
        where = ", ".join(dict.fromkeys(trial.category for trial in hit))
        rows.append([fault.reason, names, where, str(len(hit))])
    return rows


def markdown(certificate: Certificate) -> str:
    """The tables of docs/grading.md."""
    head = [
        "wrong attempts that fail, `medagentbench`",
        "`clinical`",
        "right attempts that pass, `medagentbench`",
        "`clinical`",
    ]
    categories: list[tuple[str, str | None, str | None]] = [
        (f"{category.traits.id}: {category.traits.title}", category.traits.id, None)
        for category in CATEGORIES
    ]
    families: list[tuple[str, str | None, str | None]] = [
        (family, None, family) for family in dict.fromkeys(trial.family for trial in certificate.trials)
    ]
    faults = ["fault", "seen in", "categories", "trials"]
    return "\n\n".join(
        (
            f"{len(certificate.trials)} trials on {len(scenes())} scenes.",
            _table(["category", *head], _rows(certificate, [*categories, ("all", None, None)])),
            _table(["kind of trial", *head], _rows(certificate, families)),
            "Wrong attempts that pass under `medagentbench`:",
            _table(faults, _faults(certificate, right=False)),
            "Right attempts that fail under `medagentbench`:",
            _table(faults, _faults(certificate, right=True)),
        )
    )


def plain(certificate: Certificate) -> str:
    """The certificate for a terminal: the tables, then what does not hold."""
    lines = [markdown(certificate), ""]
    for title, trials in (
        ("unfair under clinical", certificate.unfair("clinical")),
        ("unexplained under medagentbench", certificate.unexplained()),
    ):
        lines += [f"{title}: {trial.name}, {trial.place}" for trial in trials]
    lines += [f"known fault that explains nothing: {fault.reason}" for fault in certificate.idle_faults()]
    lines.append("The certificate holds." if certificate.holds else "The certificate does not hold.")
    return "\n".join(lines)
