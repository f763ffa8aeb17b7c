#!/bin/sh
# The long proofs, each by its name; the short ones of the same code are part of the tests.
set -eu
cd "$(dirname "$0")/.."

# Damages to the files of a store: ERGON_DAMAGES says how many.
damages() {
    cmake --build build --target test_damages_damages >/dev/null
    ERGON_DAMAGES=${ERGON_DAMAGES:-10000} build/tests/damages/test_damages_damages 2>build/damages.log ||
        { tail -20 build/damages.log; return 1; }
}

all="damages"
for name in ${*:-$all}; do
    case " $all " in
    *" $name "*) printf '\n== %s\n' "$name" && "$name" ;;
    *) echo "prove: no proof is called '$name'; there are: $all" >&2 && exit 2 ;;
    esac
done
