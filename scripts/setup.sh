#!/usr/bin/env bash
# Install everything that evcore's make targets need, and print each action. A second run without
# changes takes no time.
#
#   scripts/setup.sh                the needs of `make demo`
#   scripts/setup.sh dev            also the needs of tests, lint and benches
#   scripts/setup.sh kernel-sctp    also the needs of SCTP in a Linux kernel
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:-run}

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Prerequisites that this script does not install. If there are several Pythons, the one that runs
# Python code fastest is used: a build without optimization, pyenv's default, takes a quarter more
# time. The Python of an existing .venv is kept.
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
[ -n "$python" ] || fail "Python 3.11 or newer is needed, but none is on the PATH."
for tool in cargo rustc; do
    command -v $tool >/dev/null ||
        fail "a Rust toolchain is needed ($tool is not on the PATH): see https://rustup.rs."
done
rust=$(rustc --version | sed -E 's/^rustc ([0-9]+)\.([0-9]+).*/\1 \2/')
read -r major minor <<<"$rust"
[ "$major" -gt 1 ] || [ "$minor" -ge 88 ] ||
    fail "Rust 1.88 or newer is needed, but this is $(rustc --version): run 'rustup update'."

# Install only missing system packages.
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
        fail "apt-get is not available to install the missing packages: ${missing[*]}"
    [ "$(id -u)" = 0 ] || fail "as root, run: apt-get install ${missing[*]}"
    say "installing ${missing[*]} with apt-get"
    apt-get update -qq || fail "apt-get update failed; is the network available?"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        "${missing[@]}" >/dev/null || fail "apt-get cannot install ${missing[*]}"
fi

# uv, from PyPI, in the project folder.
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

# If there is a cache folder, Cargo's target folder is placed there, so that clones share it.
cache=${XDG_CACHE_HOME:-$HOME/.cache}
if [ -z "${CARGO_TARGET_DIR:-}" ] && [ -d "$cache" ]; then
    export CARGO_TARGET_DIR=$cache/evcore/cargo-target
fi
export UV_PYTHON_DOWNLOADS=never

sources() {
    cat pyproject.toml wire/Cargo.toml wire/Cargo.lock wire/build.rs wire/wire.pyi
    find wire/src -name '*.rs' -print0 | sort -z | xargs -0 cat
    rustc --version --verbose
}
inputs() {
    sources
    cat constraints.txt scripts/setup.sh
    "$python" --version
}
digest() { sha256sum | cut -d' ' -f1; }
stamp=$(inputs | digest)
done_before=$(cat ".venv/.setup-$kind" 2>/dev/null || true)
if [ "$stamp" = "$done_before" ]; then
    exit 0
fi

if [ ! -x .venv/bin/python ]; then
    say "creating a virtual environment in .venv, with $("$python" -c 'import sys; print(sys.executable)')"
    "$uv" venv --quiet --python "$python" .venv
fi
# Install into .venv, independent of the caller's active environment.
install() {
    "$uv" pip install --quiet --python .venv/bin/python --compile-bytecode \
        --constraint constraints.txt "$@"
}
say "installing Python packages"
install 'maturin>=1.9,<2' wheel
if [ "$kind" = dev ]; then
    install --group dev
fi
extras=asn1,plot
if [ "$kind" = kernel-sctp ]; then
    extras+=,kernel-sctp
fi
# An editable wheel has wire and the path of this folder. If there is a cache folder, clones with the
# same sources share a wheel in it, and each replaces the path.
export PATH=$PWD/.venv/bin:$PATH
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
wheels=$made/wheels
[ ! -d "$cache" ] || wheels=$cache/evcore/wheels/$(sources | digest)
if ! compgen -G "$wheels/*.whl" >/dev/null; then
    say "building wire, the Rust part (a few minutes the first time)"
    # Another clone may build the same wheel meanwhile: it is there whole or not at all.
    building=$wheels/$$
    trap 'rm -rf "$made" "$building"' EXIT
    mkdir -p "$building"
    python -c 'import maturin, sys; maturin.build_editable(sys.argv[1])' "$building" >"$made/log" 2>&1 ||
        fail "wire cannot be built: $(cat "$made/log")"
    mv "$building"/*.whl "$wheels"
    find "$wheels/.." -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -r {} +
fi
say "installing evcore"
python -m wheel unpack --dest "$made/unpacked" "$wheels"/*.whl >/dev/null
pwd >"$(echo "$made"/unpacked/*)/evcore.pth"
python -m wheel pack --dest-dir "$made" "$made"/unpacked/* >/dev/null
install --reinstall-package evcore "evcore[$extras] @ file://$(echo "$made"/*.whl)"
echo "$stamp" >".venv/.setup-$kind"
[ "$kind" = run ] || echo "$stamp" >.venv/.setup-run
say "done: $(.venv/bin/python -c 'import wire; print(wire.build_info())')"
