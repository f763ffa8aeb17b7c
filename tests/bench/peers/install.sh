# Sourced by what measures peers, at the root of the tree, behind scripts/apt.sh.
#
#   install_peers PACKAGE…    installs those that are missing; needs root or sudo

units="beanstalkd epmd.socket epmd gearman-job-server haproxy memcached nats-server redis-server tarantool"
policy=/usr/sbin/policy-rc.d

# Nothing that Debian installs may start by itself, now or at the next boot: it would stand in the way of what we measure.
install_peers() {
    # shellcheck disable=SC2046 # words
    set -- $(missing "$@")
    [ $# -gt 0 ] || return 0
    denied=
    if [ ! -e "$policy" ]; then
        denied=yes
        printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
        $as_root chmod 755 "$policy"
    fi
    status=0
    apt_install "$@" || status=$?
    [ -z "$denied" ] || $as_root rm -f "$policy"
    for unit in $units; do
        $as_root systemctl disable --quiet "$unit" 2>/dev/null || :
    done
    return "$status"
}
