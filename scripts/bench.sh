#!/bin/sh
# A server of the release build under 'ergon bench'; arguments go to the latter.  Where there are two processors or more,
# the server has one half of them and the load generator the other.
set -eu
cd "$(dirname "$0")/.."
. scripts/server.sh

all=$(nproc)
half=$((all / 2))
ours=
[ "$half" -eq 0 ] || {
    taskset -pc "0-$((half - 1))" $$ >/dev/null
    ours="taskset -c $half-$((all - 1))"
}

server_start --module demo # whose methods take time in a known way
[ $# -gt 0 ] || set -- --connections 64 --in-flight 16 --duration 5s --method echo
# shellcheck disable=SC2086 # two words or none
$ours build/ergon -s "$tcp" bench "$@"
server_stop
