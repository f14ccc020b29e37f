"""What a remote server's answer says: a page of results that can be relied on, or a clear ChartError.

Nothing is passed on that could stand for fewer rows than there are, or for another patient's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from wardround_schemas.chart import Params, SearchPage
from wardround_schemas.errors import ChartError

from .exchange import Answer

JsonObject = dict[str, Any]

REFERENCE = re.compile(
    r"(?:(?P<base>https?://.+)/)?(?P<type>[A-Z][A-Za-z]*)/(?P<id>[A-Za-z0-9\-.]{1,64})(?:/_history/[^/]+)?\Z"
)
RESOURCE_TYPE = re.compile(r"[A-Z][A-Za-z]{0,63}\Z")
RESOURCE_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}\Z")
INCOMPLETE = ("incomplete", "timeout", "too-costly", "throttled", "transient", "not-supported")
"""Issue types (FHIR R4, issue-type) by which a server says that it left rows or filters out."""

MOST_EMPTY_PAGES = 100
"""A server that filters what it has cut into pages sends some empty ones; so many never end."""
MODES = ("match", "include", "outcome")

_ALIASES = {"patient": {"patient", "subject"}, "subject": {"patient", "subject"}}
_RESULT_PARAMETERS_OF_COUNT = (("_summary", "count"), ("_count", "0"))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page has to agree with: the search it belongs to, and what its earlier pages held.

    `patients` are the allowed patient ids, one set for each parameter that names some; `ids` those of `_id`.
    `rows` and `total` sum up the pages before this one, `empty_pages` those since the last row.
    """

    resource_type: str
    params: tuple[tuple[str, str], ...] = ()
    patients: tuple[frozenset[str], ...] = ()
    ids: tuple[frozenset[str], ...] = ()
    count_only: bool = False
    may_lack_subject: bool = False
    includes: bool = False
    estimated: bool = False
    rows: int = 0
    empty_pages: int = 0
    total: int | None = None
    first: bool = True

    @classmethod
    def of(cls, resource_type: str, params: Params, base_url: str) -> Asked:
        """The expectations that a search's parameters give rise to."""
        patients: list[frozenset[str]] = []
        ids: list[frozenset[str]] = []
        for name, value in params:
            key, _, modifier = name.partition(":")
            if name == "_id":
                ids.append(frozenset(one.removeprefix(f"{resource_type}/") for one in split_or(value)))
            elif key in ("patient", "subject") and modifier in ("", "Patient"):
                named = [patient_id(one, base_url) for one in split_or(value)]
                if all(named):
                    patients.append(frozenset(one for one in named if one))
        names = {name.partition(":")[0] for name, _ in params}
        return cls(
            resource_type=resource_type,
            params=tuple(params),
            patients=tuple(patients) if resource_type != "Patient" else (),
            ids=tuple(ids),
            count_only=any(pair in _RESULT_PARAMETERS_OF_COUNT for pair in params),
            may_lack_subject="_elements" in names or "_summary" in names,
            includes="_include" in names or "_revinclude" in names,
            estimated=any(name == "_total" and value != "accurate" for name, value in params),
        )

    @classmethod
    def of_link(cls, path: str, params: Params, base_url: str) -> Asked | None:
        """What a page has to agree with whose link names type (`path`, below the base) and parameters.

        None for an opaque link. The pages before it are unknown, so that its total tells nothing.
        """
        resource_type = path.removesuffix("/_search").strip("/")
        if not RESOURCE_TYPE.match(resource_type):
            return None
        return replace(cls.of(resource_type, params, base_url), estimated=True, first=False)


def split_or(value: str) -> list[str]:
    """The alternatives of a search value: parts between commas that no backslash escapes (R4, 3.1.1.3.7)."""
    parts = re.split(r"(?<!\\)((?:\\\\)*),", value)
    joined = [parts[i] + (parts[i + 1] if i + 1 < len(parts) else "") for i in range(0, len(parts), 2)]
    return [re.sub(r"\\(.)", r"\1", part) for part in joined if part]


def patient_id(reference: str, base_url: str) -> str | None:
    """The patient's id that a reference parameter names, or None where it is not a Patient of this server."""
    if RESOURCE_ID.match(reference):
        return reference
    match = REFERENCE.match(reference)
    if match is None or match["type"] != "Patient":
        return None
    return match["id"] if match["base"] in (None, base_url) else None


def read_searchset(
    answer: Answer, asked: Asked | None, base_url: str, what: str
) -> tuple[SearchPage, Asked | None]:
    """A page from a 200 answer, and what the page after it has to agree with.

    `asked` is None for a page whose search is not known; then only its form is checked. Raises ChartError.
    """
    bundle = read_json(answer, what)
    if bundle.get("resourceType") == "OperationOutcome":
        raise ChartError(f"{what}: the server answered 200 with: {outcome_text(bundle)}", status=200)
    if bundle.get("resourceType") != "Bundle" or bundle.get("type") != "searchset":
        raise ChartError(f"{what}: the answer is not a searchset Bundle", status=200)
    links = read_links(bundle, what)
    self_link = links.get("self")
    entries = read_entries(bundle, what)
    body = answer.body
    if _name_modes(entries, asked):
        body = orjson.dumps(bundle)
    matches = [entry["resource"] for entry in entries if mode_of(entry) in (None, "match")]

    check_outcomes(entries, what)
    if asked is not None:
        check_hidden(entries, asked, what)
    total = read_total(bundle, what)
    page = SearchPage(body=body, total=total, next=links.get("next"), self_link=self_link)
    if asked is None:
        return page, None

    bases = {base_url} | ({own} if (own := base_of(self_link, asked.resource_type)) else set())
    check_matches(matches, asked, bases, what)
    if asked.first:
        check_applied(asked.params, self_link, what)
    after = replace(
        asked,
        rows=asked.rows + len(matches),
        empty_pages=0 if matches else asked.empty_pages + 1,
        total=min((t for t in (asked.total, total) if t is not None), default=None),
        first=False,
    )
    check_complete(page, after, total, what)
    return page, after


def read_json(answer: Answer, what: str) -> JsonObject:
    """The JSON object in a body. Raises ChartError that says what it is instead."""
    opening = answer.body[:200].lstrip()
    if "html" in answer.media_type or opening[:1] == b"<":
        kind = "XML" if "xml" in answer.media_type and "html" not in answer.media_type else "an HTML page"
        hint = "" if kind == "XML" else ": a sign-in page or a proxy's, perhaps; is it the FHIR base URL?"
        raise ChartError(
            f"{what}: the server answered {answer.status} with {kind}{hint}", status=answer.status
        )
    if not opening:
        raise ChartError(f"{what}: the server answered {answer.status} with nothing", status=answer.status)
    try:
        value = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        begun = opening[:1] == b"{"
        kind = f"JSON that is cut off or damaged ({error.msg})" if begun else "something that is not JSON"
        raise ChartError(
            f"{what}: the server answered {answer.status} with {kind}", status=answer.status, retryable=begun
        ) from None
    if not isinstance(value, dict):
        raise ChartError(f"{what}: the answer is JSON, but not an object", status=answer.status)
    return value


def read_links(bundle: JsonObject, what: str) -> dict[str, str]:
    """The links of a Bundle by relation. One that can't be read might lead to more rows: ChartError."""
    found: dict[str, str] = {}
    links = bundle.get("link")
    if links is None:
        return found
    if not isinstance(links, list):
        raise ChartError(f"{what}: the Bundle's links are not a list", status=200)
    for link in links:
        relation, url = (link.get("relation"), link.get("url")) if isinstance(link, dict) else (None, None)
        if not isinstance(relation, str) or not isinstance(url, str):
            raise ChartError(f"{what}: the Bundle has a link without relation or url", status=200)
        if found.setdefault(relation, url) != url and relation == "next":
            raise ChartError(f"{what}: the Bundle has two different next links", status=200)
    return found


def read_entries(bundle: JsonObject, what: str) -> list[JsonObject]:
    """The entries of a Bundle, each holding a resource with a type. `entry: null` is an empty list."""
    entries = bundle.get("entry")
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise ChartError(f"{what}: the Bundle's entries are not a list", status=200)
    for entry in entries:
        resource = entry.get("resource") if isinstance(entry, dict) else None
        if not isinstance(resource, dict) or not isinstance(resource.get("resourceType"), str):
            raise ChartError(f"{what}: the Bundle has an entry without its resource", status=200)
        search = entry.get("search", {})
        if not isinstance(search, dict) or search.get("mode", "match") not in MODES:
            raise ChartError(
                f"{what}: the Bundle has an entry that does not say rightly why it is there", status=200
            )
    return entries


def mode_of(entry: JsonObject) -> str | None:
    """Why an entry is in the results: match, include or outcome; None where the server does not say."""
    mode: str | None = entry.get("search", {}).get("mode")
    return mode


def read_total(bundle: JsonObject, what: str) -> int | None:
    """The Bundle's total, None where the server left it out. Raises ChartError for anything but a count."""
    total = bundle.get("total")
    if total is None:
        return None
    if not isinstance(total, int) or isinstance(total, bool) or total < 0:
        raise ChartError(f"{what}: the Bundle's total is not a count", status=200)
    return total


def check_outcomes(entries: Iterable[JsonObject], what: str) -> None:
    """Raise ChartError for an outcome among the results that says that they are not all, or not as asked."""
    for entry in entries:
        if entry["resource"]["resourceType"] != "OperationOutcome":
            continue
        for issue in issues_of(entry["resource"]):
            severity = issue.get("severity")
            if severity in ("error", "fatal") or (severity == "warning" and issue.get("code") in INCOMPLETE):
                raise ChartError(f"{what}: with the results the server says: {issue_text(issue)}", status=200)


def check_hidden(entries: Iterable[JsonObject], asked: Asked, what: str) -> None:
    """Raise ChartError for a resource of the type asked for that is marked as something else than a match."""
    for entry in entries:
        mode = mode_of(entry)
        rightly = mode in (None, "match") or (mode == "include" and asked.includes)
        if entry["resource"]["resourceType"] == asked.resource_type and not rightly:
            raise ChartError(f"{what}: the server sent a row marked as {mode}, not as a match", status=200)


def check_matches(matches: Iterable[JsonObject], asked: Asked, bases: set[str], what: str) -> None:
    """Raise ChartError for a result of another type, id or patient than the search asked for."""
    for resource in matches:
        if resource["resourceType"] != asked.resource_type:
            raise ChartError(
                f"{what}: the server sent a {resource['resourceType']} among the results", status=200
            )
        if asked.ids and not all(str(resource.get("id")) in ids for ids in asked.ids):
            raise ChartError(f"{what}: the server sent a resource with another id than asked for", status=200)
        if not asked.patients:
            continue
        subject = resource.get("subject") or resource.get("patient")
        if subject is None and asked.may_lack_subject:
            continue
        patient = subject_id(subject, bases)
        if any(patient not in patients for patients in asked.patients):
            raise ChartError(
                f"{what}: the server sent a resource of another patient than the one asked for; "
                "nothing of this answer is used",
                status=200,
            )


def subject_id(subject: object, bases: set[str]) -> str | None:
    """The id in a subject reference to a Patient of this server; None for any other kind of subject."""
    reference = subject.get("reference") if isinstance(subject, dict) else None
    match = REFERENCE.match(reference) if isinstance(reference, str) else None
    if (
        match is None
        or match["type"] != "Patient"
        or (match["base"] is not None and match["base"] not in bases)
    ):
        return None
    return match["id"]


def base_of(self_link: str | None, resource_type: str) -> str | None:
    """The service base as the server itself calls it, behind a proxy perhaps another than ours."""
    if self_link is None or "://" not in self_link:
        return None
    path = self_link.split("?")[0].removesuffix("/_search")
    return path.removesuffix(f"/{resource_type}") if path.endswith(f"/{resource_type}") else None


def check_applied(params: Iterable[tuple[str, str]], self_link: str | None, what: str) -> None:
    """Raise ChartError when the self link, which names what the server applied, lacks one of the filters.

    R4, 3.1.1.1: the self link holds the parameters actually used. A filter counts as used when its name, a
    synonym or its value is there: some servers rewrite `patient=1` to `subject:Patient=Patient/1`.
    """
    query = urlsplit(self_link).query if self_link else ""
    applied = parse_qsl(query, keep_blank_values=True)
    if not applied:
        return
    names = {name.partition(":")[0].partition(".")[0] for name, _ in applied}
    values = [value for _, value in applied]
    for name, value in params:
        key = name.partition(":")[0].partition(".")[0]
        if key.startswith("_") and key not in ("_id", "_lastUpdated"):
            continue
        if not (_ALIASES.get(key, {key}) & names) and not any(value and value in other for other in values):
            raise ChartError(f"{what}: the server did not apply the filter {key!r}", status=200)


def check_complete(page: SearchPage, after: Asked, total: int | None, what: str) -> None:
    """Raise ChartError when the last page leaves out matches that the server counts, or never comes."""
    if page.next is not None and after.empty_pages > MOST_EMPTY_PAGES:
        raise ChartError(f"{what}: {after.empty_pages} pages in a row without a match, and yet a next link")
    if after.count_only:
        if total is None:
            raise ChartError(f"{what}: only a count was asked for, and the answer has no total", status=200)
        return
    if page.next is None and after.total is not None and not after.estimated and after.rows < after.total:
        raise ChartError(
            f"{what}: the server counts {after.total} matches, sent {after.rows} and names no further page",
            status=200,
            retryable=True,
        )


def issues_of(outcome: JsonObject) -> Iterator[JsonObject]:
    issues = outcome.get("issue")
    yield from (issue for issue in (issues if isinstance(issues, list) else []) if isinstance(issue, dict))


def issue_text(issue: JsonObject) -> str:
    """Severity, code and the server's words of one issue."""
    details = issue.get("details")
    text = issue.get("diagnostics") or (details.get("text") if isinstance(details, dict) else None)
    head = " ".join(str(issue[k]) for k in ("severity", "code") if isinstance(issue.get(k), str))
    return f"{head}: {text}" if isinstance(text, str) and text else head or "an issue without words"


def outcome_text(outcome: JsonObject) -> str:
    """An OperationOutcome in one line of at most 500 characters."""
    return (
        "; ".join(issue_text(issue) for issue in issues_of(outcome))[:500]
        or "an OperationOutcome without issues"
    )


def error_is_fhir(answer: Answer) -> bool:
    """Whether an error answer is a FHIR server's: an outcome, or nothing at all, but no web page."""
    if not answer.body.strip():
        return True
    try:
        value = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(value, dict) and value.get("resourceType") == "OperationOutcome"


def error_text(answer: Answer) -> str:
    """Why a server answered with an error status, in its own words where it gave some."""
    if "html" not in answer.media_type:
        try:
            value = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            value = None
        if isinstance(value, dict) and value.get("resourceType") == "OperationOutcome":
            return outcome_text(value)
    if not answer.body.strip():
        return "no reason given"
    kind = (
        "an HTML page"
        if "html" in answer.media_type or answer.body.lstrip()[:1] == b"<"
        else "no FHIR outcome"
    )
    return f"{kind} instead of a reason"


def _name_modes(entries: Iterable[JsonObject], asked: Asked | None) -> bool:
    """Write the search mode into entries of another type that lack it, so that none passes for a match.

    Gives whether anything was written. R4 leaves the mode optional; a Patient included beside its
    Observations, or an outcome, must not be read as a row.
    """
    written = False
    for entry in entries:
        kind = entry["resource"]["resourceType"]
        if mode_of(entry) is not None or asked is None or kind == asked.resource_type:
            continue
        if kind == "OperationOutcome" or asked.includes:
            mode = "outcome" if kind == "OperationOutcome" else "include"
            entry["search"] = {**entry.get("search", {}), "mode": mode}
            written = True
    return written
