#!/usr/bin/env bash
# Run rustfmt and clippy on wire, with warnings as errors. The target folder is that of setup.sh.
set -euo pipefail
cd "$(dirname "$0")/../wire"
cache=${XDG_CACHE_HOME:-$HOME/.cache}
if [ -z "${CARGO_TARGET_DIR:-}" ] && [ -d "$cache" ]; then
    export CARGO_TARGET_DIR=$cache/evcore/cargo-target
fi
cargo fmt --check
cargo clippy --quiet --release -- -D warnings
