"""The scores that the MedAgentBench paper publishes for twelve models.

Success rates in percent on its 300 tasks, judged by its own grader, with its own text protocol, prompt
and chart. The figures are facts taken from the paper"s two tables (Jiang et al., MedAgentBench: a virtual
EHR environment to benchmark medical LLM agents, NEJM AI 2025; arXiv:2501.14654).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PaperScore:
    """One model"s published success rates, in percent; `form` is API or open (weights)."""

    model: str
    size: str | None
    form: str
    overall: float
    query: float
    action: float
    easy: float
    medium: float
    hard: float


PAPER_TABLE: tuple[PaperScore, ...] = (
    PaperScore("Claude 3.5 Sonnet v2", None, "API", 69.67, 85.33, 54.0, 100.0, 81.67, 23.33),
    PaperScore("GPT-4o", None, "API", 64.0, 72.0, 56.0, 86.67, 70.0, 33.33),
    PaperScore("DeepSeek-V3", "685B", "open", 62.67, 70.67, 54.67, 93.33, 68.33, 24.44),
    PaperScore("Gemini-1.5 Pro", None, "API", 62.0, 52.67, 71.33, 82.22, 45.83, 63.33),
    PaperScore("GPT-4o-mini", None, "API", 56.33, 59.33, 53.33, 91.11, 55.83, 22.22),
    PaperScore("o3-mini", None, "API", 51.67, 54.67, 48.67, 67.78, 65.0, 17.78),
    PaperScore("Qwen2.5", "72B", "open", 51.33, 38.67, 64.0, 72.22, 44.17, 40.0),
    PaperScore("Llama 3.3", "70B", "open", 46.33, 50.0, 42.67, 56.67, 38.33, 46.67),
    PaperScore("Gemini 2.0 Flash", None, "API", 38.33, 34.0, 42.67, 98.89, 17.5, 5.56),
    PaperScore("Gemma2", "27B", "open", 19.33, 38.67, 0.0, 33.33, 23.33, 0.0),
    PaperScore("Gemini 2.0 Pro", None, "API", 18.0, 25.33, 10.67, 27.78, 14.17, 13.33),
    PaperScore("Mistral v0.3", "7B", "open", 4.0, 8.0, 0.0, 13.33, 0.0, 0.0),
)
