"""The ledger of a run: what became of every task and repeat.

Every task and repeat has exactly one status. A scored status is a result, passed or not; an owed one
is no result of the agent's, and the run is not whole until it has been made up.
"""

from __future__ import annotations

from typing import Final

SCORED: Final = (
    "completed",
    "invalid_action",
    "budget_exhausted",
    "context_limit",
    "truncated",
    "refused",
    "agent_error",
)
"""Statuses that count: `completed` by its verdicts, the others as failures."""

OWED: Final = ("provider_error", "chart_error", "harness_error", "interrupted", "not_run")
"""Statuses that are made up by `--resume`; while there is one, a score has bounds only."""

STATUSES: Final = SCORED + OWED
