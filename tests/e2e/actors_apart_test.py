"""Turns of 100 actors, which hosts note in a file as they begin and end, while the hosts are stopped (SIGSTOP), killed, and take
longer than their timeout.  A turn may begin when all before it have ended, or when the server has lost the worker that had them,
which its log says; and what a late one answers, or calls, counts for nothing.

The server's order of turns is that of messages, and of their attempts.  Times are those of one clock.

In short here; `./run prove actors` has 1,000,000 turns."""
import array
import collections
import datetime
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import threading
import time
import unittest

import msgpack

from harness import BUILD, Server, WallClock, eventually, scratch

TURNS = int(os.environ.get("ERGON_TURNS", 2000))
HARM = int(os.environ.get("ERGON_HARM", 300))  # turns between two
SEED = int(os.environ.get("ERGON_SEED", 1))
ACTORS, HOSTS, BATCH, EACH_LATE = 100, 3, 4000, 500
TIMEOUT, GIVE_UP = 200, 1000  # ms
HEAD, SLOTS = 8, 1024 * 8  # of struct shared in turns_host.c
ROW = struct.Struct("<3Qq3I2H")
ROWS = 2 * TURNS + 100000  # with attempts beyond the first
SIZE = HEAD + SLOTS + ROW.size * ROWS
NONE, TAKEN, FENCED, REFUSED = range(4)  # what became of its call
SURELY = 2 * 10**9  # ns: an answer that was sent so long before its connection ended has arrived
Turn = collections.namedtuple("Turn", "began ended worker state actor number attempt call gone")
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
        self.path, self.hosts, self.harms, self.clock = path, [], collections.Counter(), WallClock()
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
            self.clock.look()
            host = self.random.choice(self.hosts)
            if self.turns() < mark or not self.inside(host):
                continue
            kind = kinds.pop() if kinds else self.random.choice(("killed", "killed", "late", "given up"))
            if kind == "killed":
                self.kill(host)
            else:
                self.stop(host, kind)
            self.harms[kind] += 1
            mark = self.turns() + HARM

    # --- What they noted ---

    def turns(self):
        return struct.unpack_from("<Q", self.shared)[0]

    def turn(self, at):
        return Turn(*ROW.unpack_from(self.shared, HEAD + SLOTS + ROW.size * at))

    def by_actor(self):
        """Of each actor its turns, in the server's order."""
        at = [array.array("I") for _ in range(ACTORS)]
        for n in range(self.turns()):
            if self.turn(n).attempt:  # else its host was killed before it noted this
                at[self.turn(n).actor].append(n)
        for rows in at:
            yield sorted(map(self.turn, rows), key=lambda t: (t.number, t.attempt))

    def lost(self):
        """When the server lost each worker, by its log: ns of the clock of turns, of which it knows the ms.  Where the wall clock
        of the log was set meanwhile it is the earliest that it may have been."""
        ahead = max(self.clock.distances)
        lost = {}
        for at, worker in re.findall(r'^time=(\S+) .*msg="worker gone" worker=w(\d+) ', self.server.log_text(), re.M):
            lost[int(worker)] = int(datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp() * 1000) * 10**6 - ahead
        return lost

    def check_turns(self, turns, lost, seen):
        """Of one actor.  An end that is in doubt, as the connection was, counts as one that may have arrived."""
        over, last = 0, None
        for turn, after in zip(turns, [*turns[1:], None]):
            self.assertNotEqual((turn.number, turn.attempt), last and (last.number, last.attempt), "an attempt runs once")
            self.assertGreaterEqual(turn.began, over, f"{turn} overlaps {last}, or one before it")
            self.assertEqual(turn.state, turn.number, turn)
            left = lost.get(turn.worker, 1 << 63)
            over, last = max(over, min(turn.ended or 1 << 63, left)), turn
            counts = after is None or after.number != turn.number
            seen["not counted"] += not counts
            seen["given up"] += not counts and not (turn.ended and turn.ended < left)
            seen["surely late"] += not counts and turn.ended and not turn.gone and turn.ended + SURELY < left
            seen["perhaps late"] += not counts and turn.ended and not turn.gone
            seen[turn.call, "called"] += 1
            self.assertFalse(turn.call == REFUSED and left == 1 << 63, "a late call is refused as FENCED")
            self.assertFalse(counts and (turn.gone or not turn.ended), "the attempt that counts has answered")
            self.assertFalse(counts and turn.call, "one that is late does not count")

    def has_given_up(self):
        return "longer than workers.give_up" in self.server.log_text()

    def check(self):
        """Returns how many turns there are of each kind."""
        seen, lost = collections.Counter(), self.lost()
        for actor, turns in enumerate(self.by_actor()):
            self.assertEqual({t.number for t in turns}, set(range(self.sent[actor])))
            self.check_turns(turns, lost, seen)
        return seen

    # --- Messages ---

    def send(self, client, count, late):
        """To actors in turn, 1 of EACH_LATE such that it takes too long."""
        packer, wanted = msgpack.Packer(), b""
        for n in range(count):
            actor = self.random.randrange(ACTORS)
            ms = 2 * TIMEOUT if late and n % EACH_LATE == 7 else 0
            client.next_id += 1
            wanted += packer.pack([0, client.next_id, "actor.tell", [f"turn/{actor}", "add", [ms, self.sent[actor]]]])
            self.sent[actor] += 1
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
            while sum(self.sent) < TURNS or (self.turns() < ROWS // 2 and (len(self.harms) < 3 or not self.has_given_up())):
                self.send(client, min(BATCH, max(TURNS - sum(self.sent), ACTORS)), True)
                self.arrive(client, BATCH)
        finally:
            self.over.set()
            harm.join()
        self.arrive(client, 0)
        kept = client.call("server.info")["kept"]
        states = [client.call("actor.get", f"turn/{n}", {"state": True})["state"] for n in range(ACTORS)]
        self.assertEqual(states, self.sent)
        self.end_hosts()
        seen = self.check()
        self.assertEqual(seen[TAKEN, "called"], 0)
        self.assertGreater(seen[FENCED, "called"], 0)
        self.assertGreater(seen["given up"], 0)
        self.assertGreaterEqual(kept["fenced"], max(seen["surely late"], 1))
        self.assertLessEqual(kept["fenced"], seen["perhaps late"])
        self.assertTrue(client.call("server.audit")["balanced"])
        if "ERGON_TURNS" in os.environ:
            print(f"{sum(self.sent)} messages, {self.turns()} turns, {dict(self.harms)}; {dict(seen)}; {kept['fenced']} late answers thrown away")


if __name__ == "__main__":
    unittest.main()
