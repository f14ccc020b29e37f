#!/usr/bin/env bash
# Tests the server with other people's MCP clients, each in an environment of its own in the cache.
#   tests/clients/run.sh [pytest options]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${WARDROUND_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/wardround}/clients
python=${PYTHON_BIN:-$root/.venv/bin/python}
mkdir -p "$cache"

# name, and what pip installs for it; the first line of each environment's stamp is that text.
while read -r name packages; do
  [ -n "$name" ] || continue
  if [ "$(cat "$cache/$name/.installed" 2>/dev/null || true)" != "$packages" ]; then
    echo "client $name: installing $packages"
    rm -rf "${cache:?}/$name"
    "$python" -m venv "$cache/$name"
    # shellcheck disable=SC2086 - several packages in one line
    "$cache/$name/bin/python" -m pip install --quiet --disable-pip-version-check $packages
    echo "$packages" > "$cache/$name/.installed"
  fi
done < "$here/python/environments.txt"

if ! cmp -s "$here/node/package.json" "$cache/node/.installed"; then
  echo "clients of Node.js: installing"
  mkdir -p "$cache/node"
  cp "$here/node/package.json" "$cache/node/package.json"
  (cd "$cache/node" && npm install --no-audit --no-fund --loglevel=error)
  cp "$here/node/package.json" "$cache/node/.installed"
fi
cd "$root"
WARDROUND_TEST_CLIENTS="$cache" exec "$python" -m pytest -m clients tests/clients "$@"
