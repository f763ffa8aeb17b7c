#!/bin/sh
# What it costs a server to be scraped by Prometheus.  Builds, measures, prints a table.
#   run.sh [OPTION...]    options of scrape.py; 'run.sh --help' lists them
# ERGON_BUILD names the build directory (build, at the root of the tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. tests/bench/measure.sh

help_of "$here/scrape.py" "$@"

build ergond ergon
measure "$here/scrape.py" "$@"
