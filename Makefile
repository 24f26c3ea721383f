# Sets up, runs, tests and checks the project; `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.NOTPARALLEL:
.DEFAULT_GOAL := help

PYTHON ?= python3
WORKERS ?= 3
ARGS ?=

# What the tests run, as command:package of Debian. `make test SYSTEM=` goes without: the tests that
# need one of these are then skipped.
SYSTEM := bwrap:bubblewrap redis-server:redis-server promtool:prometheus node:nodejs npm:npm \
	systemd-analyze:systemd

BIN := .venv/bin
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist worksteal
BENCHMARKS ?= $(wildcard tests/benchmarks/[a-z]*.py)
NODE_BOTS := $(patsubst %/package.json,%,$(wildcard sample_bots/*/package.json))

# Every step that writes to the checkout holds the lock on this file, so that two makes may run at
# the same time.
LOCK := exec 9<Makefile; flock 9

# Installs the project with an extra and stamps it at the end. A try that was interrupted may have
# left half a package behind that pip takes for whole: the next one begins with a new environment.
define INSTALL
$(LOCK)
if [ $@ -nt pyproject.toml ]; then exit 0; fi
if [ -e .venv/unfinished ] || ! $(BIN)/python -c pass 2>/dev/null; then
	echo "Setting up .venv"
	rm -rf .venv
	mkdir .venv
	touch .venv/unfinished
	$(PYTHON) -m venv .venv
fi
touch .venv/unfinished
$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[$(1)]'
rm .venv/unfinished
touch $(2)
endef

.PHONY: help
help: ## this list
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1\t\2/p' Makefile

.PHONY: setup
setup: .venv/setup-done ## what the service needs, in .venv

.PHONY: demo
demo: .venv/setup-done ## play a ladder from nothing, ARGS="--matches 40" and the like go to it
	@exec $(BIN)/arena demo $(ARGS)

# The checks run beside the tests, so that no core waits for the slowest of either.
.PHONY: test
test: system .venv/dev-done node ## all checks and all tests, ARGS go to pytest
	@checks=$$(mktemp)
	$(MAKE) --no-print-directory lint >"$$checks" 2>&1 &
	trap 'kill $$! 2>/dev/null || true; rm -f "$$checks"' EXIT
	status=0
	$(PYTEST) $(ARGS) || status=$$?
	wait $$! || { status=1; echo "make lint failed:"; cat "$$checks"; }
	exit $$status

.PHONY: quick
quick: .venv/dev-done ## the tests that start no process, ARGS go to pytest
	@exec $(PYTEST) -m "not processes" $(ARGS)

.PHONY: bench
bench: .venv/dev-done ## the benchmarks, one after another, BENCHMARKS names some of them
	@for benchmark in $(BENCHMARKS); do
		echo "== $$benchmark"
		$(BIN)/python "$$benchmark" $(ARGS)
	done

.PHONY: lint
lint: .venv/dev-done ## style, types, layers, proto files, freshness of generated code
	@$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint proto
	$(BIN)/buf format --diff --exit-code proto
	$(BIN)/python proto/generate.py --check
	$(BIN)/python deploy/settings.py --check
	$(BIN)/hadolint deploy/Dockerfile

.PHONY: proto
proto: .venv/dev-done ## generate the code of the proto files
	@$(BIN)/buf format --write proto
	$(BIN)/python proto/generate.py

.PHONY: settings
settings: .venv/dev-done ## write the reference of the settings
	@$(BIN)/python deploy/settings.py

.PHONY: node
node: $(NODE_BOTS:%=%/node_modules/done) ## the packages of the Node sample bots

.PHONY: clean
clean: ## remove everything that was built
	@$(LOCK)
	rm -rf .venv build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf $(NODE_BOTS:%=%/node_modules)
	find arena referee sample_bots tests proto -name __pycache__ -prune -exec rm -rf {} +

.venv/setup-done: pyproject.toml
	@$(call INSTALL,server,$@)

.venv/dev-done: pyproject.toml
	@$(call INSTALL,dev,.venv/setup-done $@)

sample_bots/%/node_modules/done: sample_bots/%/package.json
	@$(LOCK)
	cd sample_bots/$*
	npm ci --loglevel=error --no-audit --no-fund >/dev/null
	touch node_modules/done

# Services are installed but not started: the tests start their own. Debian asks policy-rc.d first.
.PHONY: system
system:
	@missing=()
	for pair in $(SYSTEM); do
		command -v "$${pair%:*}" >/dev/null || missing+=("$${pair#*:}")
	done
	if [ $${#missing[@]} = 0 ]; then exit 0; fi
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "The tests need these packages, as root: apt-get install $${missing[*]}" >&2
		exit 1
	fi
	$(LOCK)
	echo "Installing $${missing[*]}"
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $$policy ] || grep -q bot-arena $$policy; then
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		trap 'exit 130' HUP INT TERM
		printf '#!/bin/sh\n# bot-arena: its tests start their own services\nexit 101\n' >$$policy
		chmod 755 $$policy
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq -o DPkg::Lock::Timeout=300 update
	apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends "$${missing[@]}" >/dev/null
