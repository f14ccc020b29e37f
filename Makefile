# The commands of the README. Each sets up what it needs; `.ci/run` calls the same ones.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNS ?= runs

.PHONY: setup demo test test-wheel test-docker test-hapi lint typecheck check lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

demo: setup
	$(BIN)/python -m wardround_harness.demo --runs $(RUNS)

test: setup
	$(BIN)/python -m pytest -n auto

test-wheel: setup
	PYTHON=$(PYTHON) tests/packaging/wheel.sh

test-docker:
	PYTHON=$(PYTHON) docker/check.sh

test-hapi: setup
	tests/hapi/run.sh

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: setup
	$(BIN)/mypy

check: lint typecheck test

lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --output-file requirements.lock
	uv pip compile pyproject.toml --python-version 3.11 --python-platform linux --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate -c requirements.lock --output-file requirements-runtime.lock

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .hypothesis
