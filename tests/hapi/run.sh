#!/usr/bin/env bash
# Build and start the HAPI FHIR server, run the tests that compare with it, end it. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON="${PYTHON:-.venv/bin/python}"

# A folder of its own: a server that someone started by hand is neither used nor ended.
serve() { "$PYTHON" tests/hapi/serve.py "$1" --run tests/hapi/target/test-run; }

trap 'serve stop' EXIT
WARDROUND_HAPI_URL="$(serve start)"
export WARDROUND_HAPI_URL
"$PYTHON" -m pytest -m hapi tests/hapi tests/fhir tests/server "$@"
