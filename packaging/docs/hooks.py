"""Pages of the site that stand outside docs/: CONTRIBUTING, SECURITY and CHANGELOG, each with one source.

A link that works on a forge (`../CONTRIBUTING.md` from docs/, `docs/tasks.md` from the root) is turned
into the one that works in the site.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the root's pages, their links into docs/ made relative to it."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=re.sub(r"\]\(docs/", "](", text)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to the root's pages at their place in the site."""
    for source, target in PAGES.items():
        markdown = re.sub(rf"\]\((?:\.\./)?{re.escape(source)}([)#])", rf"]({target}\1", markdown)
    return markdown.replace("](../README.md)", "](index.md)")
