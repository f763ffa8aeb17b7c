#!/usr/bin/python3
"""Ten clients, and then ten `ergon sem run`, at a durable semaphore of three permits, under kill -9 of those who hold, of those who wait,
and of the server.

Who holds takes one of three locks of the system, which go with its process: one that finds none is a permit too many. Its fence must be
higher than all that anybody was told before it asked. In which order permits are granted an onlooker judges (sem_onlooker.py).
ERGON_ACQUISITIONS says after how many it ends, ERGON_SEED of which random numbers."""
import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import time
import unittest

from harness import ERGON, LIMIT, Client, RemoteError, Server, eventually, scratch, token_of, write_tokens
from sem_onlooker import Onlooker, name_of

CLIENTS, PERMITS = 10, 3
ACQUISITIONS = int(os.environ.get("ERGON_ACQUISITIONS", "300"))
SEED = int(os.environ.get("ERGON_SEED", "4711"))
# Longer than a holder can be kept from the processor: it works for some milliseconds, and looks at its connection behind that.
GRACE = "3s"
OWNER = 8  # bytes of a line that says who asks
ONLOOKER = 0  # its number


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(LIMIT)
    sock.connect(path)
    return Client(sock)


def told(folder):
    """Numbers and fences, in the order in which they were noted."""
    with open(os.path.join(folder, "done"), "rb") as done:
        return [tuple(map(int, line.split())) for line in done.read().splitlines()]


def highest(folder):
    """Of the fences that were told so far; so few are told at once that the last ones are enough."""
    with open(os.path.join(folder, "done"), "rb") as done:
        done.seek(max(0, done.seek(0, os.SEEK_END) - 1000))
        return max([int(line.split()[1]) for line in done.read().splitlines()[1:]], default=0)


def next_number(asked, owner):
    """Of the acquire that this owner is about to ask for: that of its line in the file of all that was asked."""
    os.write(asked, f"{owner:{OWNER - 1}}\n".encode())
    return os.lseek(asked, 0, os.SEEK_CUR) // OWNER


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


def open_to_append(folder, name):
    return os.open(os.path.join(folder, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def acquire_for_ever(folder, owner, rng):
    client = connect(os.path.join(folder, "socket"))
    done, asked = open_to_append(folder, "done"), open_to_append(folder, "asked")
    while True:
        before, number = highest(folder), next_number(asked, owner)
        client.call("server.auth", token_of(name_of(number)))
        hold = client.call("sem.acquire", "gpu", {"of": PERMITS, "wait": "1h", "grace": GRACE})
        if hold["fence"] <= before:
            raise AssertionError(f"fence {hold['fence']} comes after {before}")
        lock = take_lock(folder, hold["fence"])
        os.write(done, f"{number} {hold['fence']}\n".encode())
        time.sleep(rng.random() * 0.004)
        lock.close()
        client.call("sem.release", "gpu", hold["hold"])


def run_client(folder, owner, rng):
    """Until it is killed; with the server its connection goes, and it begins anew."""
    while True:
        try:
            acquire_for_ever(folder, owner, rng)
        except (OSError, TypeError):  # TypeError: the stream has ended where an answer should be
            time.sleep(0.02)
        except (AssertionError, RemoteError) as wrong:
            with open(os.path.join(folder, "wrong"), "a", encoding="utf-8") as out:
                out.write(f"{wrong}\n")
            return


# What `ergon sem run` starts with its permit: the same.
WORK = """
for place in 0 1 2; do
    exec 9>>{0}/place$place
    flock -n 9 && got=$place && break
done
[ -n "$got" ] || echo "fence $ERGON_FENCE: more than 3 hold the semaphore" >>{0}/wrong
echo "$1 $ERGON_FENCE" >>{0}/done
"""


class Killed(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.rng = random.Random(SEED)
        self.config = os.path.join(self.folder, "ergond.yaml")
        tokens = write_tokens(self.folder, {name_of(n): "sem.*" for n in range(2 * ACQUISITIONS + 1000)})
        with open(self.config, "w", encoding="ascii") as out:
            out.write(f"tokens_file: {tokens}\n"
                      "roles: [{name: all, members: ['token:*'], methods: ['*'], tenant: all}]\n")
        for name in ("done", "asked"):
            os.close(open_to_append(self.folder, name))
        self.onlooker = Onlooker("gpu", PERMITS)
        self.clients, self.spawned = [], 0
        self.addCleanup(lambda: [self.kill(c) for c in self.clients])
        self.start()
        self.addCleanup(lambda: self.server.discard())

    def start(self):
        self.server = Server("--config", self.config, "--store", os.path.join(self.folder, "store"),
                             listen=(f"unix://{self.folder}/socket",))
        self.onlooker.begin_life(self.connect(), [fence for _, fence in told(self.folder)])

    def connect(self):
        client = connect(os.path.join(self.folder, "socket"))
        client.call("server.auth", token_of(name_of(ONLOOKER)))
        return client

    def spawn(self):
        self.spawned += 1
        client = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.folder, str(self.spawned), str(self.rng.random())])
        client.owner = self.spawned
        return client

    def kill(self, client):
        client.kill()
        client.wait()
        self.onlooker.killed(client.owner)

    def owners(self):
        """Who asked, by number."""
        with open(os.path.join(self.folder, "asked"), encoding="ascii") as asked:
            return [None, *(int(line) for line in asked)]

    def go_on(self):
        """How many there have been."""
        self.onlooker.look()
        return len(told(self.folder))

    def wrongs(self):
        path = os.path.join(self.folder, "wrong")
        return open(path, encoding="utf-8").read() if os.path.exists(path) else ""

    def strike(self):
        if self.rng.random() < 0.15:
            self.onlooker.end_life()
            self.server.discard()
            self.start()
            return
        place = self.rng.randrange(CLIENTS)
        self.kill(self.clients[place])
        self.clients[place] = self.spawn()

    def end(self):
        """Of all that acquire; the server goes on."""
        self.onlooker.end_life()
        for client in self.clients:
            self.kill(client)
        self.clients.clear()
        self.assertEqual(self.wrongs(), "")

    def test_no_permit_is_lost_or_doubled_and_each_is_granted_in_its_order(self):
        self.clients += [self.spawn() for _ in range(CLIENTS)]
        count, strikes = 0, 0
        while count < ACQUISITIONS:
            target = min(count + self.rng.randrange(10, 60), ACQUISITIONS)
            eventually(lambda: self.wrongs() or self.go_on() >= target, f"{target} acquisitions")
            self.assertEqual(self.wrongs(), "")
            count = len(told(self.folder))
            self.strike()
            strikes += 1
        self.end()
        all_told = told(self.folder)
        fences = [fence for _, fence in all_told]
        self.assertEqual(len(set(fences)), len(fences))
        self.onlooker.judge(all_told, self.owners().__getitem__)
        self.assertGreater(self.onlooker.compared, 0)
        with self.connect() as client:
            all_of_them = client.call("sem.acquire", "gpu", {"of": PERMITS, "permits": PERMITS, "wait": "1m"})
            self.assertGreater(all_of_them["fence"], max(fences))
            shown = client.call("sem.explain", "gpu")
            self.assertEqual((shown["permits"], shown["free"], shown["held"], shown["waiting"]), (PERMITS, 0, 1, 0))
        print(f"{len(fences)} acquisitions, {strikes} kills, {len(self.onlooker.lives)} lives of the server, "
              f"{sum(len(life.looks) for life in self.onlooker.lives)} looks, {self.onlooker.compared} times who came first",
              file=sys.stderr)


class KilledCommands(Killed):
    """The same of `ergon sem run`: what was started with a permit dies with it."""

    def setUp(self):
        self.before = {}
        super().setUp()

    def spawn(self):
        self.spawned += 1
        self.before[self.spawned] = highest(self.folder)
        run = subprocess.Popen([ERGON, "sem", "run", "--server", f"unix://{self.folder}/socket", "--quiet", "--permits", str(PERMITS),
                                "--grace", GRACE, "gpu", "--", "sh", "-c", WORK.format(self.folder), "sh", str(self.spawned)],
                               env={**os.environ, "ERGON_TOKEN": token_of(name_of(self.spawned))})
        run.owner = self.spawned
        return run

    def owners(self):
        return range(self.spawned + 1)

    def go_on(self):
        for place, run in enumerate(self.clients):
            if run.poll() is not None:
                self.assertIn(run.returncode, (0, 128 + signal.SIGKILL))  # the server may have been away for too long
                self.clients[place] = self.spawn()
        return super().go_on()

    def end(self):
        super().end()
        for number, fence in told(self.folder):
            self.assertGreater(fence, self.before[number])


if __name__ == "__main__":
    if len(sys.argv) == 4 and os.path.isdir(sys.argv[1]):
        run_client(sys.argv[1], int(sys.argv[2]), random.Random(sys.argv[3]))
    else:
        unittest.main()
