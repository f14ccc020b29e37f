"""What the operator decides: chart, writes, results, journal, and the bounds of the server."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, get_args

from wardround_schemas.errors import UserError

WriteMode = Literal["off", "capture", "overlay", "confirm", "forward"]
"""What happens to a create call, from nothing to everything; see `docs/writes-and-safety.md`."""

ResultForm = Literal["fhir", "compact"]
Names = Literal["underscore", "dotted"]
Profile = Literal["medagentbench", "r4"]
Voice = Literal["assistant", "evaluation"]
"""Who reads the answers to a create: a person's assistant, or an agent under evaluation."""

WRITE_MODES: tuple[WriteMode, ...] = get_args(WriteMode)
"""The modes in rising order of reach; the operator's is the ceiling of every session."""


def reach(mode: WriteMode) -> int:
    """How far a mode lets a write go, as a rank that can be compared."""
    return WRITE_MODES.index(mode)


def is_loopback(host: str) -> bool:
    """Whether an address to bind is reachable from this machine alone.

    A name other than `localhost` is not looked up: it counts as reachable from outside.
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def default_journal_folder() -> Path:
    """Where captures are kept when no `--journal` is given: the user's own state folder."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "wardround" / "journal"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything that one server process is started with.

    `token` guards control and the chart off loopback; it never appears in a repr. Times are in
    seconds, sizes in bytes. Raises UserError when the parts contradict each other.
    """

    fhir: str = "embedded"
    fhir_token_file: Path | None = None
    fhir_client_id: str | None = None
    fhir_key_file: Path | None = None
    fhir_token_url: str | None = None
    fhir_cert: Path | None = None
    writes: WriteMode = "capture"
    allow_forward: bool = False
    results: ResultForm = "fhir"
    profile: Profile = "medagentbench"
    names: Names = "underscore"
    page_size: int = 20
    max_result_bytes: int = 200_000
    journal: Path = field(default_factory=default_journal_folder)
    host: str = "127.0.0.1"
    port: int = 8421
    token: str | None = field(default=None, repr=False)
    allow_hosts: tuple[str, ...] = ()
    max_sessions: int = 1024
    session_idle_seconds: float = 3600.0
    max_body_bytes: int = 4 * 1024 * 1024
    log_details: bool = False

    def __post_init__(self) -> None:
        if self.writes == "forward" and not self.allow_forward:
            raise UserError(
                "--writes forward sends orders to the FHIR server",
                mend="add --allow-forward if that is what you want, or use --writes capture",
            )
        if self.page_size < 1:
            raise UserError(f"--page-size is {self.page_size}", mend="give a number of at least 1")
        if self.max_result_bytes < 1000:
            raise UserError(f"--max-result-bytes is {self.max_result_bytes}", mend="give at least 1000")

    @property
    def on_loopback(self) -> bool:
        """Whether the server listens on this machine alone."""
        return is_loopback(self.host)
