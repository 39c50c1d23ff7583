#!/usr/bin/env bash
# Build wire for fuzzing into .fuzz/wire, with LLVM's coverage counters in every function, overflow
# checks and debug assertions. An ordinary stable Rust toolchain is enough.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}
if [ -d "$cache" ]; then
    export CARGO_TARGET_DIR=$cache/evcore/fuzz-target
else
    export CARGO_TARGET_DIR=$PWD/wire/target/fuzzing
fi
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares"
echo "fuzz: building wire with coverage counters (a few minutes the first time)"
# With --target, the flags apply to wire and its crates, not to build scripts and macros.
PYO3_PYTHON=$PWD/.venv/bin/python \
    cargo build --quiet --manifest-path wire/Cargo.toml --profile fuzz --target "$target"
mkdir -p .fuzz/wire
cp "$CARGO_TARGET_DIR/$target/fuzz/libwire.so" .fuzz/wire/wire.abi3.so
cp "$(.venv/bin/python -c 'import wire; print(wire.__file__)')" .fuzz/wire/__init__.py
