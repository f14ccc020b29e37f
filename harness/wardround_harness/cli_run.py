"""`wardround run`: its options, and from them a plan. Parsing imports nothing heavy."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wardround_schemas.errors import UserError
from wardround_schemas.options import Parser

if TYPE_CHECKING:
    from .plan import RunPlan

    Subparsers = argparse._SubParsersAction[Parser]


def _number(
    kind: Callable[[str], Any], least: float, what: str, most: float = math.inf
) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return value

    return convert


positive = _number(int, 1, "a whole number of at least 1")
whole = _number(int, -(2**63), "a whole number", 2**63 - 1)
amount = _number(float, 0.0, "a number of at least 0", 1e12)
share = _number(float, 0.0, "a number from 0 to 1", 1.0)
warmth = _number(float, 0.0, "a number from 0 to 2", 2.0)
seconds = _number(float, 0.001, "a number of seconds above 0", 1e7)


def names(text: str) -> tuple[str, ...]:
    """A comma list of names, without empty ones. ArgumentTypeError when there is none."""
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise argparse.ArgumentTypeError("no name is given")
    return found


def temperature(text: str) -> float | None:
    """A temperature, or `default` for the provider's own (None)."""
    return None if text.strip().lower() == "default" else float(warmth(text))


def add_commands(subparsers: Subparsers) -> None:
    """Register `run`; it sets `run`, a function of the arguments."""
    parser = subparsers.add_parser("run", help="take an agent through the tasks and grade what it did")
    _add_what(parser)
    _add_sign_in(parser)
    _add_how(parser)
    _add_model(parser)
    _add_where(parser)
    parser.set_defaults(run=run_run)


def _add_what(parser: Parser) -> None:
    parser.option(
        "--model",
        required=True,
        metavar="M",
        help="anthropic/NAME, openai/NAME, openai-chat/NAME, command:TEMPLATE, builtin/oracle, builtin/null, "
        "builtin/always-act or builtin/replay:RUN",
    )
    parser.add_argument("-o", dest="out", type=Path, required=True, metavar="RUN", help="the run folder")
    parser.option(
        "--tasks",
        default="bundled",
        metavar="T",
        help="bundled, a FILE of ours or medagentbench:FILE (bundled)",
    )
    parser.option("--fhir", default="embedded", metavar="F", help="embedded, a chart file, a folder or a URL")
    parser.option(
        "--only", type=names, default=(), metavar="IDS", help="these tasks or categories: task5,task9_3"
    )
    parser.option("--limit", type=positive, metavar="N", help="the first N tasks")
    parser.option("--repeats", type=positive, default=1, metavar="K", help="times each task is done (1)")


def _add_sign_in(parser: Parser) -> None:
    parser.option("--fhir-token-file", type=Path, metavar="FILE", help="the FHIR server's bearer token")
    parser.option("--fhir-client-id", metavar="ID", help="client of SMART Backend Services")
    parser.option("--fhir-key-file", type=Path, metavar="FILE", help="the private key of that client")
    parser.option("--fhir-token-url", metavar="U", help="the token endpoint for that client")
    parser.option("--fhir-cert", type=Path, metavar="FILE", help="client certificate, PEM with its key")


def _add_how(parser: Parser) -> None:
    parser.option("--protocol", choices=("native", "text", "both"), default="native", help="native")
    parser.option("--rounds", type=positive, default=8, metavar="N", help="rounds an attempt has (8)")
    parser.option("--concurrency", type=positive, default=8, metavar="N", help="attempts at once (8)")
    parser.option("--resume", action="store_true", help="go on with the run in the folder, or start it")
    parser.option("--seed", type=whole, default=0, help="orders the attempts of --protocol both (0)")
    parser.option("--max-cost", type=amount, metavar="USD", help="stop before a request could pass this")
    parser.option("--prices", type=Path, metavar="FILE", help="prices that go before the bundled ones")
    parser.option(
        "--results", choices=("fhir", "compact"), default="fhir", help="form of search results (fhir)"
    )
    parser.option(
        "--profile",
        choices=("medagentbench", "r4"),
        default="medagentbench",
        help="field types of the functions (medagentbench)",
    )
    parser.option("--system-prompt", type=Path, metavar="FILE", help="the native protocol's system prompt")
    parser.option("--prompt-file", type=Path, metavar="FILE", help="the text protocol's prompt")


def _add_model(parser: Parser) -> None:
    parser.option("--base-url", metavar="U", help="where the provider's SDK sends requests")
    parser.option(
        "--temperature", type=temperature, default=0.0, metavar="X", help="0 to 2, or 'default' (0)"
    )
    parser.option("--top-p", type=share, metavar="X", help="nucleus sampling")
    parser.option("--model-seed", type=whole, metavar="N", help="sampling seed, where the provider takes one")
    parser.option(
        "--max-tokens", type=positive, default=8192, metavar="N", help="output tokens of a turn (8192)"
    )
    parser.option(
        "--reasoning-effort",
        choices=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        help="how much a reasoning model thinks",
    )
    parser.option(
        "--parallel-tools", action="store_true", help="allow several calls a turn; a round is then a turn"
    )
    parser.option("--request-timeout", type=seconds, default=600.0, metavar="S", help="of one request (600)")
    parser.option(
        "--time-limit", type=seconds, default=600.0, metavar="S", help="of a command: on one task (600)"
    )


def _add_where(parser: Parser) -> None:
    parser.option("--mcp", metavar="URL", help="use the tools of this MCP server instead of our own")
    parser.option("--mcp-token-file", type=Path, metavar="FILE", help="control token of that server")
    parser.option("--executor", choices=("local", "ray"), default="local", help="where attempts run (local)")
    parser.option("--ray-address", metavar="A", help="the Ray cluster; a local one where not given")
    parser.option(
        "--allow-chart-to-provider",
        action="store_true",
        help="let records of a chart that is not synthetic go to a model elsewhere",
    )


def make_plan(args: argparse.Namespace) -> RunPlan:
    """The plan that the arguments describe. UserError where they contradict each other."""
    from .agents.base import Settings
    from .plan import RunPlan

    if args.mcp is not None and args.protocol != "native":
        raise UserError(
            f"--mcp gives tools, and --protocol {args.protocol} needs the text protocol's chart",
            mend="use --protocol native",
        )
    if args.ray_address is not None and args.executor != "ray":
        raise UserError("--ray-address is given without --executor ray", mend="add it")
    settings = Settings(
        temperature=args.temperature,
        top_p=args.top_p,
        seed=args.model_seed,
        max_tokens=args.max_tokens,
        reasoning_effort=args.reasoning_effort,
        parallel_tools=args.parallel_tools,
        timeout_seconds=args.request_timeout,
    )
    same = (
        "model",
        "out",
        "tasks",
        "fhir",
        "fhir_token_file",
        "fhir_client_id",
        "fhir_key_file",
        "fhir_token_url",
        "fhir_cert",
        "protocol",
        "rounds",
        "repeats",
        "concurrency",
        "resume",
        "only",
        "limit",
        "seed",
        "max_cost",
        "results",
        "profile",
        "base_url",
        "system_prompt",
        "prompt_file",
        "prices",
        "mcp",
        "mcp_token_file",
        "time_limit",
        "allow_chart_to_provider",
        "executor",
        "ray_address",
    )
    return RunPlan(settings=settings, **{name: getattr(args, name) for name in same})


def run_run(args: argparse.Namespace) -> int:
    """`wardround run`: 0 when whole, 3 while anything is owed."""
    plan = make_plan(args)
    from .show import run_and_show

    return run_and_show(plan)
