# evcore: `make help` says what there is.

PY := .venv/bin/python
CODE := evcore loadgen gateway functions eventing statestore transport schemas
QUICK ?=

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo test test-fast lint fmt schemas bench fuzz clean

help: ## Say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Install all that `make demo` needs
	@scripts/setup.sh run

setup-dev: ## Install all that tests, lint and benches need
	@scripts/setup.sh dev

demo: setup ## Register, idle and deregister 200 UEs over NGAP/SCTP, then verify the log
	@$(PY) -m evcore demo

test: setup-dev lint ## Lint, then run every test
	@$(PY) -m pytest

test-fast: setup-dev ## The tests that take no servers and no virtual machine
	@$(PY) -m pytest -m "not slow" --ignore tests/e2e --ignore tests/kernel

lint: setup-dev ## Style, types, generated files, changelog
	@.venv/bin/ruff check $(CODE) tests bench scripts wire
	@.venv/bin/ruff format --check $(CODE) tests bench scripts wire
	@.venv/bin/pyright --level error
	@.venv/bin/pyright --level error --project pyrightconfig.tests.json
	@$(PY) scripts/check_layers.py
	@$(PY) -m schemas.generate --check
	@scripts/lint_rust.sh

fmt: setup-dev ## Format everything
	@.venv/bin/ruff check --fix --quiet $(CODE) tests bench scripts wire || true
	@.venv/bin/ruff format $(CODE) tests bench scripts wire
	@cargo fmt --manifest-path wire/Cargo.toml

schemas: setup-dev ## Write the JSON Schemas and the AsyncAPI document anew
	@$(PY) -m schemas.generate

bench: setup-dev ## Measure; QUICK=1 for the end-to-end part alone, in a few minutes
	@$(PY) -m bench $(if $(QUICK),--quick)

fuzz: setup-dev ## Fuzz every decoder, instrumented for coverage, for a minute each
	@scripts/build_fuzz.sh
	@$(PY) -m tests.fuzz --seconds 60 --instrumented

clean: ## Remove what make has made
	rm -rf .venv .tools .evcore wire/target
