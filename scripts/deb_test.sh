#!/bin/sh
# The packages of a directory in a minimal Debian, chrooted, in namespaces of its own so that nothing stays behind: installed by
# apt, used as debian/tests says, upgraded, removed, purged.  Needs root.  There is no systemd in a chroot: the server is started by
# the unit's command as the unit's user, and what systemd thinks of the unit is asked of the one here, if there is one.
#   deb_test.sh DIRECTORY
set -eu

if [ "${1:-}" != inside ]; then
    cd "$(dirname "$0")/.."
    packages=$1
    root=$(mktemp -d -p "${TMPDIR:-/var/tmp}" ergon-deb.XXXXXX)
    trap 'rm -rf --one-file-system "$root"' EXIT
    tar -C "$root" -xf "$(scripts/debian_root.sh)"
    chmod 755 "$root" # it is the root of other users too
    mkdir "$root/packages" "$root/later"
    for package in "$packages"/*.deb; do
        case $package in
        *-dbgsym_*) continue ;;
        esac
        cp "$package" "$root/packages/"
        # The same under a higher version, for the upgrade.
        dpkg-deb -R "$package" "$root/later/tree"
        sed -i 's/^Version: \(.*\)$/Version: \1+later/; s/^\(Depends:.*\(libergon0\|ergon-server\) (= [^)]*\))/\1+later)/' "$root/later/tree/DEBIAN/control"
        dpkg-deb --root-owner-group -b "$root/later/tree" "$root/later" >"$root/later.log"
        rm -rf "$root/later/tree"
    done
    cp -r debian/tests "$root/tests"
    cp "$0" "$root/inside"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    # How this machine reaches its mirror, if it goes by a proxy.
    apt-config dump 2>/dev/null | grep -i '^Acquire::.*proxy' >"$root/etc/apt/apt.conf.d/99proxy" || :
    # The mounts are made inside the namespace and end with it.
    # shellcheck disable=SC2016 # expanded there
    unshare --mount --pid --fork --kill-child sh -eu -c '
        mount --rbind /dev "$1/dev"
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" chroot "$1" sh /inside inside
    ' sh "$root" </dev/null
    echo "== deb: installed, used, upgraded, removed and purged in a bare Debian"
    exit 0
fi

# ---- inside ----

mount -t proc proc /proc
. /tests/server.sh
say() { printf '== deb, in a bare Debian: %s\n' "$*"; }

# Nothing may be asked: there is nobody.
get() {
    DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" </dev/null >/apt.log 2>&1 || {
        tail -n 40 /apt.log >&2
        fail "apt-get $*"
    }
}

configuration=/etc/ergon/ergond.yaml

say "install"
get update
get install /packages/*.deb gcc libc6-dev libmsgpack-dev pkg-config
[ "$(getent passwd ergon | cut -d : -f 6,7)" = /var/lib/ergon:/usr/sbin/nologin ] || fail "the user: $(getent passwd ergon)"
[ "$(stat -c %a:%U /var/lib/ergon)" = 700:ergon ] || fail "/var/lib/ergon is $(stat -c %a:%U /var/lib/ergon)"
[ -e /etc/systemd/system/multi-user.target.wants/ergond.service ] || fail "the unit is not enabled"
for file in /usr/share/man/man1/ergon.1.gz /usr/share/man/man8/ergond.8.gz /usr/share/bash-completion/completions/ergon \
    /usr/share/zsh/vendor-completions/_ergon /usr/share/fish/vendor_completions.d/ergon.fish; do
    # A minimal Debian leaves manuals out.
    [ -s "$file" ] || grep -qs 'path-exclude=/usr/share/man' /etc/dpkg/dpkg.cfg.d/* || fail "$file is not there"
done

say "debian/tests"
/tests/serve
/tests/develop

say "upgrade"
echo 'drain: 9s' >>$configuration
start_as_unit
task=$(ergon task submit --delay 1h --durable fsync echo kept)
stop
get install /later/*.deb
case $(dpkg-query -W -f '${Version}' ergon-server) in *+later) ;; *) fail "not upgraded" ;; esac
grep -q 'drain: 9s' $configuration || fail "the upgrade lost what was changed in $configuration"
start_as_unit
ergon task get "$task" >/dev/null || fail "the upgrade lost a task"
stop

say "remove"
get remove ergon-server
[ ! -e /usr/bin/ergond ] || fail "ergond is still there"
grep -q 'drain: 9s' $configuration || fail "the removal lost the configuration"
[ -s /var/lib/ergon/tasks.db ] || fail "the removal lost the store"

say "purge"
get purge ergon-server ergon-store-postgresql ergon-client ergon-sim libergon0 libergon-dev
left=$(find /etc /lib /run /usr /var -xdev -iname '*ergon*' -not -path '/run/ergon*')
[ -z "$left" ] || fail "what the purge left: $left"
! getent passwd ergon || fail "the purge left the user"
