# Sourced by what installs packages of Debian.
#
#   missing PACKAGE…        prints those that are not installed
#   apt_install PACKAGE…    installs them by apt-get, which is heard only when it fails
#   $as_root                sudo, or nothing for root

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing() {
    for package; do
        installed "$package" || printf '%s ' "$package"
    done
}

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo

apt_install() {
    [ -z "$as_root" ] || command -v sudo >/dev/null || {
        echo "these packages are missing, and installing them needs root or sudo: $*" >&2
        return 1
    }
    echo "== apt-get install $*" >&2
    # A source that cannot be reached need not be one that counts here: the installation tells.
    said=$({ $as_root apt-get update || :; } </dev/null 2>&1 &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" </dev/null 2>&1) || {
        printf '%s\n' "$said" | tail -n 40 >&2
        echo "apt-get failed; its last lines stand above" >&2
        return 1
    }
}
