#!/usr/bin/python3
"""Ten clients at a durable semaphore of three permits, under kill -9 of clients (who hold, and who wait) and of the server.

Who holds takes one of three locks of the system, which go with its process: one that finds none is a permit too many. Its fence must be
higher than all that anybody was told before it asked. ERGON_ACQUISITIONS says after how many it ends, ERGON_SEED of which random
numbers."""
import fcntl
import os
import random
import socket
import subprocess
import sys
import time
import unittest

from harness import ERGON, LIMIT, Client, RemoteError, Server, eventually, scratch

CLIENTS, PERMITS = 10, 3
ACQUISITIONS = int(os.environ.get("ERGON_ACQUISITIONS", "300"))
SEED = int(os.environ.get("ERGON_SEED", "4711"))
# Longer than a holder can be kept from the processor: it works for some milliseconds, and looks at its connection behind that.
GRACE = "3s"


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(LIMIT)
    sock.connect(path)
    return Client(sock)


def highest(folder):
    """Of the fences that were told so far; so few are told at once that the last ones are enough."""
    with open(os.path.join(folder, "done"), "rb") as done:
        done.seek(max(0, done.seek(0, os.SEEK_END) - 1000))
        return max([int(line) for line in done.read().splitlines()[1:]], default=0)


def take_lock(folder, fence):
    """The lock of a free place."""
    for place in range(PERMITS):
        lock = open(os.path.join(folder, f"place{place}"), "a+", encoding="ascii")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return lock
    raise AssertionError(f"fence {fence}: more than {PERMITS} hold the semaphore")


def acquire_for_ever(folder, seed):
    rng, client = random.Random(seed), connect(os.path.join(folder, "socket"))
    done = os.open(os.path.join(folder, "done"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        before = highest(folder)
        hold = client.call("sem.acquire", "gpu", {"of": PERMITS, "wait": "1h", "grace": GRACE})
        if hold["fence"] <= before:
            raise AssertionError(f"fence {hold['fence']} comes after {before}")
        lock = take_lock(folder, hold["fence"])
        os.write(done, f"{hold['fence']}\n".encode())
        time.sleep(rng.random() * 0.004)
        lock.close()
        client.call("sem.release", "gpu", hold["hold"])


def run_client(folder, seed):
    """Until it is killed; with the server its connection goes, and it begins anew."""
    while True:
        try:
            acquire_for_ever(folder, seed)
        except (OSError, TypeError, RemoteError):  # TypeError: the stream has ended where an answer should be
            time.sleep(0.02)
        except AssertionError as wrong:
            with open(os.path.join(folder, "wrong"), "a", encoding="utf-8") as out:
                out.write(f"{wrong}\n")
            return


def work(folder, before):
    """What `ergon sem run` starts, with its permit."""
    fence = int(os.environ["ERGON_FENCE"])
    try:
        if fence <= before:
            raise AssertionError(f"fence {fence} comes after {before}")
        with take_lock(folder, fence), open(os.path.join(folder, "done"), "ab", buffering=0) as done:
            done.write(f"{fence}\n".encode())
    except AssertionError as wrong:
        with open(os.path.join(folder, "wrong"), "a", encoding="utf-8") as out:
            out.write(f"{wrong}\n")


class Killed(unittest.TestCase):
    COUNT = ACQUISITIONS

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.rng = random.Random(SEED)
        self.clients = []
        self.addCleanup(lambda: [self.kill(c) for c in self.clients])
        self.start()
        self.addCleanup(lambda: self.server.discard())

    def start(self):
        self.server = Server("--store", os.path.join(self.folder, "store"),
                             listen=(f"unix://{self.folder}/socket",))

    def spawn(self):
        return subprocess.Popen([sys.executable, os.path.abspath(__file__), "client", self.folder, str(self.rng.random())])

    @staticmethod
    def kill(client):
        client.kill()
        client.wait()

    def acquisitions(self):
        with open(os.path.join(self.folder, "done"), "rb") as done:
            return [int(line) for line in done.read().splitlines()]

    def go_on(self):
        """How many there have been."""
        return len(self.acquisitions())

    def wrongs(self):
        path = os.path.join(self.folder, "wrong")
        return open(path, encoding="utf-8").read() if os.path.exists(path) else ""

    def strike(self):
        if self.rng.random() < 0.15:
            self.server.discard()
            self.start()
            return
        place = self.rng.randrange(CLIENTS)
        self.kill(self.clients[place])
        self.clients[place] = self.spawn()

    def test_no_permit_is_lost_or_doubled(self):
        open(os.path.join(self.folder, "done"), "ab").close()
        self.clients += [self.spawn() for _ in range(CLIENTS)]
        count, strikes = 0, 0
        while count < self.COUNT:
            target = min(count + self.rng.randrange(10, 60), self.COUNT)
            eventually(lambda: self.wrongs() or self.go_on() >= target, f"{target} acquisitions")
            self.assertEqual(self.wrongs(), "")
            count = len(self.acquisitions())
            self.strike()
            strikes += 1
        for client in self.clients:
            self.kill(client)
        self.clients.clear()
        self.assertEqual(self.wrongs(), "")
        fences = self.acquisitions()
        self.assertEqual(len(set(fences)), len(fences))
        with connect(os.path.join(self.folder, "socket")) as client:
            all_of_them = client.call("sem.acquire", "gpu", {"of": PERMITS, "permits": PERMITS, "wait": "1m"})
            self.assertGreater(all_of_them["fence"], max(fences))
            shown = client.call("sem.explain", "gpu")
            self.assertEqual((shown["permits"], shown["free"], shown["held"], shown["waiting"]), (PERMITS, 0, 1, 0))
        print(f"{len(fences)} acquisitions, {strikes} kills", file=sys.stderr)


class KilledCommands(Killed):
    """The same of `ergon sem run`: what was started with a permit dies with it."""

    COUNT = max(ACQUISITIONS // 10, 60)

    def spawn(self):
        return subprocess.Popen([ERGON, "sem", "run", "--server", f"unix://{self.folder}/socket", "--quiet", "--permits", str(PERMITS),
                                 "--grace", GRACE, "gpu", "--", sys.executable, os.path.abspath(__file__), "work", self.folder,
                                 str(highest(self.folder))])

    def go_on(self):
        self.clients[:] = [c if c.poll() is None else self.spawn() for c in self.clients]
        return len(self.acquisitions())


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        run_client(sys.argv[2], sys.argv[3])
    elif sys.argv[1:2] == ["work"]:
        work(sys.argv[2], int(sys.argv[3]))
    else:
        unittest.main()
