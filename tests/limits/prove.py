#!/usr/bin/env python3
"""A stop of a server that is full: each kind of thing to its limit, without a store and with one, and then SIGTERM. It
takes at most LATE seconds beyond the configured `drain`, with a store on a slow disk, too. See docs/testing.md.

    ERGON_KINDS   names of kinds, of kinds.py; all
"""
import contextlib
import datetime
import os
import re
import resource
import signal
import sys
import tempfile
import time

os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
from kinds import CLIENTS, KINDS
from harness import LIMIT, Server, with_faults, write_tokens  # found by kinds

DRAIN = 1  # seconds
LATE = 2  # ... that a stop may take beyond it
CONFIG = """
tokens_file: {tokens}
roles: [{{name: all, members: ["token:*"], methods: ["*", "worker.offer.*", task.any]}}]
"""
SYNC_MS = 10  # that each sync of the store takes more: a disk that is not the fastest
FLAGS = ("--drain", f"{DRAIN}s", "--tasks-tenant-share", "100", "--tasks-bytes", "16g", "--limits-memory", "8g")
RECORD = re.compile(r"^time=(\S+) .*msg=(phase|stopped)(?: .*to=(\w+))?", re.M)


class Full(Server):
    """A server in a folder of its own, which may have a store, and the peers whose connections stay open."""

    def __init__(self, folder, stored, flags):
        config = os.path.join(folder, "ergond.yaml")
        with open(config, "w") as f:
            f.write(CONFIG.format(tokens=write_tokens(folder, dict.fromkeys(CLIENTS, "*"))))
        store = ("--store", os.path.join(folder, "tasks.db")) if stored else ()
        super().__init__("--config", config, *store, *FLAGS, *flags, listen=(f"unix://{folder}/socket",),
                         env=with_faults(SYNC_MS=SYNC_MS) if stored else None)
        self.stored, self.peers = stored, []


def go_first(pid):
    """This process waits for no other of its processor, where the system lets it: others on the machine say nothing of the stop."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(1))


def phases(log, end):
    """How long each phase of the stop took, by the log; the last one until the process had gone."""
    records = [(datetime.datetime.fromisoformat(at).timestamp(), to or event) for at, event, to in RECORD.findall(log)]
    return ", ".join(f"{to.lower()} {then - at:.2f}" for (at, to), (then, _) in zip(records, records[1:] + [(end, "")]))


def one(name, stored):
    """True if the stop was in time."""
    fill, flags = KINDS[name]
    with tempfile.TemporaryDirectory() as folder:
        server = Full(folder, stored, flags)
        try:
            began = time.monotonic()
            count = fill(server)
            filled = time.monotonic() - began
            size = server.rss()
            go_first(server.pid)
            began = time.monotonic()
            server.signal(signal.SIGTERM)
            status = server.process.wait(LIMIT)
            took, end = time.monotonic() - began, time.time()
            log = server.log_text()
        finally:
            server.discard()
    good = status == 0 and took <= DRAIN + LATE
    print(f"{'ok ' if good else 'BAD'} {name + (', store' if stored else ''):20} {took:6.2f} s ({phases(log, end)}); "
          f"{fill.__doc__.format(count)}; {size >> 20} MiB, filled in {filled:.0f} s", flush=True)
    if not good:
        print(log[-2000:], flush=True)
    return good


def main():
    names = os.environ.get("ERGON_KINDS", "").split() or list(KINDS)
    unknown = [n for n in names if n not in KINDS]
    if unknown:
        print(f"no kind is called {unknown[0]}; there are: {' '.join(KINDS)}", file=sys.stderr)
        return 2
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for number in (signal.SIGINT, signal.SIGTERM):  # leaves nothing behind then either
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    late = [f"{name}{', store' if stored else ''}" for name in names for stored in (False, True) if not one(name, stored)]
    print(f"a stop may take {DRAIN + LATE} s; " + (f"too late: {'; '.join(late)}" if late else "none took longer"))
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
