"""Search results as an agent gets them: the server's Bundle, or its compact form, within a bound.

A result that is small enough passes untouched. One that is too large is cut at a resource and says
so; whoever holds the page shows the rest with `skip` when the agent comes back with the cursor.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import orjson

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError

from .bundletext import BundleText, join_bundle, split_bundle
from .compact import Json, clinical, factored, read_exactly, write_exactly

Style = Literal["fhir", "compact"]

_BUNDLE_START = re.compile(rb'\s*\{\s*"resourceType"\s*:\s*"Bundle"')
_NOTICE_ROOM = 900
_NAMED_OMISSIONS = 3


@dataclass(frozen=True, slots=True)
class ShapedResult:
    """A result's text and the cursor of what comes next (None: nothing does).

    `rest` is how many entries of the page have been dealt with when it was cut, to be given as `skip`
    for the rest of the page; None where the page is whole. With a `rest`, `next` is the `resume`
    that was given to `shape_result`.
    """

    text: str
    next: str | None
    rest: int | None = None


def shape_result(
    page: SearchPage,
    *,
    style: Style,
    max_bytes: int,
    applied: Params = (),
    skip: int = 0,
    resume: str | None = None,
) -> ShapedResult:
    """One page as text of at most `max_bytes` bytes of UTF-8.

    `applied` are the parameters that were sent: those that the page's self link does not name are
    named in the result. `skip` leaves out entries that an earlier result has shown. `resume` is the
    cursor that a cut result carries; without one it says only that it was cut. Where `max_bytes` is
    too small for the frame alone, the frame goes out without entries.

    Raises ChartError when the page is no searchset or carries an outcome that says it failed.
    """
    notices = [_unapplied_text(name) for name in unapplied(applied, page.self_link)]
    small = len(page.body) <= max_bytes and not notices and not skip
    if (
        style == "fhir"
        and small
        and _BUNDLE_START.match(page.body)
        and b'"OperationOutcome"' not in page.body
    ):
        return ShapedResult(_decoded(page.body), page.next)
    bundle = split_bundle(_decoded(page.body))
    outcomes = _outcomes(bundle)
    if style == "fhir" and small:
        return ShapedResult(_decoded(page.body), page.next)
    shape = _Fhir(bundle, page) if style == "fhir" else _Compact(bundle, page, outcomes)
    return _within(shape, notices, max_bytes, skip, resume, page.next)


def unapplied(sent: Params, self_link: str | None) -> list[str]:
    """Parameters that were sent and that the self link does not name as often; [] without a self link.

    R4 has the server name in it what it really used: https://hl7.org/fhir/R4/search.html#conformance.
    `subject` stands for `patient`; `_count` is no filter and may be lowered.
    """
    if self_link is None:
        return []
    used: Counter[str] = Counter()
    for name, _ in parse_qsl(urlsplit(self_link).query, keep_blank_values=True):
        used[_filter_name(name)] += 1
    asked = Counter(_filter_name(name) for name, _ in sent)
    return [name for name, times in asked.items() if name != "_count" and used[name] < times]


def _filter_name(name: str) -> str:
    bare = re.split(r"[:.]", name, maxsplit=1)[0]
    return "patient" if bare == "subject" else bare


def _unapplied_text(name: str) -> str:
    if name == "_sort":
        return "The server did not apply _sort: these results are in the server's own order."
    return f"The server did not apply the filter {name!r}: these results are not limited by it."


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise ChartError(f"the search result is not UTF-8: {error}") from error


def _outcomes(bundle: BundleText) -> list[str]:
    """What outcomes among the entries say. Raises ChartError for one that says the search failed."""
    said: list[str] = []
    for raw in bundle.entries:
        if '"OperationOutcome"' not in raw:
            continue
        resource = read_exactly(raw).get("resource") or {}
        if resource.get("resourceType") != "OperationOutcome":
            continue
        for issue in resource.get("issue") or ():
            text = issue.get("diagnostics") or (issue.get("details") or {}).get("text") or issue.get("code")
            if issue.get("severity") in ("error", "fatal"):
                raise ChartError(f"the server says that the search failed: {text}")
            said.append(f"The server says: {text}"[:300])
    return said


# --- the two shapes -------------------------------------------------------------------------------


class _Fhir:
    """The Bundle with some of its entries, spliced as the server wrote them."""

    def __init__(self, bundle: BundleText, page: SearchPage) -> None:
        self._bundle = bundle
        links = orjson.loads(bundle.links)
        self._links = [link for link in links if isinstance(link, dict)] if isinstance(links, list) else []
        self._page = page
        self.count = len(bundle.entries)
        self._sizes = [len(raw.encode()) + 1 for raw in bundle.entries]

    def name(self, index: int) -> str:
        return _entry_name(orjson.loads(self._bundle.entries[index]))

    def size_alone(self, index: int) -> int:
        return self._sizes[index]

    def fitting(self, kept: Sequence[int], room: int) -> int:
        """How many of the entries `kept`, from the first on, have room."""
        for taken, index in enumerate(kept):
            room -= self._sizes[index]
            if room < 0:
                return taken
        return len(kept)

    def render(self, kept: Sequence[int], notices: Sequence[str], cursor: str | None) -> str:
        links = [link for link in self._links if link.get("relation") != "next"]
        if cursor is not None:
            links.append({"relation": "next", "url": cursor})
        entries = [self._bundle.entries[index] for index in kept]
        if notices:
            entries.insert(0, orjson.dumps(_outcome_entry(notices)).decode())
        return join_bundle(self._bundle, orjson.dumps(links).decode(), entries)


class _Compact:
    """Total, what all share, and each entry's own."""

    def __init__(self, bundle: BundleText, page: SearchPage, outcomes: Sequence[str]) -> None:
        entries = [read_exactly(raw) for raw in bundle.entries]
        self._resources = [clinical(entry) for entry in entries if _is_match(entry)]
        self._outcomes = list(outcomes)
        self._total = page.total
        self.count = len(self._resources)

    def name(self, index: int) -> str:
        return _entry_name({"resource": self._resources[index]})

    def size_alone(self, index: int) -> int:
        return len(write_exactly(self._resources[index]))

    def fitting(self, kept: Sequence[int], room: int) -> int:
        """How many of the entries `kept`, from the first on, have room; found by halving."""
        low, high = 0, len(kept)
        while low < high:
            middle = (low + high + 1) // 2
            if self._entries_size(kept[:middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return low

    def _entries_size(self, kept: Sequence[int]) -> int:
        return len(write_exactly(factored([self._resources[index] for index in kept])))

    def render(self, kept: Sequence[int], notices: Sequence[str], cursor: str | None) -> str:
        shared, entries = factored([self._resources[index] for index in kept])
        result: Json = {"total": self._total, "returned": len(entries)}
        if cursor is not None:
            result["next"] = cursor
        said = [*notices, *self._outcomes]
        if said:
            result["notice"] = said
        if shared:
            result["shared"] = shared
        result["entries"] = entries
        return write_exactly(result).decode()


def _within(
    shape: _Fhir | _Compact,
    notices: list[str],
    max_bytes: int,
    skip: int,
    resume: str | None,
    following: str | None,
) -> ShapedResult:
    """The whole rest of the page where it fits, else as much of it as does."""
    left = range(skip, shape.count)
    whole = shape.render(left, notices, following)
    if len(whole.encode()) <= max_bytes:
        return ShapedResult(whole, following)
    frame = len(shape.render([], [*notices, "x" * _NOTICE_ROOM], resume or following).encode())
    room = max_bytes - frame
    too_large = [index for index in left if shape.size_alone(index) > room]
    kept = [index for index in left if shape.size_alone(index) <= room]
    taken = shape.fitting(kept, room)
    end = kept[taken] if taken < len(kept) else shape.count
    shown = kept[:taken]
    omitted = [index for index in too_large if index < end]
    cut = end < shape.count
    cursor = resume if cut else following
    said = [*notices, *_size_notices(shape, max_bytes, shown, omitted, cut=cut, resumable=resume is not None)]
    return ShapedResult(shape.render(shown, said, cursor), cursor, end if cut else None)


def _size_notices(
    shape: _Fhir | _Compact,
    max_bytes: int,
    shown: Sequence[int],
    omitted: Sequence[int],
    *,
    cut: bool,
    resumable: bool,
) -> list[str]:
    said: list[str] = []
    if omitted:
        names = ", ".join(shape.name(index) for index in omitted[:_NAMED_OMISSIONS])
        more = f" and {len(omitted) - _NAMED_OMISSIONS} more" if len(omitted) > _NAMED_OMISSIONS else ""
        said.append(f"Left out, as each alone is over the limit of {max_bytes} bytes: {names}{more}.")
    if cut:
        way = "the next cursor continues after it" if resumable else "narrow the search or lower _count"
        part = f"{len(shown)} of the {shape.count} results of this page"
        said.append(f"Cut to stay within {max_bytes} bytes: {part}; {way}.")
    return said


def _entry_name(entry: Json) -> str:
    resource = entry.get("resource") or {}
    kind, ident = str(resource.get("resourceType", "resource")), str(resource.get("id", "without id"))
    return f"{kind[:64]}/{ident[:64]}".encode("ascii", "replace").decode()


def _is_match(entry: Any) -> bool:
    resource = entry.get("resource")
    return isinstance(resource, dict) and resource.get("resourceType") != "OperationOutcome"


def _outcome_entry(notices: Sequence[str]) -> Json:
    """What is to be said beside the results, as R4 has it: an entry of mode outcome."""
    issues = [{"severity": "warning", "code": "informational", "diagnostics": notice} for notice in notices]
    return {
        "resource": {"resourceType": "OperationOutcome", "issue": issues},
        "search": {"mode": "outcome"},
    }
