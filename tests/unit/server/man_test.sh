#!/bin/sh
# Each option that a program's help shows stands in its man page.  Usage: man_test.sh PAGE PROGRAM [COMMAND...]
set -eu
page=$1 program=$2
shift 2
text=$(sed "s/\\\\f[BIR]//g; s/\\\\//g" "$page")
failed=0

# look HELP
look()
{
    for option in $(printf '%s\n' "$1" | grep -o '^ .*' | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -e '--[a-z-]+'); do
        case $text in
        *"$option"[!a-z-]*) ;;
        *)
            echo "$page lacks $option"
            failed=1
            ;;
        esac
    done
}

look "$("$program" --help)"
for command in "$@"; do
    look "$("$program" "$command" --help)"
    case $text in
    *"$command"*) ;;
    *)
        echo "$page lacks $command"
        failed=1
        ;;
    esac
done
exit $failed
