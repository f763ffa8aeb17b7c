#!/bin/sh
# What actors take in memory, beside those of Erlang and CAF.
#   memory.sh [OPTION...]    options of memory.py; 'memory.sh --help' lists them
# ERGON_BUILD names the build directory (build-release, at the root of the tree).  Installs the peers from Debian (root or sudo).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
ERGON_BUILD=${ERGON_BUILD:-build-release}
. scripts/apt.sh
. tests/bench/peers/install.sh
. tests/bench/measure.sh

help_of "$here/memory.py" "$@"
install_peers erlang-base libcaf-dev
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
build ergond bench_cells
work=$(mktemp -d -p "$build" memory-XXXXXX)
trap 'rm -rf "$work"' EXIT
erlc -o "$work" "$here/cells.erl"
c++ -std=c++17 -O2 -o "$work/caf_cells" "$here/caf_cells.cpp" -lcaf_core
measure "$here/memory.py" --work "$work" "$@"
