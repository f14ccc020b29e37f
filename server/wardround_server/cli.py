"""`wardround-mcp`: a FHIR chart as MCP tools, over stdio or HTTP.

Each subcommand is imported when it runs, so that a client which starts the stdio server waits for
nothing that it does not need.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from wardround_schemas.options import Parser, run_program

from .cli_options import add_http_options, add_server_options, settings_from


def build_parser() -> Parser:
    """The command line of `wardround-mcp`."""
    parser = Parser(
        prog="wardround-mcp",
        description="A FHIR R4 chart as MCP tools, every write captured. Without a command: MCP over stdio.",
    )
    add_server_options(parser)
    parser.set_defaults(run=_stdio)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    http = commands.add_parser("http", help="serve MCP, FHIR and control over HTTP")
    add_server_options(http, inherited=True)
    add_http_options(http)
    http.set_defaults(run=_http)
    from . import cli_captures, cli_chart

    cli_chart.add_commands(commands)
    cli_captures.add_commands(commands)
    doctor = commands.add_parser("doctor", help="check chart or server, tools and writes")
    add_server_options(doctor, inherited=True)
    doctor.set_defaults(run=_doctor)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    return run_program(lambda: run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Parse and carry out one command line; its exit code. Errors meant for the user pass through."""
    args = build_parser().parse_args(argv)
    code: int = args.run(args)
    return code


def _stdio(args: argparse.Namespace) -> int:
    from .mcp_stdio import serve_stdio

    return serve_stdio(settings_from(args))


def _http(args: argparse.Namespace) -> int:
    from .http_serve import serve_http

    return serve_http(settings_from(args))


def _doctor(args: argparse.Namespace) -> int:
    from .doctor import run_doctor

    return run_doctor(settings_from(args))


if __name__ == "__main__":
    sys.exit(main())
