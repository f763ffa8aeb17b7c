#!/bin/sh
# What testssl.sh says of a server's TLS listener: fails at anything above LOW.
#   tls.sh [FOLDER]    keeps testssl.sh's report there (default: build/testssl)
# The certificate is signed by an authority made here, which testssl.sh is given: so chain and names are judged, too.
set -eu
cd "$(dirname "$0")/.."
build=${ERGON_BUILD:-build}
report=${1:-$build/testssl}
python=$(sed -n 's/^ERGON_PYTHON:[^=]*=//p' "$build/CMakeCache.txt")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
rm -rf "$report"
mkdir -p "$report"

# An authority, and a certificate by it, as a deployment has them: 90 days.
certificates() {
    cat >"$work/leaf" <<'END'
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
crlDistributionPoints = URI:http://localhost/authority.crl
subjectAltName = DNS:localhost,IP:127.0.0.1
END
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj "/O=Ergon tests/CN=authority" \
        -addext "keyUsage=critical,keyCertSign,cRLSign" -out "$work/ca.pem" -keyout "$work/ca.key"
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" -out "$work/leaf.csr" -keyout "$work/leaf.key"
    openssl x509 -req -in "$work/leaf.csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 90 \
        -extfile "$work/leaf" -out "$work/leaf.pem"
}
certificates >"$work/said" 2>&1 || {
    cat "$work/said" >&2
    exit 1
}

# Its many refused handshakes come from one address, which would be kept out for a while.
"$build/server/ergond" --listen ergons://127.0.0.1:0 --tls-cert "$work/leaf.pem" --tls-key "$work/leaf.key" --limits-penalty 0 \
    >"$work/listeners" 2>"$report/server.log" &
server=$!
tries=0
until url=$(sed -n 's#^ergons://##p' "$work/listeners") && [ -n "$url" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] && kill -0 "$server" 2>/dev/null || {
        cat "$report/server.log" >&2
        exit 1
    }
    sleep 0.1
done

# Without a terminal and without the network: what is judged is here.
timeout 1800 testssl --quiet --color 0 --warnings off --ip 127.0.0.1 --nodns none --add-ca "$work/ca.pem" --openssl-timeout 20 \
    --jsonfile "$report/report.json" "localhost:${url##*:}" >"$report/report.txt" 2>&1 </dev/null || :
kill -0 "$server" || {
    echo "the server ended while it was tested; its log:" >&2
    cat "$report/server.log" >&2
    exit 1
}
"$python" - "$report/report.json" <<'END'
import collections, json, sys

try:
    with open(sys.argv[1], encoding="utf-8") as report:
        findings = json.load(report)
except (OSError, ValueError) as error:
    sys.exit(f"testssl.sh left no report: {error}")
fine = ("OK", "INFO", "LOW", "DEBUG")
# What it says of the openssl that it runs, and not of the server.
own = ("engine_problem",)
findings = [f for f in findings if f["id"] not in own]
count = collections.Counter(f["severity"] for f in findings)
print("testssl.sh: " + ", ".join(f"{n} {severity}" for severity, n in sorted(count.items())))
for f in findings:
    if f["severity"] not in ("OK", "INFO", "DEBUG"):
        print(f"  {f['severity']:8} {f['id']}: {f['finding']}")
if len(findings) < 100:
    sys.exit(f"only {len(findings)} things were looked at: the report is not whole")
sys.exit(any(f["severity"] not in fine for f in findings))
END
