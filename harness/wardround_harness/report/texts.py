"""Texts that reports, leaderboards and viewers share; the rest of a report's prose is in its templates."""

from __future__ import annotations

from typing import Final

RESEARCH_USE: Final = (
    "For research and development use; not a medical device. "
    "The doses are the benchmark's protocol, not guidance."
)

OWN_PROMPT: Final = "not the paper's prompt"

PUBLISHED: Final = "published; the paper's text protocol, prompt, tasks and chart"

PAPER_CITATION: Final = (
    "Jiang Y, Black KC, Geng G, Park D, Zou J, Ng AY, Chen JH. MedAgentBench: a virtual EHR environment "
    "to benchmark medical LLM agents. NEJM AI 2025. doi:10.1056/AIdbp2500144"
)
