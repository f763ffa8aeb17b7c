#!/bin/sh
# Makes the packages ergon-server, ergon-client, ergon-sim, ergon-store-postgresql, libergon0 and libergon-dev of the working tree, into build-deb/, and asks lintian.
#   deb.sh                    build
#   deb.sh build DIRECTORY    build into this directory instead; ERGON_DEB_VERSION=1.2 has another version
#   deb.sh test               build, then install in a bare Debian, use, upgrade, remove, purge (root only)
#   deb.sh compare            build twice in two places, and compare
# No network is needed, but by `test`, where apt fetches what the packages depend on.
set -eu
cd "$(dirname "$0")/.."

say() { printf '== deb: %s\n' "$*"; }
fail() {
    echo "deb: $*" >&2
    exit 1
}

# One version, stated twice: CMakeLists.txt is what the programs say, debian/changelog what packages are called.
same_version() {
    cmake=$(sed -n 's/^project(ergon VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
    changelog=$(dpkg-parsechangelog --show-field Version)
    [ "$cmake" = "$changelog" ] || fail "CMakeLists.txt says version $cmake, debian/changelog $changelog"
}

# What git knows of the tree, as it stands here, or the archive `tree`: debhelper leaves its traces in the copy.
copy_tree() {
    mkdir -p "$1"
    if [ -n "${tree:-}" ]; then
        tar -C "$1" -xf "$tree"
    else
        git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -c | tar -C "$1" -x
    fi
    [ -z "${ERGON_DEB_VERSION:-}" ] || {
        date=$(dpkg-parsechangelog --show-field Date)
        {
            printf 'ergon (%s) unstable; urgency=medium\n\n  * As %s.\n\n' "$ERGON_DEB_VERSION" "$changelog"
            printf ' -- %s  %s\n\n' "$(dpkg-parsechangelog --show-field Maintainer)" "$date"
            cat debian/changelog
        } >"$1/debian/changelog"
    }
}

# build DIRECTORY: the packages, and nothing else, lie there afterwards
build() {
    into=$1
    same_version
    rm -rf "$into"
    mkdir -p "$into"
    copy_tree "$into/source"
    log=$(realpath "$into")/build.log
    (cd "$into/source" && DEB_BUILD_OPTIONS=terse dpkg-buildpackage --build=binary --no-sign) >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        fail "the build failed; its last lines stand above, all of it in $into/build.log"
    }
    rm -rf "$into/source"
}

# Errors and warnings count.
ask_lintian() {
    lintian --allow-root --fail-on error,warning --suppress-tags bogus-mail-host "$1"/*.changes || fail "lintian is not content"
}

show() { for package in "$1"/*.deb; do printf '%8d KiB  %s\n' $(($(stat -c %s "$package") / 1024)) "${package#"$1"/}"; done; }

# compare DIRECTORY: built once more elsewhere, the packages are the same to the byte
compare() {
    again=$1-again/another/place
    build "$again"
    for package in "$1"/*.deb; do
        cmp "$package" "$again/${package##*/}" || fail "not reproducible: ${package##*/}"
    done
    rm -rf "$1-again"
    say "two builds in two places made the same bytes"
}

case ${1:-build} in
build)
    into=${2:-build-deb}
    say "packages in $into"
    build "$into"
    ask_lintian "$into"
    show "$into"
    ;;
test)
    [ "$(id -u)" = 0 ] || fail "test: chroot needs root: run it as root"
    "$0" build build-deb
    scripts/deb_test.sh build-deb
    ;;
compare)
    # Both builds are of one state, whoever works in the tree meanwhile.
    state=$(mktemp -d)
    trap 'rm -rf "$state"' EXIT
    copy_tree "$state/tree"
    tar -C "$state/tree" -cf "$state/tree.tar" .
    tree=$state/tree.tar
    export tree
    "$0" build build-deb
    compare build-deb
    ;;
*) fail "unknown word '$1'" ;;
esac
