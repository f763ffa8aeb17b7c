#!/bin/sh
# Installs from Debian what building and testing need, and of that only what is missing.
#   setup.sh            to build and test
#   setup.sh build      only to build
#   setup.sh image      to build and test the container image as well
#   setup.sh bare       for the run in a bare root
# ERGON_WITHOUT_NPM=1 leaves node and npm out; the tests with npm clients then say that they are skipped.
set -eu

build="build-essential ca-certificates cmake git ninja-build pkg-config libcmocka-dev libyaml-dev
    libevent-dev libjansson-dev libmsgpack-dev libsmartcols-dev libssl-dev libsqlite3-dev libglib2.0-dev
    libsystemd-dev tzdata zlib1g-dev"
tests="clang clang-format libclang-rt-14-dev neovim openssl procps python3-minimal python3-msgpack spin sqlite3 strace"
image="buildah debootstrap podman runc"

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# What is missing of the packages named.
missing() {
    for package; do
        installed "$package" || printf '%s ' "$package"
    done
}

# shellcheck disable=SC2086 # the lists are words
case ${1:-} in
build) wanted=$(missing $build) ;;
image)
    wanted=$(missing $build $tests)
    docker info >/dev/null 2>&1 || wanted="$wanted$(missing $image)"
    ;;
bare) wanted=$(missing $build $tests debootstrap) ;;
*) wanted=$(missing $build $tests) ;;
esac
# A node that did not come from Debian brings an npm with which Debian's would conflict.
[ "${1:-}" = build ] || [ -n "${ERGON_WITHOUT_NPM:-}" ] || command -v npm >/dev/null || wanted="${wanted}npm "
[ -n "$wanted" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null || {
        echo "setup: these packages are missing, and installing them needs root or sudo: $wanted" >&2
        exit 1
    }
fi

echo "== set-up: apt-get install $wanted"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
{
    # A source that cannot be reached need not be one that counts here: the installation tells.
    $as_root apt-get update || :
    $as_root apt-get install -y --no-install-recommends $wanted
} </dev/null >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    echo "setup: apt-get failed; its last lines stand above" >&2
    exit 1
}
