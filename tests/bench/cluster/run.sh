#!/bin/sh
# What a cluster costs and gains, as ratios within one run: submissions, whole lives, fronts, working nodes.
#   run.sh [OPTION...]    options of ratios.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).  Needs PostgreSQL, psycopg2 and redis-server.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/ratios.py" "$@"
build ergond ergon peers_driver bench_cluster_bare store_postgresql
work_folder cluster "$@"
measure "$here/ratios.py" --work "$work" "$@"
