#!/usr/bin/env bash
# Compares agentlake with other tools: whole processes, on the same files, in one run.
#
# usage: AGENTLAKE_BENCH_HOME=DIR benches/compare.sh [ROUNDS]        (default 5 rounds)
#
# DIR is a home directory with .claude/projects and .codex/sessions in it; it is copied and never written to. Prints a
# Markdown table of medians: CPU seconds, wall seconds, peak memory, and the ratio to what each run is measured against.
# Builds agentlake, and installs ccusage (npm) and DuckDB (PyPI) into the cache folder; without npm its rows are missing.
# What is run, and in which order, is in compare.py beside this script.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(dirname "$here")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentlake
: "${AGENTLAKE_BENCH_HOME:?set it to a home directory with agent sessions in it}"
rounds=${1:-5}

CCUSAGE_VERSION=20.0.24

# Prints the path of ccusage's native binary, which is what its npm wrapper starts; nothing when it cannot be had.
ccusage() {
    local platform folder binary
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) platform=linux-x64 ;;
        Linux-aarch64) platform=linux-arm64 ;;
        Darwin-arm64) platform=darwin-arm64 ;;
        Darwin-x86_64) platform=darwin-x64 ;;
        *) return 0 ;;
    esac
    folder=$cache/ccusage-$CCUSAGE_VERSION
    binary=$folder/node_modules/@ccusage/ccusage-$platform/bin/ccusage
    if [[ ! -f $binary ]]; then
        mkdir -p "$folder"
        npm install --silent --no-audit --no-fund --prefix "$folder" \
            "ccusage@$CCUSAGE_VERSION" "@ccusage/ccusage-$platform@$CCUSAGE_VERSION" >&2 || return 0
    fi
    chmod +x "$binary"
    printf '%s\n' "$binary"
}

python=$("$checkout/scripts/python-env")
features=$("$checkout/scripts/fetch-duckdb" --cargo-args)
# shellcheck disable=SC2086  # no features are no arguments
(cd "$checkout" && cargo build --quiet --release --bin agentlake $features)

exec "$python" "$here/compare.py" \
    --agentlake "$("$checkout/scripts/target-dir")/release/agentlake" \
    --ccusage "$(ccusage)" \
    --home "$AGENTLAKE_BENCH_HOME" \
    --rounds "$rounds"
