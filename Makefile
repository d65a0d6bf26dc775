# Everything runs in .venv, which the targets make and keep up to date by themselves.
# Needed on the machine: Python 3.11 or newer (with venv and pip), git, make.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Neither an activated virtual environment nor a Python path of the user's may leak into ours. Without
# bytecode every process compiles all tests again.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONDONTWRITEBYTECODE

BIN := .venv/bin

# Which Python to make .venv with; otherwise python3.11, or a newer one.
PYTHON ?=
# Options for the command behind a target: make chat ARGS=--help, make test ARGS="-k swarm".
ARGS ?=

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: chat
chat: .venv/runtime ## Talk to the team in the terminal
	@exec $(BIN)/parley chat $(ARGS)

# Tests that ARGS names itself, or in a file of arguments.
named = $(findstring tests/,$(ARGS))$(findstring @,$(ARGS))

# Four processes, also on two cores: each waits for a third of its time. Of the tests that ARGS names
# most need no service: who wants a few soon does not wait for 240 packages.
.PHONY: test
test: .venv/$(if $(named),$(if $(CI),services,dev),services) ## Run the tests
	$(BIN)/pytest --forks 4 -m "not soak and not chaos and not nightly" $(ARGS)

# Behaviour across wings, and what else ARGS names in place of it.
JOURNEYS := tests/gateway/journeys tests/adapters/slack/journeys tests/adapters/discord/journeys

.PHONY: test-postgres
test-postgres: .venv/services ## Run the journeys with stores on PostgreSQL, which comes with the packages
	$(BIN)/pytest -n 2 --dist worksteal --store postgres -m "not soak and not chaos and not nightly and not sqlite" \
		$(if $(named),,$(JOURNEYS)) $(ARGS)

# The files of a mark's tests, unless ARGS names others: each process would import all the rest, too.
files-that-name = $(if $(named),,$(shell grep -rlw --include='test_*.py' $(1) tests))

.PHONY: chaos
chaos: .venv/services ## Kill real processes, break what they depend on, fuzz: seeded
	$(BIN)/pytest -n 3 --dist worksteal -m "chaos and not soak and not nightly" $(call files-that-name,chaos) $(ARGS)

.PHONY: long
long: .venv/services ## Run the longest seeds and campaigns, which make chaos leaves to make nightly
	$(BIN)/pytest -n 3 --dist worksteal -m "nightly and not soak" -o run_timeout=3600 $(call files-that-name,nightly) $(ARGS)

.PHONY: nightly
nightly: .venv/dev ## Run what need not run per change, and write .ci/nightly.json; ARGS names parts of it
	@$(BIN)/python .ci/nightly.py $(ARGS)

.PHONY: redteam
redteam: .venv/services ## Attack a served process; ARGS=--long takes minutes
	@$(BIN)/python -m tests.security.redteam $(ARGS)

# Folders whose docstrings are checked.
DOCUMENTED := .ci adapters benchmarks docs gateway requirements teams tests

CLIENTS := tests/clients

.PHONY: clients
clients: .venv/services ## Drive the simulators with @slack/bolt and discord.js, and the reference server of MCP, where Node.js is
	@if command -v npm >/dev/null; then \
		$(MAKE) -s $(CLIENTS)/node_modules/.package-lock.json && $(BIN)/pytest $(CLIENTS) $(ARGS); \
	else echo "SKIPPED: @slack/bolt, discord.js and the reference server of MCP need Node.js 20 and npm, which are not here."; fi

$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package-lock.json
	npm ci --prefix $(CLIENTS)
	@touch $@

BROWSER := tests/browser

.PHONY: browser
browser: .venv/services ## Drive a real Chromium over the tests' own site: an installed one, or one from npm
	@if [ -z "$$PARLEY_CHROMIUM" ] && ! command -v chromium >/dev/null; then \
		if command -v npm >/dev/null; then $(MAKE) -s $(BROWSER)/node_modules/chromium; \
		else echo "There is no chromium, and no npm to install one."; fi; fi
	$(BIN)/pytest -n 2 -m "not soak" $(BROWSER) $(ARGS)

$(BROWSER)/node_modules/chromium: $(BROWSER)/package-lock.json
	npm ci --prefix $(BROWSER)
	@node $(BROWSER)/unpack.cjs $@
	@touch $@

.PHONY: autogen
autogen: .venv/services ## Exchange components with AutoGen 0.7.5, in an environment of its own
	@python=$$($(BIN)/python -m benchmarks.autogen.environment) && \
		AUTOGEN_PYTHON=$$python $(BIN)/pytest tests/autogen $(ARGS)

.PHONY: models-real
models-real: .venv/services ## Ask a real model: llama.cpp's server, compiled in ten minutes the first time
	@python=$$($(BIN)/python -m tests.real_models.environment) && \
		LLAMA_PYTHON=$$python $(BIN)/pytest tests/real_models $(ARGS)

# Extras that can't stand beside the others, older releases that Parley works with, too, and Kubernetes'
# schemas: each has a lock of its own in requirements/extras, and tests that run in an environment of it.
EXTRAS := $(patsubst requirements/extras/%.txt,%,$(wildcard requirements/extras/*.txt))
tests-of-mcp-1 := tests/teams/tools/mcp
tests-of-openai-2 := tests/teams/models/openai tests/teams/agents/openai

.PHONY: extras
extras: $(EXTRAS:%=extra-%) ## Test the extras with a lock of their own; make extra-NAME tests one

.PHONY: $(EXTRAS:%=extra-%)
$(EXTRAS:%=extra-%): extra-%:
	@$(call installed,.venv-extras/$*,extras/$*)
	.venv-extras/$*/bin/pytest -n 2 $(or $(tests-of-$*),tests/extras/$*) $(ARGS)

.PHONY: lint
lint: .venv/dev ## Check lint, format, docstrings, types and import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(BIN)/python .ci/docstrings.py $(DOCUMENTED)
	@$(BIN)/python .ci/house.py
	@$(BIN)/python .ci/prose.py
	@! git grep -nE '^(<<<<<<<|>>>>>>>) ' || { echo "Left over from a merge: remove the lines above."; exit 1; }
	$(BIN)/lint-imports
	@$(MAKE) types

.PHONY: types
types: .venv/services ## Check types, with the packages of all extras
	$(BIN)/basedpyright

.PHONY: house
house: .venv/dev ## Print the sizes of the product: then, now, and the bounds that make lint checks
	@$(BIN)/python .ci/house.py --table

.PHONY: check
check: lint test chaos ## lint, test and chaos, and how old the last make nightly is
	@$(BIN)/python .ci/nightly.py --age

.PHONY: format
format: .venv/dev ## Format the code and apply safe fixes
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

.PHONY: texts
texts: .venv/dev ## Print all notices, cards and CLI texts as one Markdown page
	@$(BIN)/python docs/texts.py

.PHONY: coverage
coverage: .venv/services ## Run the tests and report branch coverage
	$(BIN)/pytest -n 2 -m "not soak" --cov --cov-report=term-missing:skip-covered $(ARGS)

.PHONY: release
release: .venv-release/release ## Build a release, try it as a user would, and say what is left to do
	@.venv-release/bin/python .ci/release.py $(ARGS)

.PHONY: soak
soak: .venv/services ## Run the long soak tests
	$(BIN)/pytest -m soak -o run_timeout=14400 $(ARGS) || test $$? -eq 5 # 5: there are none

.PHONY: bench
bench: .venv/runtime ## Run all benchmarks (25 minutes) and rewrite the results in docs/benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

.PHONY: bench-quick
bench-quick: .venv/runtime ## Run the benchmarks briefly (a minute) and print what was found
	$(BIN)/python -m benchmarks --quick $(ARGS)

.PHONY: clean
clean: ## Remove the environments, caches and reports
	rm -rf .venv .venv-lock .venv-release .venv-extras .venv-models benchmarks/.ag2-venv benchmarks/.autogen-venv benchmarks/.peers-venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf .coverage .coverage.* htmlcov dist snapshot_report.html $(CLIENTS)/node_modules $(BROWSER)/node_modules

# --- environments ----------------------------------------------------------------------------
# install.py compares the lock file and pyproject.toml with what was installed last, by content,
# so these targets run every time and cost one start of Python when there is nothing to do.

LAYERS := .venv/runtime .venv/dev .venv/services
.PHONY: $(LAYERS) .venv-lock/lock .venv-release/release
$(LAYERS) .venv-lock/lock .venv-release/release:
	@$(call installed,$(@D),$(@F))

# A folder of an environment, and the lock file in it.
define installed
$(1)/bin/python -I requirements/install.py --check $(1) $(2) 2>/dev/null || { \
	for python in $(or $(PYTHON),python3.11 python3 python3.12 python3.13); do \
		if "$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
		then exec "$$python" -I requirements/install.py $(1) $(2); fi; \
	done; \
	echo "Parley needs Python 3.11 or newer with venv and pip: install it (Debian: python3.11" \
		"python3.11-venv; macOS: brew install python@3.11) or name it: make PYTHON=/path/to/python" >&2; \
	exit 1; \
}
endef

# --- lock files ------------------------------------------------------------------------------
# Each is one resolution for Python 3.11 and newer on every platform, with the hashes of all files.
# Releases younger than a week are left out: most bad ones are found and withdrawn within days.

COMPILE = .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--annotation-style line --no-strip-extras --no-emit-index-url --no-emit-find-links --exclude-newer "7 days" \
	--custom-compile-command "make lock" $(UPGRADE)

APART := --group build --group test pyproject.toml

.PHONY: lock
lock: .venv-lock/lock ## Rewrite requirements/*.txt, keeping versions that still fit
	$(COMPILE) --extra all --group build --group services pyproject.toml -o requirements/services.txt
	$(COMPILE) --group build --group dev -c requirements/services.txt pyproject.toml -o requirements/dev.txt
	$(COMPILE) --group build -c requirements/services.txt pyproject.toml -o requirements/runtime.txt
	$(COMPILE) --extra otel --extra postgres --group build -c requirements/services.txt pyproject.toml -o requirements/container.txt
	$(COMPILE) --group lock -o requirements/lock.txt
	$(COMPILE) --group release -o requirements/release.txt
	$(COMPILE) --extra graphrag $(APART) -o requirements/extras/graphrag.txt
	$(COMPILE) --group kubernetes --group build --group test -o requirements/extras/kubernetes.txt
	$(COMPILE) --extra mcp --group mcp-1 $(APART) -o requirements/extras/mcp-1.txt
	$(COMPILE) --extra mem0 $(APART) -o requirements/extras/mem0.txt
	$(COMPILE) --group openai-2 $(APART) -o requirements/extras/openai-2.txt
	$(COMPILE) --extra semantic-kernel $(APART) -o requirements/extras/semantic-kernel.txt
	$(COMPILE) --extra video-surfer $(APART) -o requirements/extras/video-surfer.txt
	$(COMPILE) --no-deps tests/real_models/build.in -o tests/real_models/build.txt
	$(COMPILE) --no-deps tests/real_models/requirements.in -o tests/real_models/requirements.txt

.PHONY: upgrade
upgrade: ## Rewrite requirements/*.txt with the newest versions
	@$(MAKE) lock UPGRADE=--upgrade
