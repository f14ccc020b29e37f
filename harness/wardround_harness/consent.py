"""Whether a chart's records may go where a model would take them."""

from __future__ import annotations

from urllib.parse import urlsplit

from wardround_schemas.errors import UserError
from wardround_server.settings import is_loopback

from .agents.base import Agent, ProgramAgent
from .manifest import public_url


def stays_here(agent: Agent | ProgramAgent) -> bool:
    """Whether what the agent reads stays on this machine.

    Builtins stay in this process; an API counts by the host of its base URL, which is not looked
    up: only `localhost` and loopback addresses are this machine. Where a program sends what it reads
    can't be known, so it does not count.
    """
    if isinstance(agent, Agent):
        return agent.destination is None or is_loopback(urlsplit(agent.destination).hostname or "")
    return False


def check_consent(agent: Agent | ProgramAgent, *, synthetic: bool, allowed: bool) -> None:
    """UserError when records of a chart that is not marked synthetic would leave this machine unasked."""
    if synthetic or allowed or stays_here(agent):
        return
    if agent.destination is not None:
        where = f"{agent.name} is at {public_url(agent.destination)}"
    else:
        where = f"where {agent.name.split(':')[0]}: sends what it reads is not known"
    raise UserError(
        f"the chart is not marked synthetic, and {where}: records would leave this machine",
        mend="use a model on loopback or a synthetic chart, or add --allow-chart-to-provider if you may",
    )
