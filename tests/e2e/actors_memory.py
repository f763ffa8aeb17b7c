#!/usr/bin/python3
"""A client calls actors at random, more than fit into actors.bytes; the test checks the server's memory and each answer.

The module's counter answers how often it was called, so each answer says whether all calls before it are in the state.  No test
of the build: `./run prove actors` runs it.

environment: ERGON_BUILD; ERGON_ACTORS (1,000,000), ERGON_SECONDS (180: one client fills 64 MiB in some 100), ERGON_ACTORS_BYTES (64m)
"""
import collections
import os
import random
import shutil
import sys
import tempfile
import time

from harness import Server

ACTORS = int(os.environ.get("ERGON_ACTORS", 1_000_000))
SECONDS = int(os.environ.get("ERGON_SECONDS", 180))
BOUND = os.environ.get("ERGON_ACTORS_BYTES", "64m")
IN_FLIGHT, MIB = 256, 1 << 20


def rss(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS"))


class Caller:
    def __init__(self, client):
        self.client, self.counts, self.sent = client, {}, collections.deque()
        self.calls = self.wrong = 0

    def send(self, n):
        self.sent.append((n, self.client.send("actor.call", f"counter/{n}", "add", [1])))

    def take(self):
        n, call = self.sent.popleft()
        self.counts[n] = self.counts.get(n, 0) + 1
        self.wrong += self.client.result(call) != self.counts[n]
        self.calls += 1

    def run(self, numbers):
        for n in numbers:
            self.send(n)
            if len(self.sent) >= IN_FLIGHT:
                self.take()
        while self.sent:
            self.take()


def until(end, watch):
    number = random.Random(1)
    while time.monotonic() < end:
        watch()
        yield from (number.randrange(ACTORS) for _ in range(1000))


def main():
    place = tempfile.mkdtemp(prefix="ergon-actors-")
    server = Server("--actors-bytes", BOUND, "--store", os.path.join(place, "tasks.db"))
    try:
        client = server.connect()
        caller, empty, seen = Caller(client), rss(server.pid), []

        def watch():
            seen.append(rss(server.pid))

        caller.run(until(time.monotonic() + SECONDS, watch))
        most, info = max(seen), client.call("server.info")["actors"]
        again = random.Random(2).sample(sorted(caller.counts), min(20_000, len(caller.counts)))
        caller.run(again)
        print(f"{caller.calls} calls of {len(caller.counts)} actors, {caller.wrong} with another answer than expected; RSS at most "
              f"{most / MIB:.0f} MiB, empty {empty / MIB:.0f}; {info['resident']} resident in {info['bytes'] / MIB:.1f} of "
              f"{info['bytes_limit'] / MIB:.0f} MiB, {info['passivated']} passivated, {info['loads']} loads")
        fits = most <= info["bytes_limit"] + 64 * MIB and info["bytes"] <= info["bytes_limit"]
        return 0 if fits and caller.wrong == 0 and info["passivated"] > 0 else 1
    finally:
        server.discard()
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())
