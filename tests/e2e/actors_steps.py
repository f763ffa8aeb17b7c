#!/usr/bin/python3
"""Very many actors sleep, are woken, and are stepped without end; their host is a client.

100,000 stepped actors sleep for 1 to 60 s, and no step may come early; then each is woken by actor.wake, and by a message.  10,000
that are stepped without end may not slow down `echo`.  A durable one that changes nothing is stepped a million times without a
commit.  No test of the build: `./run prove actors` runs it.

environment: ERGON_BUILD; ERGON_SLEEPERS (100,000), ERGON_STEPPERS (10,000), ERGON_STEPS (1,000,000)
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

import msgpack

from bare_worker import Worker
from harness import ERGON, Server

SLEEPERS = int(os.environ.get("ERGON_SLEEPERS", 100_000))
STEPPERS = int(os.environ.get("ERGON_STEPPERS", 10_000))
STEPS = int(os.environ.get("ERGON_STEPS", 1_000_000))
SLEEP_MS = (1000, 60_000)
WOKEN_WITHIN, QUANTUM_US = 0.005, 200
IN_FLIGHT, WINDOW = 1000, "3s"


def host_of(server, durable):
    return Worker(server, "sleeper.nap", "sleeper.step", context=True, slots=IN_FLIGHT,
                  actors={"sleeper": {"durable": durable, "messages": 4 * IN_FLIGHT}})


def spread(values):
    """Median, 99 % and the most, in ms."""
    ordered = sorted(values)
    return ", ".join(f"{ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000:.2f}" for part in (0.5, 0.99, 1))


class Naps:
    """Each sleeper takes one nap, of a random length, and is then asleep until it is woken."""

    def __init__(self, host):
        self.host, self.random = host, random.Random(1)
        self.due, self.late = {}, []
        self.early = 0

    def answer(self, request):
        number, method, params = request
        name, now = params[-1]["actor"], time.monotonic()
        if method == "sleeper.nap":
            ms = self.random.randint(*SLEEP_MS)
            self.due[name] = now + ms / 1000
            return msgpack.packb([1, number, None, [None, {"sleep": ms}]])
        due = self.due.pop(name)
        self.early += now < due
        self.late.append(now - due)
        return msgpack.packb([1, number, None, [None, {"sleep": True}]])

    def run(self):
        while len(self.late) < SLEEPERS:
            answers = [self.answer(self.host.take())]
            while self.host.asked:
                answers.append(self.answer(self.host.asked.popleft()))
            self.host.send_bytes(b"".join(answers))


def nap(client, host):
    naps = Naps(host)
    thread = threading.Thread(target=naps.run, daemon=True)
    thread.start()
    sent = []
    for n in range(SLEEPERS):
        sent.append(client.send("actor.tell", f"sleeper/{n}", "nap"))
        if len(sent) == IN_FLIGHT:
            for call in sent:
                client.result(call)
            sent = []
    for call in sent:
        client.result(call)
    thread.join(SLEEP_MS[1] / 1000 + 120)
    print(f"{len(naps.late)} of {SLEEPERS} slept, {naps.early} were woken early; late by {spread(naps.late)} ms (median, 99 %, most)")
    return len(naps.late) == SLEEPERS and naps.early == 0


def wake(client, host, what, *call):
    """One after the other: from the request to the step, or the message, at the host."""
    took, wrong = [], 0
    for n in range(SLEEPERS):
        began = time.monotonic()
        call_id = client.send(call[0], f"sleeper/{n}", *call[1:])
        number, _, params = host.take()
        took.append(time.monotonic() - began)
        wrong += params[-1]["actor"] != f"sleeper/{n}"
        host.answer(number, [None, {"sleep": True}])
        client.result(call_id)
    slow = sum(t > WOKEN_WITHIN for t in took)
    print(f"{SLEEPERS} woken by {what}: {spread(took)} ms (median, 99 %, most), {slow} after more than {WOKEN_WITHIN * 1000:.0f} ms, "
          f"{wrong} others were")
    return wrong == 0 and slow <= SLEEPERS // 1000  # this machine has other things to do


def echo_us(server, processor):
    argv = [ERGON, "--json", "--server", server.urls[0], "bench", "-c", "1", "-i", "1", "-d", WINDOW, "-m", "echo"]
    done = subprocess.run(["taskset", "-c", str(processor), *argv], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["latency_us"]["p99"]


def step_without_end():
    """The server has one processor, the generator another."""
    mine, other = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, {mine})
    with Server("--loops", "1") as server, server.connect() as client:
        alone = echo_us(server, other)
        for call in [client.send("actor.call", f"ticker/{n}", "start", [1 << 60, 0]) for n in range(STEPPERS)]:
            client.result(call)
        beside = echo_us(server, other)
    os.sched_setaffinity(0, {mine, other})
    print(f"echo, 99 %: {alone:.0f} us alone, {beside:.0f} beside {STEPPERS} that are stepped without end")
    return beside <= 3 * alone + QUANTUM_US


def step_in_vain():
    with tempfile.TemporaryDirectory(prefix="ergon-steps-") as place, Server("--store", os.path.join(place, "tasks.db")) as server, \
            server.connect() as client:
        host = host_of(server, "fsync")
        client.call("actor.tell", "sleeper/0", "nap")
        host.answer(host.take()[0], [None, {"wake": True}])
        for _ in range(10):  # its own row is written first
            host.answer(host.take()[0], [None, None])
        time.sleep(0.5)
        before = client.call("server.info")["store"]["commits"]
        for _ in range(STEPS):
            host.answer(host.take()[0], [None, None])
        commits = client.call("server.info")["store"]["commits"] - before
        host.close()
        print(f"{STEPS} steps that changed nothing: {commits} commits")
        return commits == 0


def main():
    with Server() as server, server.connect() as client:
        host = host_of(server, "none")
        good = nap(client, host)
        good &= wake(client, host, "actor.wake", "actor.wake")
        good &= wake(client, host, "a message", "actor.tell", "nap")
        host.close()
    good &= step_without_end()
    good &= step_in_vain()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
