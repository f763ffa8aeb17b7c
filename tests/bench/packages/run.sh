#!/bin/sh
# What a worker's registry costs in Python, Node and Go, and a task's round trip beside Celery and RQ.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of packages.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/packages.py" "$@"

build ergond ergon
measure "$here/packages.py" "$@"
