#!/bin/sh
# A million tasks: submitted in batches, held, fired, read back.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of load.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/load.py" "$@"

scripts/setup.sh build
build ergond ergon submit_many late_module
measure "$here/load.py" "$@"
