#!/bin/sh
# Installs from Debian what building and testing need, and of that only what is missing.
#   setup.sh            to build and test
#   setup.sh build      only to build the programs
#   setup.sh bench      and to load a server that has TLS
#   setup.sh demo       and for the demo
#   setup.sh image      to build and test the container image as well
#   setup.sh tls        to build, test, and ask testssl.sh about TLS
#   setup.sh deb        to make packages and test them
#   setup.sh pictures   and to make the pictures of the documents
#   setup.sh bare       for the run in a bare root
# ERGON_WITHOUT_NPM=1 leaves node and npm out; the tests with npm clients then say that they are skipped.
# ERGON_WITHOUT_BROWSER=1 leaves Chromium out; the test of the page then says that it is skipped.
set -eu

build="build-essential ca-certificates cmake git ninja-build pkg-config libcmocka-dev libyaml-dev
    libevent-dev libjansson-dev libseccomp-dev libmsgpack-dev libsmartcols-dev libssl-dev libsqlite3-dev libglib2.0-dev
    libsystemd-dev systemtap-sdt-dev tzdata zlib1g-dev"
tests="bpftrace clang clang-format curl gdb libclang-rt-14-dev golang-go imagemagick mypy neovim openssl procps prometheus python3-minimal python3-msgpack
    python3-pip python3-yaml python3-setuptools python3-wheel spin sqlite3 strace fish zsh"
packages="debhelper lintian"
browser="chromium chromium-driver python3-selenium"
image="buildah debootstrap podman runc"

. "$(dirname "$0")/apt.sh"
[ -n "${ERGON_WITHOUT_BROWSER:-}" ] || tests="$tests $browser"

# shellcheck disable=SC2086 # the lists are words
case ${1:-} in
build) wanted=$(missing $build) ;;
bench) wanted=$(missing $build openssl) ;;
demo) wanted=$(missing $build neovim openssl) ;;
image)
    wanted=$(missing $build $tests)
    docker info >/dev/null 2>&1 || wanted="$wanted$(missing $image)"
    ;;
tls) wanted=$(missing $build $tests testssl.sh) ;;
deb) wanted=$(missing $build $packages debootstrap) ;;
pictures) wanted=$(missing $build python3-msgpack $browser pngquant) ;;
bare) wanted=$(missing $build $tests debootstrap) ;;
*) wanted=$(missing $build $tests) ;;
esac
# A node that did not come from Debian brings an npm with which Debian's would conflict.
[ "${1:-}" = build ] || [ "${1:-}" = bench ] || [ "${1:-}" = pictures ] || [ -n "${ERGON_WITHOUT_NPM:-}" ] || command -v npm >/dev/null || wanted="${wanted}npm "
# shellcheck disable=SC2086
[ -z "$wanted" ] || apt_install $wanted
