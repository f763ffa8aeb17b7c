#!/bin/sh
# Misuse of sequences that the compiler must refuse, each with the words that it must say.
#   seq_misuse_test.sh COMPILER SOURCE_ROOT
set -u
compiler=$1
root=$2
failed=0

compile() { # case
    "$compiler" -std=c17 -Wall -Wextra -Werror -I"$root/include" -DCASE="$1" -fsyntax-only \
        "$root/tests/unit/runtime/seq_misuse.c" 2>&1
}

refused() { # case, what it is, extended regular expression
    if text=$(compile "$1"); then
        echo "not refused: $2"
        failed=1
    elif ! printf '%s' "$text" | grep -qE "$3"; then
        printf 'refused with other words than "%s": %s\n%s\n' "$3" "$2" "$text"
        failed=1
    else
        echo "refused, as it must be: $2"
    fi
}

if ! text=$(compile 0); then
    printf 'right use does not compile:\n%s\n' "$text"
    failed=1
fi
refused 1 "a macro in a switch over an int" 'overflow in conversion|overflow converting case value'
refused 2 "a macro in a switch over an enum" \
    'overflow in conversion|overflow converting case value|not in enumerated type|exceeds maximum'
refused 3 "two macros on one line" 'duplicate case value'
refused 4 "no AO_END" 'expected|control reaches end'
refused 5 "no AO_BEGIN" 'not within a switch|not in switch'
refused 6 "a sequence of another type" 'not a structure or union|request for member'
refused 9 "an await in a switch over an int" \
    'overflow in conversion|overflow converting case value'
refused 7 "a loop variable of the for itself" \
    "jumps over variable initialization|is uninitialized|is used uninitialized"
refused 8 "a local variable across an await" \
    "jumps over variable initialization|is used uninitialized"
exit $failed
