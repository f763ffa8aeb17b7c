"""kill -9 at random moments, under durable submissions from 32 connections.

What was acknowledged must be there after the start that follows; what was seen to have ended must not
have run again; what runs again must carry a higher attempt; and the accounts must balance.

The same, watched at the begin of the handlers: no attempt begins twice, none after a pause or a cancel of it was
answered, none beside another of a limit of 1, and none before those that go first."""
import os
import random
import selectors
import shutil
import signal
import tempfile
import threading
import time
import unittest

from begins import Begins
from harness import SANITIZED, Server, eventually

KILLS = int(os.environ.get("ERGON_KILLS", "20" if SANITIZED else "60"))
CONNECTIONS = 32
ROUNDS = int(os.environ.get("ERGON_KILLS", "12"))  # of those that watch the begins
EXECUTORS = {"fixed": 1, "measured": 2}  # by what bounds their queues
HIGHEST, LOW = 9, (0, 1, 2)  # priorities
LINES_TOLD = 60  # of those before a broken promise
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


class Life:
    """One server until it is killed: tasks are submitted, cancelled and paused, one request after the other.  What was
    answered is noted among the begins; what the kill left unanswered promises nothing."""

    def __init__(self, begins, server, rng, tasks, pauses):
        self.begins, self.rng, self.tasks, self.pauses = begins, rng, tasks, pauses
        self.client = server.connect()

    def submit(self):
        key = self.rng.choice(("", "", "k", "l"))
        options = {"durable": "fsync", "keep": "1h", "priority": self.rng.choice(LOW)}
        if key:
            options["limit"] = {"key": key, "max": 1}
        task = self.client.call("task.submit", "note", [key, f"{self.rng.randrange(4)}ms"], options)["id"]
        self.tasks[task] = options["priority"]
        self.begins.say("low", task)

    def submit_first(self):
        options = {"durable": "fsync", "keep": "1h", "priority": HIGHEST}
        task = self.client.call("task.submit", "note", ["", "0ms"], options)["id"]
        self.tasks[task] = HIGHEST
        self.begins.say("first", task)

    def cancel(self):
        for task in self.rng.sample(list(self.tasks)[-12:], min(2, len(self.tasks))):
            self.begins.say("cancels", task)
            asked, get = self.client.send("task.cancel", task), self.client.send("task.get", task)
            self.client.response(asked)  # refused, when it has ended
            self.begins.say("cancelled", task, self.client.result(get)["attempt"])

    def pause(self):
        recent = list(self.tasks)[-200:]  # so many as may be in flight
        msgid = self.client.send("queue.pause", "note")
        gets = [(task, self.client.send("task.get", task, {"result": False})) for task in recent]
        self.client.result(msgid)
        self.begins.say("paused", len(self.pauses))
        self.pauses.append({})
        for task, get in gets:
            self.pauses[-1][task] = self.client.result(get)["attempt"]

    def resume(self):
        self.begins.say("resumes")
        self.client.call("queue.resume", "note")

    def run(self):
        self.submit()  # while it is paused, if the last life left it so
        self.resume()
        acts = (self.submit,) * 12 + (self.submit_first,) * 3 + (self.cancel, self.pause)
        while True:
            act = self.rng.choice(acts)
            act()
            if act == self.pause:
                self.submit()
                self.submit_first()
                if self.rng.random() < 0.5:
                    self.resume()


class Watch:
    """Goes through the lines of the begins, and holds them against what was promised."""

    def __init__(self, lines, tasks, pauses):
        self.tasks, self.pauses = tasks, pauses
        self.attempt = {}  # by task, of its last begin
        self.most = {}  # by task, what a cancel left
        self.counts = {"began": 0, "first": 0, "cancelled": 0, "paused": 0, "alone": 0}
        self.forget()
        self.pause, self.late, self.executors, self.ordered = None, 0, 0, False
        for n, line in enumerate(lines):
            try:
                getattr(self, line[0])(*line[1:])
            except AssertionError as e:
                before = "\n".join(" ".join(words) for words in lines[max(0, n + 1 - LINES_TOLD):n + 1])
                raise AssertionError(f"{e}; the last line of\n{before}") from None

    def forget(self):
        """What runs ends with its server."""
        self.running = {}  # by key, the task that has it
        self.waiting = {}  # of those that go first, how many others began before each

    def life(self, bound):
        self.forget()
        self.executors, self.ordered = EXECUTORS[bound], bound == "fixed"
        self.late = self.executors  # in this life none was about to write its line

    def low(self, task):
        pass

    def first(self, task):
        if self.ordered and task not in self.attempt:
            self.counts["first"] += 1
            self.waiting[task] = 0

    def cancels(self, task):
        self.waiting.pop(task, None)

    def cancelled(self, task, attempt):
        self.counts["cancelled"] += 1
        assert self.attempt.get(task, 0) <= int(attempt), (task, attempt)
        self.most[task] = int(attempt)

    def paused(self, number):
        self.counts["paused"] += 1
        self.pause, self.late = self.pauses[int(number)], 0

    def resumes(self):
        self.pause = None

    def began(self, task, attempt, key=""):
        attempt = int(attempt)
        self.counts["began"] += 1
        assert attempt > self.attempt.get(task, 0), f"{task}: attempt {attempt} after {self.attempt[task]}"
        self.attempt[task] = attempt
        assert attempt <= self.most.get(task, attempt), f"{task}: attempt {attempt} after its cancel was answered"
        self.not_paused(task, attempt)
        if key:
            self.counts["alone"] += 1
            assert key not in self.running, f"{task} beside {self.running[key]}, both of {key}"
            self.running[key] = task
        self.in_order(task)

    def not_paused(self, task, attempt):
        """Who had begun when the pause was answered may write its line after that: one an executor at most, and none
        whose attempt was not known then."""
        if self.pause is None:
            return
        self.late += 1
        assert self.late <= self.executors, f"{task} began in a pause"
        assert attempt <= self.pause.get(task, attempt), f"{task}: attempt {attempt} began in a pause"

    def in_order(self, task):
        self.waiting.pop(task, None)
        if self.tasks.get(task) not in LOW:
            return
        for other in self.waiting:
            self.waiting[other] += 1  # it may have begun before the other was there
            assert self.waiting[other] <= 1, f"{task} and others began before {other}, which goes first"

    def ends(self, task, attempt, key=""):
        if key:
            del self.running[key]


class BeginsOverKills(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ergon-begins-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.begins = Begins(self.folder)
        self.addCleanup(self.begins.close)
        self.tasks, self.pauses = {}, []  # priority by task; attempts by task, when each pause was answered

    def server(self, bound):
        """`fixed`: one executor has one task at a time, so that the order of the begins is that of the queue.  (A second
        would begin others while the thread of the first is late to begin what was given to it, until that is taken back.)
        `measured`: brief tasks are given ahead, and who goes first is given first, yet may stand behind one that runs."""
        self.begins.say("life", bound)
        return self.begins.server("--executors-bound", bound, "--blocking-queue", "1" if bound == "fixed" else "64",
                                  "--store", os.path.join(self.folder, "tasks.db"), "--log-level", "warn",
                                  "--loops", "1", "--blocking", str(EXECUTORS[bound]), "--tasks-crashes", "off")

    def round(self, rng):
        server = self.server(rng.choice(("fixed", "measured")))
        killer = threading.Timer(rng.uniform(0.01, 0.25), server.signal, [signal.SIGKILL])
        try:
            life = Life(self.begins, server, rng, self.tasks, self.pauses)
            killer.start()
            with life.client, self.assertRaises(OSError):
                life.run()
            server.wait()
        finally:
            killer.cancel()
            server.discard()

    def the_rest(self):
        """A last life in which all end; the attempts that the server tells of each."""
        with self.server("measured") as server, server.connect() as client:
            self.begins.say("resumes")
            client.call("queue.resume", "note")
            eventually(lambda: audit(client)["kept"]["open"] == 0, "every task ends")
            return {task: client.call("task.get", task, {"result": False}) for task in self.tasks}

    def test_handlers_begin_as_promised(self):
        rng = random.Random(int(os.environ.get("ERGON_SEED", "20261122")))
        for _ in range(ROUNDS):
            self.round(rng)
        told = self.the_rest()
        watch = Watch(self.begins.lines(), self.tasks, self.pauses)
        for task, last in told.items():
            self.assertGreaterEqual(last["attempt"], watch.attempt.get(task, 0), task)
            if last["state"] == "done":
                self.assertEqual(last["attempt"], watch.attempt[task], task)
        again = sum(attempt > 1 for attempt in watch.attempt.values())
        print(f"{ROUNDS} kills, {len(self.tasks)} tasks followed, {watch.counts['began']} begins, {again} tasks more than "
              f"once, {watch.counts['alone']} begins under a limit of 1, {watch.counts['first']} tasks of the highest priority, "
              f"{watch.counts['cancelled']} cancels and {watch.counts['paused']} pauses answered")


if __name__ == "__main__":
    unittest.main()
