"""Reading FHIR resources out of files: NDJSON, Bundles, single resources, lists of them, gzipped or not.

Resources come out as compact JSON bytes with numbers as written. What can't be read comes out as a fault
with its file and line, and reading goes on behind it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from wardround_schemas.errors import UserError

from .shape import dump, parse_exact

ENDINGS = (".ndjson", ".jsonl", ".json", ".ndjson.gz", ".jsonl.gz", ".json.gz")
"""Names of files that are read when a folder is given; a file given by itself may have any name."""
_LINES = (".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Item:
    """One resource's bytes, or the fault that stands where one was expected."""

    file: Path
    place: str
    body: bytes = b""
    fault: str = ""


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The files to read, folders searched to their depth, in a fixed order. UserError for a missing path."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [
                Path(folder) / name
                for folder, _, names in os.walk(path)
                for name in names
                if name.lower().endswith(ENDINGS) and not name.startswith(".")
            ]
            if not inside:
                raise UserError(
                    f"no FHIR files in {path}", mend=f"names must end in one of {', '.join(ENDINGS)}"
                )
            found.extend(sorted(inside))
        elif path.is_file():
            found.append(path)
        else:
            raise UserError(f"there is no file or folder {path}")
    return list(dict.fromkeys(found))


def read_file(path: Path) -> Iterator[Item]:
    """Every resource of one file."""
    try:
        with open(path, "rb") as probe:
            packed = probe.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else open(path, "rb") as file:
            yield from _read_stream(path, file)  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error) as error:
        yield Item(path, "the file", fault=f"can't be read further: {error}")


def _read_stream(path: Path, file: IO[bytes]) -> Iterator[Item]:
    first = file.readline().removeprefix(_BOM)
    skipped = 0
    while first and not first.strip():
        first = file.readline()
        skipped += 1
    if not first:
        yield Item(path, "the file", fault="it is empty")
        return
    if path.name.lower().endswith(_LINES) or _is_json(first):
        # One document on one line is read as NDJSON of one line: the same thing.
        yield from _read_lines(path, first, file, skipped + 1)
        return
    whole = first + file.read()
    try:
        document = parse_exact(whole)
    except (ValueError, RecursionError) as error:
        yield Item(path, _line_of(error, skipped), fault=f"not JSON: {_reason(error)}")
        return
    yield from _open_document(path, "the file", document)


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _line_of(error: Exception, skipped: int) -> str:
    line = getattr(error, "lineno", None)
    return f"line {line + skipped}" if isinstance(line, int) else "the file"


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _read_lines(path: Path, first: bytes, file: IO[bytes], number: int) -> Iterator[Item]:
    line = first
    while line:
        text = line.strip()
        if text:
            yield from _read_line(path, f"line {number}", text)
        line = file.readline()
        number += 1


def _read_line(path: Path, place: str, text: bytes) -> Iterator[Item]:
    try:
        value = orjson.loads(text)
        plain = isinstance(value, dict) and value.get("resourceType") != "Bundle"
        if plain and orjson.dumps(value) == text:
            yield Item(path, place, text)
            return
        document = parse_exact(text)
    except (ValueError, TypeError, RecursionError) as error:
        yield Item(path, place, fault=f"not JSON: {_reason(error)}")
        return
    yield from _open_document(path, place, document)


def _open_document(path: Path, place: str, document: Any) -> Iterator[Item]:
    """The resources of a parsed document: itself, a list's items or a Bundle's entries."""
    if isinstance(document, list):
        for number, item in enumerate(document):
            yield from _open_document(path, f"{place}, item {number}", item)
    elif isinstance(document, dict) and document.get("resourceType") == "Bundle":
        yield from _open_bundle(path, place, document)
    elif isinstance(document, dict):
        yield _item(path, place, document)
    else:
        yield Item(path, place, fault="not a JSON object")


def _item(path: Path, place: str, resource: dict[str, Any]) -> Item:
    try:
        return Item(path, place, dump(resource))
    except TypeError as error:
        return Item(path, place, fault=f"can't be kept as JSON: {error}")


def _open_bundle(path: Path, place: str, bundle: dict[str, Any]) -> Iterator[Item]:
    if bundle.get("type") == "history":
        yield Item(path, place, fault="a history Bundle holds old versions: load the current ones")
        return
    entries = bundle.get("entry") or []
    if not isinstance(entries, list):
        yield Item(path, place, fault="Bundle.entry is not a list")
        return
    named = [(f"{place}, entry[{number}]", entry) for number, entry in enumerate(entries)]
    targets: dict[str, str] = {}
    for _, entry in named:
        if isinstance(entry, dict) and isinstance(entry.get("resource"), dict):
            _name_entry(entry, targets)
    for where, entry in named:
        resource = entry.get("resource") if isinstance(entry, dict) else None
        if not isinstance(resource, dict):
            yield Item(path, where, fault="the entry has no resource")
        elif resource.get("resourceType") == "Bundle":
            yield from _open_bundle(path, where, resource)
        elif resource.get("resourceType") != "OperationOutcome":
            yield _item(path, where, _resolve(resource, targets))


def _name_entry(entry: dict[str, Any], targets: dict[str, str]) -> None:
    """Give an entry's resource an id where it has none, and note what its full url stands for.

    The id comes from the full url, or else from the content: loading the same Bundle again gives the same.
    """
    resource, url = entry["resource"], entry.get("fullUrl")
    url = url if isinstance(url, str) else ""
    if resource.get("id") is None:
        tail = url.rsplit(":" if url.startswith("urn:") else "/", 1)[-1]
        try:
            content = dump(resource)
        except TypeError:
            return  # the reader of the entry names the fault
        kind = {"resourceType": resource.get("resourceType")}
        made = tail or hashlib.sha256(content).hexdigest()[:32]
        others = {key: item for key, item in resource.items() if key != "id"}
        entry["resource"] = resource = {**kind, "id": made, **others}
    if url:
        targets[url] = f"{resource.get('resourceType')}/{resource['id']}"


def _resolve(value: Any, targets: dict[str, str]) -> Any:
    """A resource whose references to full urls of its Bundle are relative ones."""
    if isinstance(value, dict):
        return {
            key: targets.get(item, item)
            if key == "reference" and isinstance(item, str)
            else _resolve(item, targets)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_resolve(item, targets) for item in value]
    return value
