"""Nothing is taken before its turn: what has not begun can be paused, cancelled and overtaken, and counts nothing."""
import os
import signal
import time
import unittest

from begins import Begins
from harness import Server, WallClock, eventually, scratch

ENDED = ("done", "failed", "cancelled", "expired", "dead")


class Begin(unittest.TestCase):
    def setUp(self):
        self.store = os.path.join(scratch(self.addCleanup), "tasks.db")
        self.server = self.start()
        self.client = self.server.connect()
        self.addCleanup(lambda: (self.client.close(), self.server.discard()))

    def start(self):
        return Server("--loops", "1", "--blocking", "1", "--store", self.store, "--log-level", "warn")

    def kill(self):
        """By kill -9, and started again."""
        self.server.signal(signal.SIGKILL)
        self.server.wait()
        self.client.close()
        self.server.discard()
        self.server = self.start()
        self.client = self.server.connect()

    def submit(self, duration, **options):
        return self.client.call("task.submit", "block", [duration], options)["id"]

    def get(self, task):
        return self.client.call("task.get", task)

    def all(self, tasks):
        return [self.client.result(asked) for asked in [self.client.send("task.get", task) for task in tasks]]

    def until_one_runs(self, tasks):
        eventually(lambda: any(task["attempt"] for task in self.all(tasks)), "one begins")

    def paused_midway(self, ms=40):
        """Tasks of which some have begun, and some have not, when their queue is paused."""
        asked = [self.client.send("task.submit", "block", [ms]) for _ in range(40)]
        tasks = [self.client.result(msgid)["id"] for msgid in asked]
        self.until_one_runs(tasks)
        self.client.call("queue.pause", "block")
        if not all(task["attempt"] for task in self.all(tasks)):
            return tasks
        self.client.call("queue.resume", "block")
        return self.paused_midway(2 * ms)  # the machine was busy for as long as they took

    def test_nothing_begins_after_a_pause(self):
        tasks = self.paused_midway()
        begun = sum(task["attempt"] > 0 for task in self.all(tasks))
        eventually(lambda: not any(task["state"] in ("assigned", "running") for task in self.all(tasks)), "it rests")
        self.assertEqual(sum(task["attempt"] > 0 for task in self.all(tasks)), begun)
        self.assertEqual({task["reason"] for task in self.all(tasks) if task["state"] not in ENDED}, {"paused"})
        self.client.call("queue.resume", "block")
        eventually(lambda: all(task["state"] == "done" for task in self.all(tasks)), "all are done")

    def test_explain_tells_the_truth(self):
        runs = self.submit("1h")
        self.until_one_runs([runs])
        waits = self.submit("1ms")
        eventually(lambda: self.client.call("task.explain", waits)["reason"] == "executors", "it waits for an executor")
        self.client.call("task.cancel", waits)
        self.assertEqual(self.get(waits)["state"], "cancelled")  # at once, and not when the other returns
        self.assertEqual(self.get(runs)["state"], "running")

    def test_only_what_had_begun_counts_crashes(self):
        tasks = [self.submit("40ms") for _ in range(60)]
        for _ in range(2):
            self.until_one_runs(tasks)
            self.kill()
        crashed = [task["crashes"] for task in self.all(tasks)]
        self.assertLessEqual(sum(crashed), 2)
        for task, state in zip(tasks, self.all(tasks)):
            self.assertGreaterEqual(state["attempt"], state["crashes"], task)
        eventually(lambda: all(task["state"] == "done" for task in self.all(tasks)), "all are done")

    def starts_over_a_restart(self):
        """When a task started, in ms, as its server says, and the next one."""
        task = self.submit("1h")
        self.until_one_runs([task])

        def start():
            events = self.client.call("task.watch", task, {"from": 1})["events"]
            return [(event["at"], event["attempt"]) for event in events if event["event"] == "started"][0]

        before = start()
        self.kill()
        after = start()
        self.assertEqual(after[1], before[1])
        eventually(lambda: self.get(task)["attempt"] == 2, "it runs again")
        self.client.call("task.cancel", task)
        return before[0], after[0]

    def test_a_start_stays_over_a_restart(self):
        """But for what passes between two readings of the clocks, which is much where another has the processor then."""
        eventually(lambda: abs(int.__sub__(*self.starts_over_a_restart())) <= 1, "a start stays")

    def test_a_timeout_runs_from_the_begin(self):
        first, clock = self.submit("1h"), WallClock()
        self.until_one_runs([first])
        task = self.submit("1ms", timeout="50ms")
        submitted = time.monotonic()
        eventually(lambda: time.monotonic() > submitted + 0.1, "it has waited for longer than it may run")
        self.client.call("task.cancel", first)
        eventually(lambda: self.get(task)["state"] in ENDED, "it ends")
        shown = self.get(task)
        if shown["state"] != "done":  # the machine was busy, and it has run for as long as it may
            self.assertIn("DEADLINE", shown["error"])
            self.assertGreaterEqual(shown["ended"] - shown["started"], 49 - clock.moved())  # in ms, each rounded

    def test_a_limit_is_not_held_without_running(self):
        for _ in range(20):
            self.client.call("block", "1ms")  # so brief, as far as the server knows, that some may be given ahead
        first = self.submit("1h")
        self.until_one_runs([first])
        tasks = [self.submit("20ms", limit={"key": "k", "max": 1}) if n % 2 else self.submit("20ms") for n in range(20)]
        step = self.client.call("task.submit", "echo", [1], {"limit": {"key": "k", "max": 1}, "priority": 9})["id"]
        eventually(lambda: self.get(step)["state"] == "done", "it is done")
        self.assertEqual([task["attempt"] for task in self.all(tasks)], [0] * len(tasks))  # behind the first
        self.client.call("task.cancel", first)
        eventually(lambda: all(task["state"] == "done" for task in self.all(tasks)), "all are done")


class Order(unittest.TestCase):
    """As the handlers themselves note it."""

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.begins = Begins(self.folder)
        self.addCleanup(self.begins.close)

    def server(self):
        return self.begins.server("--loops", "1", "--blocking", "1", "--store", os.path.join(self.folder, "tasks.db"))

    def backlog(self, client):
        asked = [client.send("task.submit", "note", ["", "40ms"], {"durable": "fsync"}) for _ in range(60)]
        tasks = [client.result(msgid)["id"] for msgid in asked]
        eventually(lambda: self.begins.lines(), "one begins")
        return tasks

    def begun_before(self, task, mark):
        """Those that began between the test's own line `mark` and this task."""
        lines = self.begins.lines()
        began = [line[1] for line in lines[lines.index([mark]):] if line[0] == "began"]
        return began[:began.index(task)] if task in began else []  # or it began before the line was written

    def test_who_goes_first_begins_next(self):
        with self.server() as server, server.connect() as client:
            backlog = self.backlog(client)
            options = {"priority": 9, "tenant": "other", "durable": "fsync"}
            first = client.call("task.submit", "note", ["", "1ms"], options)["id"]
            self.begins.say("submitted")
            eventually(lambda: client.call("task.get", first)["state"] == "done", "it is done")
            between = self.begun_before(first, "submitted")
            for task in backlog:
                client.call("task.cancel", task)
        self.assertLessEqual(len(between), 1)  # one may have begun in the moment of the submission


if __name__ == "__main__":
    unittest.main()
