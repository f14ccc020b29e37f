# mypy: disable-error-code="import-not-found"
"""The Inspect AI task: the same verdicts as a run at home, by Inspect's own machinery.

Needs the extra `wardround[inspect]`; skipped where it is not installed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from wardround_harness.agents.base import (
    Settings,
    Tool,
    ToolMessage,
    ToolResult,
    Transcript,
    Turn,
    UserMessage,
)
from wardround_harness.agents.registry import open_agent
from wardround_tasks.loading import load_tasks

inspect_ai = pytest.importorskip("inspect_ai", reason="the extra wardround[inspect] is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _no_tokenizer_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect's mock model counts tokens with a tokenizer that it would fetch."""
    from inspect_ai.model import _model

    monkeypatch.setattr(_model, "count_text_tokens", lambda text: len(text) // 4)


BASE = "http://127.0.0.1:8421/fhir"
TASKS = load_tasks("bundled").tasks


def oracle(protocol: Any) -> Any:
    """The oracle as outputs of Inspect's mock model: it sees what Inspect sends a model, and nothing else."""
    from inspect_ai.model import ModelOutput

    agent: Any = open_agent("builtin/oracle", tasks=TASKS, fhir_base=BASE, protocols=(protocol,))

    def output(messages: list[Any], tools: list[Any], choice: Any, config: Any) -> Any:
        first = next(message.text for message in messages if message.role == "user")
        task = next(
            task for task in TASKS if task.instruction.strip() in first and task.context.strip() in first
        )
        transcript = Transcript("", task_id=task.id, protocol=protocol)
        for message in messages:
            if message.role == "user":
                transcript.messages.append(UserMessage(message.text))
            elif message.role == "assistant":
                transcript.messages.append(Turn(message.text))
            elif message.role == "tool":
                result = ToolResult("", message.function, message.text, message.error is not None)
                transcript.messages.append(ToolMessage((result,)))
        listed = tuple(Tool(tool.name, tool.description, {}) for tool in tools)
        turn = asyncio.run(agent.turn(transcript, listed, Settings()))
        if protocol == "text":
            return ModelOutput.from_content("mockllm/model", turn.text)
        call = turn.calls[0]
        return ModelOutput.for_tool_call("mockllm/model", call.name, call.arguments_raw)

    return lambda *seen: in_a_thread(output, *seen)


def in_a_thread(function: Any, *seen: Any) -> Any:
    """Run something that has an event loop of its own beside the one that is running."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *seen).result()


def evaluated(tmp_path: Path, outputs: Any, **more: Any) -> Any:
    """The log of an evaluation by name, as `inspect eval wardround/bundled` makes it."""
    from inspect_ai import eval as evaluate
    from inspect_ai.model import get_model

    import wardround_harness.inspect  # noqa: F401 - what the entry point loads

    limit = more.pop("limit", 3)
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    return evaluate(
        "wardround/bundled",
        model=model,
        log_dir=str(tmp_path),
        display="none",
        task_args=more,
        **limited(limit),
    )[0]


def limited(limit: Any) -> dict[str, Any]:
    """A number of samples, or their ids."""
    return {"sample_id": limit} if isinstance(limit, list) else {"limit": limit}


ONE_OF_EACH = list({task.category: task.id for task in reversed(TASKS)}.values())


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_the_oracle_passes_every_category_through_inspect(tmp_path: Path, protocol: str) -> None:
    log = evaluated(tmp_path, oracle(protocol), protocol=protocol, limit=ONE_OF_EACH)
    assert log.status == "success", log.error
    for score in log.results.scores:
        assert score.metrics["accuracy"].value == 1.0
    assert {score.name for score in log.results.scores} == {"medagentbench", "clinical"}


def test_a_wrong_answer_scores_nothing_and_says_why(tmp_path: Path) -> None:
    from inspect_ai.model import ModelOutput

    wrong = [ModelOutput.for_tool_call("mockllm/model", "finish", {"answers": ["nobody"]})]
    log = evaluated(tmp_path, wrong, limit=1)
    score = log.samples[0].scores["both_rule_sets"]
    assert score.value == {"medagentbench": 0, "clinical": 0}
    assert score.metadata["verdicts"]["clinical"]["failures"][0]["code"] == "answer_wrong"


def test_a_model_that_fails_is_an_error_not_a_score(tmp_path: Path) -> None:
    log = evaluated(tmp_path, [], limit=1)
    assert log.status == "error"
