#!/bin/sh
# Every C file stands as clang-format 14 writes it; './run format' does it.
set -eu
cd "$(dirname "$0")/../.."
format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "clang-format is not installed: './run setup' installs it"
    exit 77
}
find base include proto server client examples sim tests -name node_modules -prune -o -name '*.[ch]' -print |
    xargs "$format" --dry-run -Werror
