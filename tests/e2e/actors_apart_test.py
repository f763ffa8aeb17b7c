"""Turns of 100 actors, which hosts note in a file as they begin and end, while the hosts are stopped (SIGSTOP), killed, and take
longer than their timeout: no two of an actor overlap, but where one was given up; and what that one answers, or calls, counts for
nothing.

In short here; `./run prove actors` has 1,000,000 turns."""
import collections
import mmap
import os
import random
import signal
import struct
import subprocess
import threading
import time
import unittest

import msgpack

from harness import BUILD, Server, eventually, scratch

TURNS = int(os.environ.get("ERGON_TURNS", 2000))
HARM = int(os.environ.get("ERGON_HARM", 300))  # turns between two
SEED = int(os.environ.get("ERGON_SEED", 1))
ACTORS, HOSTS, BATCH, EACH_LATE = 100, 3, 4000, 500
TIMEOUT, GIVE_UP = 200, 1000  # ms
HEAD, SLOTS, REPORT = 5 * 8, 1024 * 8, 3 * 8  # of struct shared in turns_host.c
SIZE = HEAD + SLOTS + REPORT * (1 << 18)
OFFER = [["turn.add"], {"context": True, "slots": 32, "actors": {"turn": {
    "timeout": f"{TIMEOUT}ms", "durable": "none", "retries": 10000, "call_retries": 10000, "backoff": "1ms", "backoff_max": "5ms",
    "messages": 100000, "intensity": 0}}}]


class Apart(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.random = random.Random(SEED)
        path = os.path.join(self.folder, "turns")
        with open(path, "wb") as file:
            file.truncate(SIZE)
        with open(path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), SIZE)
        self.addCleanup(self.shared.close)
        self.over = threading.Event()
        self.path, self.hosts, self.killed, self.harms = path, [], set(), collections.Counter()
        self.server = Server("--workers-give-up", f"{GIVE_UP}ms", "--tasks-losses", "0")
        self.addCleanup(self.server.discard)
        self.addCleanup(self.end_hosts)
        for _ in range(HOSTS):
            self.start_host()

    # --- Hosts ---

    def start_host(self):
        host = subprocess.Popen([os.path.join(BUILD, "tests", "e2e", "turns_host"), self.server.urls[0], self.path], stdin=subprocess.PIPE)
        host.stdin.write(msgpack.packb(OFFER))
        host.stdin.close()
        self.hosts.append(host)

    def end_hosts(self):
        for host in self.hosts:
            host.kill()
            host.wait()

    def inside(self, host):
        """How many turns of this host have begun last, and not ended."""
        return sum(turn >> 32 == host.pid for turn in struct.unpack_from(f"<{ACTORS}Q", self.shared, HEAD))

    def kill(self, host):
        self.hosts.remove(host)
        self.killed.add(host.pid)
        host.kill()
        host.wait()
        self.start_host()

    def stop(self, host, kind):
        """Until its turns are late, or until others have them."""
        host.send_signal(signal.SIGSTOP)
        until = time.monotonic() + (TIMEOUT + 100) / 1000 if kind == "late" else None
        while self.inside(host) and time.monotonic() < (until or time.monotonic() + 1) and not self.over.wait(0.02):
            pass
        host.send_signal(signal.SIGCONT)

    def harm(self):
        """Kills a host, stops one for a time, or stops one until it was given up, again and again."""
        kinds, mark = ["killed", "late", "given up"], HARM // 10
        while not self.over.wait(0.02):
            host = self.random.choice(self.hosts)
            if self.noted()[0] < mark or not self.inside(host):
                continue
            kind = kinds.pop() if kinds else self.random.choice(("killed", "killed", "late", "given up"))
            if kind == "killed":
                self.kill(host)
            else:
                self.stop(host, kind)
            self.harms[kind] += 1
            mark = self.noted()[0] + HARM

    # --- What they noted ---

    def noted(self):
        """Turns, calls that were fenced, refused otherwise, and taken, and the number of reports."""
        return struct.unpack_from("<5Q", self.shared)

    def reports(self):
        """Of turns that were not alone: (turn, the other or 0, whether its connection was lost)."""
        return [struct.unpack_from("<3Q", self.shared, HEAD + SLOTS + REPORT * n) for n in range(self.noted()[4])]

    def given_up(self):
        return {turn for turn, _, lost in self.reports() if lost}

    def overlaps(self):
        """Of two turns that overlap, one was given up, or its host was killed."""
        gone = self.given_up()
        pairs = [(turn, other) for turn, other, _ in self.reports() if other]
        return [pair for pair in pairs if not any(t in gone or t >> 32 in self.killed for t in pair)]

    # --- Messages ---

    def send(self, client, count, late):
        """To actors in turn, 1 of EACH_LATE such that it takes too long."""
        packer, wanted = msgpack.Packer(), b""
        for n in range(count):
            actor = self.random.randrange(ACTORS)
            ms = 2 * TIMEOUT if late and n % EACH_LATE == 7 else 0
            self.sent[actor] += 1
            client.next_id += 1
            wanted += packer.pack([0, client.next_id, "actor.tell", [f"turn/{actor}", "add", [ms]]])
        first = client.next_id - count + 1
        client.send_bytes(wanted)
        for number in range(first, client.next_id + 1):
            client.result(number)

    def left(self, client):
        states = client.call("server.info")["kept"]["states"]
        return sum(n for state, n in states.items() if state not in ("done", "failed", "cancelled", "expired", "dead"))

    def arrive(self, client, most):
        """Waits until so many messages are left at most; as long as there are ever fewer, this may take its time."""
        while (before := self.left(client)) > most:
            eventually(lambda: self.left(client) < before, f"one of the last {before} messages is done")

    def test_no_two_turns_of_an_actor_overlap(self):
        client = self.server.connect()
        self.addCleanup(client.close)
        self.sent = [0] * ACTORS
        eventually(lambda: "turn" in [t["type"] for t in client.call("actor.types")], "a host is there")
        harm = threading.Thread(target=self.harm)
        harm.start()
        try:
            while sum(self.sent) < TURNS or len(self.harms) < 3 or not self.given_up():
                self.send(client, min(BATCH, max(TURNS - sum(self.sent), ACTORS)), True)
                self.arrive(client, BATCH)
        finally:
            self.over.set()
            harm.join()
        self.arrive(client, 0)
        kept = client.call("server.info")["kept"]
        states = [client.call("actor.get", f"turn/{n}", {"state": True})["state"] for n in range(ACTORS)]
        turns, fenced, refused, taken, _ = self.noted()
        self.assertEqual(states, self.sent)
        self.assertEqual(self.overlaps(), [])
        self.assertEqual(taken, 0)
        self.assertGreater(fenced, 0)
        self.assertGreater(kept["fenced"], 0)
        self.assertTrue(self.given_up())
        self.assertTrue(client.call("server.audit")["balanced"])
        if "ERGON_TURNS" in os.environ:
            print(f"{sum(self.sent)} messages, {turns} turns, {dict(self.harms)}; {kept['fenced']} late answers thrown away, {len(self.given_up())} "
                  f"turns given up, calls of late turns: {fenced} fenced, {refused} refused otherwise")


if __name__ == "__main__":
    unittest.main()
