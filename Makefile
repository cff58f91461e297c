# `make demo` for newcomers, `make test` and `make lint` for contributors. Only Python 3.11+, pip, make and git are needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo install install-dev lint test test-long bench schemas clean

demo: install
	cd examples/pitchdeck && ../../$(BIN)/llmdo run pitchdeck

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

install: $(VENV)/.installed

install-dev: $(VENV)/.installed-dev

lint: install-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

test: install-dev
	$(BIN)/python -m compileall -q llmdo  # else each process of a test compiles it, where nothing may be written
	$(BIN)/python -m pytest -m "not long" -n auto --dist worksteal

test-long: install-dev
	$(BIN)/python -m compileall -q llmdo
	$(BIN)/python -m pytest -m long -n auto --dist worksteal --timeout 600
	$(BIN)/python -m pytest -m "law and not long" --hypothesis-profile thorough -n auto --dist worksteal --timeout 600

bench: $(VENV)/.installed-bench
	$(BIN)/python -m bench.check
	$(BIN)/python -m bench.reach

schemas: install-dev
	$(BIN)/python -m llmdo.formats.schema --write

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis
