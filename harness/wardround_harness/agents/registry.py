"""From the name of a model to the agent that speaks for it. One explicit table, read top to bottom."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wardround_schemas.errors import UserError
from wardround_schemas.plugins import blaming, find_plugin, load_plugin, named
from wardround_tasks.task import Task

from .base import Agent, ProgramAgent

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What an agent may be made from: the spec's part after its prefix, and the run's surroundings."""

    spec: str
    rest: str
    tasks: Sequence[Task]
    fhir_base: str
    protocols: tuple[str, ...]
    base_url: str | None = None
    time_limit: float = 600.0


Opener = Callable[[AgentContext], Agent | ProgramAgent]


def _scripted(module: str) -> Opener:
    def open_it(context: AgentContext) -> Agent:
        from importlib import import_module

        from .brief import briefs
        from .scripted import Scripted

        script = import_module(f".{module}", __package__).script
        return Scripted(context.spec, script, briefs(context.tasks), context.fhir_base)

    return open_it


def _replay(context: AgentContext) -> Agent:
    from .replay import Replay

    if not context.rest:
        raise UserError(f"{context.spec!r} names no run", mend="builtin/replay:RUN, RUN being a run folder")
    return Replay(context.spec, Path(context.rest), context.protocols)


def _command(context: AgentContext) -> ProgramAgent:
    from .command import Command

    return Command(context.spec, context.rest, time_limit=context.time_limit)


def _provider(module: str, kind: str, vendor: str) -> Opener:
    """The opener of a provider's agent; its address and key come from VENDOR_BASE_URL and VENDOR_API_KEY."""

    def open_it(context: AgentContext) -> Agent:
        from importlib import import_module

        from .wire import environment, find_address

        if not context.rest.strip():
            raise UserError(f"{context.spec!r} names no model", mend=f"{context.spec}NAME")
        module_ = import_module(f".{module}", __package__)
        address = find_address(
            context.base_url, module_.DEFAULT_BASE, f"{vendor}_BASE_URL", f"{vendor}_API_KEY", environment()
        )
        agent: Agent = getattr(module_, kind)(context.spec, context.rest, address)
        return agent

    return open_it


BUILTINS: tuple[tuple[str, Opener], ...] = (
    ("builtin/oracle", _scripted("builtin_oracle")),
    ("builtin/null", _scripted("builtin_null")),
    ("builtin/always-act", _scripted("builtin_always_act")),
)
"""Names that stand for themselves."""

PREFIXES: tuple[tuple[str, Opener], ...] = (
    ("builtin/replay:", _replay),
    ("command:", _command),
    ("anthropic/", _provider("anthropic_messages", "AnthropicMessages", "ANTHROPIC")),
    ("openai/", _provider("openai_responses", "OpenAIResponses", "OPENAI")),
    ("openai-chat/", _provider("openai_chat", "OpenAIChat", "OPENAI")),
)
"""Prefixes that are followed by a name, a path or a template."""

PLUGINS: Final = "wardround.agents"
"""Entry points of agents from other packages: name and prefix of NAME/MODEL; the object is an `Opener`."""

FORMS = ("anthropic/NAME", "openai/NAME", "openai-chat/NAME", "command:TEMPLATE", "builtin/replay:RUN")


def open_agent(
    spec: str,
    *,
    tasks: Sequence[Task],
    fhir_base: str,
    protocols: tuple[str, ...],
    base_url: str | None = None,
    time_limit: float = 600.0,
) -> Agent | ProgramAgent:
    """The agent of a model's name (contract section 2). UserError for a name that is none."""
    opener, rest = find_opener(spec)
    return opener(AgentContext(spec, rest, tasks, fhir_base, protocols, base_url, time_limit))


def find_opener(spec: str) -> tuple[Opener, str]:
    """What opens a model's name, and the name's part after its prefix. Ours go before plugins."""
    for name, opener in BUILTINS:
        if spec == name:
            return opener, ""
    for prefix, opener in PREFIXES:
        if spec.startswith(prefix):
            return opener, spec[len(prefix) :]
    prefix, slash, rest = spec.partition("/")
    plugin = find_plugin(PLUGINS, prefix) if slash else None
    if plugin is not None:
        return _plugged(plugin), rest
    raise unknown_model(spec)


def _plugged(plugin: EntryPoint) -> Opener:
    """The opener that a plugin is. UserError where it can't be loaded or is none."""
    opener = load_plugin(plugin)

    def open_it(context: AgentContext) -> Agent | ProgramAgent:
        with blaming(plugin):
            agent = opener(context)
        if not isinstance(agent, Agent | ProgramAgent):
            raise UserError(
                f"{named(plugin)} gave no agent but {type(agent).__name__}",
                mend="an agent has what `wardround_harness.agents.base.Agent` lists",
            )
        return agent

    return open_it


def unknown_model(spec: str) -> UserError:
    """The complaint about a model's name that nothing answers to, with the nearest that would."""
    names = [name for name, _ in BUILTINS]
    near = difflib.get_close_matches(spec, names, n=1, cutoff=0.6)
    mend = f"did you mean {near[0]}?" if near else f"use one of {', '.join([*FORMS, *names])}"
    return UserError(f"unknown model {spec!r}", mend=mend)
