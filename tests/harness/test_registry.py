"""From a model's name to its agent: ours, a provider's, a program, a plugin's, or a helpful refusal."""

from __future__ import annotations

from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from tests.harness.fakes import FakeModel, says
from wardround_harness.agents import registry
from wardround_harness.agents.base import Agent, ProgramAgent
from wardround_harness.agents.registry import AgentContext, open_agent
from wardround_schemas.errors import UserError


def opened(spec: str) -> Agent | ProgramAgent:
    """The agent of a name."""
    return open_agent(spec, tasks=(), fhir_base="http://h/fhir", protocols=("native",))


def plugin(context: AgentContext) -> Agent:
    """A plugin's opener."""
    return FakeModel([says("hello")], name=context.spec, price_key=context.rest)


def no_agent(context: AgentContext) -> Any:
    """A plugin that gives something else."""
    return 7


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three plugins installed: one that works, one that gives no agent, one that is broken."""
    found = [
        EntryPoint("acme", "tests.harness.test_registry:plugin", registry.PLUGINS),
        EntryPoint("odd", "tests.harness.test_registry:no_agent", registry.PLUGINS),
        EntryPoint("broken", "tests.harness.nowhere:x", registry.PLUGINS),
        EntryPoint("builtin", "tests.harness.test_registry:plugin", registry.PLUGINS),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: found)


@pytest.mark.parametrize("name", ["builtin/oracle", "builtin/null", "builtin/always-act"])
def test_builtins_stand_for_themselves_cost_nothing_and_stay_here(name: str) -> None:
    agent = opened(name)
    assert isinstance(agent, Agent)
    assert (agent.name, agent.destination, agent.price_key) == (name, None, None)


@pytest.mark.usefixtures("plugins")
def test_a_plugin_is_opened_by_its_prefix() -> None:
    agent = opened("acme/model-1/with/slashes")
    assert (agent.name, agent.price_key) == ("acme/model-1/with/slashes", "model-1/with/slashes")


@pytest.mark.usefixtures("plugins")
def test_a_plugin_cannot_take_the_place_of_a_builtin() -> None:
    assert opened("builtin/oracle").price_key is None


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("spec", "said"), [("odd/x", "gave no agent but int"), ("broken/x", "can't be loaded")]
)
def test_a_plugin_that_does_not_work_is_named(spec: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        opened(spec)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("builtin/oracel", "did you mean builtin/oracle"),
        ("", "use one of anthropic/NAME"),
        ("gpt", "use one of"),
        ("acme/x", "unknown model"),
        ("builtin/replay:", "names no run"),
        ("openai/", "names no model"),
        ("command:", "names no program"),
    ],
)
def test_a_name_that_is_none_is_refused_with_what_would_do(spec: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        opened(spec)
