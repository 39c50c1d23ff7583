#!/bin/sh
# Prepare tests/kernel: SCTP of a Linux kernel in a virtual machine, for machines with a kernel that
# has no SCTP. The script prints each action. Existing parts are left alone.
#
#   1. installs, if missing, the Debian packages qemu-system-x86, busybox-static, libsctp-dev,
#      a C compiler and Python's headers (needs root);
#   2. fetches Debian's kernel package and unpacks it (it is not installed);
#   3. builds PyPI pysctp for the project's Python.
#
# All downloads go to ${XDG_CACHE_HOME:-~/.cache}/evcore/kernel.
# Usage: scripts/setup-kernel-lab.sh [python]     (default: .venv/bin/python)

set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
python=${1:-$here/.venv/bin/python}
lab=${XDG_CACHE_HOME:-$HOME/.cache}/evcore/kernel
pysctp=0.7.3
mkdir -p "$lab"

say() { echo "kernel lab: $*"; }
fail() { echo "kernel lab: $*" >&2; exit 1; }
update() { apt-get update -qq || fail "apt-get update failed; it needs a network and root"; }

command -v apt-get >/dev/null || fail "this script needs apt-get (Debian or a derivative)"
[ -x "$python" ] || fail "no Python at $python"

missing=
command -v qemu-system-x86_64 >/dev/null || missing="$missing qemu-system-x86"
[ -x /bin/busybox ] || [ -x /usr/bin/busybox ] || missing="$missing busybox-static"
[ -e /usr/include/netinet/sctp.h ] || missing="$missing libsctp-dev"
command -v cc >/dev/null || missing="$missing gcc libc6-dev"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -e "$headers/Python.h" ] || missing="$missing python3-dev"
if [ -n "$missing" ]; then
    [ "$(id -u)" = 0 ] || fail "run as root: apt-get install$missing"
    say "installing$missing"
    update
    # Without recommended packages: a serial console needs no graphics and no sound.
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >/dev/null
else
    say "packages are installed"
fi

if [ -e "$lab/image/boot" ]; then
    say "kernel is unpacked: $(ls "$lab/image/boot" | grep ^vmlinuz)"
else
    # The meta package names the newest kernel. The cloud flavour lacks required modules.
    apt-cache show linux-image-amd64 >/dev/null 2>&1 || update
    package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1)
    [ -n "$package" ] || fail "apt knows no linux-image-amd64"
    say "fetching $package"
    rm -rf "$lab/fetch" "$lab/unpack"
    mkdir "$lab/fetch"
    # Otherwise apt downloads as its own user, who may not write to this folder.
    (cd "$lab/fetch" && apt-get -o APT::Sandbox::User="$(id -un)" download "$package" >/dev/null)
    dpkg -x "$lab"/fetch/linux-image-*.deb "$lab/unpack"
    rm -rf "$lab/fetch"
    mv "$lab/unpack" "$lab/image"
fi

site=$lab/site-$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
if PYTHONPATH=$site "$python" -c 'import sctp' 2>/dev/null; then
    say "pysctp is built: $site"
else
    say "building pysctp $pysctp"
    rm -rf "$site"
    # The base interpreter of a virtual environment has pip even if the environment has not.
    base=$("$python" -c 'import sys; print(sys._base_executable)')
    "$base" -m pip install --quiet --no-deps --root-user-action=ignore \
        --disable-pip-version-check --target "$site" "pysctp==$pysctp"
    PYTHONPATH=$site "$python" -c 'import sctp' || fail "pysctp was built but cannot be imported"
fi

say "ready: make test, or $python -m pytest tests/kernel"
