#!/bin/sh
# Makes the pictures of docs/pictures/ anew, all or those that are named:
#   draw   the drawings, from their descriptions (*.txt there); needs Python alone
#   top    a terminal with `ergon top`, of the server in build/ at work
#   page   the page of that server, in a browser
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- draw top page
for word; do
    case $word in
    draw | top | page) "./$word.py" ;;
    *)
        echo "pictures: unknown word '$word'" >&2
        exit 2
        ;;
    esac
done
