"""The card of `wardround preflight` in Markdown. What a model said is quoted, never rendered."""

from __future__ import annotations

import re
from typing import Final

from .agents.base import Usage
from .preflight import Card, Estimate, Finding

UNKNOWN: Final = "unknown"


def markdown(card: Card) -> str:
    """The card as a page of Markdown."""
    return "\n".join([*_head(card), *_probes(card), *_estimate(card), *_settings(card)]) + "\n"


def plain(text: str, most: int = 300) -> str:
    """Text from outside as one line of a table cell: nothing in it is Markdown, HTML or a control code."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", " ", text).split())
    line = line if len(line) <= most else line[: most - 3] + "..."
    line = re.sub(r"([\\`*_{}\[\]#|~!&])", r"\\\1", line)
    return line.replace("<", "&lt;").replace(">", "&gt;").replace("://", "\\://")


def dollars(amount: float | None) -> str:
    """US dollars, or that they are unknown. Small amounts keep their first digits."""
    if amount is None:
        return UNKNOWN
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def tokens(usage: Usage | None) -> str:
    """Tokens in and out, with the part that was cached or reasoned where there is one."""
    if usage is None:
        return UNKNOWN
    cached = f" ({usage.cached_input_tokens:,} cached)" if usage.cached_input_tokens else ""
    reasoned = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
    return f"{usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out{reasoned}"


def duration(seconds: float | None) -> str:
    """A time in the unit that fits it."""
    if seconds is None:
        return UNKNOWN
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _head(card: Card) -> list[str]:
    verdict = "ready for a run" if card.usable else "NOT ready for a run: see the rows below"
    return [
        f"# Preflight of {plain(card.model)}",
        "",
        f"Asked at `{(card.destination or UNKNOWN).replace('`', '')}` on {card.made_at}: {verdict}. "
        f"These probes cost {dollars(card.spent_usd)}.",
        "",
    ]


def _probes(card: Card) -> list[str]:
    rows = ["| question | answer | what happened | tokens | time |", "|---|---|---|---|---|"]
    return [*rows, *(_row(finding) for finding in card.findings), ""]


def _row(finding: Finding) -> str:
    notes = "".join(f"; note: {note}" for note in finding.notes)
    used = tokens(finding.usage) if finding.requests else "-"
    took = duration(finding.seconds) if finding.requests else "-"
    answer = finding.verdict if finding.verdict == "yes" else f"**{finding.verdict}**"
    return f"| {finding.question} | {answer} | {plain(finding.detail + notes)} | {used} | {took} |"


def _estimate(card: Card) -> list[str]:
    found: Estimate = card.estimate
    lines = [
        "## Estimate of a run",
        "",
        f"{found.attempts:,} attempts of {plain(str(card.tasks['name']))} "
        f"({card.tasks['count']:,} tasks), {plain(found.why)}:",
        "",
        f"- cost: {dollars(found.cost_usd)}"
        + (
            ""
            if card.price is not None
            else " (the price of this model is not known: give it with `--prices`)"
        ),
        f"- tokens: {tokens(found.usage)}",
        f"- time in requests: {duration(found.seconds)}, divided by the concurrency",
    ]
    lines.extend(
        f"- sample {plain(sample.task_id)}: {sample.status}, {sample.rounds} turns, "
        f"{tokens(sample.usage)}, {dollars(sample.cost_usd)}, {duration(sample.seconds)}"
        for sample in card.samples
    )
    return [*lines, ""]


def _settings(card: Card) -> list[str]:
    given = ", ".join(f"{name} {value}" for name, value in card.settings.items() if value is not None)
    return [
        "## Settings",
        "",
        plain(given),
        "",
        *(f"- {plain(note)}" for note in card.setting_notes),
    ]
