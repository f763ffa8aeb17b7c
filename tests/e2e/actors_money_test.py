"""Money that moves between accounts, each an actor, as messages that they send each other, under kill -9 of the server and of
their hosts, in Python and in C, and a disk that is full: at each look the sum is what it was, and at the end each transfer is in
both accounts once, in its sender's order.

Beside it, actors of four more types check what clients see:

- `count`: the file has each state that a call was answered with, and a call that was answered STORE has changed nothing
- `mark`, whose type has `pipeline`, and `echo`, to which `count` sends messages: both call `seen`, which is in memory alone and
  never learns of a state that is not in the file
- `order`, whose first attempts fail or are late: each message counts once, in its place

In short here; `./run prove actors` has 1,000 accounts, 100,000 transfers, 200 kills and three full disks. Power cuts are
tests/unit/jobs/money_cuts_test.c."""
import contextlib
import glob
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

import msgpack

from harness import BUILD, SOURCE, KeptTest, RemoteError, Server, eventually

ACCOUNTS = int(os.environ.get("ERGON_ACCOUNTS", 10))
TRANSFERS = int(os.environ.get("ERGON_TRANSFERS", 160))
KILLS = int(os.environ.get("ERGON_KILLS", 2))
SEED = int(os.environ.get("ERGON_SEED", 1))
FULL = int(os.environ.get("ERGON_FULL", 0))  # times that the disk is full, for so many seconds each
FULL_S = 2
CLIENTS, HOSTS, OPENED = 16, 2, 1000
ORDERED = 6 + KILLS  # messages whose turns fail, or are late, at first
MESSAGES, STATE_MAX = 100000, 1 << 20  # of the type; both hosts offer the same
OFFER = [["account.give", "account.take", "account.back"], {"context": True, "slots": 16, "actors": {"account": {
    "messages": MESSAGES, "state": STATE_MAX}}}]  # of the host in C
ENDED = ("done", "failed", "cancelled", "expired", "dead")

HOST = '''
import sys
import time
sys.path.insert(0, sys.argv[1])
import ergon_client

class Account(ergon_client.Actor):
    """A transfer is [client, number, cents]: `give` takes the cents out and sends them to another account, which takes them or,
    each seventh, sends them back."""
    reads = {"sum"}
    messages, state_max = MESSAGES, STATE_MAX

    def open(self, cents):
        self.state = {"cents": cents, "sent": [], "got": [], "again": []}

    def give(self, to, transfer):
        self.state["sent"].append(transfer)
        if self.state["cents"] < transfer[2]:
            self.state["again"].append(transfer)
            return
        self.state["cents"] -= transfer[2]
        self.tell(to, "take", self.name, transfer)

    def take(self, giver, transfer):
        if transfer[1] % 7 == 0:
            self.tell(giver, "back", transfer)
            return
        self.state["cents"] += transfer[2]
        self.state["got"].append(transfer)

    def back(self, transfer):
        self.state["cents"] += transfer[2]
        self.state["again"].append(transfer)

    def sum(self):
        return self.state["cents"]

class Count(ergon_client.Actor):
    def add(self):
        self.state["n"] = self.state.get("n", 0) + 1
        self.tell("echo/0", "hear", self.state["n"])
        return self.state["n"]

class Echo(ergon_client.Actor):
    retries = 1000

    def hear(self, n):
        self.call("seen/echo", "see", n)

class Mark(ergon_client.Actor):
    pipeline = True

    def add(self):
        n = self.state.get("n", 0)
        self.call("seen/mark", "see", n)
        self.state["n"] = n + 1

class Seen(ergon_client.Actor):
    durable = "none"

    def see(self, n):
        self.state["n"] = n

class Order(ergon_client.Actor):
    timeout, backoff, retries = 0.15, 0.05, 1000

    def add(self, n):
        if self.context.attempt == 1 and n % 3 == 0:
            raise ValueError("at first")
        if self.context.attempt == 1 and n % 3 == 1:
            time.sleep(0.2)
        self.state.setdefault("numbers", []).append(n)

ACTORS = {"account": Account, "count": Count, "echo": Echo, "mark": Mark, "seen": Seen, "order": Order}

while True:
    try:
        with ergon_client.Client(sys.argv[2]) as ergon:
            ergon.work(actors=ACTORS, slots=32)
    except ergon_client.Unreachable:  # it began while there was no server
        pass
'''


class Money(KeptTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.program = os.path.join(self.folder, "host.py")
        with open(self.program, "w") as f:
            f.write(HOST.replace("MESSAGES, STATE_MAX", f"{MESSAGES}, {STATE_MAX}"))
        self.hosts = []
        self.told = [0] * CLIENTS  # transfers that are on disk
        self.refused = 0  # transfers, since the disk was full
        self.over, self.done = threading.Event(), threading.Event()
        self.counted, self.seen, self.ordered, self.strange = 0, {"mark": 0, "echo": 0}, 0, []
        self.addCleanup(self.stop_hosts)
        self.addCleanup(self.over.set)

        self.disk = os.path.join(self.folder, "disk")
        os.mkdir(self.disk)
        if FULL:  # by root
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "none", self.disk], check=True)
            self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
            self.addCleanup(lambda: self.server.discard())

    def start(self):
        self.server = Server("--store", os.path.join(self.disk, "tasks.db"), listen=(self.url,))

    def fill_disk(self):
        """Until the server says so."""
        ballast = os.path.join(self.disk, "ballast")
        with self.server.connect() as client, open(ballast, "wb", buffering=0) as file:
            def is_full():
                with contextlib.suppress(OSError):
                    while file.write(b"x" * 65536):
                        pass
                return client.call("server.info")["store"]["failing"]
            eventually(is_full, "the disk is full")
            time.sleep(FULL_S)
            os.remove(ballast)

    # --- Hosts ---

    def start_host(self, of_c):
        command = [os.path.join(BUILD, "tests", "e2e", "money_host"), self.url] if of_c else \
            [sys.executable, self.program, os.path.join(SOURCE, "clients", "python"), self.url]
        host = subprocess.Popen(command, stdin=subprocess.PIPE if of_c else subprocess.DEVNULL)
        host.of_c = of_c
        if of_c:
            host.stdin.write(msgpack.packb(OFFER))
            host.stdin.close()
        self.hosts.append(host)

    def kill_host(self):
        """The one that was started first.  Was it in C?"""
        host = self.hosts.pop(0)
        host.kill()
        host.wait()
        return host.of_c

    def stop_hosts(self):
        while self.hosts:
            self.kill_host()

    # --- Clients ---

    def give(self, number, plan):
        """Sends its transfers one after another; each until it is on disk, whatever becomes of the connection."""
        client = None
        for n, (giver, to, cents) in enumerate(plan):
            while not self.over.is_set():
                try:
                    client = client or self.server.connect()
                    client.call("actor.tell", giver, "give", [to, [number, n, cents]], {"key": f"{number}.{n}", "keep": "1h"})
                    break
                except (OSError, EOFError, RemoteError, AssertionError, ValueError) as e:
                    self.refused += isinstance(e, RemoteError) and e.code == "STORE"
                    if client:
                        client.close()
                    client = None
                    time.sleep(0.02)
            self.told[number] = n + 1
        if client:
            client.close()

    # --- Witnesses ---

    def while_open(self, act):
        """Again and again, on one connection after another."""
        client = None
        while not self.done.is_set() and not self.over.is_set():
            try:
                client = client or self.server.connect()
                act(client)
            except (OSError, EOFError, RemoteError, AssertionError, ValueError):
                if client:
                    client.close()
                client = None
                time.sleep(0.02)
        if client:
            client.close()

    def count(self):
        open_ends = 0

        def add(client):
            nonlocal open_ends
            try:
                n = client.call("actor.call", "count/0", "add")
            except RemoteError as e:
                open_ends += e.code != "STORE"
                raise
            except Exception:
                open_ends += 1
                raise
            if not self.counted < n <= self.counted + 1 + open_ends:
                self.strange.append(f"{n} behind {self.counted}, and {open_ends} that may have been")
            self.counted, open_ends = n, 0
        self.while_open(add)

    def mark(self):
        self.while_open(lambda client: client.call("actor.call", "mark/0", "add"))

    def see(self):
        def get(client):
            for name in self.seen:
                try:
                    state = client.call("actor.get", f"seen/{name}", {"state": True})["state"]
                except RemoteError:  # none has been there
                    state = None
                self.seen[name] = max(self.seen[name], (state or {}).get("n", 0))
            time.sleep(0.001)
        self.while_open(get)

    def order(self):
        def tell(client):
            if self.ordered < ORDERED:
                client.call("actor.tell", "order/0", "add", [self.ordered], {"key": str(self.ordered), "keep": "1h"})
                self.ordered += 1
            else:
                self.done.wait(0.1)
        self.while_open(tell)

    def look_at_witnesses(self, states):
        for name, of in (("mark", "mark/0"), ("echo", "count/0")):
            self.assertLessEqual(self.seen[name], states.get(of, {}).get("n", 0), f"what {name} showed is on disk")
        self.assertLessEqual(self.counted, states.get("count/0", {}).get("n", 0), "what was answered is on disk")
        self.assertEqual(self.strange, [])

    def plans(self):
        names = [f"account/{n}" for n in range(ACCOUNTS)]
        return [[(*self.random.sample(names, 2), self.random.randrange(1, 50)) for _ in range(TRANSFERS // CLIENTS)] for _ in range(CLIENTS)]

    # --- Looks ---

    def look(self):
        """The sum in a copy of the files as the dead server left them: of the accounts, and of what is on its way."""
        folder = os.path.join(self.folder, "look")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        for path in glob.glob(os.path.join(self.disk, "tasks.db*")):
            if not path.endswith("-shm"):
                shutil.copy(path, folder)
        with sqlite3.connect(os.path.join(folder, "tasks.db")) as file:
            all_states = {name: msgpack.unpackb(s) for name, s in file.execute("SELECT actor, state FROM actor_states") if s}
            states = [s for name, s in all_states.items() if name.startswith("account/")]
            ways = [msgpack.unpackb(p)[-1] for p, in file.execute(
                f"SELECT params FROM tasks WHERE method IN ('account.take', 'account.back') AND state NOT IN {ENDED}")]
        file.close()
        self.look_at_witnesses(all_states)
        self.assertEqual(len(states), ACCOUNTS)
        self.assertEqual(sum(s["cents"] for s in states) + sum(t[2] for t in ways), ACCOUNTS * OPENED)

    def check_accounts(self, client, plans):
        states = {f"account/{n}": client.call("actor.get", f"account/{n}", {"state": True})["state"] for n in range(ACCOUNTS)}
        self.assertEqual(sum(s["cents"] for s in states.values()), ACCOUNTS * OPENED)
        sent, got, again = ({name: [tuple(t) for t in s[kind]] for name, s in states.items()} for kind in ("sent", "got", "again"))
        for number, plan in enumerate(plans):
            for name in states:
                numbers = [n for c, n, _ in sent[name] if c == number]
                self.assertEqual(numbers, sorted(numbers), "the order of a sender")
            for n, (giver, to, cents) in enumerate(plan):
                transfer = (number, n, cents)
                self.assertEqual(sent[giver].count(transfer), 1, transfer)
                self.assertEqual(got[to].count(transfer) + again[giver].count(transfer), 1, transfer)
        self.assertEqual(sum(map(len, sent.values())), sum(map(len, plans)))
        self.assertEqual(sum(map(len, got.values())) + sum(map(len, again.values())), sum(map(len, plans)))

    def arrive(self, client):
        """Waits until no message is open; as long as there are ever fewer, this may take its time."""
        def left():
            states = client.call("server.info")["kept"]["states"]
            return sum(count for state, count in states.items() if state not in ENDED)
        while before := left():
            eventually(lambda: left() < before, f"one of the last {before} messages arrives")

    def test_the_sum_stays(self):
        self.start()
        for n in range(HOSTS):
            self.start_host(n % 2 == 1)
        client = self.server.connect()
        eventually(lambda: client.call("server.info")["workers"]["registered"] == HOSTS, "the hosts are there")
        for n in range(ACCOUNTS):
            client.call("actor.call", f"account/{n}", "open", [OPENED])
        client.close()
        plans = self.plans()
        threads = [threading.Thread(target=self.give, args=(n, plan)) for n, plan in enumerate(plans)]
        witnesses = [threading.Thread(target=act) for act in (self.count, self.mark, self.mark, self.mark, self.see, self.order)]
        for thread in threads + witnesses:
            thread.start()
        total = sum(map(len, plans))
        for kill in range(KILLS):
            mark = total * (kill + 1) // (KILLS + 1)
            eventually(lambda: sum(self.told) >= mark, "transfers")
            if FULL and kill % (KILLS // FULL) == 0:
                self.fill_disk()
            of_c = self.kill_host()
            self.server.discard()
            self.look()
            self.start()
            self.start_host(of_c)
        for thread in threads:
            thread.join()
        eventually(lambda: self.ordered == ORDERED, "all are told")
        self.done.set()
        for thread in witnesses:
            thread.join()
        client = self.server.connect()
        self.addCleanup(client.close)
        self.arrive(client)
        self.assertEqual(client.call("actor.get", "order/0", {"state": True})["state"]["numbers"], list(range(ORDERED)))
        self.assertEqual(self.strange, [])
        self.check_accounts(client, plans)
        self.assertTrue(client.call("server.audit")["balanced"])
        if FULL:
            self.assertGreater(self.refused, 0)
            self.assertTrue(self.counted and all(self.seen.values()), "there were witnesses")
            print(f"{total} transfers, {KILLS} kills of the server and of a host, {FULL} full disks, which refused {self.refused} requests")


if __name__ == "__main__":
    unittest.main()
