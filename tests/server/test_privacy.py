"""What leaves the process beside answers: logs and traces, from a run that handles a patient's records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.server.test_stdio import environment

# A process of its own: OpenTelemetry's provider is set once, for the whole process.
_TRACED = """
import asyncio, contextlib, json, sys
from pathlib import Path

import httpx
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, Tracer, TracerProvider

SEEN = []

class Span(NonRecordingSpan):
    def __init__(self, name, attributes):
        super().__init__(SpanContext(1, 1, False, TraceFlags(1)))
        SEEN.append([name, dict(attributes or {})])
        self.attributes = SEEN[-1][1]
    def is_recording(self):
        return True
    def set_attribute(self, key, value):
        self.attributes[key] = value
    def set_attributes(self, attributes):
        self.attributes.update(attributes)
    def update_name(self, name):
        self.attributes["name"] = name

class Recorder(Tracer):
    def start_span(self, name, context=None, kind=None, attributes=None, *args, **kwargs):
        return Span(name, attributes)
    @contextlib.contextmanager
    def start_as_current_span(self, name, context=None, kind=None, attributes=None, *args, **kwargs):
        span = Span(name, attributes)
        with trace.use_span(span):
            yield span

class Provider(TracerProvider):
    def get_tracer(self, *args, **kwargs):
        return Recorder()

trace.set_tracer_provider(Provider())

from mcp import Client
from tests.server.live import running
from wardround_server.http import build_app
from wardround_server.logs import set_up_logs
from wardround_server.service import open_service
from wardround_server.settings import ServerSettings

async def main():
    set_up_logs()
    settings = ServerSettings(journal=Path(sys.argv[1]), token="the-control-token")
    control = {"authorization": "Bearer the-control-token"}
    async with await open_service(settings) as service, running(build_app(service)) as base:
        patient = (await service.backend.search("Patient", [("_count", "1")])).resources()[0]
        family, ident = patient["name"][0]["family"], patient["id"]
        async with httpx.AsyncClient(base_url=base, headers=control) as http:
            assert (await http.get("/fhir/Patient", params={"family": family})).status_code == 200
            assert (await http.get(f"/fhir/Patient/{ident}")).status_code == 200
            assert (await http.get("/fhir/Patient", params={"nonsense": family})).status_code == 400
            made = (await http.post("/sessions", json={"budget": 50})).json()
            await http.post("/sessions", json={"budget": family})
        for mode in ("legacy", "2026-07-28"):
            async with Client(made["mcp_url"], mode=mode) as client:
                await client.call_tool("patient_search", {"family": family})
                await client.call_tool("lab_search", {"patient": ident, "code": family})
                await client.call_tool("nonsense", {"patient": ident})
                await client.call_tool("vital_create", {"subject": {"reference": ident}})
        secrets = [family, ident, made["id"], "the-control-token"]
    print(json.dumps({"spans": SEEN, "secrets": secrets}))

asyncio.run(main())
"""


def run(tmp_path: Path) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-c", _TRACED, str(tmp_path / "journal")],
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said, done.stderr


def test_logs_and_traces_name_no_patient_no_session_and_no_secret(tmp_path: Path) -> None:
    said, logs = run(tmp_path)
    names = [name for name, _ in said["spans"]]
    assert "tools/call patient_search" in names
    lines = [json.loads(line) for line in logs.splitlines()]
    assert {line["area"] for line in lines if line["message"] == "request"} == {"fhir", "mcp", "sessions"}
    family, ident, session, token = said["secrets"]
    for secret in (family, ident, session, token):
        assert secret not in logs
        assert secret not in json.dumps(said["spans"])
