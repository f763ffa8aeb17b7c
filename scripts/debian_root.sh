#!/bin/sh
# Prints the path of a tarball of a minimal Debian 12, made by debootstrap when the cache holds none (needs root).
# It comes from the mirror that apt uses here, if apt names one.
set -eu

cache=${XDG_CACHE_HOME:-/var/cache}/ergon
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=${TMPDIR:-/tmp}
tarball=$cache/bookworm-minbase.tar

if [ ! -s "$tarball" ]; then
    # shellcheck disable=SC2016 # apt's own variable
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' \
        'Component: main' 2>/dev/null | head -n 1)
    root=$(mktemp -d)
    trap 'rm -rf "$root" "$tarball.$$"' EXIT
    debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || {
        tail -n 20 "$root.log" >&2
        echo "debian_root: debootstrap failed; its last lines stand above" >&2
        exit 1
    }
    rm -f "$root.log" "$root"/var/cache/apt/archives/*.deb
    tar -C "$root" -c . >"$tarball.$$"
    mv "$tarball.$$" "$tarball"
fi
echo "$tarball"
