# `make demo` for newcomers, which takes Python 3.11+ with pip, make and git; `make test` and `make lint` for contributors,
# who need what llmdo/base/prerequisites.py lists.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# What all is developed and tested with; .ci/lowest.txt has the least that we admit.
VERSIONS ?= .ci/newest.txt

.PHONY: demo install install-dev versions lint compiled test test-lowest test-long test-all test-thorough test-fleet bench bench-fleet mutants agentdojo delegationbench clients schemas pictures site playground dist clean

demo: install
	cd examples/pitchdeck && LLMDO_TRUST=1 ../../$(BIN)/llmdo run pitchdeck

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# The list is complete, so nothing else is chosen; nor asked, as pydantic-evals would refuse a pydantic-ai after its own.
$(VENV)/.installed-dev: pyproject.toml $(VERSIONS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement $(VERSIONS) --editable .
	touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

install: $(VENV)/.installed

install-dev: $(VENV)/.installed-dev

# Makes both lists of versions from pyproject.toml: the newest that it admits today, and the lowest.
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --no-header --no-annotate --extra dev --python-version 3.11 --python-platform linux
versions: $(VENV)/.installed-bench
	$(COMPILE) --resolution highest --output-file .ci/newest.txt pyproject.toml
	$(COMPILE) --resolution lowest-direct --output-file .ci/lowest.txt pyproject.toml

lint: install-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# What pytest makes of the tests is kept, whatever the environment says: else each session makes it again.
# A part of the time of a test is waiting, for other processes; a worker takes 10 s of a processor before its first test.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 1) // 2 or 1)')
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

compiled: install-dev
	$(BIN)/python -m compileall -q llmdo  # else each process of a test compiles it, where nothing may be written

test: compiled
	PYTEST_DEBUG_TEMPROOT=$$($(BIN)/python -m tests.support.memory) $(PYTEST) -m "not long"

test-lowest:
	$(MAKE) test VENV=.venv-lowest VERSIONS=.ci/lowest.txt

test-long: compiled
	$(PYTEST) -m "long or law" --hypothesis-profile usual --timeout 600

test-all: compiled
	$(PYTEST) --hypothesis-profile usual --timeout 600

test-thorough: compiled
	$(PYTEST) -m "long or law" --hypothesis-profile thorough --timeout 1800

# A PostgreSQL of Debian's package, started in a temporary folder.
test-fleet: compiled
	LLMDO_TEST_POSTGRES=1 $(PYTEST) -m "fleet" --timeout 300

bench: $(VENV)/.installed-bench
	$(BIN)/python -m bench.check
	$(BIN)/python -m bench.reach

# Kills workers over a PostgreSQL of Debian's package; FULL=--full takes the numbers that are asked for.
bench-fleet: install-dev
	$(BIN)/python -m bench.fleet $(FULL)

# Single changes of the code that decides, COUNT of them chosen by SEED, each of which a test has to fail for.
COUNT ?= 400
SEED ?= 1
mutants: compiled
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pytest-cov>=7,<8'
	$(BIN)/python -m bench.mutants --count $(COUNT) --seed $(SEED)

# In an environment of its own, as agentdojo is 287 MB with what it needs; no network once that is there.
.venv-agentdojo/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-agentdojo
	.venv-agentdojo/bin/python -m pip install --quiet --disable-pip-version-check agentdojo==0.1.35 --editable '.[agentdojo]'
	touch $@

agentdojo: .venv-agentdojo/.installed
	.venv-agentdojo/bin/python -m bench.agentdojo $(SUITES)

# The same through `llmdo hook`, with the Codex of `make clients`: MOST=60 for pairs by chance.
SUITE ?= banking
.PHONY: agentdojo-hook benign
agentdojo-hook: .venv-agentdojo/.installed
	.venv-agentdojo/bin/python -m bench.agentdojo.hooked $(SUITE) $(if $(MOST),--most $(MOST))

# Ordinary work of the clients of `make clients` under `llmdo hook`, where nothing is to be blocked.
benign: install-dev
	$(BIN)/python -m bench.benign $(CLIENTS)

# In an environment of its own as well; FUZZ=20 tries twenty mutants of each scenario besides.
.venv-delegationbench/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-delegationbench
	.venv-delegationbench/bin/python -m pip install --quiet --disable-pip-version-check delegationbench==0.6.0 --editable '.[delegationbench]'
	touch $@

FUZZ ?= 0
delegationbench: .venv-delegationbench/.installed
	.venv-delegationbench/bin/python -m bench.delegationbench --fuzz $(FUZZ)

# The agents of public repositories at fixed commits; CLONES is a folder with a clone of each, called owner/name. No network.
.PHONY: proof-of-reach
REPORT ?= build/proof-of-reach
proof-of-reach: install
	@test -n "$(CLONES)" || { echo "CLONES=FOLDER: where the clones of bench/proof-of-reach.txt are" >&2; exit 2; }
	rm -rf "$(REPORT)"
	cd "$(CLONES)" && "$(abspath $(BIN))/llmdo" scan --many "$(CURDIR)/bench/proof-of-reach.txt" --to "$(abspath $(REPORT))"

# With npm, ip and unshare, some minutes; CLIENTS=codex for one. Fetched into .clients, and run without a network.
clients: install-dev
	$(BIN)/python -m bench.clients --fetch $(CLIENTS)
	unshare --map-root-user --net sh -c 'ip link set lo up && exec $(BIN)/python -m bench.clients $(CLIENTS)'

# The law proved of a model, and llmdo held against the model: with Debian's packages `coq` and `ocaml-nox`, some minutes.
.PHONY: proof proof-model proof-small
proof: proof-model proof-small

proof-model: install-dev
	$(BIN)/python -m proof.model

# A hundred thousand small teams by chance; TEAMS="--all --kept build/small" tries every one.
TEAMS ?= --teams 100000
proof-small: install-dev
	$(BIN)/python -m proof.small $(TEAMS)

schemas: install-dev
	$(BIN)/python -m llmdo.formats.schema --write

# With Debian's Chromium, of what the examples are.
pictures: install-dev
	$(BIN)/python docs/pictures.py

site: install-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

# The playground beside the docs, for a server of files; takes Debian's package npm, which brings Pyodide.
playground: install-dev
	$(BIN)/python -m playground build/site/playground

# The same bytes for everyone: by the same tools, with the date that hatchling gives, from what is committed.
build/.installed: .ci/build.txt
	$(PYTHON) -m venv build
	build/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	touch $@

dist: build/.installed
	@test -z "$$(git status --porcelain 2>/dev/null)" || { echo "commit first: what is not committed would be in it" >&2; exit 1; }
	rm -rf dist
	env -u SOURCE_DATE_EPOCH build/bin/python -m build --no-isolation
	sha256sum dist/*

clean:
	rm -rf $(VENV) .venv-lowest .venv-agentdojo .venv-delegationbench .clients build dist .mypy_cache .ruff_cache .hypothesis proof/coq/build
