#!/bin/sh
# Installs from Debian what building and testing need, and of that only what is missing.
#   setup.sh            to build and test
#   setup.sh build      only to build the programs
#   setup.sh bench      and to load a server that has TLS
#   setup.sh demo       and for the demo
#   setup.sh cluster-demo   and for that of a cluster
#   setup.sh image      to build and test the container image as well
#   setup.sh tls        to build, test, and ask testssl.sh about TLS
#   setup.sh deb        to make packages and test them
#   setup.sh pictures   and to make the pictures of the documents
#   setup.sh bare       for the run in a bare root
# ERGON_WITHOUT_NPM=1 leaves node and npm out; the tests with npm clients then say that they are skipped.
# ERGON_WITHOUT_BROWSER=1 leaves Chromium out; the test of the page then says that it is skipped.
set -eu

build="build-essential ca-certificates cmake git ninja-build pkg-config libcmocka-dev libyaml-dev
    libevent-dev libjansson-dev libseccomp-dev libmsgpack-dev libsmartcols-dev libssl-dev libsqlite3-dev libglib2.0-dev
    libpq-dev libsystemd-dev systemtap-sdt-dev tzdata zlib1g-dev"
tests="bpftrace clang clang-format curl gdb libclang-rt-14-dev golang-go imagemagick mold mypy neovim openssl procps prometheus python3-minimal python3-msgpack
    python3-pip python3-yaml python3-setuptools python3-wheel spin sqlite3 strace fish zsh"
# What the store of a cluster runs on; the tests start their own.
servers="postgresql patroni etcd-server python3-psycopg2 golang-github-lib-pq-dev"
# What the programs of docs/coming-from.md are written for, beside Ergon.
peers="iproute2 python3-celery python3-redis python3-rq redis-server"
packages="debhelper lintian"
browser="chromium chromium-driver python3-selenium"
image="buildah debootstrap podman runc"

. "$(dirname "$0")/apt.sh"
tests="$tests $servers $peers"
[ -n "${ERGON_WITHOUT_BROWSER:-}" ] || tests="$tests $browser"

# shellcheck disable=SC2086 # the lists are words
case ${1:-} in
build) wanted=$(missing $build) ;;
bench) wanted=$(missing $build openssl) ;;
demo) wanted=$(missing $build neovim openssl) ;;
cluster-demo) wanted=$(missing $build postgresql python3-minimal python3-msgpack python3-psycopg2) ;;
image)
    wanted=$(missing $build $tests)
    docker info >/dev/null 2>&1 || wanted="$wanted$(missing $image)"
    ;;
tls) wanted=$(missing $build $tests testssl.sh) ;;
deb) wanted=$(missing $build $packages debootstrap) ;;
pictures) wanted=$(missing $build python3-msgpack $browser pngquant) ;;
bare) wanted=$(missing $build $tests debootstrap) ;;
*) wanted=$(missing $build $tests) ;;
esac
# A node that did not come from Debian brings an npm with which Debian's would conflict.
[ "${1:-}" = build ] || [ "${1:-}" = bench ] || [ "${1:-}" = cluster-demo ] || [ "${1:-}" = pictures ] || [ -n "${ERGON_WITHOUT_NPM:-}" ] || command -v npm >/dev/null || wanted="${wanted}npm "
# Debian starts the servers that it installs, and makes a cluster of PostgreSQL. These two files keep it from both, and
# go after the installation: whoever wants a cluster of Debian's makes it (pg_createcluster 15 main).
no_cluster=/etc/postgresql-common/createcluster.d/ergon-setup.conf
no_start=/usr/sbin/policy-rc.d
made=

# write_file PATH LINE…: where there is no such file yet
write_file() {
    path=$1
    shift
    [ ! -e "$path" ] && [ ! -L "$path" ] || return 0
    $as_root mkdir -p "${path%/*}"
    printf '%s\n' "$@" | $as_root tee "$path" >/dev/null
    $as_root chmod 755 "$path"
    made="$made$path "
}

# shellcheck disable=SC2086
quiet_install() {
    trap '[ -z "$made" ] || $as_root rm -f $made' EXIT
    trap 'exit 130' INT TERM
    write_file "$no_cluster" '# Left by scripts/setup.sh, which was cut off: remove it.' 'create_main_cluster = false'
    write_file "$no_start" '#!/bin/sh' '# Left by scripts/setup.sh, which was cut off: remove it.' 'exit 101'
    apt_install "$@"
    for service in etcd redis-server; do # nor at the next boot
        case " $* " in
        *" $service "* | *" $service-server "*) $as_root update-rc.d "$service" disable >/dev/null 2>&1 || : ;;
        esac
    done
}

# shellcheck disable=SC2086
case " $wanted" in
' ') ;;
*" postgresql "* | *" patroni "* | *" etcd-server "* | *" redis-server "*) quiet_install $wanted ;;
*) apt_install $wanted ;;
esac
