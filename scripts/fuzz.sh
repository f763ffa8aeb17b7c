#!/bin/sh
# Lets the fuzzers search for input that breaks what they hold, under the address and undefined behaviour sanitizers.
#   fuzz.sh [SECONDS] [NAME…]    each of those that are named, or all, for so long (3600), as many at a time as there are processors
# What was found is kept in build-fuzz/found: NAME/ the inputs that reach what no other does (the next run begins with them
# too), NAME.crash/ those that break something, NAME.log what the fuzzer said.  Ends with 1 if there is one of those.
set -eu
cd "$(dirname "$0")/.."
build=build-fuzz
found=$build/found
corpus=tests/fuzz/corpus

# one NAME SECONDS: runs one of them; what it found is told by report.
one() {
    mkdir -p "$found/$1" "$found/$1.crash"
    dict=
    [ ! -f "$corpus/$1.dict" ] || dict=-dict=$corpus/$1.dict
    echo "$1: for $2 s"
    # Its weights of inputs cost more than the inputs where thousands of features are reached.
    weights=
    [ "$1" != rows ] || weights=-entropic=0
    # libFuzzer looks at its clock between two inputs, and each input has 120 s: the rest is for its end.  Leaks are counted
    # after each input (fuzz_entry.c), and looked for by the sanitizer at the end: after an input it takes 15 ms and more.
    # What was freed is kept from use until so much is, not 256 MiB, and where memory is from is told in less detail: a fifth to a
    # third of the time goes into that else.  What is found is replayed as it is.
    export ASAN_OPTIONS="quarantine_size_mb=8:malloc_context_size=2${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    # shellcheck disable=SC2086 # no dictionary is no word
    timeout -k 60 "$(($2 + 120))" "$build/tests/fuzz/fuzz_$1" -max_total_time="$2" -timeout=120 -report_slow_units=120 -rss_limit_mb=3072 -print_final_stats=1 \
        -detect_leaks=0 $dict $weights -artifact_prefix="$found/$1.crash/" "$found/$1" "$corpus/$1" >"$found/$1.log" 2>&1 </dev/null &&
        echo well >"$found/$1.end" || echo "ended with status $?" >"$found/$1.end"
    # Of what this shell has waited for: the fuzzer.  Beside others it has less of the processors than the clock says.
    times >"$found/$1.times"
    sed 's/[ms]/ /g' "$found/$1.times" | awk 'END { printf "%.0f\n", $1 * 60 + $2 + $3 * 60 + $4 }' >"$found/$1.processor"
}

# stat NAME WORD: a figure of the fuzzer's last line; or of its statistics.
last() { sed -n "s/^#[0-9]*.*[[:space:]]$2: \([0-9]*\).*/\1/p" "$found/$1.log" | tail -n 1; }
stat() { sed -n "s/^stat::$2:[[:space:]]*//p" "$found/$1.log" | tail -n 1; }

report() {
    printf '\n%-10s %14s %8s %10s %8s %8s %8s  %s\n' fuzzer executions seconds processor edges features corpus end
    bad=0
    for name; do
        crashes=$(find "$found/$name.crash" -type f | wc -l)
        end=$(cat "$found/$name.end")
        seconds=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$found/$name.log" | tail -n 1)
        printf '%-10s %14s %8s %10s %8s %8s %8s  %s\n' "$name" "$(stat "$name" number_of_executed_units)" "${seconds:-?}" \
            "$(cat "$found/$name.processor")" "$(last "$name" cov)" "$(last "$name" ft)" "$(last "$name" corp)" "$end"
        [ "$end" = well ] && [ "$crashes" = 0 ] && continue
        bad=1
        grep -m 3 -E 'does not hold|ERROR:|runtime error|blocks of memory' "$found/$name.log" | sed 's/^/    /'
        find "$found/$name.crash" -type f | sed 's/^/    kept: /'
    done
    return $bad
}

if [ "${1:-}" = --one ]; then
    one "$2" "$3"
    exit 0
fi

seconds=3600
case ${1:-} in
'' | *[!0-9]*) ;;
*)
    seconds=$1
    shift
    ;;
esac
all=$(find "$corpus" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
# shellcheck disable=SC2086 # the list is words
[ $# -gt 0 ] || set -- $all
targets=
for name; do
    [ -d "$corpus/$name" ] || {
        echo "fuzz: no fuzzer is called '$name'; there are:" $all >&2
        exit 2
    }
    targets="$targets fuzz_$name"
done

mkdir -p "$found"
cmake -S . -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DERGON_SANITIZE=fuzzer >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log" >&2
    exit 1
}
# shellcheck disable=SC2086
ninja -C "$build" --quiet $targets
printf '%s\n' "$@" | xargs -P "$(nproc)" -I NAME "$0" --one NAME "$seconds"
report "$@"
