# Sourced by tests of the installed packages, and by scripts/deb_test.sh.

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :' EXIT

# await_server: until the server that was started answers
await_server() { ergon ping --wait 60s >/dev/null || fail "the server does not answer: $(cat "${log:-/dev/null}")"; }

# The unit's own command by the unit's own user; the folders that systemd would make are made here.
start_as_unit() {
    unit=/lib/systemd/system/ergond.service
    user=$(sed -n 's/^User=//p' $unit)
    command=$(sed -n 's/^ExecStart=//p' $unit)
    log=$(mktemp)
    install -d -o "$user" -g "$user" "/run/$(sed -n 's/^RuntimeDirectory=//p' $unit)"
    # shellcheck disable=SC2046,SC2086 # the unit's words
    setpriv --reuid "$user" --regid "$user" --init-groups $(sed -n 's/^ExecStartPre=//p' $unit) ||
        fail "the configuration is refused"
    # shellcheck disable=SC2086
    setpriv --reuid "$user" --regid "$user" --init-groups $command 2>"$log" &
    server=$!
    await_server
}

stop() {
    kill "$server"
    wait "$server" || fail "ended with status $?: $(cat "$log")"
    server=
}
