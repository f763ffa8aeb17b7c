#!/bin/sh
# The latency of echo beside 1 to 100 tasks that never end.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of fair.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/fair.py" "$@"

build ergond ergon
measure "$here/fair.py" "$@"
