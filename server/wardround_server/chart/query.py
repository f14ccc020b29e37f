"""Search requests, parsed: what a FHIR R4 search asks for, ready to be matched or compiled.

Sources: FHIR R4 "Search"; HAPI FHIR where R4 leaves room: unknown parameters are refused (R4's own
default is to ignore them, which would answer with every row as if it matched) unless the caller asks for
lenient handling; an empty value is refused for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from .dates import PREFIXES, DateQuery, Prefix, parse_date_query
from .outcome import SearchFault
from .params import SEARCHED_TYPES, SearchParam, search_params
from .values import normalize, split_reference

Op = Literal[
    "id",
    "missing",
    "token",
    "not",
    "text",
    "uri",
    "date",
    "string",
    "exact",
    "contains",
    "reference",
    "identifier",
    "quantity",
    "chain",
]
MAX_VALUE = 2_000
"""Longest search value, in characters."""


class TokenQuery(NamedTuple):
    """`system` None: any; "": none. `code` None: any."""

    system: str | None
    code: str | None


class ReferenceQuery(NamedTuple):
    """A target by id (of one of `types`; empty: any) or by url as written."""

    types: tuple[str, ...]
    id: str
    url: str = ""


class QuantityQuery(NamedTuple):
    """A number with the range its precision spans, and the unit asked for (None: any)."""

    prefix: Prefix
    value: float
    low: float
    high: float
    system: str | None
    code: str | None


Alternative = TokenQuery | ReferenceQuery | DateQuery | QuantityQuery | str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One parameter of a search; its alternatives are joined by OR, criteria by AND.

    `missing` holds the answer asked for by `:missing`; `chained` the criterion on the referenced
    resource, which is of type `target`, and `asked` the same as name and value.
    """

    op: Op
    param: SearchParam
    alternatives: tuple[Alternative, ...] = ()
    missing: bool = False
    target: str = ""
    chained: Criterion | None = None
    asked: tuple[str, str] = ("", "")


class SortKey(NamedTuple):
    """One key of `_sort`: `_id` or a search parameter."""

    param: SearchParam
    descending: bool


ID_PARAM = SearchParam("_id", "token")


def split_escaped(text: str, separator: str) -> list[str]:
    r"""Split at a separator that no backslash stands before; the backslashes stay."""
    parts: list[str] = []
    current: list[str] = []
    escaped = False
    for char in text:
        if char == separator and not escaped:
            parts.append("".join(current))
            current = []
            continue
        escaped = char == "\\" and not escaped
        current.append(char)
    parts.append("".join(current))
    return parts


def unescape(text: str) -> str:
    r"""A value without the backslashes of `\,` `\|` `\$` `\\`."""
    return re.sub(r"\\([,|$\\])", r"\1", text) if "\\" in text else text


def parse_criterion(resource_type: str, name: str, value: str, base_url: str) -> Criterion | None:
    """One search parameter as sent; None where the type has no such parameter.

    Raises SearchFault for an unsupported modifier or a value that the parameter can't have.
    """
    if len(value) > MAX_VALUE:
        raise SearchFault(f"the value of {name[:60]} is longer than {MAX_VALUE} characters", code="too-long")
    head, dot, rest = name.partition(".")
    label, _, modifier = head.partition(":")
    param = ID_PARAM if label == "_id" else search_params(resource_type).get(label)
    if param is None:
        return None
    if not value.strip():
        raise SearchFault(f"parameter {name} has no value: leave it out or give one")
    if dot:
        return _parse_chain(resource_type, param, modifier, rest, value, base_url)
    if modifier == "missing":
        return _parse_missing(param, value)
    pieces = [piece for piece in split_escaped(value, ",") if piece.strip()]
    if not pieces:
        raise SearchFault(f"parameter {name} has no value: leave it out or give one")
    if param is ID_PARAM:
        _refuse_modifier(name, modifier)
        return Criterion(
            "id", param, tuple(_own_id(unescape(piece.strip()), resource_type) for piece in pieces)
        )
    return _PARSERS[param.kind](param, modifier, pieces, base_url)


def _own_id(value: str, resource_type: str) -> str:
    """`_id=Patient/S1` is taken for `_id=S1`, as in HAPI."""
    return value.removeprefix(f"{resource_type}/")


def _refuse_modifier(name: str, modifier: str) -> None:
    if modifier:
        raise SearchFault(
            f"modifier :{modifier} is not supported for {name.partition(':')[0]}", code="not-supported"
        )


def _parse_missing(param: SearchParam, value: str) -> Criterion:
    if param is ID_PARAM or value not in ("true", "false"):
        raise SearchFault(f"{param.name}:missing takes true or false", code="value")
    return Criterion("missing", param, missing=value == "true")


def _parse_chain(
    resource_type: str, param: SearchParam, modifier: str, rest: str, value: str, base_url: str
) -> Criterion:
    if param.kind != "reference":
        raise SearchFault(f"{param.name} is not a reference: {param.name}.{rest[:40]} can't be followed")
    targets = (modifier,) if modifier else tuple(t for t in param.targets if t in SEARCHED_TYPES)
    if (
        len(targets) != 1
        or targets[0] not in SEARCHED_TYPES
        or (param.targets and targets[0] not in param.targets)
    ):
        raise SearchFault(
            f"{param.name}.{rest[:40]} can't be followed: name a searched type, as in subject:Patient.name",
            code="not-supported",
        )
    chained = parse_criterion(targets[0], rest, value, base_url)
    if chained is None:
        raise SearchFault(
            f"unknown search parameter {rest[:40]} for {targets[0]} in {param.name}.{rest[:40]}"
        )
    return Criterion("chain", param, target=targets[0], chained=chained, asked=(rest, value))


def _parse_token(param: SearchParam, modifier: str, pieces: Sequence[str], base_url: str) -> Criterion:
    if modifier == "text":
        return Criterion("text", param, tuple(_folded(param, piece) for piece in pieces))
    if modifier not in ("", "not"):
        _refuse_modifier(param.name, modifier)
    return Criterion(
        "not" if modifier else "token", param, tuple(_token(param.name, piece) for piece in pieces)
    )


def _token(name: str, piece: str) -> TokenQuery:
    parts = [unescape(part) for part in split_escaped(piece.strip(), "|")]
    if len(parts) == 1:
        return TokenQuery(None, parts[0])
    if len(parts) > 2 or not any(parts):
        raise SearchFault(f"{name}: {piece[:60]!r} is not code, system|code, |code or system|", code="value")
    return TokenQuery(parts[0], parts[1] or None)


def _folded(param: SearchParam, piece: str) -> str:
    folded = normalize(unescape(piece))
    if not folded:
        raise SearchFault(f"parameter {param.name} has no value: leave it out or give one")
    return folded


def _parse_string(param: SearchParam, modifier: str, pieces: Sequence[str], base_url: str) -> Criterion:
    if modifier == "exact":
        return Criterion("exact", param, tuple(unescape(piece) for piece in pieces))
    if modifier not in ("", "contains"):
        _refuse_modifier(param.name, modifier)
    op: Op = "contains" if modifier else "string"
    return Criterion(op, param, tuple(_folded(param, piece) for piece in pieces))


def _parse_uri(param: SearchParam, modifier: str, pieces: Sequence[str], base_url: str) -> Criterion:
    _refuse_modifier(param.name, modifier)
    return Criterion("uri", param, tuple(unescape(piece.strip()) for piece in pieces))


def _parse_date(param: SearchParam, modifier: str, pieces: Sequence[str], base_url: str) -> Criterion:
    _refuse_modifier(param.name, modifier)
    try:
        return Criterion("date", param, tuple(parse_date_query(piece) for piece in pieces))
    except ValueError as error:
        raise SearchFault(f"{param.name}: {error}", code="value") from error


_PLAIN_ID = re.compile(r"[^/|?#:]+")


def _parse_reference(param: SearchParam, modifier: str, pieces: Sequence[str], base_url: str) -> Criterion:
    if modifier == "identifier":
        return Criterion("identifier", param, tuple(_token(param.name, piece) for piece in pieces))
    types = param.targets if param.alias else ()
    if modifier:
        if not modifier[:1].isupper() or (param.targets and modifier not in param.targets):
            _refuse_modifier(param.name, modifier)
        types = (modifier,)
    return Criterion(
        "reference",
        param,
        tuple(_reference(param, types, unescape(piece.strip()), base_url) for piece in pieces),
    )


def _reference(param: SearchParam, types: tuple[str, ...], value: str, base_url: str) -> ReferenceQuery:
    if base_url and value.startswith(base_url + "/"):
        value = value[len(base_url) + 1 :]
    if _PLAIN_ID.fullmatch(value):
        return ReferenceQuery(types, value)
    target = split_reference(value)
    if target.id:
        # A type that the parameter can't name matches nothing; that is not an error in HAPI either.
        wanted = (target.type,) if not types or target.type in types else ("",)
        return ReferenceQuery(wanted, target.id)
    if "://" not in value and not value.startswith("urn:"):
        raise SearchFault(
            f"{param.name}: {value[:60]!r} is not an id, Type/id or an absolute url", code="value"
        )
    return ReferenceQuery(types, "", value)


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)


def _parse_quantity(param: SearchParam, modifier: str, pieces: Sequence[str], base_url: str) -> Criterion:
    _refuse_modifier(param.name, modifier)
    return Criterion("quantity", param, tuple(_quantity(param.name, piece.strip()) for piece in pieces))


def _quantity(name: str, piece: str) -> QuantityQuery:
    number, *unit = [unescape(part) for part in split_escaped(piece, "|")]
    prefix: Prefix = "eq"
    for known in PREFIXES:
        if number.startswith(known):
            prefix, number = known, number[2:]
            break
    if not _NUMBER.fullmatch(number) or len(unit) not in (0, 1, 2):
        raise SearchFault(
            f"{name}: {piece[:60]!r} is not number, number|system|code or number||code", code="value"
        )
    try:
        value = Decimal(number)
    except InvalidOperation as error:
        raise SearchFault(f"{name}: {piece[:60]!r} is not a number", code="value") from error
    exponent = value.as_tuple().exponent
    half = Decimal(5).scaleb(int(exponent) - 1)
    if prefix == "ap":
        half = max(half, abs(value) / 10)
    if len(unit) == 1:
        unit.insert(0, "")
    system, code = unit or ("", "")
    return QuantityQuery(
        prefix, float(value), float(value - half), float(value + half), system or None, code or None
    )


_PARSERS: dict[str, Callable[[SearchParam, str, Sequence[str], str], Criterion]] = {
    "token": _parse_token,
    "string": _parse_string,
    "uri": _parse_uri,
    "date": _parse_date,
    "reference": _parse_reference,
    "quantity": _parse_quantity,
}
