"""The `wardround` program: its subcommands are registered by the modules that carry them out."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module

from wardround_schemas.options import Parser, run_program

COMMANDS = ("cli_run", "cli_tasks", "cli_compare", "cli_preflight", "cli_schemas")
"""Modules of this package, each with `add_commands(subparsers)`; none imports anything heavy to parse."""


def make_parser() -> Parser:
    """The program's parser with every command."""
    parser = Parser(
        prog="wardround",
        description="Take agents through clinical tasks over FHIR tools, and grade what they did. "
        "For research and development; not a medical device.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name in COMMANDS:
        import_module(f".{name}", __package__).add_commands(subparsers)
    subparsers.add_parser("mcp", help="the same as wardround-mcp: the chart as MCP tools", add_help=False)
    return parser


def dispatch(arguments: Sequence[str]) -> int:
    """Parse and carry out one command line; its exit code.

    `wardround mcp ...` is `wardround-mcp ...`: what starts a package by its own name (`uvx wardround mcp`)
    finds the server too.
    """
    if arguments[:1] == ["mcp"]:
        from wardround_server.cli import run

        return run(arguments[1:])
    parser = make_parser()
    args = parser.parse_args(arguments)
    if args.version:
        from importlib.metadata import version

        print(f"wardround {version('wardround')}")
        return 0
    if args.command is None:
        parser.print_help()
        return 0
    return int(args.run(args))


def main() -> int:
    """Entry point of `wardround`. What a terminal can't show is replaced, never a reason to stop."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    return run_program(lambda: dispatch(sys.argv[1:]))
