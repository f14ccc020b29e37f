"""A comparison for a terminal: the finding in words first, then the tables behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .summary import RULES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN_FLIPS = 20
"""Flipped tasks printed per rule set; the JSON has all of them."""


def points(value: float | None) -> str:
    """A difference of rates in percentage points, signed."""
    if value is None:
        return "-"
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def interval(limits: list[float] | None) -> str:
    """An interval of differences in percentage points."""
    return "not defined" if limits is None else f"{points(limits[0])} to {points(limits[1])}"


def p_value(p: float | None) -> str:
    """A p-value as people print it."""
    if p is None:
        return "-"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.1 else f"{p:.2f}"


def sentences(result: Mapping[str, Any], rules: str) -> list[str]:
    """What a comparison says under one rule set, and how sure, in a few sentences."""
    block = result["rules"][rules]
    a, b = result["runs"]["a"]["name"], result["runs"]["b"]["name"]
    rate = block["rate"]
    lines = [
        f"{a} passes {100 * rate['a']:.1f} %, {b} {100 * rate['b']:.1f} % of {result['tasks']} tasks: "
        f"{points(block['difference'])} points ({intervals_phrase(block)})."
    ]
    test = block["test"]
    lines.append(test_sentence(test))
    lines.append(noninferiority_sentence(block["noninferiority"], b, a))
    lines.append(detectable_sentence(block["detectable_difference"], result["tasks"]))
    return lines


def intervals_phrase(block: Mapping[str, Any]) -> str:
    """The 95 % intervals of a difference, each with what it is of."""
    low, high = block["bootstrap95"]
    phrases = [f"95 % interval {interval([low, high])} by bootstrap within categories"] if low < high else []
    if block["tango95"] is not None:
        phrases.append(f"{'' if phrases else '95 % interval '}{interval(block['tango95'])} by Tango's score")
    phrases.append(f"over new categories {interval(block['cluster95'])}")
    return "; ".join(phrases)


def test_sentence(test: Mapping[str, Any]) -> str:
    """The test of no difference, as a sentence."""
    text = f"{test['name']}: p {_relation(test['p'])}"
    if test["mid_p"] is not None:
        text += f", mid-p {_relation(test['mid_p'])}"
    return text + "."


def _relation(p: float) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def noninferiority_sentence(found: Mapping[str, Any], b: str, a: str) -> str:
    """Whether b is no worse than a by the margin, as a sentence."""
    verdict = "is shown to be" if found["shown"] else "is not shown to be"
    return (
        f"{b} {verdict} no worse than {a} by {100 * found['margin']:.1f} points or more "
        f"({found['method']}, one-sided p {_relation(found['p_one_sided'])}, level 0.025)."
    )


def detectable_sentence(found: Mapping[str, Any], tasks: int) -> str:
    """The smallest difference that this many tasks could have shown, as a sentence."""
    if found["value"] is None:
        return f"The runs differ on too few of {tasks} tasks for any difference to be shown."
    return (
        f"The smallest true difference that {tasks} tasks like these show with 80 % power is "
        f"{100 * found['value']:.1f} points."
    )


def print_comparison(result: Mapping[str, Any], console: Console) -> None:
    """Print a comparison as people read it."""
    for reason in result["differences"]:
        console.print(f"Warning: {reason}; only tasks that both have done are compared.", markup=False)
    for rules in RULES:
        console.print(f"\n{rules}", style="bold")
        for sentence in sentences(result, rules):
            console.print(sentence, markup=False, highlight=False)
        for table in _tables(result, rules):
            console.print(table)
    console.print(_effort_table(result))


def _plain_table(*headings: str, title: str | None = None) -> Table:
    """A table whose headings are text: a run's name is never read as markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title)
    for heading in headings:
        table.add_column(Text(heading))
    return table


def _tables(result: Mapping[str, Any], rules: str) -> Iterator[Table]:
    block = result["rules"][rules]
    a, b = result["runs"]["a"]["name"], result["runs"]["b"]["name"]
    if block["table"] is not None:
        table = _plain_table("both", f"{a} only", f"{b} only", "neither", title="Tasks passed by")
        table.add_row(*(str(block["table"][cell]) for cell in ("both", "a_only", "b_only", "neither")))
        yield table
    elif len(block["pass_hat_k"]) > 1:
        table = _plain_table("k", f"{a} pass^k", f"{b} pass^k", "difference", "95 % interval")
        for k, entry in block["pass_hat_k"].items():
            table.add_row(
                k,
                _rate(entry["a"]),
                _rate(entry["b"]),
                points(entry["difference"]),
                interval(entry["bootstrap95"]),
            )
        yield table
    table = _plain_table("category", a, b, "difference", "p", "Holm p", title="Categories (exploratory)")
    for name, row in block["categories"].items():
        table.add_row(
            name,
            f"{100 * row['a']:.1f} %",
            f"{100 * row['b']:.1f} %",
            points(row["difference"]),
            p_value(row["p"]),
            p_value(row["holm_p"]),
        )
    yield table
    yield from _flip_table(block["flipped"], a, b)


def _rate(entry: Mapping[str, Any]) -> str:
    low, high = entry["ci95"]
    return f"{100 * entry['rate']:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _flip_table(flipped: list[dict[str, Any]], a: str, b: str) -> Iterator[Table]:
    from rich.text import Text

    if not flipped:
        return
    gained = sum(flip["direction"] == "gained" for flip in flipped)
    title = f"Flipped tasks: {gained} gained, {len(flipped) - gained} lost"
    table = _plain_table("task", f"{b} against {a}", f"{a} failed by", f"{b} failed by", title=title)
    for flip in flipped[:SHOWN_FLIPS]:
        cells = flip["task_id"], flip["direction"], _codes(flip["a"]), _codes(flip["b"])
        table.add_row(*map(Text, cells))
    if len(flipped) > SHOWN_FLIPS:
        table.caption = f"{len(flipped) - SHOWN_FLIPS} more are in the file of --json"
    yield table


def _codes(side: Mapping[str, Any]) -> str:
    """Each failure's code with the last name of its path; the JSON has both in full."""
    found = dict.fromkeys(
        f"{failure['code']} ({tail})"
        if (tail := failure["path"].rpartition(".")[2]) != "$"
        else failure["code"]
        for failure in side["failures"]
    )
    return ", ".join(found) or "-"


def _effort_table(result: Mapping[str, Any]) -> Table:
    sides = result["effort"]["overall"]
    table = _plain_table("per attempt", result["runs"]["a"]["name"], result["runs"]["b"]["name"])
    for label, text in _EFFORT_ROWS:
        table.add_row(label, *(text(sides[side]) for side in ("a", "b")))
    return table


def _number(value: float | None, pattern: str = "{:.2f}") -> str:
    return "unknown" if value is None else pattern.format(value)


_EFFORT_ROWS: tuple[tuple[str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("format failures, all", lambda side: str(side["format_failures"])),
    ("invalid actions, all", lambda side: str(side["invalid_actions"])),
    ("calls refused, all", lambda side: str(side["calls_refused"])),
    ("rounds by call", lambda side: _number(side["rounds_by_call"])),
    ("rounds by turn", lambda side: _number(side["rounds_by_turn"])),
    ("input tokens", lambda side: f"{side['tokens']['input_tokens']:,.0f}"),
    ("output tokens", lambda side: f"{side['tokens']['output_tokens']:,.0f}"),
    ("cost", lambda side: _number(side["cost_usd"], "${:.4f}")),
    ("cost per solved task", lambda side: _number(side["cost_per_solved_usd"], "${:.4f}")),
    ("seconds, median", lambda side: f"{side['seconds']['median']:.2f}"),
)
