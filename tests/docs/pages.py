"""The project's pages as tests read them: code blocks by language, commands, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]
)
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<lang>[a-z]*)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=indent)```", re.M | re.S
)
PROGRAMS = ("wardround", "wardround-mcp")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    lang: str
    body: str
    info: str = ""

    @property
    def title(self) -> str | None:
        """The file that the block says it is a part of."""
        found = re.search(r'title="([^"]+)"', self.info)
        return None if found is None else found[1]

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order, their indent taken away."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        indent = match["indent"]
        body = "".join(line.removeprefix(indent) for line in match["body"].splitlines(keepends=True))
        yield Block(page, text.count("\n", 0, match.start()) + 1, match["lang"], body, match["info"])


def command_lines(block: Block) -> Iterator[list[str]]:
    """The calls of our two programs in a block, as words; continuation lines are joined."""
    for whole in re.sub(r"\s*\\\n\s*", " ", block.body).splitlines():
        # In a list of commands three spaces set the description apart.
        line = re.split(r"(?<=\S)   +(?![-#])", whole)[0]
        words = shlex.split(line.removeprefix("$ "), comments=True, posix=True) if _ours(line) else []
        if words:
            yield words


def _ours(line: str) -> bool:
    return any(re.match(rf"(\$ )?{program}( |$)", line) is not None for program in PROGRAMS)
