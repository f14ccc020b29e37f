"""One search of the suite and its right answer."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from .chart import PREFIX


@dataclass(frozen=True, slots=True)
class Hapi:
    """How HAPI's answer differs, and why ours does not follow it.

    `expect` is what HAPI answers: ids or a status; None where its answer is not one that can be compared.
    """

    why: str
    expect: str | int | None = None


HAPI_DATE_OR = "HAPI's date parameters know no OR; R4 gives every parameter one"
HAPI_COARSE = "HAPI takes le and ge with a month or year for its first day; R4 has the whole of it"
HAPI_OVERLAP = "HAPI lets le match whatever begins by the end of the value; R4 asks for a part before it"
HAPI_MODIFIER = "HAPI overlooks a modifier that it does not know; R4 has it refused"
HAPI_VALUE = "HAPI overlooks a value that it does not know; the answer would be to another question"
HAPI_LOCAL_URL = "HAPI takes an absolute URL for its own only where it is told so (treatBaseUrlsAsLocal)"
HAPI_LENIENT = "HAPI looks at Prefer only with an interceptor that is not there by default"
HAPI_EMPTY = "HAPI leaves empty parameters out, and answers as if all rows matched"
HAPI_UNIT = "HAPI compares a unit's code alone; R4 the code or the printed unit"
HAPI_PRECISION = "HAPI compares 5 exactly; R4 has a number span its precision"


@dataclass(frozen=True, slots=True)
class Case:
    """A search: `query` as it stands in the URL; `expect` names the ids that answer it, without their prefix.

    A number is the HTTP status of a refusal. `ordered` compares the order too; `included` are the ids of
    included resources; `lenient` sends `Prefer: handling=lenient`; `total` is the Bundle's total where
    it is not the number of ids.
    """

    resource_type: str
    query: str
    expect: str | int
    rule: str
    ordered: bool = False
    included: str = ""
    lenient: bool = False
    total: int | None = None
    hapi: Hapi | None = None

    @property
    def ids(self) -> list[str]:
        """The expected ids, with their prefix."""
        return full_ids(self.expect)

    @property
    def params(self) -> list[tuple[str, str]]:
        """The query decoded."""
        return parse_qsl(self.query, keep_blank_values=True)

    def __str__(self) -> str:
        return f"{self.resource_type}?{self.query}"[:110]


def full_ids(names: str | int) -> list[str]:
    """`"p1 p2"` as ids of the suite's chart."""
    return [PREFIX + name for name in names.split()] if isinstance(names, str) else []
