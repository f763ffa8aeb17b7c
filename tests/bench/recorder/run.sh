#!/bin/sh
# What the flight recorder costs a task.  Builds a server with it and one without, measures, prints a table.
#   run.sh [OPTION...]    options of recorder.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree); the other is beside it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/recorder.py" "$@"

build ergond ergon
with=$build
build=$with-no-recorder
[ -f "$build/build.ninja" ] || CFLAGS="${CFLAGS:-} -DERGON_NO_RECORDER" cmake -S . -B "$build" -G Ninja >/dev/null
build ergond
build=$with
measure "$here/recorder.py" "$@"
