"""What a run is to do, as plain data: what the command line says, before anything is opened.

A plan can be pickled, so that a worker on another machine can set up the same bench.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .agents.base import Settings

Lane = Literal["native", "text"]
"""One of the two protocols between model and harness."""

Protocol = Literal["native", "text", "both"]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run. Paths are as given; `settings` go to the model; `seed` orders the jobs.

    `limit` keeps the first so many tasks, `only` those named; `max_cost` is in US dollars;
    `time_limit` in seconds, for agents that are programs.
    """

    model: str
    out: Path
    tasks: str = "bundled"
    fhir: str = "embedded"
    fhir_token_file: Path | None = None
    fhir_client_id: str | None = None
    fhir_key_file: Path | None = None
    fhir_token_url: str | None = None
    fhir_cert: Path | None = None
    protocol: Protocol = "native"
    rounds: int = 8
    repeats: int = 1
    concurrency: int = 8
    resume: bool = False
    only: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0
    max_cost: float | None = None
    results: Literal["fhir", "compact"] = "fhir"
    profile: Literal["medagentbench", "r4"] = "medagentbench"
    settings: Settings = field(default_factory=Settings)
    base_url: str | None = None
    system_prompt: Path | None = None
    prompt_file: Path | None = None
    prices: Path | None = None
    mcp: str | None = None
    mcp_token_file: Path | None = None
    time_limit: float = 600.0
    allow_chart_to_provider: bool = False
    executor: Literal["local", "ray"] = "local"
    ray_address: str | None = None

    @property
    def secret_files(self) -> tuple[Path, ...]:
        """Files whose contents must not get into a run folder."""
        named = (self.fhir_token_file, self.fhir_key_file, self.mcp_token_file)
        return tuple(path for path in named if path is not None)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The protocols that the run takes each task through."""
        return ("native", "text") if self.protocol == "both" else (self.protocol,)

    def folder(self, lane: Lane) -> Path:
        """The run folder of a protocol."""
        return self.out / lane if self.protocol == "both" else self.out
