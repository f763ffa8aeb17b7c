"""Ten times what a server can do, offered by one principal in an open loop, beside another's tenth of it.

The server reads no more of a connection than limits.in_flight (1,024) allows, so who wants more to reach it comes by more
connections: flood.py, whose calls are bytes made beforehand, by so many that the common queue (manager.queue, 65,536) is full, and all
that is beyond it is read and refused (BUSY). The figures say how much was due, and how much came in; where that is less than
nearly all, there is none.
"""
import json
import os
import subprocess
import sys
import time

from siege import BEHIND, ELSEWHERE, ERGON, Broken, Figures, NoFigure, measured
from walls import HERE
from harness import eventually  # found by walls

METHOD = ("burn", "50us")
TIMES, SHARE = 10, 0.1  # of the capacity: what the one offers, and the other
CONNECTIONS = 128  # of the one: twice what fills the queue
NEARLY_ALL = 0.9  # of what is due


def load(server, token, *options):
    """What `ergon bench` measured."""
    argv = [ERGON, "--json", "-s", server.urls[0], "--token-file", token, "bench", *options, "-m", *METHOD]
    done = subprocess.run(argv, capture_output=True, text=True)
    return measured(done, done.stdout, done.stderr)


class Flood:
    """All of its connections stand, and it has begun."""

    def __init__(self, server, token, rate):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "flood.py"), "--connect", server.urls[0], "--token", token, "--source", ELSEWHERE,
             "--rate", str(rate), "--connections", str(CONNECTIONS), *METHOD],
            stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(BEHIND))
        json.loads(self.process.stdout.readline())

    def check(self):
        if self.process.poll() is not None:
            raise Broken(f"the one that offers too much ended by itself ({self.process.returncode})")

    def end(self):
        self.process.kill()
        self.process.communicate()


class Arrivals:
    """How many calls a second have reached the server since it was made, and how many of them were refused."""

    def __init__(self, client):
        self.client, self.began, self.before = client, time.monotonic(), self.count(client)

    @staticmethod
    def count(client):
        tasks = client.call("server.info")["tasks"]
        return tasks["calls"] + tasks["refused"], tasks["refused"]

    def rates(self, others=0):
        """Of all but so many calls, which others made."""
        passed, (calls, refused) = time.monotonic() - self.began, self.count(self.client)
        return (calls - self.before[0] - others) / passed, (refused - self.before[1]) / passed


def fill(flood, client):
    """Until the queue is full: what comes then is refused."""
    eventually(lambda: flood.check() or Arrivals.count(client)[1] > 0, "the common queue is full")


def overload(siege):
    """Figures of a server with one loop."""
    good, evil = siege.path("good"), siege.path("evil")
    with siege.server("--loops", "1") as server, server.connect() as client:
        client.call("server.auth", siege.token("good"))
        full = load(server, good, "-c", "8", "-i", "8", "-w", "1s", "-d", "5s")
        capacity = full["answers_per_second"]
        calm = ("-c", "8", "-i", "64", "-r", str(max(1, round(SHARE * capacity))))
        quiet = load(server, good, *calm, "-d", f"{siege.brief}s")
        flood = Flood(server, evil, round(TIMES * capacity))
        try:
            fill(flood, client)
            arrivals = Arrivals(client)
            during = load(server, good, *calm, "-d", f"{siege.seconds}s")
            arrived, refused = arrivals.rates(during["answers"])
            flood.check()
        finally:
            flood.end()
        after = load(server, good, *calm, "-d", f"{siege.brief}s")
        if arrived < NEARLY_ALL * TIMES * capacity:
            raise NoFigure(f"of {TIMES * capacity:.0f} calls/s that were due, only {arrived:.0f} came in")
        runs = (quiet, during, after)
        p99 = [r["latency_us"]["p99"] / 1000 for r in runs]
        return Figures(*p99, answers=sum(r["good"] for r in runs), checked=0, longest=during["latency_us"]["max"] / 1e6,
                       peak=siege.peak(server), attack={"calls/s capacity": round(capacity), "calls/s due": round(TIMES * capacity),
                               "calls/s came in": round(arrived), "calls/s of these refused": round(refused)})
