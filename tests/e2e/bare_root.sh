#!/bin/sh
# Demo and tests once more where nothing is installed: a clean clone of HEAD in a minimal Debian, chrooted, in a mount
# and a process namespace of its own, so that nothing stays behind. Needs root. npm clients are left out there.
#   bare_root.sh [WORD…]   the words of ./run to try there, or newcomer; newcomer, demo and test when none is given
# A newcomer has nothing but `./run build`, types the README's lines, one after the other, and looks at the page of the server that runs
# there with this machine's browser, if it has one.
set -eu
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || {
    echo "bare_root: chroot needs root: run it as root" >&2
    exit 1
}
[ $# -gt 0 ] || set -- newcomer demo test

tarball=$(scripts/debian_root.sh)
root=$(mktemp -d -p "${TMPDIR:-/var/tmp}" ergon-bare.XXXXXX)
trap 'rm -rf --one-file-system "$root"' EXIT

tar -C "$root" -xf "$tarball"
chmod 755 "$root" # it is the root of other users too, and mktemp made it for one
git clone --quiet --depth 1 "file://$PWD" "$root/ergon"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
# How this machine reaches its mirror, if it goes by a proxy.
apt-config dump 2>/dev/null | grep -i '^Acquire::.*proxy' >"$root/etc/apt/apt.conf.d/99proxy" || :

cat >"$root/inside" <<'END'
set -eu
mount -t proc proc /proc
cd /ergon
for word; do
    printf '\n== bare root: ./run %s (npm clients and the browser left out)\n' "$word"
    ./run "$word"
done
END

# The mounts are made inside the namespace and end with it.
inside() {
    # shellcheck disable=SC2016 # expanded there
    unshare --mount --pid --fork --kill-child sh -eu -c '
    root=$1
    shift
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        ERGON_WITHOUT_NPM=1 ERGON_WITHOUT_BROWSER=1 CI="${CI:-}" ERGON_LTO="${ERGON_LTO:-}" http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
        chroot "$root" sh /inside "$@"
' sh "$root" "$@" </dev/null
}

newcomer() {
    inside build
    printf '\n== bare root: the README by a newcomer\n'
    ERGON_ROOT="$root" /usr/bin/python3 -W ignore tests/e2e/newcomer_test.py
}

for word; do
    case $word in
    newcomer) newcomer ;;
    *) inside "$word" ;;
    esac
done
echo "bare root: ./run $* went well on a clean clone"
