"""The words that a model is given, ours unless a file puts others in their place."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from wardround_schemas.errors import UserError
from wardround_tasks.task import Task

SYSTEM_PLACEHOLDERS: Final = ("rounds", "limits")
TEXT_PLACEHOLDERS: Final = ("api_base", "functions", "context", "question", "rounds")
NEEDED: Final = ("question",)

LIMIT_BY_CALL: Final = (
    "Make one tool call in each turn. You have {rounds} calls in all, and the last one has to be `finish`."
)
LIMIT_BY_TURN: Final = (
    "You may make several tool calls in one turn. You have {rounds} turns in all, "
    "and the last one has to call `finish`."
)


def _bundled(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8").strip()


def _given(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{option} {path} can't be read", mend=str(error)) from error


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values in the place of {name}, in one pass; every other brace stays as it is."""
    names = "|".join(map(re.escape, values))
    return re.sub(r"\{(" + names + r")\}", lambda match: values[match[1]], template)


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of a run.

    `system` is the system prompt of the native protocol, `text` the one message of the text
    protocol. `own_system` and `own_text` say whether the words are ours: a score made with ours
    is not one under the paper's prompt.
    """

    system: str
    text: str
    own_system: bool = True
    own_text: bool = True

    @classmethod
    def load(cls, system: Path | None = None, text: Path | None = None) -> Prompts:
        """Ours, or those of the files.

        UserError when a file can't be read, or a text prompt has no {question}: the task would
        never reach the model.
        """
        given_system = _given(system, "--system-prompt") if system is not None else None
        given_text = _given(text, "--prompt-file") if text is not None else None
        if given_text is not None:
            for name in NEEDED:
                if "{" + name + "}" not in given_text:
                    raise UserError(
                        f"--prompt-file {text} has no {{{name}}}",
                        mend=f"put {', '.join('{' + n + '}' for n in TEXT_PLACEHOLDERS)} where they belong",
                    )
        return cls(
            system=given_system if given_system is not None else _bundled("native.md"),
            text=given_text if given_text is not None else _bundled("text.md"),
            own_system=given_system is None,
            own_text=given_text is None,
        )

    def native(self, task: Task, rounds: int, *, by_turn: bool = False) -> tuple[str, str]:
        """System prompt and first user message of the native protocol; `by_turn`: a round is a turn."""
        context = task.context.strip()
        question = task.instruction.strip()
        user = f"Context: {context}\n\nTask: {question}" if context else f"Task: {question}"
        limits = LIMIT_BY_TURN if by_turn else LIMIT_BY_CALL
        values = {"rounds": str(rounds), "limits": fill(limits, {"rounds": str(rounds)})}
        return fill(self.system, values), user

    def text_message(self, task: Task, rounds: int, fhir_base: str, functions: list[dict[str, Any]]) -> str:
        """The one message that opens the text protocol; `functions` as the original lists them."""
        described = json.dumps(functions, ensure_ascii=False)
        return fill(
            self.text,
            {
                "api_base": fhir_base,
                "functions": fill(described, {"api_base": fhir_base}),
                "context": task.context,
                "question": task.instruction,
                "rounds": str(rounds),
            },
        )

    def manifest(self) -> dict[str, Any]:
        """Checksums of the templates, and whose words they are."""
        return {
            "native": {"sha256": _checksum(self.system), "own": self.own_system},
            "text": {"sha256": _checksum(self.text), "own": self.own_text},
        }


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
