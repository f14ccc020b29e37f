"""What a report counts beyond the scores: failures, disagreements of the rule sets, distributions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ledger import SCORED
from ..reading import StoredRun
from ..summary import Line, line_status, passed

_INDEX = re.compile(r"\[\d+\]")


def scored_lines(run: StoredRun) -> list[Line]:
    """The lines of a run that count, one per task and repeat."""
    return [line for line in run.settled.values() if line_status(line) in SCORED]


def general_path(path: str) -> str:
    """A JSON path without its indexes: `$.calls[1].resource.status` is `$.calls[].resource.status`."""
    return _INDEX.sub("[]", path)


def taxonomy(lines: Sequence[Line], rules: str) -> list[tuple[str, int]]:
    """How many attempts show each failure code under one rule set, most frequent first."""
    counts: Counter[str] = Counter()
    for line in lines:
        verdict = (line.get("verdicts") or {}).get(rules) or {}
        counts.update({str(failure.get("code")) for failure in verdict.get("failures") or ()})
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Attempts by what the two rule sets say of them, and what the failing side objects to.

    `reasons_*` are (code, path without indexes, attempts), most frequent first.
    """

    both: int
    original_only: int
    clinical_only: int
    neither: int
    reasons_original: list[tuple[str, str, int]]
    reasons_clinical: list[tuple[str, str, int]]


def disagreement(lines: Sequence[Line]) -> Disagreement:
    """Where the rule sets part: attempts that pass one and fail the other, with the reasons."""
    cells: Counter[tuple[bool, bool]] = Counter()
    original: Counter[tuple[str, str]] = Counter()
    clinical: Counter[tuple[str, str]] = Counter()
    for line in lines:
        cell = passed(line, "medagentbench"), passed(line, "clinical")
        cells[cell] += 1
        if cell == (False, True):
            original.update(_reasons(line, "medagentbench"))
        elif cell == (True, False):
            clinical.update(_reasons(line, "clinical"))
    return Disagreement(
        both=cells[True, True],
        original_only=cells[True, False],
        clinical_only=cells[False, True],
        neither=cells[False, False],
        reasons_original=[(*reason, count) for reason, count in original.most_common()],
        reasons_clinical=[(*reason, count) for reason, count in clinical.most_common()],
    )


def _reasons(line: Line, rules: str) -> set[tuple[str, str]]:
    failures: Sequence[Mapping[str, Any]] = line["verdicts"][rules].get("failures") or ()
    return {(str(failure.get("code")), general_path(str(failure.get("path")))) for failure in failures}


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts per bin; `edges` has one more value than `counts`, whole numbers."""

    edges: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def labels(self) -> list[str]:
        """A bin's range as text; a bin of one whole number is that number."""
        return [
            str(low) if high - low == 1 else f"{low:,} to {high - 1:,}"
            for low, high in zip(self.edges, self.edges[1:], strict=False)
        ]


def histogram(values: Sequence[int], edges: Sequence[int]) -> Histogram:
    """Values per bin [edge, next edge); the edges must hold every value."""
    counts = [0] * (len(edges) - 1)
    for value in values:
        for index in range(len(counts)):
            if edges[index] <= value < edges[index + 1]:
                counts[index] += 1
                break
        else:
            raise ValueError(f"{value} is outside the bins")
    return Histogram(tuple(edges), tuple(counts))


def whole_edges(values: Sequence[int]) -> list[int]:
    """Bins for small whole numbers: one each, at most 20, wider above."""
    top = max(values, default=1)
    width = max(1, math.ceil((top + 1) / 20))
    return list(range(0 if 0 in values else 1, top + width + 1, width))


def round_edges(values: Sequence[int], bins: int = 12) -> list[int]:
    """About `bins` bins from 0 with edges on round numbers (1, 2 or 5 times a power of ten)."""
    top = max(values, default=1) or 1
    rough = top / bins
    power = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    width = next(int(power * step) for step in (1, 2, 5, 10) if power * step >= rough)
    width = max(1, width)
    return list(range(0, (top // width + 1) * width + 1, width))


def tokens_of(line: Line) -> int:
    """Input and output tokens of an attempt."""
    usage = line.get("usage") or {}
    return int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
