#!/usr/bin/env bash
# Builds the wheel, installs it alone in an empty environment by the steps of docker/Dockerfile, and runs both
# programs from another folder, the server as the image's CMD does, asked by its HEALTHCHECK.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/.venv/bin/python" -m build --wheel --no-isolation --outdir "$work/dist" "$root" >"$work/build.log" 2>&1 \
  || { cat "$work/build.log"; exit 1; }
"$python" -m venv "$work/env"
pip() { "$work/env/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
pip --require-hashes -r "$root/requirements-runtime.lock"
pip --no-deps "$work"/dist/*.whl
"$work/env/bin/python" -m pip check
cd "$work"
export WARDROUND_CACHE_DIR="$work/cache"
"$work/env/bin/wardround" --help >/dev/null
"$work/env/bin/wardround" run --model builtin/oracle --only task1,task5 -o "$work/run" </dev/null
"$work/env/bin/python" - "$work" <<'PY'
import json, pathlib, subprocess, sys

work = pathlib.Path(sys.argv[1])
summary = json.loads((work / "run/summary.json").read_text())
for rules in ("medagentbench", "clinical"):
    overall = summary["scores"][rules]["overall"]
    assert (overall["passed"], overall["total"]) == (60, 60), (rules, overall)
lines = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "wheel", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "patient_search", "arguments": {"_count": 1}}},
]
server = subprocess.Popen([work / "env/bin/wardround-mcp", "--journal", work / "journal"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
answers = {}
for line in lines:
    server.stdin.write(json.dumps(line) + "\n")
    server.stdin.flush()
    if "id" in line:
        answers[line["id"]] = json.loads(server.stdout.readline())
server.stdin.close()
assert server.wait(timeout=30) == 0
assert len(answers[2]["result"]["tools"]) == 9, answers[2]
bundle = json.loads(answers[3]["result"]["content"][0]["text"])
assert bundle["resourceType"] == "Bundle" and bundle["total"] == 100, bundle
PY
umask 077
head -c 24 /dev/urandom | base64 >"$work/token"
port=$("$work/env/bin/python" -c "import socket; s = socket.socket(); s.bind(('', 0)); print(s.getsockname()[1])")
"$work/env/bin/wardround-mcp" http --host 0.0.0.0 --port "$port" --token-file "$work/token" --journal "$work/journal" \
  2>"$work/http.log" &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
for try in $(seq 1 100); do
  "$work/env/bin/python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/healthz', timeout=2)" 2>/dev/null && break
  [ "$try" -lt 100 ] || { cat "$work/http.log"; exit 1; }
done
kill $server
wait $server || true
echo "the wheel works alone: wardround run and wardround-mcp"
