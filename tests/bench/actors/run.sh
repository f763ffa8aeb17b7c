#!/bin/sh
# What messages to actors cost beside peers and beside tasks, as ratios within one run.
#   run.sh [OPTION...]    options of actors.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build-release, at the root of the tree).  Needs PostgreSQL and psycopg2, and installs the other
# peers from Debian (root or sudo).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
ERGON_BUILD=${ERGON_BUILD:-build-release}
. scripts/apt.sh
. tests/bench/peers/install.sh
. tests/bench/measure.sh

help_of "$here/actors.py" "$@"
install_peers erlang-base libcaf-dev redis-server
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
build ergond ergon bench_counters peers_driver
work_folder actors "$@"
erlc -o "$work" tests/bench/peers/procedures/counter_server.erl
c++ -std=c++17 -O2 -o "$work/caf_counters" "$here/caf_counters.cpp" -lcaf_core
measure "$here/actors.py" --work "$work" "$@"
