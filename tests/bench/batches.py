"""What a batch of many members costs: bytes of a member beyond its task, how long batch.get takes with all of them, how long a
cancel of all, and the longest steps meanwhile.

usage: batches.py ERGOND [MEMBERS]

The same tasks are submitted twice, by two servers: without a batch, and as members of one.  They are kept in memory, and wait
for an hour.  Steps longer than a millisecond are told by the server (--step-limit), by the clock: so it goes first
(SCHED_FIFO), where the system lets it."""

import collections
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

import msgpack

MANY = 10_000  # tasks of a request
FLAGS = ("--listen", "ergon://127.0.0.1:0", "--loops", "1", "--step-limit", "1ms", "--log-repeats", "off", "--log-level", "warn", "--tasks-bytes", "16g",
         "--tasks-tenant-share", "100", "--limits-memory", "16g", "--limits-principal-memory", "16g", "--limits-connection-memory", "16g")
LONG = re.compile(r'object="?([^"= ]*)"?.* took=([0-9.]+)(ns|us|ms|s) ')
US = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}


def go_first():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        pass


class Server:
    def __init__(self, program):
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen([program, *FLAGS], stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=go_first)
        host, port = self.process.stdout.readline().strip().split("://")[1].rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), 20)
        self.unpacker = msgpack.Unpacker(raw=False, max_buffer_size=1 << 30)

    def call(self, method, *params):
        self.sock.settimeout(600)
        self.sock.sendall(msgpack.packb([0, 1, method, list(params)]))
        while True:
            for _, _, error, result in self.unpacker:
                if error is not None:
                    sys.exit(f"batches: {method}: {error}")
                return result
            self.unpacker.feed(self.sock.recv(1 << 20))

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

    def long_steps(self):
        """{object: [us]} since the last look."""
        self.log.seek(0)
        found = collections.defaultdict(list)
        for line in self.log.read().splitlines()[getattr(self, "seen", 0):]:
            self.seen = getattr(self, "seen", 0) + 1
            step = LONG.search(line)
            if step:
                found[step[1]].append(float(step[2]) * US[step[3]])
        return found

    def end(self):
        self.process.terminate()
        self.process.wait()


def told(steps):
    return ", ".join(f"{len(us)} of {name}, longest {max(us):,.0f} us" for name, us in steps.items()) or "none"


def submit(server, members, batch):
    tasks, options = [["echo", ["abcdefgh"]]] * MANY, {"delay": "1h", "durable": "none"}
    for _ in range(members // MANY):
        if batch:
            server.call("batch.add", batch, tasks, options)
        else:
            server.call("task.submit_many", tasks, options)


def measure(program, members, in_batch):
    """Bytes resident of each task, and the server."""
    server = Server(program)
    batch = server.call("batch.create", {"durable": "none"})["id"] if in_batch else None
    submit(server, MANY, batch)
    before = server.resident()
    submit(server, members, batch)
    return (server.resident() - before) / members, server, batch


def main(program, members=1_000_000):
    plain, server, _ = measure(program, members, False)
    print("steps beyond 1 ms while tasks without a batch were added:", told(server.long_steps()))
    server.end()
    member, server, batch = measure(program, members, True)
    print(f"{plain:.1f} bytes resident of a task, {member:.1f} of a member: {member - plain:.1f} more")
    print("steps beyond 1 ms while they were added:", told(server.long_steps()))
    took = []
    for _ in range(100):
        began = time.perf_counter()
        seen = server.call("batch.get", batch)
        took.append(time.perf_counter() - began)
    assert seen["total"] == members + MANY, seen
    print(f"batch.get of {seen['total']:,} members: {sorted(took)[50] * 1e6:,.0f} us")
    began = time.perf_counter()
    server.call("batch.cancel", batch)
    answered = time.perf_counter() - began
    ended = server.call("batch.get", batch, {"wait": "10m"})
    assert ended["cancelled"] == ended["total"] and ended["state"] == "ended", ended
    print(f"batch.cancel: answered after {answered * 1e3:.1f} ms, all had ended after {time.perf_counter() - began:.2f} s")
    print("steps beyond 1 ms meanwhile:", told(server.long_steps()))
    server.end()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
