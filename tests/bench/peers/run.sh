#!/bin/sh
# Ergon beside other servers, under the same load: installs them from Debian, builds, measures, prints ratios.
#   run.sh [OPTION...]             options of side_by_side.py; 'run.sh --help' lists them
#   run.sh --workers [OPTION...]   the same by way of two workers on each side
#   run.sh --bar [OPTION...]       the rows that are no table of peers: options of bar.py
#   run.sh --durable [OPTION...]   submissions that are acknowledged when they are durable: options of durable.py
# ERGON_BUILD names the build directory (build, at the root of the tree).  Installing needs root or sudo.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
. scripts/apt.sh
. tests/bench/peers/install.sh
. tests/bench/measure.sh

program=side_by_side.py
case "${1:-}" in
--bar) program=bar.py ;;
--durable) program=durable.py ;;
esac
[ "$program" = side_by_side.py ] || shift
workers=
case " $* " in
*" --workers "*) workers=yes ;;
esac
packages="beanstalkd erlang-base gearman-job-server haproxy memcached nats-server openssl redis-server tarantool tarantool-dev"
[ -z "$workers" ] || packages="beanstalkd gearman-job-server libgearman-dev nats-server redis-server"

case " $* " in
*" --help "* | *" -h "*) exec python3 "$here/$program" --help ;;
esac

scripts/setup.sh build
# shellcheck disable=SC2086 # words
install_peers $packages

build ergond ergon peers_driver handshakes limit_echo beanstalk_worker ergon_worker gearman_worker nats_responder \
    redis_worker sync_rate tls_alone

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$workers" ]; then
    cc -O2 -Wall -Wextra -Werror -o "$work/libgearman_worker" "$here/workers/libgearman_worker.c" -lgearman
else
    cc -O2 -shared -fPIC -Wall -Wextra -Werror -o "$work/echo_c.so" "$here/procedures/echo_c.c"
    cc -O2 -shared -fPIC -Wall -Wextra -Werror -o "$work/heap_count.so" "$here/heap_count.c"
    erlc -o "$work" "$here/procedures/echo_server.erl"
fi

# As many open files as allowed: 10,000 connections need them at both ends.
# shellcheck disable=SC3045 # dash and bash know it
ulimit -n "$(ulimit -H -n)"

measure "$here/$program" --work "$work" "$@"
