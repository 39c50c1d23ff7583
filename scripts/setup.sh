#!/usr/bin/env bash
# Sets up everything that evcore's make targets need, says what it does, and does it once:
# a second run with nothing changed takes no time.
#
#   scripts/setup.sh                what `make demo` needs
#   scripts/setup.sh dev            and what tests, lint and benches need
#   scripts/setup.sh kernel-sctp    or what the SCTP of a Linux kernel needs
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:-run}

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Prerequisites that are not ours to install. Of several Pythons, the one that runs Python fastest: one
# that was built without optimization, as pyenv's are by default, takes a quarter more time for the same.
# The Python of a .venv that is there stays.
usable() {
    command -v "$1" >/dev/null &&
        "$1" -c 'import sqlite3, ssl, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}
pythons() {
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        ! usable "$candidate" || echo "$candidate"
    done
}
if usable .venv/bin/python; then
    python=.venv/bin/python
else
    python='' best=
    for candidate in $(pythons); do
        ms=$("$candidate" scripts/python_speed.py)
        if [ -z "$python" ] || awk "BEGIN { exit !($ms < 0.9 * $best) }"; then
            python=$candidate best=$ms
        fi
    done
fi
[ -n "$python" ] || fail "Python 3.11 or newer is needed, and there is none on the PATH."
for tool in cargo rustc; do
    command -v $tool >/dev/null ||
        fail "a Rust toolchain is needed ($tool is not on the PATH): see https://rustup.rs."
done
rust=$(rustc --version | sed -E 's/^rustc ([0-9]+)\.([0-9]+).*/\1 \2/')
read -r major minor <<<"$rust"
[ "$major" -gt 1 ] || [ "$minor" -ge 88 ] ||
    fail "Rust 1.88 or newer is needed, and this is $(rustc --version): run 'rustup update'."

# System packages, only those that are missing.
missing=()
command -v cc >/dev/null || missing+=(gcc libc6-dev)
pip=
if ! command -v uv >/dev/null && [ ! -x .tools/uv/bin/uv ]; then
    for candidate in $(pythons); do
        [ -n "$pip" ] || ! "$candidate" -m pip --version >/dev/null 2>&1 || pip=$candidate
    done
    [ -n "$pip" ] || missing+=(python3-pip)
fi
if [ "$kind" = kernel-sctp ]; then
    [ -e /usr/include/netinet/sctp.h ] || missing+=(libsctp-dev)
    headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    [ -e "$headers/Python.h" ] || missing+=(python3-dev)
fi
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null ||
        fail "these packages are missing, and there is no apt-get to install them: ${missing[*]}"
    [ "$(id -u)" = 0 ] || fail "as root, run: apt-get install ${missing[*]}"
    say "installing ${missing[*]} with apt-get"
    apt-get update -qq || fail "apt-get update fails: is there a network?"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        "${missing[@]}" >/dev/null || fail "apt-get cannot install ${missing[*]}"
fi

# uv, from PyPI, beside the project.
if command -v uv >/dev/null; then
    uv=uv
else
    uv=.tools/uv/bin/uv
    if [ ! -x "$uv" ]; then
        say "installing uv into .tools/uv"
        : "${pip:=/usr/bin/python3}"
        "$pip" -m pip install --quiet --target .tools/uv uv 2>/dev/null ||
            "$pip" -m pip install --quiet --break-system-packages --target .tools/uv uv
    fi
fi

# Cargo's target outside of the clone where there is a cache folder, so that clones share it.
cache=${XDG_CACHE_HOME:-$HOME/.cache}
if [ -z "${CARGO_TARGET_DIR:-}" ] && [ -d "$cache" ]; then
    export CARGO_TARGET_DIR=$cache/evcore/cargo-target
fi
export UV_PYTHON_DOWNLOADS=never

inputs() {
    cat pyproject.toml constraints.txt scripts/setup.sh wire/Cargo.toml wire/Cargo.lock wire/wire.pyi
    find wire/src -name '*.rs' -print0 | sort -z | xargs -0 cat
    "$python" --version
}
stamp=$(inputs | sha256sum | cut -d' ' -f1)
done_before=$(cat ".venv/.setup-$kind" 2>/dev/null || true)
if [ "$stamp" = "$done_before" ]; then
    exit 0
fi

if [ ! -x .venv/bin/python ]; then
    say "making a virtual environment in .venv, with $("$python" -c 'import sys; print(sys.executable)')"
    "$uv" venv --quiet --python "$python" .venv
fi
# Into .venv, whatever environment the caller has active.
install() {
    "$uv" pip install --quiet --python .venv/bin/python --compile-bytecode \
        --constraint constraints.txt "$@"
}
say "installing Python packages"
install 'maturin>=1.9,<2'
if [ "$kind" = dev ]; then
    install --group dev
fi
extras=asn1,plot
if [ "$kind" = kernel-sctp ]; then
    extras+=,kernel-sctp
fi
say "building wire, the Rust part (a few minutes the first time)"
PATH=$PWD/.venv/bin:$PATH install --no-build-isolation --reinstall-package evcore \
    --editable ".[$extras]"
echo "$stamp" >".venv/.setup-$kind"
[ "$kind" = run ] || echo "$stamp" >.venv/.setup-run
say "done: $(.venv/bin/python -c 'import wire; print(wire.build_info())')"
