#!/bin/sh
# Makes the pictures of docs/pictures/ anew, all or those that are named:
#   draw   the drawings, from their descriptions (*.txt); needs Python alone
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- draw
for word; do
    case $word in
    draw) "./$word.py" ;;
    *)
        echo "pictures: unknown word '$word'" >&2
        exit 2
        ;;
    esac
done
