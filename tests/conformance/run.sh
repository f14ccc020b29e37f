#!/usr/bin/env bash
# Runs the official MCP conformance suite against the product, and against the product with the
# suite's fixtures. The suite and the Node.js that it needs are installed once, into the cache.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${WARDROUND_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/wardround}/conformance
python=${PYTHON_BIN:-$root/.venv/bin/python}

mkdir -p "$cache"
if ! cmp -s "$here/package.json" "$cache/.installed"; then
  cp "$here/package.json" "$cache/package.json"
  (cd "$cache" && npm install --no-audit --no-fund --loglevel=error)
  "$cache/node_modules/.bin/node" --version
  cp "$here/package.json" "$cache/.installed"
fi
cd "$root"
WARDROUND_TEST_CONFORMANCE="$cache" exec "$python" -m pytest -m conformance tests/conformance "$@"
