#!/bin/sh
# The main job on real files: ergond hashes and compresses files of this tree for the command line (over TCP, TLS and a
# Unix socket), for Neovim and for Node, and has commands do it as workers; sha256sum and gunzip say whether it did.
set -eu
cd "$(dirname "$0")/.."
. scripts/server.sh

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$(printf '\033[1m') green=$(printf '\033[32m') red=$(printf '\033[31m') plain=$(printf '\033[0m')
else
    bold='' green='' red='' plain=''
fi

files="run proto/PROTOCOL.md proto/scanner.c include/ergon/ao.h build/ergon build/ergond"
module=$(find build/examples -name 'permits.so' 2>/dev/null | head -n 1)
failures=0

title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# good TEXT: a line of what went well.  bad TEXT: a line of what did not; the demo then ends with status 1.
good() { printf '  %sok%s    %s\n' "$green" "$plain" "$*"; }
bad() {
    printf '  %sWRONG%s %s\n' "$red" "$plain" "$*"
    failures=$((failures + 1))
}

ergon() { build/ergon --cacert "$work/cert.pem" -s "$@"; }

# Hashes and compresses one file over one transport.
one_file() {
    sum=$(ergon "$2" call hash sha256 "@$3" hex)
    ergon "$2" call compress "@$3" >"$work/packed.gz"
    if [ "$sum" != "$(sha256sum "$3" | cut -d ' ' -f 1)" ]; then
        bad "$1: $3: sha256sum says something else than $sum"
    elif ! gunzip -c "$work/packed.gz" | cmp -s - "$3"; then
        bad "$1: $3: gunzip does not give the file back"
    else
        good "$(printf '%-5s %-22s %8d -> %8d bytes  sha256 %.16s…' "$1" "$3" \
            "$(wc -c <"$3")" "$(wc -c <"$work/packed.gz")" "$sum")"
    fi
}

by_command_line() {
    title "Files by command line, over each transport (checked by sha256sum and gunzip)"
    for file in $files; do
        one_file tcp "$tcp" "$file"
        one_file tls "$tls" "$file"
        one_file unix "$unix" "$file"
    done
}

# foreign NAME COMMAND…: a client of another make; what it prints is shown.
foreign() {
    name=$1
    shift
    if "$@" >"$work/foreign" 2>&1 </dev/null; then
        good "$name: $(tail -n 1 "$work/foreign")"
    else
        bad "$name:"
        sed 's/^/        /' "$work/foreign"
    fi
}

by_neovim() {
    foreign Neovim env ERGON_ADDRESS="${tcp#ergon://}" ERGON_FILE=proto/scanner.c \
        nvim --headless -u NONE -i NONE -n -c 'luafile scripts/demo.lua' -c 'quitall!'
}

by_node() {
    if [ -n "${ERGON_WITHOUT_NPM:-}" ] || ! command -v npm >/dev/null; then
        printf '  --    Node: left out, as npm is not installed\n'
        return
    fi
    [ -d build/node/node_modules/msgpack5rpc ] ||
        npm install --prefix build/node --no-audit --no-fund --loglevel=error msgpack5rpc@1.1.0 >"$work/npm" 2>&1 || {
        bad "Node: npm install:"
        cat "$work/npm"
        return
    }
    foreign Node env NODE_PATH=build/node/node_modules ERGON_ADDRESS="${tls#ergons://}" ERGON_CA="$work/cert.pem" \
        ERGON_FILE=build/ergond node scripts/demo.js
}

by_foreign_clients() {
    title "The same by unmodified MessagePack-RPC clients"
    by_neovim
    by_node
}

semaphore() {
    title "Ten remote calls, two seconds of work each, three permits: 8 seconds, never more than three at once"
    [ -n "$module" ] || {
        bad "the example module was not built"
        return
    }
    began=$(date +%s)
    for i in 1 2 3 4 5 6 7 8 9 10; do
        ergon "$tcp" --timeout 30s call permits.work "$i" >"$work/permit.$i" 2>"$work/refused.$i" &
        callers="${callers:-} $!"
    done
    all=0
    for caller in $callers; do
        wait "$caller" || all=1
    done
    took=$(($(date +%s) - began))
    most=$(sort -n "$work"/permit.* | tail -n 1)
    if [ "$all" = 0 ] && [ "$took" -ge 8 ] && [ "$most" -le 3 ]; then
        good "ten results after $took s, at most $most at work at once"
    else
        bad "after $took s:"
        cat "$work"/permit.* "$work"/refused.*
    fi
}

workers_are() { [ "$(ergon "$tcp" worker list --method digest --json | grep -o '"worker":' | wc -l)" = "$1" ]; }

# A shell command as a service: of its two workers one is killed while both have work, and what it had runs again.
service() {
    title "sha256sum as a service by two workers, one of which is killed midway"
    for worker in 1 2; do
        build/ergon -s "$tcp" worker --method digest --slots 2 --input raw -- sh -c 'sleep 0.2; sha256sum' 2>"$work/worker.$worker" &
        eval "worker_$worker=$!"
    done
    tries=100
    until workers_are 2 || [ "$tries" = 0 ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
    for file in proto/*.c; do
        ergon "$tcp" task submit digest "@$file" >"$work/digest.${file##*/}" || :
    done
    kill -KILL "$worker_1"
    right=0 wrong=0
    for file in proto/*.c; do
        said=$(ergon "$tcp" --timeout 30s task wait --result "$(cat "$work/digest.${file##*/}")" 2>&1) || :
        if [ "$said" = "$(sha256sum <"$file")" ]; then right=$((right + 1)); else wrong=$((wrong + 1)); fi
    done
    kill -TERM "$worker_2" && wait "$worker_2" || wrong=$((wrong + 1))
    if [ "$wrong" = 0 ] && [ "$right" -gt 0 ]; then
        good "$right files, all right"
    else
        bad "$right files are right, $wrong are not:"
        cat "$work"/worker.*
    fi
}

load() {
    title "2,000 connections for five seconds"
    if ergon "$tcp" bench --connections 2000 --in-flight 4 --duration 5s --method echo >"$work/bench" 2>"$work/bench.log"; then
        sed 's/^/  /' "$work/bench"
        good "no call went wrong"
    else
        bad "the load run failed:"
        cat "$work/bench" "$work/bench.log"
    fi
}

finish() {
    title "The end"
    if server_stop; then
        good "ergond drained and ended with status 0"
    else
        bad "ergond ended with status $status; its log:"
        tail -n 20 "$work/log"
    fi
}

title "A server"
server_start --module demo ${module:+--module "$module"}
good "ergond listens on $tcp, $tls and $unix"
by_command_line
by_foreign_clients
semaphore
service
load
finish
[ "$failures" = 0 ]
