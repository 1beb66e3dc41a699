# Every target is one line of `make help`. Builds use the release profile only, so that running, testing and measuring
# share one set of compiled crates. Set DUCKDB_LIB_DIR to link a DuckDB of your own, CARGO_TARGET_DIR to build elsewhere.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# Where `make install` puts bin/agentlake and lib/agentlake/.
PREFIX ?= $(HOME)/.local
# Folder with the price lists for `make prices`, if not in AGENTLAKE_PRICE_LISTS.
PRICES ?=
# More arguments for `agentlake export`, as in `make export ARGS="--lake /data/lake"`.
ARGS ?=

# Fetches the prebuilt DuckDB when it is not there yet; answers `--features bundled` where it cannot be had.
with_duckdb = features=$$(scripts/fetch-duckdb --cargo-args) &&

.PHONY: help
help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: export
export: ## Build, then read this user's agent sessions into the lake (sample sessions if there are none)
	@$(with_duckdb) cargo build --release --bin agentlake $$features && \
	cargo run --quiet --release --bin agentlake $$features -- export --demo-if-empty fixtures/ $(ARGS)

.PHONY: test
test: ## Run all tests
	@$(with_duckdb) cargo test --release $$features

.PHONY: test-bundled
test-bundled: ## Run all tests on a DuckDB compiled from source, without ICU (half an hour the first time)
	cargo test --release --features bundled

.PHONY: bench
bench: ## Run the benchmarks; with AGENTLAKE_BENCH_HOME=DIR also compare with other tools on DIR
	@$(with_duckdb) cargo bench --bench hot_paths $$features
	@if [ -n "$$AGENTLAKE_BENCH_HOME" ]; then benches/compare.sh; fi

.PHONY: install
install: ## Install into PREFIX (default ~/.local): bin/agentlake and the DuckDB library that it runs on
	@$(with_duckdb) cargo build --release --bin agentlake $$features && \
	scripts/install "$(PREFIX)" $$features

.PHONY: docs
docs: ## Build the API documentation, private items included, warnings denied
	@$(with_duckdb) RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --document-private-items $$features

.PHONY: lint
lint: ## Check formatting and run clippy with and without DuckDB, warnings denied
	cargo fmt --check
	@$(with_duckdb) cargo clippy --release --all-targets $$features -- -D warnings
	cargo clippy --release --all-targets --no-default-features -- -D warnings

.PHONY: fmt
fmt: ## Format the code
	cargo fmt

.PHONY: interop
interop: ## Compare what pyarrow, polars and DuckDB for Python read from a lake made of the fixtures
	@$(with_duckdb) cargo build --release --bin agentlake $$features && scripts/interop

.PHONY: prices
prices: ## Make the price table anew from the public lists in AGENTLAKE_PRICE_LISTS (see src/pricing/data/NOTICES.md)
	@python3 scripts/prices $(PRICES)

.PHONY: ci
ci: ## Run everything that continuous integration runs
	.ci/run
