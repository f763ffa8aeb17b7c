#!/bin/sh
# Verifies the models named (all of them when none is), and that each of their mutants fails.
# The mutants of a model are listed at its head, as "mutant: NAME  why".
# ERGON_MODEL_MUTANTS=2: only the first two of them.
# ERGON_MODEL_DEEP=1: larger bounds, where a model has them (DEEP), and no mutants. States are kept as bits of a hash then,
# so a few are taken for others and not visited; that takes some minutes and 6 GB a model.
set -eu
deep=${ERGON_MODEL_DEEP:-}

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

command -v spin >/dev/null || {
    echo "spin is not installed: './run setup' installs it" >&2
    exit 1
}

# The search of one model with the given definition; its report goes to $work/report.
search() {
    dir=$work/$1.$2
    mkdir "$dir"
    cd "$dir"
    define=
    optimize=-O1
    # Mutants fail soon: their verifiers take longer to compile than to run.
    [ "$2" = model ] || define=-D$2 optimize=-O0
    memory=2048 depth=1000000 hash=
    [ -z "$deep" ] || define=-DDEEP optimize="-O2 -DBITSTATE" memory=8000 depth=20000000 hash=-w34
    # shellcheck disable=SC2086 # options
    spin -P"gcc -E -x c -I$here" ${define:+"$define"} -a "$here/$1.pml" >"$work/report" 2>&1 &&
        gcc $optimize -w -DSAFETY -DMEMLIM=$memory -o pan pan.c >>"$work/report" 2>&1 &&
        ./pan -m$depth $hash >"$work/report" 2>&1
}

# Prints "errors" of the last report, nothing when the search did not come to its end.
errors() {
    ! grep -q 'max search depth too small\|out of memory\|Search not completed' "$work/report" || return 0
    sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$work/report"
}

line() {
    printf '%-32s %-20s %10s states\n' "$1" "$2" \
        "$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/report")"
}

wrong() {
    echo "$1: $2" >&2
    cat "$work/report" >&2
    failures=$((failures + 1))
}

verify() {
    if search "$1" model && [ "$(errors)" = 0 ]; then
        line "$1" holds
    else
        wrong "$1" "does not hold"
    fi
    [ -z "$deep" ] || return 0
    for mutant in $(sed -n 's/^ \* mutant: \([A-Z_]*\) .*/\1/p' "$here/$1.pml" | head -n "${ERGON_MODEL_MUTANTS:--0}"); do
        search "$1" "$mutant" || :
        if grep -q 'assertion violated\|invalid end state' "$work/report"; then
            line "$1/$mutant" "fails as it must"
        else
            wrong "$1/$mutant" "should fail and does not"
        fi
    done
}

[ $# -gt 0 ] || set -- wake manager inbox ring claim batch lease attempts crashes marks pipeline
for model; do
    verify "$model"
done
[ "$failures" = 0 ]
