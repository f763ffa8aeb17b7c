#!/bin/sh
# The longest step of a server's loops and manager during each method of the protocol.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of longest_step.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build-release, at the root of the tree): that of a release build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
export ERGON_BUILD=${ERGON_BUILD:-build-release}
. tests/bench/measure.sh

help_of "$here/longest_step.py" "$@"

[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF >/dev/null
build ergond module_demo
measure "$here/longest_step.py" "$@"
