#!/bin/sh
# A million kept tasks: submitted in batches, held, fired, read back.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of load.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
build=${ERGON_BUILD:-build}

case " $* " in
*" --help "* | *" -h "*) exec python3 "$here/load.py" --help ;;
esac

scripts/setup.sh build
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DERGON_WERROR=ON >/dev/null
ninja -C "$build" --quiet ergond ergon submit_many late_module >&2

# In the background, so that a signal to this script reaches it at once; it then stops what it started.
python3 "$here/load.py" --build "$build" "$@" &
measuring=$!
trap 'kill -TERM "$measuring" 2>/dev/null || :' INT TERM HUP
status=0
wait "$measuring" || status=$?
[ "$status" -le 128 ] || wait "$measuring" || status=$?
exit "$status"
