"""Search results as an agent gets them: the server's Bundle, or its compact form, within a bound.

A result that is small enough passes untouched. One that is too large is cut at a resource and says
so; whoever holds the page shows the rest with `skip` when the agent comes back with the cursor.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError

from .bundletext import BundleText, open_bundle
from .shaping import CompactShaper, FhirShaper

Style = Literal["fhir", "compact"]

_BUNDLE_START = re.compile(rb'\s*\{\s*"resourceType"\s*:\s*"Bundle"')
_OUTCOME = b'"OperationOutcome"'


@dataclass(frozen=True, slots=True)
class ShapedResult:
    """A result's text and the cursor of what comes next (None: nothing does).

    `rest` says where the page was cut, and is given as `skip` for the rest of it; None where the page
    is whole. It means nothing else. With a `rest`, `next` is the `resume` that was given to
    `shape_result`.
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
    if style == "fhir" and small and _BUNDLE_START.match(page.body) and _OUTCOME not in page.body:
        return ShapedResult(_decoded(page.body), page.next)
    bundle = open_bundle(page)
    outcomes = _outcomes(bundle) if _OUTCOME in page.body else []
    if style == "fhir" and small:
        return ShapedResult(bundle.text, page.next)
    start = skip or bundle.first
    shaper = (
        FhirShaper(bundle, start, page.next, resume, max_bytes, notices)
        if style == "fhir"
        else CompactShaper(bundle, start, page.next, resume, max_bytes, [*notices, *outcomes], page.total)
    )
    text, cursor, rest = shaper.shape()
    return ShapedResult(text, cursor, rest)


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
    for entry in bundle.entries():
        resource = entry.value["resource"]
        if resource.get("resourceType") != "OperationOutcome":
            continue
        for issue in resource.get("issue") or ():
            text = issue.get("diagnostics") or (issue.get("details") or {}).get("text") or issue.get("code")
            if issue.get("severity") in ("error", "fatal"):
                raise ChartError(f"the server says that the search failed: {text}")
            said.append(f"The server says: {text}"[:300])
    return said
