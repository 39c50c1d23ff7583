# evcore: `make help` says what there is.

PY := .venv/bin/python
CODE := evcore loadgen gateway functions eventing statestore transport schemas k8s
WHOLE := tests/announcer tests/bench tests/docs tests/evcore tests/k8s tests/kernel
MEASURED := tests/e2e/test_kill.py
QUICK ?=

# Processes start with compiled modules: without them each one compiles evcore anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev kernel-sctp kernel-lab demo test test-fast test-parts test-e2e test-kill test-processes test-hostile conformance lint fmt k8s k8s-check schemas bench bench-check kill hostile audit release fuzz clean

help: ## Say what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

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

test: setup-dev ## Lint, run every test, then those that measure time with nothing beside them
	@timeout 300 scripts/setup-kernel-lab.sh || echo "test: the kernel's SCTP is not tested here"
	@timeout 300 scripts/k8s-setup.sh || echo "test: the manifests are not checked here"
	@EVCORE_SEQUENCES=$${EVCORE_SEQUENCES:-20000} EVCORE_FUZZ_EXAMPLES=$${EVCORE_FUZZ_EXAMPLES:-0.4} \
		$(MAKE) --no-print-directory --jobs 3 --output-sync=target \
		test-parts test-e2e test-processes lint test-hostile conformance
	@$(MAKE) --no-print-directory test-kill bench-check

test-e2e: setup-dev ## Whole cores under load, with kills and swaps in the middle
	@$(PY) -m pytest tests/e2e --ignore $(MEASURED)

test-kill: setup-dev ## A short `make kill`: no UE waits long
	@$(PY) -m pytest $(MEASURED)

test-processes: setup-dev ## The other tests that run a whole core, or a virtual machine
	@$(PY) -m pytest $(WHOLE)

test-hostile: setup-dev ## The attacks that take seconds; `make hostile` makes all
	@$(PY) -m pytest tests/hostile

test-parts: setup-dev ## All others, but for the conformance tests; all fuzz examples (40 % in `make test`)
	@$(PY) -m pytest --ignore tests/conformance --ignore tests/hostile --ignore tests/e2e \
		$(addprefix --ignore ,$(WHOLE))

conformance: setup-dev ## Every message in every state, and 50,000 random sequences (20,000 in `make test`)
	@$(PY) -m pytest tests/conformance

test-fast: setup-dev ## The tests that take no servers and no virtual machine
	@$(PY) -m pytest -m "not slow" --ignore tests/e2e --ignore tests/hostile --ignore tests/kernel

lint: setup-dev ## Style, types, layers, generated files
	@.venv/bin/ruff check $(CODE) tests bench scripts wire
	@.venv/bin/ruff format --check $(CODE) tests bench scripts wire
	@.venv/bin/pyright --level error
	@.venv/bin/pyright --level error --project pyrightconfig.tests.json
	@.venv/bin/lint-imports --no-logo --no-cache
	@$(PY) -m schemas.generate --check
	@$(PY) scripts/check_words.py
	@scripts/lint_rust.sh

fmt: setup-dev ## Format everything
	@.venv/bin/ruff check --fix --exit-zero --quiet $(CODE) tests bench scripts wire
	@.venv/bin/ruff format $(CODE) tests bench scripts wire
	@cargo fmt --manifest-path wire/Cargo.toml

k8s: setup-dev ## Write the manifests of the functions anew
	@$(PY) -m k8s.generate

k8s-check: setup-dev ## Every manifest by the schemas of what takes it, and the Containerfile
	@scripts/k8s-setup.sh
	@$(PY) -m k8s.check

schemas: setup-dev ## Write the JSON Schemas and the AsyncAPI document anew
	@$(PY) -m schemas.generate

bench: setup-dev ## Measure; QUICK=1 for the end-to-end part alone, in a few minutes
	@$(PY) -m bench $(if $(QUICK),--quick)
	@$(if $(QUICK),:,$(PY) -m bench.overload)

bench-check: setup-dev ## Has anything become slower? Ratios of one run by the bounds of bench/bounds.toml
	@$(PY) -m bench.check

kill: setup-dev ## Kill every kind of process under load: no UE notices (about 20 minutes)
	@$(PY) -m bench.kill

hostile: setup-dev ## Attack cores: forged peers, open doors, floods, full disks, a soak (about 25 minutes)
	@$(PY) -m tests.hostile

audit: setup-dev ## Compare the dependencies with known vulnerabilities and allowed licences (needs a network)
	@$(PY) scripts/audit.py

release: setup-dev ## Release the version of the tree, then begin NEXT=x.y.z (docs/releasing.md)
	@$(PY) scripts/release.py --next "$(NEXT)"

fuzz: setup-dev ## Fuzz every decoder, instrumented, for a minute each; sequences never seen before
	@EVCORE_SEED=new $(PY) -m pytest tests/conformance/test_sequences.py
	@scripts/build_fuzz.sh
	@$(PY) -m tests.fuzz --seconds 60 --instrumented

clean: ## Remove what make has installed and built; data of a core (.evcore) stays
	rm -rf .venv .tools .fuzz wire/target
