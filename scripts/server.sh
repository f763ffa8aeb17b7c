# Sourced by demo.sh and bench.sh: the server in build/ on ports that the system picks.
#
#   server_start [FLAG…]   starts build/ergond with TLS by a throw-away certificate; sets the variables below
#   server_stop            sends TERM and waits; its status is the server's
#
#   $work          directory of its own, removed at exit      $work/log      the server's log
#   $tcp $tls $unix    URLs of its listeners                  $work/cert.pem certificate to check $tls by

work=$(mktemp -d)
server=
trap server_cleanup EXIT
trap 'exit 130' INT TERM

server_cleanup() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || :
    rm -rf "$work"
}

# The URL of the listener of a scheme, as the server printed it before it answered.
listener() { sed -n "s#^\($1://.*\)#\1#p" "$work/listeners"; }

server_start() {
    scripts/certificate.sh localhost "$work/cert.pem" "$work/key.pem" 1
    unix=unix://$work/socket
    build/ergond --listen ergon://127.0.0.1:0 --listen ergons://127.0.0.1:0 --listen "$unix" \
        --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" "$@" >"$work/listeners" 2>"$work/log" &
    server=$!
    build/ergon -s "$unix" ping -q --wait 10s || {
        echo "ergond did not start; its log:" >&2
        cat "$work/log" >&2
        return 1
    }
    tcp=$(listener ergon) tls=$(listener ergons)
}

server_stop() {
    kill -TERM "$server"
    status=0
    wait "$server" || status=$?
    server=
    return "$status"
}
