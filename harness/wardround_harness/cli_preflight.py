"""`wardround preflight`: its options. Parsing imports nothing heavy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wardround_schemas.errors import UserError
from wardround_schemas.options import Parser

from .cli_run import positive, seconds, temperature, whole

if TYPE_CHECKING:
    from .preflight import Card

    Subparsers = argparse._SubParsersAction[Parser]


def number_of_samples(text: str) -> int:
    """A whole number from 0 to 20."""
    count = int(whole(text))
    if not 0 <= count <= 20:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 20")
    return count


def add_commands(subparsers: Subparsers) -> None:
    """Register `preflight`; it sets `run`, a function of the arguments."""
    parser = subparsers.add_parser(
        "preflight", help="what a model's API really does with tools, and what a run would cost"
    )
    parser.option(
        "--model", required=True, metavar="M", help="anthropic/NAME, openai/NAME or openai-chat/NAME"
    )
    parser.option("--base-url", metavar="U", help="where the provider's SDK sends requests")
    parser.option("--tasks", default="bundled", metavar="T", help="the tasks of the run foreseen (bundled)")
    parser.option("--fhir", default="embedded", metavar="F", help="their chart (embedded)")
    parser.option(
        "--repeats", type=positive, default=1, metavar="K", help="times each task would be done (1)"
    )
    parser.option(
        "--samples",
        type=number_of_samples,
        default=2,
        metavar="N",
        help="attempts made to measure, 0 to 20 (2)",
    )
    parser.option(
        "--long-result",
        type=positive,
        default=40_000,
        metavar="N",
        help="characters of the long result that is probed with (40000)",
    )
    parser.option("--prices", type=Path, metavar="FILE", help="prices that go before the bundled ones")
    parser.option(
        "--temperature", type=temperature, default=0.0, metavar="X", help="0 to 2, or 'default' (0)"
    )
    parser.option(
        "--max-tokens", type=positive, default=8192, metavar="N", help="output tokens of a turn (8192)"
    )
    parser.option(
        "--reasoning-effort",
        choices=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        help="how much a reasoning model thinks",
    )
    parser.option("--request-timeout", type=seconds, default=600.0, metavar="S", help="of one request (600)")
    parser.option(
        "--allow-chart-to-provider",
        action="store_true",
        help="let records of a chart that is not synthetic go to a model elsewhere",
    )
    parser.option("--json", type=Path, metavar="FILE", help="write the card as JSON too")
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE.md", help="write the card here")
    parser.set_defaults(run=run_preflight)


def run_preflight(args: argparse.Namespace) -> int:
    """`wardround preflight`: 0 ready for a run, 1 not (a probe failed, or neither protocol works)."""
    for path in (args.json, args.output):
        if path is not None and not path.absolute().parent.is_dir():
            raise UserError(f"{path} can't be written: its folder does not exist", mend="make it first")
    import anyio

    from .agents.base import Settings
    from .plan import RunPlan
    from .preflight import Wishes, preflight

    settings = Settings(
        temperature=args.temperature,
        max_tokens=args.max_tokens,
        reasoning_effort=args.reasoning_effort,
        timeout_seconds=args.request_timeout,
    )
    plan = RunPlan(
        model=args.model,
        out=Path(),
        tasks=args.tasks,
        fhir=args.fhir,
        settings=settings,
        base_url=args.base_url,
        prices=args.prices,
        allow_chart_to_provider=args.allow_chart_to_provider,
    )
    wishes = Wishes(args.samples, args.repeats, args.long_result)
    card = anyio.run(preflight, plan, wishes, lambda text: print(text, file=sys.stderr, flush=True))
    deliver(card, args)
    return 0 if card.usable else 1


def deliver(card: Card, args: argparse.Namespace) -> None:
    """Write the card to its files, or print it where none is given. No secret of this process is in it."""
    import orjson

    from .preflight_card import markdown
    from .redact import Redactor, secrets_of
    from .runs import write_private

    redact = Redactor(secrets_of(urls=(args.base_url, args.fhir)))
    page = redact(markdown(card).encode())
    if args.json is not None:
        option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        write_private(args.json, redact(orjson.dumps(card.to_json(), option=option)))
    if args.output is not None:
        write_private(args.output, page)
        print(args.output)
    else:
        print(page.decode(), end="")
