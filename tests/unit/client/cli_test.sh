#!/bin/sh
# The command line where it needs no server: help, arguments, exit statuses, token lines.
# Usage: cli_test.sh ERGON
set -u
ergon=$1
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
failed=0
unset ERGON_URL ERGON_TOKEN ERGON_TOKEN_FILE ERGON_CACERT
nobody=ergon://127.0.0.1:1

fail()
{
    echo "FAILED: $1"
    sed 's/^/  out: /' "$top/out"
    sed 's/^/  err: /' "$top/err"
    failed=1
}

# expect STATUS TEXT-IN-STDOUT TEXT-IN-STDERR ARG...; an empty text means that nothing is there.
expect()
{
    wanted=$1 out=$2 err=$3
    shift 3
    "$ergon" "$@" >"$top/out" 2>"$top/err" </dev/null
    got=$?
    [ "$got" = "$wanted" ] || fail "ergon $*: status $got, not $wanted"
    check "$top/out" "$out" || fail "ergon $*: standard output lacks: $out"
    check "$top/err" "$err" || fail "ergon $*: standard error lacks: $err"
}

check()
{
    if [ -z "$2" ]; then
        [ ! -s "$1" ]
    else
        grep -qF -e "$2" "$1"
    fi
}

# help and version
expect 0 "Usage: ergon" "" --help
expect 0 "Usage: ergon" "" -h
expect 0 "Usage: ergon" "" help
expect 0 "ergon 0." "" -V
expect 0 "ergon 0." "" call --version
for command in call ping info top doctor methods token bench completion; do
    expect 0 "Usage: ergon $command" "" "$command" --help
    expect 0 "Examples:" "" help "$command"
done

for group in task queue cron sem event store; do
    expect 0 "Usage: ergon $group COMMAND" "" "$group" --help
    expect 0 "Examples:" "" help "$group"
    expect 2 "" "Usage: ergon $group COMMAND" "$group"
done
for command in "task submit" "task call" "task get" "task wait" "task watch" "task cancel" "task retry" "task forget" "task edit" "task change" "task run-now" "task list" \
    "task explain" "queue list" "queue tenants" "queue explain" "queue pause" "queue resume" "queue drain" "cron put" "cron list" \
    "cron delete" "worker list" "worker quiet" "worker resume" "sem run" "sem create" "sem delete" "sem list" "sem explain" "event set" "event wait" events audit "store check" "store export" "store import"; do
    # shellcheck disable=SC2086
    expect 0 "Usage: ergon $command" "" $command --help
    # shellcheck disable=SC2086
    expect 0 "Examples:" "" help $command
done

# a group that is a command, too
expect 0 "Usage: ergon worker [OPTION...] --method" "" worker --help
expect 0 "resume " "" help worker
expect 0 "Usage: ergon worker list" "" worker --json list --help
expect 2 "" "an argument is missing: ergon worker --method NAME... -- COMMAND [ARG...]; see ergon worker --help" worker
expect 2 "" "which methods?" worker true
expect 2 "" "did you mean --method" worker --methd m -- true
expect 2 "" "unknown option --nothing; see ergon worker list" worker list --nothing

# usage
expect 2 "" "ergon talks to"
expect 2 "" "did you mean 'ping'" pnig
expect 2 "" "see ergon --help" quaternion
expect 2 "" "did you mean 'task submit'?" submit
expect 2 "" "did you mean 'task explain' or 'queue explain' or 'actor explain' or 'sem explain'?" explain
expect 2 "" "did you mean --version?" version

# words of other programs: those that can mean one thing alone are understood, others suggested
expect 0 "Usage: ergon info" "" status --help
expect 0 "Usage: ergon info" "" help stats
expect 0 "Usage: ergon task get" "" result --help
expect 2 "" "nowhere: a server URL is" result t0abc4k2mq7rz -s nowhere --history
expect 0 "Usage: ergon task get" "" task show --help
expect 0 "Usage: ergon task forget" "" help task rm
for group in task queue cron worker sem connection context; do
    expect 0 "Usage: ergon $group list" "" "$group" ls --help
done
for group in cron sem context; do
    expect 0 "Usage: ergon $group delete" "" "$group" rm --help
done
expect 2 "" "unknown command 'store ls'; see ergon store --help" store ls
expect 2 "" "unknown command 'kill'; did you mean 'task cancel' or 'connection kill'?" kill
expect 2 "" "unknown command 'ls'; did you mean 'task list'?" ls
expect 2 "" "did you mean 'task list --state running' or 'worker list'?" ps
expect 2 "" "unknown command 'task add'; did you mean 'task submit'?" task add
expect 2 "" "unknown command 'queue purge'; did you mean" queue purge
expect 2 "" "unknown command 'worker stop'; did you mean 'worker quiet'?" worker stop w17
expect 2 "" "did you mean --output?" task list --format json
expect 2 "" "did you mean --state running?" task list --running
expect 2 "" "unknown option --running; see" ping --running
expect 2 "" "did you mean --slots?" worker -c 4 -m x true
expect 2 "" "unknown option -c; see" ping -c 4
expect 2 "" "did you mean --deadline?" task submit --ttl 5s echo
expect 2 "" "did you mean --json?" -json ping
expect 2 "" "did you mean --state?" task list --statte=dead
expect 0 "Options of every command (--server, --output, --timeout ...): see ergon --help" "" ping --help
expect 0 "Options of every command" "" task --help
expect 2 "" "has no TLS; the key of a task is --task-key" -s unix:///s task submit --key order-7 echo
expect 2 "" "option --cert is about a client's certificate, and ergon://h has no TLS" -s ergon://h ping --cert c.pem
expect 2 "" "did you mean --json" ping --jsno
expect 2 "" "did you mean --server" --sever x ping
expect 2 "" "did you mean --deadline" call --deadlin 1s echo
expect 2 "" "unknown option --nothing" --nothing ping
expect 2 "" "an argument is missing" call
expect 2 "" "which tasks?" task cancel
expect 2 "" "which tasks?" task forget --dry-run
expect 2 "" "not both" task retry t0abc4k2mq7rz --state dead
expect 2 "" "not both" task cancel t0abc4k2mq7rz --all
expect 2 "" "there is an argument too many: ergon ping; see ergon ping --help" ping x
expect 2 "" "did you mean 'task submit'" task sumbit
expect 2 "" "see ergon queue --help" queue quaternion
expect 2 "" "an argument is missing: ergon task get ID" task get
expect 2 "" "an argument is missing: ergon task submit METHOD" task submit
expect 2 "" "in the file" task submit --many - echo
expect 2 "" "--wait is for one task" task submit --many - --wait
expect 2 "" "cannot read /nowhere/tasks: No such file" task submit --many /nowhere/tasks
expect 2 "" "option --priority: 'high' is not a number" task submit --priority high echo
expect 2 "" "KEY=MAX or KEY=MAX/TAKE, as smtp=3" task submit --limit smtp echo
expect 2 "" "none, async, fsync or replicated" task call --durable very echo
expect 2 "" "--result is for one task" task wait --result t1 t2
expect 2 "" "option --jitter: '5' is not a duration" cron put n @daily echo --jitter 5
expect 2 "" "needs URL" ping -s
expect 2 "" "a duration with a unit" ping --timeout 5
expect 2 "" "takes no value" ping --json=yes
expect 2 "" "a server URL is" -s nowhere ping
expect 2 "" "port" -s ergon://h:99999 ping
expect 2 "" "cannot read" -s $nobody call echo @/nowhere/file
expect 2 "" "only one argument" -s $nobody call echo - -
expect 2 "" "whole number" bench -c 0
expect 2 "" "is not a size" bench -p 1x
expect 2 "" "neither poisson nor fixed" bench --arrivals often
expect 2 "" "neither full nor resumed" bench --handshake half
expect 2 "" "is for TLS" -s $nobody bench --handshake resumed
expect 2 "" "not a goal" bench --sweep p99.9
expect 2 "" "give --duration" bench --sweep p99.9=5ms -n 5
expect 2 "" "a connection for each" bench -c 2 -t 3
expect 2 "" "cannot write /nowhere/h" bench --histogram /nowhere/h
expect 2 "" "cannot read /nowhere/token" --token-file /nowhere/token ping
expect 2 "" "a method name" call ''
expect 2 "" "an argument is missing" sem run s
expect 2 "" "neither kill nor warn" sem run s --on-lost x -- true
expect 2 "" "at least 3 s" sem run s --grace 2s -- true
expect 2 "" "a duration with a unit" call --deadline 5 echo
expect 2 "" "--notify there is none" call --deadline 5s --notify echo
expect 2 "" "behind @" -s $nobody call echo @
expect 2 "" "the server name" -s ergons://127.0.0.1:1 --server-name '' ping
expect 2 "" "a key without a certificate" -s ergons://127.0.0.1:1 --key "$0" ping
expect 2 "" "$0 holds no certificate" -s ergons://127.0.0.1:1 --cacert "$0" ping
expect 2 "" "cannot read /nowhere/ca: No such file" -s ergons://127.0.0.1:1 --cacert /nowhere/ca ping
: >"$top/empty"
expect 2 "" "holds no token" --token-file "$top/empty" ping

(
    ulimit -n 64
    expect 2 "" "limit of 64 open files" bench -c 100
    exit $failed
) || failed=1

# no server
expect 3 "" "no connection to $nobody" -s $nobody ping
expect 3 "" "" -s $nobody ping -q
expect 3 "" "no connection" -s $nobody call echo -5 -- --x
expect 3 "" "no connection" -s unix:///nowhere/socket info
expect 3 "" "no connection" -s $nobody task submit echo
expect 3 "" "no connection" -s $nobody task wait t1
expect 3 "" "no connection" -s $nobody task watch t1
expect 3 "" "no connection" -s $nobody audit
expect 3 "" "no load on" -s $nobody bench -n 1
ERGON_URL=unix:///nowhere/other expect 3 "" "unix:///nowhere/other" methods

# token
expect 0 "alice echo,server.*" "" token alice --methods 'echo,server.*'
expect 2 "" "one word" token 'two words'
expect 2 "" "--methods is a list" token alice --methods 'a,,b'
expect 2 "" "--methods is a list" token alice --methods 'a*b'
expect 2 "" "cannot append" token alice --file /nowhere/tokens
printf 'sha256:00 old *' >"$top/tokens"
token=$("$ergon" token bob --file "$top/tokens")
hash=$(printf %s "$token" | sha256sum | cut -d' ' -f1)
grep -qx "sha256:$hash bob \*" "$top/tokens" || fail "token --file: no line for $token"
grep -qx 'sha256:00 old \*' "$top/tokens" || fail "token --file: the line before it was touched"
rm "$top/tokens"
"$ergon" token bob --file "$top/tokens" >/dev/null
[ "$(stat -c %a "$top/tokens")" = 600 ] || fail "token --file: others can read the new file"

# a reader that goes away
"$ergon" --help | true
for shell in bash zsh fish; do
    expect 0 "completion live" "" completion $shell
done
"$ergon" completion bash | bash -n || fail "completion bash: not bash"
words=$( ("$ergon" completion bash &&
    echo 'COMP_WORDS=("'"$ergon"'" -v task wait --a) COMP_CWORD=4; _ergon; echo "${COMPREPLY[@]}"') | bash)
[ "$words" = "--any" ] || fail "completion bash: ergon task wait --a gives '$words'"

[ $failed = 0 ] && echo "all as expected"
exit $failed
