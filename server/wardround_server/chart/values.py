"""Typed search values, and how they are read from the data types of FHIR R4.

A reader takes one element of a resource and adds the values that it holds to a list. Readers raise
ValueError for an element that is not of its type or holds an impossible date: a value that could not be
found by a search later must not be taken in silence.

Sources: FHIR R4 "Search" (which parts of a data type a parameter of each kind looks at); HAPI FHIR's
documentation where R4 leaves room (contact points, parts of an address).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from .dates import Span, parse_period, parse_span


class Token(NamedTuple):
    """A coded value. `system` is "" where the data has none; `text` is what `:text` looks at."""

    system: str
    code: str
    text: str = ""


class Reference(NamedTuple):
    """A reference: `type` and `id` on this server, or else `url` as written and the `type` that it names.

    `identifier` holds the `system` and `value` of a logical reference, for `:identifier`.
    """

    type: str
    id: str
    url: str = ""
    identifier: tuple[str, str] | None = None


class Text(NamedTuple):
    """A string as written and as compared (see `normalize`)."""

    exact: str
    folded: str


class Quantity(NamedTuple):
    """A measured value with its unit; "" where the data has none."""

    value: float
    system: str
    code: str
    unit: str


Value = Token | Reference | Span | Text | Quantity
Reader = Callable[[Any, list[Any]], None]


def normalize(text: str) -> str:
    """A string as string searches compare it: without case, accents and repeated spaces."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(text.casefold().split())


def wrong_type(wanted: str, value: Any) -> ValueError:
    """The fault of an element that is of another type than FHIR has in its place."""
    return ValueError(f"{wanted} belongs here, not {type(value).__name__}")


def _as_dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong_type("an object", value)
    return value


def _as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong_type("a string", value)
    return value


def _optional_text(holder: dict[str, Any], key: str) -> str:
    value = holder.get(key)
    if value.__class__ is str:
        return value
    if value is None:
        return ""
    raise wrong_type("a string", value)


def read_coding(value: Any, out: list[Any], text: str = "") -> None:
    """A Coding: its system and code. One without a code can only be found by its text."""
    coding = _as_dict(value)
    code = _optional_text(coding, "code")
    words = _optional_text(coding, "display")
    if text and text != words:
        words = f"{words}\n{text}" if words else text
    if code or words:
        out.append(Token(_optional_text(coding, "system"), code, words))


def read_concept(value: Any, out: list[Any]) -> None:
    """A CodeableConcept: every coding; its text is only what `:text` looks at, never a code."""
    concept = _as_dict(value)
    text = _optional_text(concept, "text")
    codings = concept.get("coding")
    if codings is None:
        if text:
            out.append(Token("", "", text))
        return
    for coding in codings if isinstance(codings, list) else (codings,):
        read_coding(coding, out, text)


def read_identifier(value: Any, out: list[Any]) -> None:
    """An Identifier: its system and value."""
    identifier = _as_dict(value)
    text = _optional_text(identifier, "value")
    if text:
        kind = identifier.get("type")
        words = kind.get("text") if isinstance(kind, dict) else None
        out.append(Token(_optional_text(identifier, "system"), text, words if isinstance(words, str) else ""))


def read_contact(value: Any, out: list[Any]) -> None:
    """A ContactPoint: its value, with the kind of contact (phone, email) as system, as in HAPI."""
    contact = _as_dict(value)
    text = _optional_text(contact, "value")
    if text:
        out.append(Token(_optional_text(contact, "system"), text))


def contact_of_kind(kind: str) -> Reader:
    """A reader of ContactPoints of one kind: the parameters `phone` and `email`."""

    def read(value: Any, out: list[Any]) -> None:
        if _as_dict(value).get("system") == kind:
            read_contact(value, out)

    return read


def code_of(system: str) -> Reader:
    """A reader of a `code` element, whose system is the one that its binding implies."""

    def read(value: Any, out: list[Any]) -> None:
        out.append(Token(system, _as_text(value)))

    return read


def read_boolean(value: Any, out: list[Any]) -> None:
    """A boolean as the codes true and false."""
    if not isinstance(value, bool):
        raise wrong_type("true or false", value)
    out.append(Token("http://hl7.org/fhir/special-values", "true" if value else "false"))


def read_uri(value: Any, out: list[Any]) -> None:
    """A uri or canonical, compared whole."""
    out.append(Token("", _as_text(value)))


def read_string(value: Any, out: list[Any]) -> None:
    """A plain string."""
    text = _as_text(value)
    if text.strip():
        out.append(Text(text, normalize(text)))


def read_concept_text(value: Any, out: list[Any]) -> None:
    """The text of a CodeableConcept, for string parameters."""
    text = _optional_text(_as_dict(value), "text")
    if text:
        read_string(text, out)


def parts_of(*keys: str) -> Reader:
    """A reader of the named parts of a HumanName or an Address, each a value of its own."""

    def read(value: Any, out: list[Any]) -> None:
        holder = _as_dict(value)
        for key in keys:
            part = holder.get(key)
            for text in part if isinstance(part, list) else () if part is None else (part,):
                if text is not None:
                    read_string(text, out)

    return read


def read_date(value: Any, out: list[Any]) -> None:
    """A date, dateTime or instant."""
    out.append(parse_span(_as_text(value)))


def read_period(value: Any, out: list[Any]) -> None:
    """A Period, open where an end is left out."""
    span = parse_period(_as_dict(value))
    if span is not None:
        out.append(span)


def read_timing(value: Any, out: list[Any]) -> None:
    """A Timing as the one range from its first event or bound to its last, as HAPI indexes it."""
    timing = _as_dict(value)
    spans: list[Span] = []
    events = timing.get("event")
    for event in events if isinstance(events, list) else () if events is None else (events,):
        read_date(event, spans)
    repeat = timing.get("repeat")
    if isinstance(repeat, dict) and repeat.get("boundsPeriod") is not None:
        read_period(repeat["boundsPeriod"], spans)
    if spans:
        first, last = min(spans), max(spans, key=lambda span: span.high)
        out.append(Span(first.low, last.high, first.low_offset, last.high_offset))


def read_timing_events(value: Any, out: list[Any]) -> None:
    """The events of a Timing, each on its own (MedicationRequest's `date`)."""
    read_timing({"event": _as_dict(value).get("event")}, out)


def read_reference(value: Any, out: list[Any]) -> None:
    """A Reference: by type and id where it is relative, else by its url; a logical one by its identifier."""
    holder = _as_dict(value)
    identifier = holder.get("identifier")
    logical: tuple[str, str] | None = None
    if isinstance(identifier, dict) and identifier.get("value"):
        logical = (_optional_text(identifier, "system"), _optional_text(identifier, "value"))
    target = _optional_text(holder, "reference")
    if target.startswith("#"):
        return
    if target or logical:
        out.append(split_reference(target)._replace(identifier=logical))


def read_canonical(value: Any, out: list[Any]) -> None:
    """A canonical url as a reference."""
    out.append(Reference("", "", _as_text(value)))


_LOCAL = re.compile(r"([A-Z][A-Za-z]*)/([^/]+)(?:/_history/[^/]+)?")
_ABSOLUTE = re.compile(r"https?://.*/([A-Z][A-Za-z]*)/[^/]+(?:/_history/[^/]+)?", re.DOTALL)


@lru_cache(maxsize=4096)
def split_reference(target: str) -> Reference:
    """`Patient/S1` or `Patient/S1/_history/2` as type and id; else as a url, with the type it names."""
    local = _LOCAL.fullmatch(target)
    if local is not None:
        return Reference(local[1], local[2])
    absolute = _ABSOLUTE.fullmatch(target)
    return Reference(absolute[1] if absolute else "", "", target)


def read_quantity(value: Any, out: list[Any]) -> None:
    """A Quantity with a value."""
    quantity = _as_dict(value)
    number = quantity.get("value")
    if number is None:
        return
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise wrong_type("a number", number)
    out.append(
        Quantity(
            float(number),
            _optional_text(quantity, "system"),
            _optional_text(quantity, "code"),
            _optional_text(quantity, "unit"),
        )
    )
