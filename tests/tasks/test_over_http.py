"""Tasks made, checked and graded over a real FHIR server: the same as from the chart itself."""

from __future__ import annotations

import asyncio
from importlib.resources import files

import pytest

from tests.fhir.serving import served
from wardround_server.backends import open_backend
from wardround_server.backends.embedded import EmbeddedBackend
from wardround_tasks.check import check_tasks
from wardround_tasks.generate import BUNDLED_SEED, generate_tasks, generated_document
from wardround_tasks.grading import read_reference
from wardround_tasks.loading import load_tasks


@pytest.mark.slow
def test_over_http_generator_references_and_check_give_what_they_give_in_process() -> None:
    sample = load_tasks("bundled").tasks[::10]
    stored = files("wardround_tasks").joinpath("data/bundled.json").read_text(encoding="utf-8")

    async def run(url: str) -> None:
        near, far = await open_backend("embedded"), await open_backend(url)
        try:
            made = await generate_tasks(far, BUNDLED_SEED)
            assert generated_document(made, BUNDLED_SEED) == stored
            for task in sample:
                assert await read_reference(task, far) == await read_reference(task, near)
            assert await check_tasks(sample, far) == []
        finally:
            await near.aclose()
            await far.aclose()

    async def chart() -> EmbeddedBackend:
        backend = await open_backend("embedded")
        assert isinstance(backend, EmbeddedBackend)
        return backend

    backend = asyncio.run(chart())
    try:
        with served(backend) as url:
            asyncio.run(run(url))
    finally:
        asyncio.run(backend.aclose())
