"""A whole search request: criteria, order, page size and the shape of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import quote

from .outcome import SearchFault
from .params import SEARCHED_TYPES, search_params
from .query import ID_PARAM, Criterion, SortKey, parse_criterion

Summary = Literal["false", "true", "text", "data", "count"]

DEFAULT_COUNT = 20
MAX_COUNT = 5_000
"""Most entries on one page; a larger `_count` is taken as this, and the self link says so."""
MAX_PARAMS = 200
CURSOR = "_cursor"
"""The parameter that next links carry: where the next page begins, signed."""
_FORMATS = frozenset({"json", "application/json", "application/fhir+json", "text/json", "fhir+json"})
_IGNORED = frozenset({"_format", "_pretty"})


class Include(NamedTuple):
    """`_include=Source:param[:Target]`; param "*" is every reference."""

    param: str
    target: str


@dataclass(frozen=True, slots=True)
class Request:
    """A parsed search.

    `params` are the parameters that were applied, in order, as the self link repeats them; `unknown`
    those left out under lenient handling; `total` False where the caller wants none.
    """

    resource_type: str
    criteria: tuple[Criterion, ...] = ()
    sort: tuple[SortKey, ...] = ()
    count: int = DEFAULT_COUNT
    summary: Summary = "false"
    elements: tuple[str, ...] = ()
    includes: tuple[Include, ...] = ()
    total: bool = True
    cursor: str | None = None
    params: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def count_only(self) -> bool:
        """Only the total is asked for: `_summary=count`, or its equal `_count=0`."""
        return self.summary == "count" or self.count == 0

    @property
    def shaped(self) -> bool:
        """Resources are cut down, so their bytes can't be given as stored."""
        return bool(self.elements) or self.summary in ("true", "text", "data")


def query_string(params: Sequence[tuple[str, str]]) -> str:
    """Parameters as the query part of a URL, each name and value encoded once."""
    return "&".join(f"{quote(name, safe=':.-_')}={quote(value, safe=':/,.-_')}" for name, value in params)


@dataclass(slots=True)
class _Draft:
    """What has been read of a request so far."""

    resource_type: str
    criteria: list[Criterion] = field(default_factory=list)
    sort: list[SortKey] = field(default_factory=list)
    elements: list[str] = field(default_factory=list)
    includes: list[Include] = field(default_factory=list)
    once: dict[str, str] = field(default_factory=dict)


def parse_request(
    resource_type: str,
    params: Sequence[tuple[str, str]],
    *,
    base_url: str = "",
    lenient: bool = False,
    page_size: int = DEFAULT_COUNT,
) -> Request:
    """Parse a search; SearchFault where R4 or HAPI would refuse it.

    `params` are decoded name-value pairs in order. `lenient` sets unknown parameters aside instead of
    refusing them (`Prefer: handling=lenient`).
    """
    if resource_type not in SEARCHED_TYPES:
        raise SearchFault(
            f"{resource_type[:60]} can't be searched here; searched types: {', '.join(SEARCHED_TYPES)}",
            status=404,
            code="not-supported",
        )
    if len(params) > MAX_PARAMS:
        raise SearchFault(f"more than {MAX_PARAMS} parameters", code="too-costly")
    if not all(_is_text(part) for pair in params for part in pair):
        raise SearchFault("a parameter holds half of a surrogate pair, which is no text", code="value")
    draft = _Draft(resource_type)
    applied: list[tuple[str, str]] = []
    unknown: list[str] = []
    for name, value in params:
        if _read_result_parameter(draft, name, value):
            if name not in _IGNORED and name != CURSOR:
                applied.append((name, value))
            continue
        criterion = parse_criterion(resource_type, name, value, base_url)
        if criterion is not None:
            draft.criteria.append(criterion)
            applied.append((name, value))
        elif lenient:
            unknown.append(name)
        else:
            raise SearchFault(_unknown(resource_type, name), code="not-supported")
    count = _count(draft.once.get("_count"), page_size)
    if "_count" in draft.once:
        applied = [(name, str(count) if name == "_count" else value) for name, value in applied]
    return Request(
        resource_type,
        tuple(draft.criteria),
        tuple(draft.sort),
        count,
        _summary(draft.once.get("_summary")),
        tuple(draft.elements),
        tuple(draft.includes),
        draft.once.get("_total") != "none",
        draft.once.get(CURSOR),
        tuple(applied),
        tuple(unknown),
    )


def _is_text(part: str) -> bool:
    try:
        part.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unknown(resource_type: str, name: str) -> str:
    valid = ", ".join(sorted(("_id", *search_params(resource_type))))
    return f'unknown search parameter "{name[:80]}" for {resource_type}; valid ones: {valid}'


def _read_result_parameter(draft: _Draft, name: str, value: str) -> bool:
    """Take a parameter that shapes the result; False where it is not one."""
    label, _, modifier = name.partition(":")
    if label not in _RESULT_PARAMETERS:
        return False
    if modifier:
        raise SearchFault(f"{name[:60]} is not supported", code="not-supported")
    if label == "_sort":
        draft.sort.extend(_sort_key(draft.resource_type, key) for key in value.split(","))
    elif label == "_elements":
        draft.elements.extend(_element(draft.resource_type, item) for item in value.split(","))
    elif label == "_include":
        draft.includes.append(_include(draft.resource_type, value))
    elif label in (
        "_revinclude",
        "_contained",
        "_containedType",
        "_has",
        "_filter",
        "_query",
        "_text",
        "_content",
    ):
        if (label, value) != ("_contained", "false"):
            raise SearchFault(f"{label} is not supported by this server", code="not-supported")
    elif label in draft.once:
        raise SearchFault(f"{label} is given twice")
    else:
        draft.once[label] = value
        _check(label, value)
    return True


_RESULT_PARAMETERS = frozenset(
    [
        "_sort",
        "_elements",
        "_include",
        "_revinclude",
        "_contained",
        "_containedType",
        "_has",
        "_filter",
        "_query",
        "_text",
        "_content",
        "_count",
        "_summary",
        "_total",
        "_format",
        "_pretty",
        "_cursor",
    ]
)


def _check(label: str, value: str) -> None:
    if label == "_total" and value not in ("none", "estimate", "accurate"):
        raise SearchFault("_total takes none, estimate or accurate", code="value")
    if label == "_pretty" and value not in ("true", "false"):
        raise SearchFault("_pretty takes true or false", code="value")
    if label == "_format":
        check_format(value)


def check_format(value: str) -> None:
    """Refuse a `_format` that is not JSON: this server speaks nothing else."""
    # A raw plus sign in a URL arrives as a space.
    if value.split(";")[0].strip().replace(" ", "+").lower() not in _FORMATS:
        raise SearchFault(
            f"_format={value[:60]} is not supported: this server answers application/fhir+json",
            status=406,
            code="not-supported",
        )


def _count(value: str | None, page_size: int) -> int:
    if value is None:
        return min(page_size, MAX_COUNT)
    if not (value.isascii() and value.isdigit()) or len(value) > 18:
        raise SearchFault(f"_count takes a whole number from 0 on, not {value[:40]!r}", code="value")
    return min(int(value), MAX_COUNT)


def _summary(value: str | None) -> Summary:
    match value:
        case None | "false":
            return "false"
        case "true" | "text" | "data" | "count":
            return value
    raise SearchFault("_summary takes true, text, data, count or false", code="value")


def _sort_key(resource_type: str, key: str) -> SortKey:
    name = key.strip().removeprefix("-")
    param = ID_PARAM if name == "_id" else search_params(resource_type).get(name)
    if param is None:
        raise SearchFault(f"_sort: {_unknown(resource_type, name)}", code="not-supported")
    return SortKey(param, key.strip().startswith("-"))


def _element(resource_type: str, item: str) -> str:
    name = item.strip().removeprefix(f"{resource_type}.")
    if not name.isalnum():
        raise SearchFault(f"_elements takes names of top-level elements, not {item[:40]!r}", code="value")
    return name


def _include(resource_type: str, value: str) -> Include:
    source, _, rest = value.partition(":")
    name, _, target = rest.partition(":")
    if value == "*":
        return Include("*", "")
    if source != resource_type:
        raise SearchFault(
            f"_include={value[:60]}: only references of {resource_type} can be included", code="value"
        )
    if name != "*":
        param = search_params(resource_type).get(name)
        if param is None or param.kind != "reference":
            raise SearchFault(
                f"_include={value[:60]}: {resource_type} has no reference {name[:40]!r}", code="value"
            )
        if param.alias:
            target = target or param.targets[0]
    return Include(name, target)
