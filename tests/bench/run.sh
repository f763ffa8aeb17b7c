#!/bin/sh
# All micro-benchmarks, one after the other: some eight minutes.  Tables go to standard output; with --json DIRECTORY, one
# file of JSON each goes there instead.
#
#     tests/bench/run.sh [--build DIRECTORY] [--json DIRECTORY] [NAME…]
#
# A NAME picks those whose program's name contains it.  Each program is ended after LIMIT seconds (300).
set -eu
cd "$(dirname "$0")/../.."

build=build
json=
limit=${LIMIT:-300}
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$2 && shift 2 ;;
    --json) json=$2 && shift 2 ;;
    -*) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
done

all='runtime/runtime_steps_bench runtime/runtime_timers_bench runtime/runtime_rings_bench runtime/runtime_wakes_bench
primitives/bench_primitives primitives/bench_parked proto/proto_bench tasks/bench_tasks tasks/bench_workers tasks/bench_idle tasks/bench_drain
store/bench_store jobs/bench_pick sched/bench_sched_measures sched/bench_sched_policies sched/bench_sched'

picked() {
    [ $# -gt 1 ] || return 0
    name=$1
    shift
    for part; do
        case ${name##*/} in *"$part"*) return 0 ;; esac
    done
    return 1
}

programs=
for program in $all; do
    ! picked "$program" "$@" || programs="$programs $program"
done
[ -n "$programs" ] || {
    echo "run.sh: no benchmark has a name with $*; there are:" >&2
    for program in $all; do echo "  ${program##*/}" >&2; done
    exit 2
}
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja >/dev/null
# shellcheck disable=SC2046,SC2086 # words
ninja -C "$build" --quiet $(for program in $programs; do echo "${program##*/}"; done)

[ -z "$json" ] || mkdir -p "$json"
[ -n "$json" ] || printf '%s, %s processors, %s, load %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" \
    "$(nproc)" "$(date -u +%F)" "$(cut -d' ' -f1 /proc/loadavg)"
failed=0
for program in $programs; do
    name=${program##*/}
    if [ -n "$json" ]; then
        timeout "$limit" "$build/tests/bench/$program" --json >"$json/$name.json" || failed=1
    else
        printf '\n== %s\n' "$name"
        timeout "$limit" "$build/tests/bench/$program" || failed=1
    fi
    [ "$failed" -eq 0 ] || {
        echo "run.sh: $name failed, or was not done after $limit s" >&2
        exit 1
    }
done
