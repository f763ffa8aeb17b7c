#!/bin/sh
# What spans cost a task.  Builds a server, measures, prints tables.
#   run.sh [OPTION...]    options of tracing.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/tracing.py" "$@"

build ergond ergon
measure "$here/tracing.py" "$@"
