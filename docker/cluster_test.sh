#!/bin/sh
# Builds the database's image and runs docker/compose.cluster.yaml: a load by one of three nodes, whose tasks are replicated. The image
# ergon is there already (image_test.sh build). By Docker where its engine answers, else by podman.
set -eu
cd "$(dirname "$0")/.."
file=docker/compose.cluster.yaml

say() { printf '== cluster: %s\n' "$*"; }

if docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1; then
    trap 'docker compose -f "$file" down -v >/dev/null 2>&1' EXIT
    docker compose -f "$file" up --build --abort-on-container-exit --exit-code-from load
else
    say "building the image of the database"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    podman build --format docker --network=host --isolation=chroot -q -t ergon-engine docker/engine >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        exit 1
    }
    python3 docker/compose_run.py "$file" load
fi
say "passed"
