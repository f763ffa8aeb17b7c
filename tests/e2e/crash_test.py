"""kill -9 at random moments, under durable submissions from 32 connections.

What was acknowledged must be there after the start that follows; what was seen to have ended must not
have run again; what runs again must carry a higher attempt; and the accounts must balance."""
import os
import random
import selectors
import shutil
import signal
import tempfile
import time
import unittest

from harness import SANITIZED, Server, eventually

KILLS = int(os.environ.get("ERGON_KILLS", "40" if SANITIZED else "200"))
CONNECTIONS = 32
LOOK_BACK = 100  # tasks of earlier rounds that are looked at after each start
ENDED = ("done", "failed", "cancelled", "expired", "dead")
WORK = (("echo", ["x" * 40]), ("sleep", ["2ms"]), ("block", ["1ms"]), ("fail", ["NOPE", "on purpose"]),
        ("echo", []))


class Known:
    """What the client has been told of one task."""

    def __init__(self):
        self.attempt = 0
        self.ended = None  # (state, attempt), once seen

    def see(self, task):
        """Answers on several connections are read in any order."""
        self.attempt = max(self.attempt, task["attempt"])
        if task["state"] in ENDED:
            self.ended = (task["state"], task["attempt"])


class Load:
    """32 connections, each with a few requests in flight, until the server goes."""

    def __init__(self, server, tasks, rng):
        self.tasks, self.rng = tasks, rng
        self.selector = selectors.DefaultSelector()
        self.clients = [server.connect() for _ in range(CONNECTIONS)]
        self.asked = [{} for _ in self.clients]
        self.acknowledged = []
        for i, client in enumerate(self.clients):
            client.sock.setblocking(False)
            self.selector.register(client.sock, selectors.EVENT_READ, i)
            for _ in range(4):
                self.ask(i)

    def ask(self, i):
        client, recent = self.clients[i], self.acknowledged[-64:]
        if recent and self.rng.random() < 0.4:
            what = self.rng.choice(recent)
            msgid = client.send("task.get", what)
        else:
            what = None
            method, params = self.rng.choice(WORK)
            options = {"durable": "fsync", "keep": "1h"}
            if self.rng.random() < 0.2:
                options["retries"] = 2
                options["backoff"] = "5ms"
            msgid = client.send("task.submit", method, params, options)
        self.asked[i][msgid] = what

    def take(self, i):
        client = self.clients[i]
        data = client.sock.recv(1 << 16)
        if not data:
            raise ConnectionError
        client.unpacker.feed(data)
        for kind, msgid, error, result in client.unpacker:
            assert kind == 1 and error is None, (kind, error)
            what = self.asked[i].pop(msgid)
            if what is None:
                assert result["durable"] == "fsync", result
                self.acknowledged.append(result["id"])
                self.tasks[result["id"]] = Known()
            else:
                self.tasks[what].see(result)
            self.ask(i)

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for key, _ in self.selector.select(max(0.0, end - time.monotonic())):
                self.take(key.data)

    def last_words(self):
        """What the server had written before it was killed counts as acknowledged too."""
        for i, client in enumerate(self.clients):
            try:
                while True:
                    self.take(i)
            except (BlockingIOError, ConnectionError, OSError):
                pass
            client.close()
        self.selector.close()


def note(known, task):
    """Holds what is told now against what was told before."""
    assert task["attempt"] >= known.attempt, (known.attempt, task)
    if known.ended:
        assert (task["state"], task["attempt"]) == known.ended, (known.ended, task)
    known.see(task)


def look(client, tasks, ids):
    """Every one of them must be there.  In pieces, as a connection has only so many in flight."""
    ids = list(ids)
    for start in range(0, len(ids), 256):
        asked = [(task, client.send("task.get", task, {"result": False})) for task in ids[start:start + 256]]
        for task, msgid in asked:
            error, result = client.response(msgid)
            assert error is None, f"task {task} was acknowledged and is gone: {error}"
            note(tasks[task], result)


def audit(client):
    accounts = client.call("server.audit")
    assert accounts["balanced"], accounts
    return accounts


class Crash(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ergon-crash-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.flags = ("--store", os.path.join(self.folder, "tasks.db"), "--log-level", "warn",
                      "--blocking", "2", "--tasks-crashes", "off")

    def round(self, tasks, rng):
        server = Server(*self.flags)
        try:
            with server.connect() as client:
                audit(client)
                old = list(tasks)
                look(client, tasks, old[-LOOK_BACK:] + rng.sample(old, min(LOOK_BACK, len(old))))
            load = Load(server, tasks, rng)
            load.run(rng.uniform(0.001, 0.02))
            server.signal(signal.SIGKILL)
            server.wait()
            load.last_words()
        finally:
            server.discard()

    def test_nothing_acknowledged_is_lost(self):
        rng = random.Random(int(os.environ.get("ERGON_SEED", "20261122")))
        tasks = {}
        for _ in range(KILLS):
            self.round(tasks, rng)
        with Server(*self.flags) as server, server.connect() as client:
            look(client, tasks, tasks)
            eventually(lambda: audit(client)["kept"]["open"] == 0, "every task ends")
            look(client, tasks, tasks)
            accounts = audit(client)
        self.assertGreaterEqual(accounts["kept"]["submitted"], len(tasks))
        again = sum(1 for known in tasks.values() if known.attempt > 1)
        print(f"{KILLS} kills, {len(tasks)} tasks followed, {again} of them with more than one attempt")
        self.assertTrue(all(known.ended for known in tasks.values()))


if __name__ == "__main__":
    unittest.main()
