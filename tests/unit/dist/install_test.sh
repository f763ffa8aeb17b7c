#!/bin/sh
# Where `cmake --install` puts what belongs around the server, for the prefix /usr and for another, staged by DESTDIR; and that
# the unit names the places of its own prefix.  Usage: install_test.sh BUILD CMAKE
set -eu
build=$1 cmake=$2
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}
install_to() { DESTDIR=$top "$cmake" --install "$build" --prefix "$1" >"$top/log" || { cat "$top/log"; exit 1; }; }
has() { [ -s "$top$1" ] || fail "$1 is not there"; }
says() { grep -qxF -- "$2" "$top$1" || fail "$1 does not say: $2"; }

# everywhere PREFIX CONFIGURATION
everywhere() {
    install_to "$1"
    has "$1/bin/ergond"
    has "$1/bin/ergon"
    has "$1/share/man/man1/ergon.1"
    has "$1/share/man/man8/ergond.8"
    has "$1/share/bash-completion/completions/ergon"
    has "$1/share/zsh/site-functions/_ergon"
    has "$1/share/fish/vendor_completions.d/ergon.fish"
    has "$1/lib/sysusers.d/ergon.conf"
    has "$2"
    unit=$1/lib/systemd/system/ergond.service
    says "$unit" "ExecStartPre=$1/bin/ergond --config $2 --check-config"
    says "$unit" "ExecStart=$1/bin/ergond --config $2 --sandbox"
    # What the unit says stands where it says so, and is accepted, but for the store's folder, which systemd makes.
    sed 's|^store:.*||' "$top$2" >"$top/check.yaml"
    "$top$1/bin/ergond" --config "$top/check.yaml" --check-config >/dev/null || fail "the configuration is refused"
    bash -n "$top$1/share/bash-completion/completions/ergon"
}

everywhere /usr /etc/ergon/ergond.yaml
[ ! -e "$top/usr/etc" ] || fail "/usr/etc is there"
echo '# mine' >>"$top/etc/ergon/ergond.yaml"
install_to /usr
says /etc/ergon/ergond.yaml '# mine'

rm -rf "$top/etc"
everywhere /opt/ergon /opt/ergon/etc/ergon/ergond.yaml
[ ! -e "$top/etc" ] || fail "a prefix that is not /usr put something into /etc"

# What systemd says of the unit, where it is installed; without a stage, since it looks for the programs, too.
if command -v systemd-analyze >/dev/null; then
    "$cmake" --install "$build" --prefix "$top/here" >"$top/log" || fail "without DESTDIR: $(cat "$top/log")"
    said=$(systemd-analyze verify --man=no "$top/here/lib/systemd/system/ergond.service" 2>&1 | grep ergond || :)
    [ -z "$said" ] || fail "systemd-analyze verify: $said"
else
    echo "systemd-analyze is not here: the unit's syntax was not looked at"
fi
echo "installed for two prefixes"
