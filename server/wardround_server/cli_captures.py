"""`wardround-mcp captures`: what was captured, as a table, in full, or to hand on."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wardround_schemas.errors import UserError
from wardround_schemas.options import Parser

if TYPE_CHECKING:
    from .capture import Capture


def add_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """Register `captures list`, `captures show` and `captures export`."""
    captures = commands.add_parser("captures", help="list, show or export what was captured")
    inner = captures.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser, required=True)
    listing = inner.add_parser("list", help="one line for each capture")
    _add_selection(listing)
    listing.set_defaults(run=run_list)
    show = inner.add_parser("show", help="one capture in full")
    show.add_argument("capture", metavar="SESSION/SEQ", help="as `captures list` names it")
    _add_journal(show)
    show.set_defaults(run=run_show)
    export = inner.add_parser("export", help="captures as NDJSON lines or as one transaction Bundle")
    _add_selection(export)
    export.option("--format", choices=("ndjson", "bundle"), default="ndjson", help="form of the export")
    export.add_argument("-o", "--output", type=Path, default=None, metavar="FILE", help="file to write")
    export.set_defaults(run=run_export)


def run_list(args: argparse.Namespace) -> int:
    """`captures list`: number, time, function, patient, outcome; 1 where the journal is damaged."""
    from .journal import check_journal, read_deliveries

    folder = _folder(args)
    deliveries = read_deliveries(folder)
    rows = [
        (
            f"{capture.session}/{capture.seq}",
            capture.at,
            capture.function,
            _patient(capture),
            _outcome(capture, deliveries.get((capture.session, capture.seq))),
        )
        for capture in _selected(args, folder)
    ]
    _print_table(("capture", "at", "function", "patient", "outcome"), rows)
    faults = check_journal(folder)
    for fault in faults:
        print(f"wardround-mcp: the journal is damaged: {fault}", file=sys.stderr)
    return 1 if faults else 0


def run_show(args: argparse.Namespace) -> int:
    """`captures show`: one capture as indented JSON, with what became of it if it was sent."""
    import json

    from .journal import read_captures, read_deliveries

    folder = _folder(args)
    session, _, number = str(args.capture).rpartition("/")
    for capture in read_captures(folder, session or None):
        if session and str(capture.seq) == number:
            shown: dict[str, Any] = capture.to_json()
            delivery = read_deliveries(folder).get((capture.session, capture.seq))
            if delivery is not None:
                shown["delivery"] = delivery.to_json()
            print(json.dumps(shown, indent=2, ensure_ascii=False))
            return 0
    raise UserError(
        f"there is no capture {str(args.capture)[:100]!r} in {folder}",
        mend="see 'wardround-mcp captures list'",
    )


def run_export(args: argparse.Namespace) -> int:
    """`captures export`: NDJSON holds every capture; a Bundle holds the accepted ones, in canonical form."""
    from . import plainjson

    folder = _folder(args)
    chosen = _selected(args, folder)
    with _target(args.output) as out:
        if args.format == "bundle":
            out.write(plainjson.dumps(transaction_bundle(chosen)) + b"\n")
        else:
            for capture in chosen:
                out.write(plainjson.dumps(capture.to_json()) + b"\n")
    return 0


def transaction_bundle(captures: Iterator[Capture]) -> dict[str, Any]:
    """The accepted captures that have a canonical form, as a FHIR R4 transaction.

    Each entry names its place in the journal by identifier, and creates only where no resource of
    that identifier is there yet: sending the Bundle twice orders once.
    """
    entries = [_entry(capture) for capture in captures if capture.accepted and capture.canonical is not None]
    bundle: dict[str, Any] = {"resourceType": "Bundle", "type": "transaction"}
    if entries:
        bundle["entry"] = entries
    return bundle


def _entry(capture: Capture) -> dict[str, Any]:
    """A conditional create under the identifier that forwarding the capture would use."""
    import hashlib
    import uuid

    from .backends.creating import IDEMPOTENCY_SYSTEM, with_identifier
    from .capture import delivery_key

    key = delivery_key(capture)
    key_hash = hashlib.sha256(key.encode()).hexdigest()
    return {
        "fullUrl": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'wardround:{key}')}",
        "resource": with_identifier(capture.canonical or {}, key_hash),
        "request": {
            "method": "POST",
            "url": capture.resource_type,
            "ifNoneExist": f"identifier={IDEMPOTENCY_SYSTEM}|{key_hash}",
        },
    }


def _add_selection(parser: Parser) -> None:
    _add_journal(parser)
    parser.option("--session", default=None, help="captures of this session only")
    parser.option("--accepted", action="store_true", default=False, help="leave out refused ones")


def _add_journal(parser: Parser) -> None:
    # The program's own option holds the default and the environment's value.
    parser.option(
        "--journal", environ={}, type=Path, default=argparse.SUPPRESS, help="folder of the captures"
    )


def _folder(args: argparse.Namespace) -> Path:
    from .journal import CAPTURES
    from .settings import default_journal_folder

    folder: Path = args.journal or default_journal_folder()
    if not (folder / CAPTURES).is_file():
        raise UserError(f"there is no journal in {folder}", mend="name its folder with --journal")
    return folder


def _selected(args: argparse.Namespace, folder: Path) -> Iterator[Capture]:
    from .journal import read_captures

    return (c for c in read_captures(folder, args.session) if c.accepted or not args.accepted)


def _patient(capture: Capture) -> str:
    resource = capture.canonical or capture.resource
    subject = resource.get("subject") if isinstance(resource, dict) else None
    reference = subject.get("reference") if isinstance(subject, dict) else None
    return reference.rsplit("/", 1)[-1] if isinstance(reference, str) else "-"


def _outcome(capture: Capture, delivery: Any) -> str:
    if not capture.accepted:
        return "refused"
    if delivery is None:
        return "captured"
    said = {"sent": f"sent, id {delivery.id}", "refused": "refused by the server"}
    return said.get(delivery.state, "not confirmed by the server")


def _print_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Columns as wide as their widest cell; control characters of a model never reach the terminal."""
    safe = [tuple("".join(c if c.isprintable() else "?" for c in cell) for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in (heads, *safe)) for i in range(len(heads))]
    for row in (heads, *safe):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@contextlib.contextmanager
def _target(path: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file of mode 0600 that appears whole or not at all."""
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = path.with_name(path.name + ".part")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise UserError(
            f"{path} can't be written: {error.strerror}", mend="name another file with -o"
        ) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
