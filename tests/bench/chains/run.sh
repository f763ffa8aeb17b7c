#!/bin/sh
# What it costs the server to hand results on in chains of tasks, as ratios within one run.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of chains.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build-release, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
ERGON_BUILD=${ERGON_BUILD:-build-release}
. tests/bench/measure.sh

help_of "$here/chains.py" "$@"
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
build ergond chains_module
measure "$here/chains.py" "$@"
