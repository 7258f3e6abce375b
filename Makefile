# `make setup` prepares a machine; every other target calls it first, and it does nothing when nothing changed.
# ARGS goes to the command: make run ARGS="--port 7072", make test ARGS="tests/unit -k plan".

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup run test check format coverage clean

BIN := .venv/bin

help: ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' | \
	    while IFS='|' read -r name text; do printf 'make %-10s %s\n' "$$name" "$$text"; done

setup: ## find Python 3.13 and install the pinned packages into .venv
	@bash scripts/setup

run: setup ## serve the app on this machine and print its URLs
	@$(BIN)/python -m workflow_runtime serve $(ARGS)

test: setup ## run all tests
	@$(BIN)/python -m pytest $(ARGS)

check: setup ## format, lint, types, import contracts, tests: what .ci/run calls
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted: run 'make format'." >&2; $(BIN)/ruff format --diff --quiet .; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/python -m pytest

format: setup ## format the code and mend what the linter can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

coverage: setup ## run all tests and say which lines none of them reached
	@$(BIN)/python -m pytest --cov --cov-report=term-missing $(ARGS)

clean: ## remove .venv and what the tools left
	@rm -rf .venv build dist ./*.egg-info .coverage htmlcov .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
