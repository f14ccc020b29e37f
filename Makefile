# The commands of the README. Each sets up what it needs; `.ci/run` calls the same ones.
PYTHON ?= python3
VENV ?= .venv
DOCS_VENV ?= .venv-docs
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNS ?= runs

.PHONY: setup demo test test-wheel test-docker test-hapi test-browser test-clients test-conformance test-extras test-model docs \
  lint typecheck check bench bundled viewer lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

demo: setup
	$(BIN)/python -m wardround_harness.demo --runs $(RUNS)

# The browser's driver keeps an event loop of its own running, so its tests have a process of their own (test-browser).
test: setup
	$(BIN)/python -m pytest -n auto -m "not browser"

test-wheel: setup
	PYTHON=$(PYTHON) tests/packaging/wheel.sh

test-docker:
	PYTHON=$(PYTHON) docker/check.sh

# A real HAPI FHIR JPA server from Maven Central, and the same searches against it (Java 17, Maven).
test-hapi: setup
	tests/hapi/run.sh

# The viewer and the report in Chromium, and the front end against its sources (Chromium, Node.js). Not `npm ci`: Vite
# lists an optional package for Windows that the registry does not have, and `ci` insists on it.
test-browser: setup
	cd harness/viewer_ui && npm install --no-audit --no-fund --loglevel=error
	$(BIN)/python -m pytest -m browser tests/browser

# Other people's MCP clients, each in an environment of its own (Node.js).
test-clients: setup
	tests/clients/run.sh

# The official MCP conformance suite (Node.js).
test-conformance: setup
	tests/conformance/run.sh

# The extras wardround[ray] and wardround[inspect], in an environment of their own.
test-extras:
	[ -f .venv-extras/.installed ] || ( $(PYTHON) -m venv .venv-extras && .venv-extras/bin/python -m pip install \
	  --quiet --disable-pip-version-check --require-hashes -r requirements-extras.lock && .venv-extras/bin/python \
	  -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . && \
	  touch .venv-extras/.installed )
	.venv-extras/bin/python -m pytest tests/harness/test_ray.py tests/harness/test_inspect.py

# A real small model: WARDROUND_TEST_MODEL_URL names the server that speaks for it.
test-model: setup
	$(BIN)/python -m pytest -s -m model tests/model

# The site, in site/. An environment of its own: nothing of mkdocs comes near the product's.
docs: $(DOCS_VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --quiet --strict --site-dir site

$(DOCS_VENV)/.installed: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: setup
	$(BIN)/mypy

check: lint typecheck test

bench: setup
	$(BIN)/python -m benchmarks.build
	$(BIN)/python -m benchmarks.chart
	$(BIN)/python -m benchmarks.mcp
	$(BIN)/python -m benchmarks.harness
	$(BIN)/python -m benchmarks.grading
	$(BIN)/python -m benchmarks.compact
	$(BIN)/python -m benchmarks.viewer

# What is made from the code and kept in the tree: the bundled tasks, and the front end.
bundled: setup
	$(BIN)/wardround tasks generate --fhir embedded --seed 300 -o tasks/wardround_tasks/data/bundled.json

viewer: setup
	$(BIN)/python -m wardround_harness.viewer.schema > harness/viewer_ui/src/api.schema.json
	cd harness/viewer_ui && npm install --no-audit --no-fund && npm run types && npm run build

lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --output-file requirements.lock
	uv pip compile pyproject.toml --python-version 3.11 --python-platform linux --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate -c requirements.lock --output-file requirements-runtime.lock
	uv pip compile --group docs --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --output-file requirements-docs.lock
	uv pip compile pyproject.toml --extra ray --extra inspect --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate -c requirements.lock --output-file requirements-extras.lock

clean:
	rm -rf $(VENV) $(DOCS_VENV) build dist site .mypy_cache .ruff_cache .hypothesis
