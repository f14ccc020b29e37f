"""`wardround schemas`: the nine functions in the form that a consumer takes."""

from __future__ import annotations

import argparse
import json
import sys

from wardround_schemas.options import Parser

FORMATS = ("mcp", "anthropic", "openai", "openai-strict", "gemini", "medagentbench")


def add_commands(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Register `schemas export`."""
    schemas = subparsers.add_parser("schemas", help="the nine functions as schemas")
    schemas.set_defaults(run=lambda _: _help(schemas))
    actions = schemas.add_subparsers(dest="schemas_command", metavar="ACTION", parser_class=Parser)
    command = actions.add_parser("export", help="print the functions as JSON in the form of one consumer")
    command.option("--format", required=True, choices=FORMATS, help="who is to read them")
    command.option(
        "--profile",
        default="medagentbench",
        choices=("medagentbench", "r4"),
        help="field types as MedAgentBench has them, or as FHIR R4 does",
    )
    command.option(
        "--names",
        default="underscore",
        choices=("underscore", "dotted"),
        help="lab_search, or lab.search for clients that take dots",
    )
    command.option(
        "--api",
        default="responses",
        choices=("responses", "chat"),
        help="which of OpenAI's APIs is to read them",
    )
    command.set_defaults(run=export_schemas)


def export_schemas(args: argparse.Namespace) -> int:
    """Print one export on standard output."""
    from wardround_schemas.formats import export

    document = export(args.format, args.profile, names=args.names, api=args.api)
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    print()
    return 0


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0
