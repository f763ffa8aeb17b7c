#!/bin/sh
# The longest step of a loop beside a million kept tasks.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of steps.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/steps.py" "$@"

build ergond ergon module_demo
measure "$here/steps.py" "$@"
