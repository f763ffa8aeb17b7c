# Sourced by demo.sh and bench.sh: a server of the release build on ports that the system picks.
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

certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
        -keyout "$work/key.pem" -out "$work/cert.pem" 2>"$work/openssl.log" || {
        cat "$work/openssl.log" >&2
        return 1
    }
}

# The URL of the listener of a scheme, as the server printed it.
listener() { sed -n "s#^\($1://.*\)#\1#p" "$work/listeners"; }

server_start() {
    certificate
    build/ergond --listen ergon://127.0.0.1:0 --listen ergons://127.0.0.1:0 --listen "unix://$work/socket" \
        --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" "$@" >"$work/listeners" 2>"$work/log" &
    server=$!
    tries=0
    until [ "$(wc -l <"$work/listeners")" -ge 3 ]; do
        tries=$((tries + 1))
        if ! kill -0 "$server" 2>/dev/null || [ "$tries" -gt 200 ]; then
            echo "ergond did not start; its log:" >&2
            cat "$work/log" >&2
            return 1
        fi
        sleep 0.05
    done
    tcp=$(listener ergon) tls=$(listener ergons) unix=$(listener unix)
}

server_stop() {
    kill -TERM "$server"
    status=0
    wait "$server" || status=$?
    server=
    return "$status"
}
