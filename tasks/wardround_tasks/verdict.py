"""What the graders say: a verdict under each rule set, with every failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from .jsontext import shorten

RuleSet = Literal["medagentbench", "clinical"]
RULE_SETS: tuple[RuleSet, ...] = get_args(RuleSet)

Code = Literal[
    "no_answer",
    "invalid_action",
    "budget_exhausted",
    "context_limit",
    "provider_error",
    "answer_not_json",
    "answer_wrong",
    "answer_format",
    "unexpected_write",
    "missing_write",
    "extra_write",
    "wrong_endpoint",
    "wrong_patient",
    "wrong_dose",
    "wrong_code",
    "wrong_time",
    "wrong_field",
    "invalid_resource",
]
CODES: tuple[Code, ...] = get_args(Code)


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that is not as the rules ask, or, as a note, one that is but in an unusual form.

    `path` is a JSON path into the attempt (`$.answer[0]`, `$.calls[1].resource.status`);
    `expected` and `got` are JSON values; null in `got` also stands for what was not there.
    """

    code: Code
    path: str
    expected: Any
    got: Any

    def to_json(self) -> dict[str, Any]:
        """The failure's record; long values are shortened."""
        return {
            "code": self.code,
            "path": self.path,
            "expected": shorten(self.expected, characters=1000),
            "got": shorten(self.got, characters=1000),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement under one rule set: it passes where there is no failure; notes do not fail."""

    failures: tuple[Failure, ...] = ()
    notes: tuple[Failure, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Both judgements of one attempt."""

    task_id: str
    medagentbench: Verdict
    clinical: Verdict

    def of(self, rules: RuleSet) -> Verdict:
        """The verdict under a rule set."""
        return self.medagentbench if rules == "medagentbench" else self.clinical

    def to_json(self) -> dict[str, Any]:
        """One verdict line (contract section 5)."""
        return {
            "task_id": self.task_id,
            "medagentbench": {
                "passed": self.medagentbench.passed,
                "failures": [failure.to_json() for failure in self.medagentbench.failures],
            },
            "clinical": {
                "passed": self.clinical.passed,
                "failures": [failure.to_json() for failure in self.clinical.failures],
                "notes": [note.to_json() for note in self.clinical.notes],
            },
        }
