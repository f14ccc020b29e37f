"""A captured resource line by line, with what a verdict objects to marked beside what it expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .models import DiffLine, FailureNote, Write

Path = tuple[str | int, ...]

ABSENT: Final = object()
"""What stands for a value that is not there."""

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_CALL = re.compile(r"^\$\.calls\[(\d+)\](?:\.(resource|resource_type))?(.*)$")


def parse_path(path: str) -> Path:
    """The steps of a JSON path below its root: `.a[0].b` is ("a", 0, "b")."""
    return tuple(match[1] if match[1] is not None else int(match[2]) for match in _STEP.finditer(path))


@dataclass(slots=True)
class _Line:
    path: Path
    indent: int
    text: str
    opens: bool = False
    objections: list[FailureNote] = field(default_factory=list)


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lines(value: Any, path: Path = (), indent: int = 0, label: str = "", comma: str = "") -> Iterator[_Line]:
    """The lines of a value printed as indented JSON, each with the path of what it shows."""
    if isinstance(value, Mapping | list) and value:
        brackets = "{}" if isinstance(value, Mapping) else "[]"
        yield _Line(path, indent, label + brackets[0], opens=True)
        items = list(value.items() if isinstance(value, Mapping) else enumerate(value))
        for place, (key, inner) in enumerate(items):
            name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, Mapping) else ""
            end = "" if place == len(items) - 1 else ","
            yield from _lines(inner, (*path, key), indent + 1, name, end)
        yield _Line(path, indent, brackets[1] + comma)
        return
    yield _Line(path, indent, label + json.dumps(value, ensure_ascii=False) + comma)


def _split(lines: Sequence[_Line], objections: Sequence[FailureNote]) -> dict[int, list[FailureNote]]:
    """Where an objection's path shows: on its own line, else as missing after its nearest ancestor's.

    Gives the missing ones by the place of the line they follow.
    """
    places: dict[Path, int] = {}
    for place, line in enumerate(lines):
        places.setdefault(line.path, place)
    missing: dict[int, list[FailureNote]] = {}
    for objection in objections:
        match = _CALL.match(objection.path)
        path = parse_path(match[3]) if match else ()
        if path in places:
            lines[places[path]].objections.append(objection)
            continue
        while path not in places:
            path = path[:-1]
        missing.setdefault(places[path], []).append(objection)
    return missing


def _merged(objections: Sequence[FailureNote]) -> tuple[str, list[str], list[Any]]:
    """Several objections to one place as one: expectations, codes and rule sets without repeats."""
    expected = dict.fromkeys(_compact(objection.expected) for objection in objections)
    codes = dict.fromkeys(objection.code for objection in objections)
    rules = dict.fromkeys(objection.rules for objection in objections)
    return " / ".join(expected), list(codes), list(rules)


def _below(path: str, parent: Path) -> str:
    """How an absent field is named below the line that it follows."""
    match = _CALL.match(path)
    rest = parse_path(match[3])[len(parent) :] if match else (path,)
    if len(rest) == 1 and isinstance(rest[0], str):
        return json.dumps(rest[0], ensure_ascii=False)
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest).lstrip(".")


def _missing_lines(objections: Sequence[FailureNote], line: _Line) -> Iterator[DiffLine]:
    by_path: dict[str, list[FailureNote]] = {}
    for objection in objections:
        by_path.setdefault(objection.path, []).append(objection)
    for path, group in by_path.items():
        expected, codes, rules = _merged(group)
        name = _below(path, line.path)
        yield DiffLine(
            indent=line.indent + 1,
            text="",
            expected=f"{name}: {expected}" if name else expected,
            mark="missing",
            codes=codes,
            rules=rules,
        )


def _at(value: Any, path: Path) -> Any:
    """The value at a path, or ABSENT."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return ABSENT
        elif not isinstance(value, Mapping) or step not in value:
            return ABSENT
        value = value[step]
    return value


def _narrowed(resource: Any, objection: FailureNote) -> list[FailureNote]:
    """An objection to an object that was to be another object, as objections to what differs in it."""
    match = _CALL.match(objection.path)
    got = _at(resource, parse_path(match[3])) if match else ABSENT
    parts: list[FailureNote] = []
    if isinstance(objection.expected, Mapping) and isinstance(got, Mapping):
        names = dict.fromkeys([*got, *objection.expected])
        pairs = [(f".{name}", objection.expected.get(name, ABSENT), got.get(name, ABSENT)) for name in names]
    elif (
        isinstance(objection.expected, list) and isinstance(got, list) and len(objection.expected) == len(got)
    ):
        pairs = [
            (f"[{i}]", want, have) for i, (want, have) in enumerate(zip(objection.expected, got, strict=True))
        ]
    else:
        return [objection]
    for step, want, have in pairs:
        if want != have or isinstance(want, bool) != isinstance(have, bool):
            wanted = "nothing" if want is ABSENT else want
            part = objection.model_copy(update={"path": objection.path + step, "expected": wanted})
            parts.extend(_narrowed(resource, part))
    return parts or [objection]


def diff_lines(resource: Any, objections: Sequence[FailureNote]) -> list[DiffLine]:
    """A resource's lines with the objections to it, those to absent fields as lines of their own.

    Where a whole object was to be something else, the lines inside it are marked too, with no
    expectation of their own.
    """
    lines = list(_lines(resource))
    narrow = [part for objection in objections for part in _narrowed(resource, objection)]
    missing = _split(lines, narrow)
    covered: Path | None = None
    shown: list[DiffLine] = []
    for place, line in enumerate(lines):
        if covered is not None and line.path[: len(covered)] == covered:
            shown.append(
                DiffLine(indent=line.indent, text=line.text, expected=None, mark="wrong", codes=[], rules=[])
            )
            continue
        covered = line.path if line.objections and line.opens else None
        expected, codes, rules = _merged(line.objections)
        name = line.path[-1] if line.path and isinstance(line.path[-1], str) else None
        if name is not None:
            expected = f"{json.dumps(name, ensure_ascii=False)}: {expected}"
        shown.append(
            DiffLine(
                indent=line.indent,
                text=line.text,
                expected=expected if line.objections else None,
                mark="wrong" if line.objections else None,
                codes=codes,
                rules=rules,
            )
        )
        shown.extend(_missing_lines(missing.get(place, ()), line))
    return shown


def writes(attempt: Mapping[str, Any], failures: Sequence[FailureNote]) -> list[Write]:
    """Every create call of an attempt with the objections of both rule sets to it."""
    found: list[Write] = []
    for index, call in enumerate(attempt.get("calls") or ()):
        whole: list[str] = []
        inside: list[FailureNote] = []
        for failure in failures:
            match = _CALL.match(failure.path)
            if match is None or int(match[1]) != index:
                continue
            if match[2] == "resource" and match[3]:
                inside.append(failure)
            else:
                whole.append(f"{failure.code} ({failure.rules}): expected {_compact(failure.expected)}")
        found.append(
            Write(
                index=index,
                resource_type=str(call.get("resource_type")),
                accepted=bool(call.get("accepted", True)),
                verdict="; ".join(dict.fromkeys(whole)) or None,
                lines=diff_lines(call.get("resource"), inside),
            )
        )
    return found
