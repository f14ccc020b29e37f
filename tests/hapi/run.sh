#!/usr/bin/env bash
# Build and start the HAPI FHIR server, run the tests that compare with it, end it. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON="${PYTHON:-.venv/bin/python}"

trap '"$PYTHON" tests/hapi/serve.py stop' EXIT
WARDROUND_HAPI_URL="$("$PYTHON" tests/hapi/serve.py start)"
export WARDROUND_HAPI_URL
"$PYTHON" -m pytest -m hapi tests/hapi tests/fhir tests/server "$@"
