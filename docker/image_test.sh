#!/bin/sh
# Builds the image and tries it for real: started without privileges on a read-only root it gets healthy, runs tasks for
# clients outside, backs its store up, and drains when it is told to stop. The client is the image's own, run outside.
# It uses Docker where its engine answers, else podman. Where no registry can be reached, debootstrap makes the base image.
#   image_test.sh           build and test
#   image_test.sh build     build only
set -eu
cd "$(dirname "$0")/.."

image=ergon
base=docker.io/library/debian:bookworm-slim
name=ergon-test-$$
slim="debootstrap, without documents and locales"
revision=org.opencontainers.image.revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
largest=40000000 # bytes, compressed
work=$(mktemp -d)
trap 'cleanup' EXIT
trap 'exit 130' INT TERM

say() { printf '== image: %s\n' "$*"; }
fail() {
    echo "image_test: $*" >&2
    echo "the container's log:" >&2
    engine logs "$name" >&2 || :
    exit 1
}

engine() { docker/engine.sh "$@"; }

if docker info >/dev/null 2>&1; then
    build() { docker build -q --label "$revision" -t "$image" .; }
    need_base() { :; }
    health() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$name")" = healthy ]; }
else
    build() { podman build --format docker --network=host --isolation=chroot -q --label "$revision" -t "$image" .; }
    # Where it was made here before, was it as slim as that of the registry?
    have_base() {
        podman image exists "$base" || return 1
        case $(podman image inspect -f '{{.Comment}}' "$base") in
        "$slim" | '') ;;
        *) return 1 ;;
        esac
    }
    need_base() {
        have_base || timeout 30 podman pull -q "$base" >/dev/null 2>&1 || {
            say "no registry answers: the base image comes from debootstrap"
            tarball=$(scripts/debian_root.sh)
            mkdir "$work/base"
            tar -C "$work/base" -x --exclude='./usr/share/doc/*' --exclude='./usr/share/info/*' --exclude='./usr/share/locale/*' \
                --exclude='./usr/share/man/*' --exclude='./var/cache/*/*' --exclude='./var/lib/apt/lists/*' --exclude='./var/log/*' \
                --exclude='./dev/*' <"$tarball"
            printf 'path-exclude /usr/share/%s/*\n' doc info locale man >"$work/base/etc/dpkg/dpkg.cfg.d/slim"
            tar -C "$work/base" -c . | podman import -q --message "$slim" - "$base" >/dev/null
            rm -rf "$work/base"
        }
    }
    health() { engine healthcheck run "$name" >/dev/null 2>&1; }
fi

cleanup_container() { engine rm -f -v "$name" >/dev/null 2>&1 || :; }
cleanup() {
    cleanup_container
    rm -rf "$work"
}

# Where the host reaches a port of the container.
published() { engine port "$name" "$1/tcp" | head -n 1 | sed 's/^0\.0\.0\.0/127.0.0.1/'; }

# start [OPTION of run]...
start() {
    engine run -d --name "$name" -e ERGON_MODULE=demo "$@" --read-only --cap-drop=all --security-opt=no-new-privileges --user 10001:10001 \
        -p 127.0.0.1::7466 -p 127.0.0.1::7467 "$image" >"$work/start" 2>&1 || {
        cat "$work/start" >&2
        return 1
    }
}

# The image's own health check, run until it passes.
healthy() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        health && return 0
        sleep 1
    done
    return 1
}

plain() { "$work/ergon" -s "ergon://$(published 7466)" --token-file "$work/token" "$@"; }
secure() { "$work/ergon" -s "ergons://$(published 7467)" --cacert "$work/cert.pem" --token-file "$work/token" "$@"; }

# One real task: a file hashed over the connection that the function $1 makes.
hashes() {
    sum=$("$1" call hash sha256 @run hex) || fail "$1: the call failed"
    [ "$sum" = "$(sha256sum run | cut -d ' ' -f 1)" ] || fail "$1: sha256sum says something else than $sum"
    say "$1 connection from outside: a file hashed"
}

refuses_strangers() {
    status=0
    "$work/ergon" -s "ergons://$(published 7467)" --cacert "$work/cert.pem" call echo 1 >/dev/null 2>&1 || status=$?
    [ "$status" = 4 ] || fail "a call without a token ended with status $status, not 4"
    say "a call without a token is refused"
}

# The port without TLS is for the inside, until somebody asks for more.
plain_is_inside() {
    ! plain call echo 1 >/dev/null 2>&1 || fail "the plain port answers from outside"
    engine exec "$name" ergon -s ergon://127.0.0.1:7466 --token-file /data/token call echo 1 >/dev/null ||
        fail "the plain port does not answer inside"
    say "the plain port answers inside alone"
}

plain_when_asked() {
    cleanup_container
    start -e PLAIN=yes || fail "does not start with PLAIN=yes"
    healthy || fail "does not get healthy with PLAIN=yes"
    engine cp "$name:/data/token" "$work/"
    hashes plain
}

# TERM while a task runs: its answer still comes, and process 1 ends with status 0.
drains() {
    secure call sleep 2s >"$work/answer" 2>&1 &
    caller=$!
    sleep 0.5
    engine kill --signal TERM "$name" >/dev/null
    wait "$caller" || fail "the task that ran at TERM got no answer: $(cat "$work/answer")"
    status=$(engine wait "$name")
    [ "$status" = 0 ] || fail "ended with status $status after TERM"
    say "TERM: the running task was answered, and process 1 ended with status 0"
}

# A task left with the container is there when it has been started again.
keeps() {
    task=$(secure task submit --delay 1h echo 1) || fail "a task could not be left"
    engine restart "$name" >/dev/null || fail "does not start again"
    healthy || fail "does not get healthy after a restart"
    state=$(secure task get "$task" --json | sed -n 's/.*"state": *"\([a-z]*\)".*/\1/p')
    [ "$state" = delayed ] || fail "the task is \"$state\" after a restart, not delayed"
    secure cron put nightly @daily --zone Europe/Berlin echo 1 >/dev/null || fail "the image knows no time zones"
    say "a task outlived a restart"
}

# As it goes over the network and lies in a registry.
is_small() {
    size=$(engine save "$image" 2>/dev/null | gzip -6 | wc -c)
    [ "$size" -le $largest ] || fail "the image has $size bytes, compressed; at most $largest"
    say "$size bytes, compressed"
}

# What it says of itself: labels, and each package that dpkg knows in it.
is_described() {
    for label in title description version revision base.name; do
        said=$(engine inspect -f "{{index .Config.Labels \"org.opencontainers.image.$label\"}}" "$image")
        [ -n "$said" ] || fail "the label $label is not there"
    done
    engine cp "$name:/usr/share/sbom/ergon.spdx.json" "$work/"
    engine exec "$name" dpkg-query -W -f '${Package} ${Version}\n' >"$work/packages"
    python3 docker/sbom_check.py "$work/ergon.spdx.json" "$work/packages" || fail "the bill of materials is not right"
}

# The store, copied while the server uses it, by the image alone; and looked at.
backs_up() {
    task=$(secure task submit --delay 1h echo 1) || fail "a task could not be left"
    engine exec "$name" ergon store backup /data/tasks.db /data/copy.db >"$work/backup" || fail "no backup"
    engine exec "$name" ergon store check /data/copy.db >"$work/check" || fail "the backup is not sound: $(cat "$work/check")"
    engine exec "$name" sh -c 'ergon store export /data/copy.db' >"$work/export" || fail "the backup cannot be read"
    [ "$(grep -c '^{"task"' "$work/export")" -ge 1 ] || fail "the task $task is not in the backup"
    say "backed up while it served: $(cat "$work/backup")"
}

need_base
say "building"
build >"$work/build" 2>&1 || {
    tail -n 60 "$work/build" >&2
    exit 1
}
[ "${1:-}" != build ] || exit 0
is_small

start || fail "does not start"
healthy || fail "does not get healthy"
say "healthy as user 10001, read-only root, no capabilities"
for file in /data/token /data/cert.pem /usr/bin/ergon; do
    engine cp "$name:$file" "$work/"
done
hashes secure
plain_is_inside
refuses_strangers
is_described
backs_up
keeps
drains
plain_when_asked
say "passed"
