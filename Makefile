# `make` alone lists the targets. Rust, Python >= 3.10 and make are all that must be there.
# Every cargo call is --release in one target folder: dependencies are compiled once.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV_PYTHON ?= python3
VENV ?= .venv
VENV_OLDEST ?= .venv-oldest
VENV_DOCS ?= .venv-docs
VENV_BENCH ?= .venv-bench
VENV_ADELIE ?= .venv-adelie
TARGET := $(or $(CARGO_TARGET_DIR),target)

PYTHON := $(VENV)/bin/python
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
MATURIN := VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin
RUST_ONLY := --locked --workspace --exclude fewer-python

# The interpreter pyo3 is configured for: always the same, or it would be compiled again.
export PYO3_PYTHON := $(abspath $(PYTHON))

# maturin puts the compiled module here, beside the Python sources.
EXTENSION := python/fewer/_core.abi3.so
EXTENSION_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates/fewer crates/fewer-python -type f \
		-not -path '*/tests/*' -not -path '*/benches/*' -not -path '*/examples/*' 2>/dev/null)
PACKAGE_SOURCES := $(wildcard README.md) LICENSE-MIT LICENSE-APACHE \
	$(shell find python/fewer -type f \( -name '*.py' -o -name '*.pyi' -o -name py.typed \) 2>/dev/null)
WHEELS := $(TARGET)/wheels
WHEEL := $(WHEELS)/.built

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

.PHONY: demo
demo: | check-cargo ## Build the command-line tool and run its demonstration, which writes into demo/
	cargo build --release --locked -p fewer-cli
	$(TARGET)/release/fewer demo

.PHONY: test
test: lint test-rust test-python test-oldest ## Run every check: lint, Rust and Python tests, oldest scikit-learn

.PHONY: lint
lint: $(EXTENSION) | check-cargo ## Check formatting, clippy, ruff and mypy
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --release -- -D warnings
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

.PHONY: format
format: $(VENV)/.installed | check-cargo ## Format the Rust and Python sources
	cargo fmt --all
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

.PHONY: test-rust
test-rust: | check-cargo ## Run the Rust tests, with nextest where it is installed
	if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --release $(RUST_ONLY) && \
		cargo test --release --doc $(RUST_ONLY); \
	else \
		cargo test --release $(RUST_ONLY); \
	fi

.PHONY: test-python
test-python: $(EXTENSION) ## Run the Python tests
	$(PYTHON) -m pytest

.PHONY: test-oldest
test-oldest: $(VENV_OLDEST)/.wheel ## Run scikit-learn's conformance tests on the oldest supported stack
	$(VENV_OLDEST)/bin/python -m pytest tests/test_sklearn.py

.PHONY: stress
stress: $(EXTENSION) | check-cargo ## Run the property tests with many more cases
	FEWER_STRESS=1 cargo test --release --locked -p fewer --tests
	FEWER_STRESS=1 $(PYTHON) -m pytest -m stress --timeout 0 || [ $$? -eq 5 ] # 5: no such test

.PHONY: docs
docs: $(VENV_DOCS)/.wheel ## Build the documentation into docs/_build
	rm -rf docs/_generated
	$(VENV_DOCS)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build
	@echo "docs/_build/index.html"

.PHONY: bench
bench: $(VENV_BENCH)/.wheel $(VENV_ADELIE)/.installed ## Compare with other libraries (ARGS="..." is passed on)
	FEWER_BENCH_ADELIE=$(abspath $(VENV_ADELIE))/bin/python $(VENV_BENCH)/bin/python -m benchmarks $(ARGS)

.PHONY: papers
papers: $(EXTENSION) ## Reproduce the papers' tables and figures (ONLY=name, QUICK=1)
	$(PYTHON) -m papers $(if $(ONLY),--only "$(ONLY)") $(if $(QUICK),--quick)

.PHONY: wheel
wheel: $(EXTENSION) ## Build a wheel and a source distribution into dist/, and try the wheel
	rm -rf dist
	$(MATURIN) build --release --locked --interpreter $(PYTHON) --out dist
	$(MATURIN) sdist --out dist
	trial=$$(mktemp -d); trap 'rm -rf "$$trial"' EXIT; \
	$(PYTHON) -m venv "$$trial/venv"; \
	"$$trial/venv/bin/python" $(PIP_INSTALL) --constraint requirements-dev.txt dist/fewer-*.whl; \
	cd "$$trial" && venv/bin/python -c 'import fewer; print("imported", fewer.__file__)'
	@ls -l dist

.PHONY: lock
lock: | check-python ## Resolve the pinned requirement files again
	tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(VENV_PYTHON) -m venv "$$tools"; \
	"$$tools/bin/python" $(PIP_INSTALL) uv; \
	for name in requirements-dev requirements-oldest docs/requirements; do \
		"$$tools/bin/uv" pip compile --quiet --universal --upgrade --python-version 3.10 \
			--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
			$$name.in --output-file $$name.txt; \
	done

.PHONY: clean
clean: ## Remove everything that was built, the environments included
	rm -rf $(TARGET) $(VENV) $(VENV_OLDEST) $(VENV_DOCS) $(VENV_BENCH) $(VENV_ADELIE) dist demo
	rm -rf docs/_build docs/_generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f $(EXTENSION)
	find python tests benchmarks papers docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# ---- set-up; stamp files say what is up to date ----

.PHONY: check-cargo check-python
check-cargo:
	@command -v cargo >/dev/null || { \
		echo "cargo was not found: install Rust from https://rustup.rs and try again." >&2; exit 1; }

check-python:
	@command -v "$(VENV_PYTHON)" >/dev/null || { \
		echo "$(VENV_PYTHON) was not found: install Python 3.10 or newer, or name one: make VENV_PYTHON=python3.12 ..." >&2; exit 1; }
	@"$(VENV_PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "fewer needs Python 3.10 or newer, and $(VENV_PYTHON) is $$($(VENV_PYTHON) --version 2>&1). Name another one: make VENV_PYTHON=python3.12 ..." >&2; exit 1; }

# $(call environment,folder,requirement file): a fresh environment with exactly these packages
define environment
$(1)/.installed: $(2) | check-python
	rm -rf $(1)
	$$(VENV_PYTHON) -m venv $(1)
	$(1)/bin/python $$(PIP_INSTALL) -r $(2)
	touch $$@

# An environment that uses the wheel instead of the sources.
$(1)/.wheel: $(1)/.installed $$(WHEEL)
	$(1)/bin/python $$(PIP_INSTALL) --no-deps --force-reinstall $$(WHEELS)/fewer-*.whl
	touch $$@
endef
$(eval $(call environment,$(VENV),requirements-dev.txt))
$(eval $(call environment,$(VENV_OLDEST),requirements-oldest.txt))
$(eval $(call environment,$(VENV_DOCS),docs/requirements.txt))
$(eval $(call environment,$(VENV_BENCH),benchmarks/requirements.txt))
$(eval $(call environment,$(VENV_ADELIE),benchmarks/requirements-adelie.txt))

$(EXTENSION): $(VENV)/.installed $(EXTENSION_SOURCES) | check-cargo
	$(MATURIN) develop --release --locked
	touch $@

# Packs what was compiled for the extension; cargo finds nothing left to do.
$(WHEEL): $(EXTENSION) $(PACKAGE_SOURCES)
	rm -rf $(WHEELS)
	$(MATURIN) build --release --locked --interpreter $(PYTHON) --out $(WHEELS)
	touch $@
