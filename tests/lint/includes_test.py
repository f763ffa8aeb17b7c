#!/usr/bin/python3
"""Who may include whom. Dependencies run one way; the rules below are that way, in words that a machine reads.

First the test plants forbidden includes in a tree of its own and expects each to be found; then it reads ours.
"""

import fnmatch
import os
import re

import tree

LIBRARIES = ("event2/", "event.h", "openssl/", "msgpack", "cyaml/", "yaml.h", "jansson.h", "zlib.h", "systemd/", "sqlite3.h", "libpq-fe.h",
             "postgres_ext.h", "glib", "libsmartcols")

# The side of server/workers/ that the task system calls by a table of functions. The other side reads requests and answers on the loops.
WORKERS = [f"server/workers/{name}" for name in ("worker_executor.h", "worker_group.h", "worker_loop.h", "worker_update.h")]

# What is known of struct jobs by a room that is part of it.
ACCESSORS = ["server/jobs/accessors.h", "server/jobs/jobs.h", "server/jobs/jobs_parts.h"]

# What a subsystem of the jobs may use.
SUBSYSTEM = ["server/jobs/core/*", "server/jobs/feed/feed.h", "server/jobs/sched/*", "server/jobs/life/retention.h", "server/jobs/persist/*", *ACCESSORS,
             "server/store/store.h", "server/runtime/*", "proto/errors.h", "ergon/*"]

# folder: (what of the tree its files may include, which libraries); the longest folder that fits counts.
# base/ knows nobody, and everybody may include it, but for what strangers compile (OUTSIDE).
RULES = {
    "base": (["base/*"], []),
    "include/ergon": (["ergon/*"], []),
    "proto": (["proto/*"], []),
    "server": (["server/*", "proto/*", "ergon/*"], list(LIBRARIES)),
    "server/config": (["server/config/*", "server/jobs/settings.h", "server/net/net.h", "server/tasks/tasks.h", "base/*", "proto/scanner.h", "ergon/*"],
                      ["yaml.h"]),
    "server/runtime": (["server/runtime/*", "ergon/*"], []),
    "server/system": (["server/system/*", "server/config/*", "server/runtime/*", "server/tasks/running.h", "server/tasks/registry.h",
                       "server/store/store.h", "ergon/*"], ["systemd/"]),
    "server/access": (["server/access/*"], []),
    "server/accounts": (["server/accounts/*", "ergon/*"], []),
    "server/cluster": (["server/cluster/*", "server/runtime/thread.h", "ergon/*"], []),
    "server/cluster/postgres": (["server/cluster/*.h", "server/store/*", "ergon/*"], ["libpq-fe.h"]),
    "server/tracing": (["server/tracing/*", "server/runtime/*", "proto/*", "ergon/*"], ["event2/", "openssl/"]),
    "server/tasks": (["server/tasks/*", "server/tracing/tracer.h", "server/accounts/*", "server/runtime/*", "proto/*", "ergon/*"], []),
    "server/workers": (["server/tasks/*", *WORKERS, "server/tracing/tracer.h", "server/accounts/*", "server/runtime/*", "proto/*", "ergon/*"], []),
    "server/store": (["server/store/*.h", "server/runtime/*", "proto/*", "ergon/*"], []),
    "server/store/sqlite": (["server/store/*", "proto/*", "ergon/*"], ["sqlite3.h"]),
    "server/store/postgres": (["server/store/*", "ergon/*"], ["libpq-fe.h", "postgres_ext.h"]),
    "server/store/offline": (["server/store/*", "ergon/*"], ["sqlite3.h", "jansson.h"]),
    "server/jobs": (["server/jobs/*", "server/access/*", "server/store/store.h", "server/store/chunk.h", "server/tasks/*", "server/runtime/*", "proto/*",
                       "ergon/*"], ["msgpack"]),
    "server/jobs/core": (["server/jobs/core/*", "server/jobs/feed/feed.h", "server/tasks/registry.h", "server/runtime/*", "proto/errors.h", "proto/job_policy.h", "proto/traceparent.h", "ergon/*"], []),
    "server/jobs/sched": (["server/jobs/core/*", "server/jobs/sched/*", "server/jobs/settings.h", "server/tracing/tracer.h", "server/tasks/*", "server/runtime/*", "proto/errors.h", "proto/reader.h", "proto/scanner.h",
                           "ergon/*"], []),
    "server/jobs/life": (["server/jobs/core/*", "server/jobs/sched/*", "server/jobs/life/*", *ACCESSORS,
                          "server/access/rights.h", "server/tasks/*", "server/runtime/*", "proto/errors.h", "proto/pack.h",
                          "ergon/*"], []),
    "server/jobs/persist": (["server/jobs/core/*", "server/jobs/sched/*", "server/jobs/persist/*", *ACCESSORS,
                             "server/store/store.h", "server/tasks/actor_offer.h", "server/tasks/registry.h", "server/runtime/*", "proto/job_options.h",
                             "proto/pack.h", "proto/reader.h", "proto/scanner.h", "proto/traceparent.h", "ergon/*"],
                            []),
    "server/jobs/cron": ([*SUBSYSTEM, "server/jobs/cron/*", "server/jobs/life/*", "server/jobs/effects.h"], []),
    "server/jobs/actors": ([*SUBSYSTEM, "server/jobs/actors/*", "server/jobs/life/*", "server/store/chunk.h", "server/tasks/*", "proto/job_options.h", "proto/pack.h", "proto/reader.h",
                            "server/jobs/operations/*"], []),
    "server/jobs/semaphores": ([*SUBSYSTEM, "server/jobs/semaphores/*"], []),
    "server/jobs/batches": ([*SUBSYSTEM, "server/jobs/batches/*", "server/jobs/life/*", "server/jobs/operations/*", "proto/job_options.h", "proto/reader.h"], []),
    "server/jobs/events": ([*SUBSYSTEM, "server/jobs/events/*"], []),
    "server/jobs/feed": (["server/jobs/core/*", "server/jobs/feed/feed.h"], []),
    "server/net": (["server/net/*", "server/access/*", "server/accounts/*", "server/runtime/*", "proto/*", "ergon/*"], []),
    "server/net/auth": (["server/net/auth/*", "server/access/*", "ergon/*"], []),
    "server/net/stream": (["server/net/stream/*", "server/net/auth/crypto.h", "ergon/*"], []),
    "server/net/connection": (["server/net/connection/*", "server/net/stream/*", "server/net/auth/*", "server/net/net.h",
                               "server/net/connection.h", "server/net/connection_rights.h", "server/net/holdings.h", "server/net/serving.h", "server/access/*", "server/accounts/*", "server/runtime/*", "proto/*", "ergon/*"], []),
    "server/rpc": (["server/rpc/*", "server/cluster/*", "server/workers/*", "server/tracing/tracer.h", "server/accounts/*", "server/access/*", "server/net/*", "server/jobs/*", "server/tasks/*", "server/runtime/*", "proto/*", "ergon/*"],
                   ["msgpack"]),
    # Passes requests of clients on to another node, and takes those of other nodes' clients.
    "server/front": (["server/front/*", "server/tasks/actor_offer.h", "server/tasks/call_board.h", "server/tasks/call_params.h", "server/jobs/jobs.h", "server/jobs/core/ids.h", "server/tasks/job_source.h", "server/tasks/registry.h", "server/tasks/turn.h", "server/cluster/view.h", "server/cluster/engine.h", "server/access/rights.h", "server/rpc/*", "server/net/*", "server/runtime/*", "proto/*", "ergon/*"], []),
    "server/metrics": (["server/metrics/*", "server/cluster/*", "server/rpc/rpc.h", "server/accounts/account.h", "server/net/net.h", "server/jobs/jobs.h",
                        "server/tasks/tasks.h", "server/tasks/method_ranks.h", "server/tracing/tracer.h", "server/runtime/activator.h", "proto/errors.h", "ergon/*"], []),
    # The server is asked by libergon; what is read of its insides are health and metrics.
    "server/admin": (["server/admin/*", "server/metrics/*", "server/system/health.h", "server/net/net.h", "server/net/accept/listen_socket.h",
                      "server/net/auth/*", "server/net/stream/*", "server/runtime/thread.h", "proto/*", "ergon/*"],
                     ["event2/", "jansson.h", "openssl/", "zlib.h"]),
    "server/intake": (["server/intake/*", "server/admin/gateway.h", "server/cluster/view.h", "server/store/inbox_source.h", "server/store/driver.h",
                      "server/net/net.h", "server/runtime/thread.h", "proto/*", "ergon/*"],
                     ["event2/", "jansson.h"]),
    "server/processes": (["server/processes/*", "server/config/*", "server/rpc/rpc.h", "server/net/net.h", "server/tasks/call_board.h", "server/tasks/call_params.h",
                         "server/tasks/registry.h", "server/runtime/thread.h", "proto/*", "ergon/*"], []),
    "server/modules": (["server/modules/*", "ergon/*"], ["openssl/", "zlib.h", "msgpack"]),
    "client": (["client/*", "proto/*", "ergon/*"], list(LIBRARIES)),
    "client/bench": (["client/bench/*", "client/lib/*", "proto/*", "ergon/*"], ["jansson.h"]),
    "client/cli": (["client/cli/*", "client/bench/*", "proto/*", "ergon/*"], list(LIBRARIES)),  # and libergon by its headers
    "client/lib": (["client/lib/*", "proto/*", "ergon/*"], ["event2/", "openssl/", "msgpack"]),
    "examples": (["ergon/*", "examples/*"], list(LIBRARIES)),
    "sim": (["sim/*", "server/*", "proto/*", "ergon/*"], ["event2/"]),
    "tests": (["*"], list(LIBRARIES)),
}

# Files that may include more than their folder, or less.
ALSO = {
    "proto/pack.[ch]": ["msgpack"],
    "sim/user/*": ["msgpack", "jansson.h", "yaml.h"],  # scenarios, and messages to the process of workers
    "sim/fault_vfs.c": ["sqlite3.h"],
    "sim/memory.c": ["sqlite3.h"],
    "sim/params.[ch]": ["msgpack", "jansson.h"],  # for proto/json_value.h
    "proto/json_value.[ch]": ["msgpack", "jansson.h", "openssl/evp.h"],  # base64
    "server/jobs/cron/schedule.c": ["glib"],  # calendars of time zones
    "include/ergon/client.h": ["event2/", "msgpack"],
    "server/runtime/pollers/poller_libevent.c": ["event2/"],
    "server/net/stream/tls.c": ["openssl/"],
    "server/net/stream/tls_*.[ch]": ["openssl/"],
    "server/store/offline/json_row.c": ["openssl/evp.h"],  # base64
    "server/net/auth/crypto.c": ["openssl/crypto.h", "openssl/evp.h"],  # digests, and no TLS
}
# A room has two sides: these files read requests and answers on the loops, or are operations of the jobs, and may include what
# the folder named here may.
REQUESTS = {f"server/workers/{name}": "server/rpc" for name in (
    "methods.c", "workers.h", "worker_answer.c", "worker_events.h", "worker_link.c", "worker_list.[ch]", "worker_port.c", "worker_process.[ch]", "worker_types.c", "worker_watch.c")}
REQUESTS |= {f"server/jobs/{name}": "server/jobs" for name in ("*/operations.[ch]", "actors/listing.c", "actors/views.c", "actors/*_operations.[ch]", "feed/feed_readers.[ch]")}
OUTSIDE = ("include/", "examples/", "server/modules/")  # compiled by strangers, or as theirs: base/ is not for them
PRIVATE = {"server/net/stream/tls_private.h": "server/net/stream/tls*.c"}  # so that no OpenSSL gets out through it
NEVER = {
    "server/runtime/*": ["ergon/client.h", "ergon/module.h"],
    "server/tasks/*": ["ergon/client.h"],
    "server/net/*": ["ergon/client.h"],
    "server/modules/*": ["ergon/client.h"],
}

INCLUDE = re.compile(r"^\s*#\s*include\s+([<\"])([^>\"]+)[>\"]", re.M)


def rule_of(path):
    side = next((rule for p, rule in REQUESTS.items() if fnmatch.fnmatch(path, p)), None)
    folder = side or max((f for f in RULES if path.startswith(f + "/")), key=len)
    return RULES[folder]


def library(name):
    return next((l for l in LIBRARIES if name.startswith(l)), None)


def allowed(path, quote, name):
    ours, libraries = rule_of(path)
    if any(fnmatch.fnmatch(path, p) and name in names for p, names in NEVER.items()):
        return False
    if not fnmatch.fnmatch(path, PRIVATE.get(name, "*")):
        return False
    if quote == '"' and name.startswith("base/") and not path.startswith(OUTSIDE):
        return True
    if quote == '"' or name.startswith("ergon/"):
        return any(fnmatch.fnmatch(name, p) for p in ours)
    used = library(name)
    also = [name for p, names in ALSO.items() if fnmatch.fnmatch(path, p) for name in names]
    return used is None or used in libraries or name.startswith(tuple(also))


def exists(top, quote, name):
    """An include in quotes names a file from the root of the tree."""
    return quote == "<" or os.path.exists(os.path.join(top, name))


def findings(top):
    found = []
    for path in tree.files(top):
        source = tree.text(top, path)
        for match in INCLUDE.finditer(source):
            quote, name = match.groups()
            line = source.count("\n", 0, match.start(1)) + 1
            if not allowed(path, quote, name):
                found.append(f"{path}:{line}: may not include {name}")
            elif not exists(top, quote, name):
                found.append(f"{path}:{line}: {name} is no path from the root of the tree")
    return found


FORBIDDEN = [
    ("server/a.c", '"sim/schedule.h"'),
    ("sim/a.c", '"tests/support/virtual.h"'),
    ("base/a.c", '"proto/scanner.h"'),
    ("base/a.c", "<ergon/ao.h>"),
    ("include/ergon/a.h", '"base/span.h"'),
    ("examples/a.c", '"base/span.h"'),
    ("proto/a.c", '"server/runtime/threads/ring.h"'),
    ("server/runtime/a.c", '"proto/scanner.h"'),
    ("server/system/a.c", '"server/topology.h"'),
    ("server/runtime/a.c", "<event2/event.h>"),
    ("server/runtime/a.h", "<ergon/module.h>"),
    ("server/tasks/a.c", '"server/net/connection.h"'),
    ("server/net/a.c", '"server/tasks/manager/manager.h"'),
    ("server/tasks/a.c", '"server/workers/workers.h"'),
    ("server/tasks/manager/a.c", '"server/workers/worker_group.h"'),
    ("server/workers/a.c", '"server/workers/workers.h"'),
    ("server/workers/worker_loop.c", '"server/rpc/rpc.h"'),
    ("server/jobs/a.c", '"server/workers/worker_executor.h"'),
    ("server/net/a.c", "<openssl/ssl.h>"),
    ("server/net/a.c", "<event2/event.h>"),
    ("server/net/auth/crypto.c", "<openssl/ssl.h>"),
    ("server/net/stream/tls.h", "<openssl/ssl.h>"),
    ("server/net/a.c", '"server/net/stream/tls_private.h"'),
    ("server/admin/a.c", '"server/rpc/rpc.h"'),
    ("server/admin/a.c", '"server/jobs/jobs.h"'),
    ("server/modules/a.c", '"server/runtime/threads/ring.h"'),
    ("server/modules/a.c", '"proto/reader.h"'),
    ("server/jobs/core/a.c", '"server/store/store.h"'),
    ("server/jobs/core/a.c", '"server/jobs/operations/waiters.h"'),
    ("server/jobs/sched/a.c", '"server/jobs/life/outcome.h"'),
    ("server/jobs/life/a.c", '"server/jobs/effects.h"'),
    ("server/jobs/persist/a.c", '"server/jobs/operations/waiters.h"'),
    ("server/jobs/semaphores/a.c", '"server/jobs/operations/operation.h"'),
    ("server/jobs/semaphores/a.c", '"server/jobs/cron/crons.h"'),
    ("server/jobs/feed/a.c", '"server/jobs/jobs_parts.h"'),
    ("server/config/a.c", '"server/plan.h"'),
    ("server/store/a.c", "<jansson.h>"),
    ("server/store/offline/a.c", '"server/jobs/core/states.h"'),
    ("client/cli/a.c", '"server/store/offline/offline.h"'),
    ("client/cli/a.c", '"server/config/config.h"'),
    ("client/cli/a.c", '"client/lib/client.h"'),
    ("examples/a.c", '"server/runtime/threads/ring.h"'),
    ("include/ergon/a.h", '"server/runtime/threads/ring.h"'),
    ("server/net/a.c", '"b.h"'),
]
PERMITTED = [
    ("server/runtime/pollers/poller_libevent.c", "<event2/event.h>"),
    ("server/net/stream/tls.c", "<openssl/ssl.h>"),
    ("server/rpc/a.c", '"server/net/there.h"'),
    ("server/workers/methods.c", '"server/net/there.h"'),
    ("server/modules/a.c", "<ergon/module.h>"),
    ("server/tasks/a.c", "<stdatomic.h>"),
    ("server/runtime/a.c", '"base/there.h"'),
    ("client/cli/a.c", '"base/there.h"'),
]


def found_in(path, include):
    return tree.planted(findings, {"base/there.h": "", "server/net/there.h": "", path: f"/* one line */\n#include {include}\n"})


def prove():
    for path, include in FORBIDDEN:
        assert [f for f in found_in(path, include) if f.startswith(f"{path}:2:")], f"{path} with {include} passes"
    for path, include in PERMITTED:
        assert not found_in(path, include), f"{path} with {include} is refused"


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
