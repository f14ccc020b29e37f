"""The options that the server's commands share, and the settings that they make."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wardround_schemas.errors import UserError
from wardround_schemas.options import Parser

from .settings import WRITE_MODES, ServerSettings, default_journal_folder

MAX_SECRET_BYTES = 64 * 1024


def add_server_options(parser: Parser, *, inherited: bool = False) -> None:
    """Add the options of chart, writes, results and journal.

    A subcommand takes the same options as the program itself; `inherited` leaves their defaults, and
    the environment's, to the program's parser, so that neither place overrides the other.
    """
    _add(
        parser, inherited, "--fhir", "embedded", "the chart: embedded, a .db file, a file or folder, or a URL"
    )
    _add(parser, inherited, "--fhir-token-file", None, "file with the FHIR server's bearer token", type=Path)
    _add(parser, inherited, "--fhir-client-id", None, "client id for SMART Backend Services")
    _add(parser, inherited, "--fhir-key-file", None, "file with the private key of that client", type=Path)
    _add(parser, inherited, "--fhir-token-url", None, "token endpoint for that client")
    _add(parser, inherited, "--fhir-cert", None, "client certificate, PEM with its key", type=Path)
    _add(parser, inherited, "--writes", "capture", "what happens to a create call", choices=WRITE_MODES)
    _add(parser, inherited, "--allow-forward", False, "let --writes forward send orders", action="store_true")
    _add(parser, inherited, "--results", "fhir", "form of search results", choices=("fhir", "compact"))
    _add(
        parser,
        inherited,
        "--profile",
        "medagentbench",
        "field types that create tools advertise",
        choices=("medagentbench", "r4"),
    )
    _add(parser, inherited, "--names", "underscore", "tool names", choices=("underscore", "dotted"))
    _add(parser, inherited, "--page-size", 20, "results on a page where a search gives no _count", type=int)
    _add(parser, inherited, "--max-result-bytes", 200_000, "most bytes of one result", type=int)
    _add(parser, inherited, "--journal", None, "folder of the captures", type=Path)
    _add(
        parser,
        inherited,
        "--log-details",
        False,
        "log error messages in full; they may hold chart data",
        action="store_true",
    )


def add_http_options(parser: Parser) -> None:
    """Add the options of the HTTP server."""
    parser.option("--host", default="127.0.0.1", help="address to bind")
    parser.option("--port", type=int, default=8421, help="port to bind, 0 for any free one")
    parser.option("--token-file", type=Path, default=None, help="file with the control token")
    parser.option(
        "--allow-host",
        action="append",
        default=None,
        help="a further name under which clients reach this server; may be repeated",
    )
    parser.option("--max-sessions", type=int, default=1024, help="most sessions open at once")
    parser.option(
        "--session-idle", type=float, default=3600.0, help="seconds after which an idle session ends"
    )


def settings_from(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> ServerSettings:
    """The settings that a command line and its environment make. Raises UserError."""
    allow_hosts = getattr(args, "allow_host", None) or ()
    if isinstance(allow_hosts, str):
        allow_hosts = [name.strip() for name in allow_hosts.split(",") if name.strip()]
    return ServerSettings(
        fhir=args.fhir,
        fhir_token_file=args.fhir_token_file,
        fhir_client_id=args.fhir_client_id,
        fhir_key_file=args.fhir_key_file,
        fhir_token_url=args.fhir_token_url,
        fhir_cert=args.fhir_cert,
        writes=args.writes,
        allow_forward=args.allow_forward,
        results=args.results,
        profile=args.profile,
        names=args.names,
        page_size=args.page_size,
        max_result_bytes=args.max_result_bytes,
        journal=args.journal or default_journal_folder(),
        host=getattr(args, "host", "127.0.0.1"),
        port=getattr(args, "port", 8421),
        token=_token(getattr(args, "token_file", None), environ),
        allow_hosts=tuple(allow_hosts),
        max_sessions=getattr(args, "max_sessions", 1024),
        session_idle_seconds=getattr(args, "session_idle", 3600.0),
        log_details=args.log_details,
    )


def read_secret(path: Path) -> str:
    """The secret in a file, without blank space around it. Raises UserError; never shows the content."""
    try:
        text = path.read_bytes()[:MAX_SECRET_BYTES].decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text", mend="give a file with the token alone") from error
    except OSError as error:
        raise UserError(
            f"{path} can't be read: {error.strerror}", mend="name a file with the token"
        ) from error
    if not text:
        raise UserError(f"{path} is empty", mend="give a file with the token alone")
    return text


def _token(path: Path | None, environ: Mapping[str, str]) -> str | None:
    if path is not None:
        return read_secret(path)
    return environ.get("WARDROUND_TOKEN", "").strip() or None


def _add(
    parser: Parser,
    inherited: bool,
    flag: str,
    default: object,
    text: str,
    **kwargs: Any,
) -> None:
    if inherited:
        parser.option(flag, environ={}, default=argparse.SUPPRESS, help=text, **kwargs)
    else:
        parser.option(flag, default=default, help=text, **kwargs)
