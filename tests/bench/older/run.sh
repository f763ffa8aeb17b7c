#!/bin/sh
# User instructions a task beside those of an older commit.  Builds both in release mode, measures, prints a table.
#   run.sh COMMIT [OPTION...]    options of older.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build-release, at the root of the tree); the older one is built beside it, in COMMIT's name.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
ERGON_BUILD=${ERGON_BUILD:-build-release}
. tests/bench/measure.sh

help_of "$here/older.py" "$@"
[ $# -ge 1 ] || { echo "usage: run.sh COMMIT [OPTION...]" >&2; exit 2; }
commit=$(git rev-parse --verify --short "$1^{commit}")
shift

release() { # in DIRECTORY, of the tree TREE
    [ -f "$1/build.ninja" ] || cmake -S "$2" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
}

old=$build-$commit
[ -d "$old/tree" ] || { mkdir -p "$old/tree" && git archive "$commit" | tar -x -C "$old/tree"; }
release "$old/build" "$old/tree"
ninja -C "$old/build" --quiet ergond >&2
release "$build" .
build ergond ergon ergon_worker
measure "$here/older.py" --old "$old/build" "$@"
