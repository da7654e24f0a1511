# Needs Python 3.11 or later, make and git. Everything is installed into .venv, with the
# versions in constraints.txt; a second run finds it there.

SHELL := /bin/sh
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed-

# The first of python3.11 and python3 that starts. Another one: make PYTHON=/path/to/python test
PYTHON ?= $(shell for p in python3.11 python3; do \
	if $$p -c '' >/dev/null 2>&1; then echo $$p; break; fi; done)

# Two to four processes are enough: each of them loads the compiled kernels. A file stays in one
# process, which computes once what its tests share; files that compile kernels come first.
PYTEST_ARGS ?= -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# A benchmark is a script in benchmarks/ whose name does not start with an underscore; run
# without arguments it writes benchmarks/NAME.json.
BENCHMARKS := $(filter-out benchmarks/_%,$(sort $(wildcard benchmarks/*.py)))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# What is imported is compiled once and kept, also where the machine's setting says not to: else every
# process of the tests would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-extras check bench docs figures wheel clean distclean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(STAMP)plots  ## Run a short demonstration
	@echo "Starting the demonstration (the first run compiles some loops: about half a minute) ..."
	@$(VENV)/bin/winnow demo
	@echo
	@echo "A server for analysts, with made-up data: pip install '.[server]', then winnow serve demo"

test: $(STAMP)test  ## Run the tests
	$(PY) -m pytest $(PYTEST_ARGS)

test-extras: $(STAMP)test $(STAMP)compare  ## Run the sweeps, and the tests that need heavy packages
	$(PY) -m pytest -m extras $(PYTEST_ARGS)

check: $(STAMP)dev  ## Lint, check the format, the types and the import rules
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

bench: $(STAMP)test $(STAMP)compare  ## Run every benchmark into benchmarks/*.json
	@set -e; for script in $(BENCHMARKS); do echo "$$script"; $(PY) $$script; done

docs: $(STAMP)docs  ## Build the documentation into docs/_build/html
	$(PY) -m sphinx -q -W --keep-going -b html docs docs/_build/html

figures: $(STAMP)docs  ## Draw the figures of the README and the pages into docs/figures
	$(PY) docs/draw_figures.py

wheel: $(STAMP)dev  ## Build a wheel into dist/
	$(PY) -m build --wheel --outdir dist

clean:  ## Remove what was built, and caches
	rm -rf build dist docs/_build docs/_generated docs/reference \
		.pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks docs -type d -name __pycache__ -prune -exec rm -rf {} +

distclean: clean  ## The same, and remove the virtual environment
	rm -rf $(VENV)

$(PY):
	@if [ -z "$(PYTHON)" ]; then \
		echo "Winnow needs Python 3.11 or later, and no python3 was found." >&2; exit 1; fi
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Winnow needs Python 3.11 or later; $(PYTHON) is `$(PYTHON) --version 2>&1`." >&2; \
		echo "Name another one: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

# One stamp for each extra: $(STAMP)test installs winnow-dp[test]. Modules are compiled when they
# are first imported, which few of them are: compiling all takes half of the time of installing.
$(STAMP)%: pyproject.toml constraints.txt | $(PY)
	@echo "Installing winnow-dp[$*] into $(VENV) (the first time this takes a minute or two) ..."
	@$(PY) -m pip install -qq --no-compile -c constraints.txt -e '.[$*]'
	@touch $@
