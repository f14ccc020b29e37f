"""What an agent did on one task: the input of the graders (contract section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .task import FieldError


@dataclass(frozen=True, slots=True)
class CreateCall:
    """One create call, in the order made.

    `resource` is the JSON value exactly as sent, of whatever type; `accepted` says whether the
    agent was told that the write was accepted.
    """

    resource_type: str
    resource: Any
    accepted: bool = True


@dataclass(frozen=True, slots=True)
class Attempt:
    """An agent's create calls and the raw text of its final answer (None: it gave none).

    `status` is "completed" or why there is no answer; `mentions_post` says that the letters POST
    stood in one of the agent's messages of the text protocol.
    """

    task_id: str
    status: str = "completed"
    answer: str | None = None
    mentions_post: bool = False
    calls: tuple[CreateCall, ...] = ()

    @property
    def accepted(self) -> tuple[tuple[int, CreateCall], ...]:
        """The accepted calls with their place among all calls."""
        return tuple((place, call) for place, call in enumerate(self.calls) if call.accepted)

    def to_json(self) -> dict[str, Any]:
        """The attempt's record, keys in the contract's order."""
        return {
            "task_id": self.task_id,
            "status": self.status,
            "answer": self.answer,
            "mentions_post": self.mentions_post,
            "calls": [
                {"resource_type": call.resource_type, "resource": call.resource, "accepted": call.accepted}
                for call in self.calls
            ],
        }

    @classmethod
    def from_json(cls, record: object) -> Attempt:
        """Read a record; raises FieldError naming the first field that is missing or wrong.

        An attempt without `answer` or `calls` did nothing; keys that are not the attempt's own are
        passed over. A line of a run's attempts.jsonl holds its attempt under `attempt`.
        """
        if not isinstance(record, dict):
            raise FieldError("attempt", "is not a JSON object")
        task_id = record.get("task_id")
        if not isinstance(task_id, str) or not task_id:
            raise FieldError("task_id", "is missing" if "task_id" not in record else "is not text")
        inner = record.get("attempt")
        fields: dict[str, Any] = inner if isinstance(inner, dict) else record
        answer = fields.get("answer")
        if answer is not None and not isinstance(answer, str):
            raise FieldError("answer", "is neither text nor null (it is the raw text of the list)")
        status = fields.get("status", "completed")
        if not isinstance(status, str):
            raise FieldError("status", "is not text")
        mentions_post = fields.get("mentions_post", False)
        if not isinstance(mentions_post, bool):
            raise FieldError("mentions_post", "is neither true nor false")
        calls = fields.get("calls", [])
        if not isinstance(calls, list):
            raise FieldError("calls", "is not a list")
        return cls(
            task_id,
            status,
            answer,
            mentions_post,
            tuple(_call(place, call) for place, call in enumerate(calls)),
        )


def _call(place: int, record: object) -> CreateCall:
    name = f"calls[{place}]"
    if not isinstance(record, dict):
        raise FieldError(name, "is not an object")
    resource_type = record.get("resource_type")
    if not isinstance(resource_type, str):
        raise FieldError(f"{name}.resource_type", "is missing or not text")
    if "resource" not in record:
        raise FieldError(f"{name}.resource", "is missing")
    accepted = record.get("accepted")
    if not isinstance(accepted, bool):
        raise FieldError(f"{name}.accepted", "is missing or neither true nor false")
    return CreateCall(resource_type, record["resource"], accepted)
