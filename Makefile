# evcore: `make help` says what there is.

PY := .venv/bin/python
CODE := evcore loadgen gateway functions eventing statestore transport schemas
QUICK ?=

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev kernel-sctp kernel-lab demo test test-fast lint fmt schemas bench fuzz clean

help: ## Say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Install all that `make demo` needs
	@scripts/setup.sh run

setup-dev: ## Install all that tests, lint and benches need
	@scripts/setup.sh dev

kernel-sctp: setup ## Install pysctp, for the SCTP of a kernel that has it (needs libsctp-dev)
	@scripts/setup.sh kernel-sctp

kernel-lab: setup-dev ## Prepare the virtual machine that tests the kernel's SCTP
	@scripts/setup-kernel-lab.sh

demo: setup ## 200 UEs register, have PDU sessions, are paged and deregister; verify the log
	@$(PY) -m evcore demo

test: setup-dev lint ## Lint, then run every test
	@timeout 300 scripts/setup-kernel-lab.sh || echo "test: the kernel's SCTP is not tested here"
	@$(PY) -m pytest

test-fast: setup-dev ## The tests that take no servers and no virtual machine
	@$(PY) -m pytest -m "not slow" --ignore tests/e2e --ignore tests/kernel

lint: setup-dev ## Style, types, layers, generated files
	@.venv/bin/ruff check $(CODE) tests bench scripts wire
	@.venv/bin/ruff format --check $(CODE) tests bench scripts wire
	@.venv/bin/pyright --level error
	@.venv/bin/pyright --level error --project pyrightconfig.tests.json
	@$(PY) scripts/check_layers.py
	@$(PY) -m schemas.generate --check
	@scripts/lint_rust.sh

fmt: setup-dev ## Format everything
	@.venv/bin/ruff check --fix --exit-zero --quiet $(CODE) tests bench scripts wire
	@.venv/bin/ruff format $(CODE) tests bench scripts wire
	@cargo fmt --manifest-path wire/Cargo.toml

schemas: setup-dev ## Write the JSON Schemas and the AsyncAPI document anew
	@$(PY) -m schemas.generate

bench: setup-dev ## Measure; QUICK=1 for the end-to-end part alone, in a few minutes
	@$(PY) -m bench $(if $(QUICK),--quick)

fuzz: setup-dev ## Fuzz every decoder, instrumented for coverage, for a minute each
	@scripts/build_fuzz.sh
	@$(PY) -m tests.fuzz --seconds 60 --instrumented

clean: ## Remove what make has installed and built; data of a core (.evcore) stays
	rm -rf .venv .tools .fuzz wire/target
