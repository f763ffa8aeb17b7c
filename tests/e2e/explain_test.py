"""ergon task explain against what the test arranged, on a real server: for each reason the cause, what explain says of it, and
what it says when the cause has gone; and rates and priorities of those that wait, across kill -9."""
import json
import time
import unittest

from harness import KeptTest, WallClock, eventually

# Of the reasons of the server: `commit` and `assigned` last for a moment only, and `stopping`, `store` and `no_executor` are
# shown by a task of their own kind in tests/unit/jobs/truth_test.c.
HOUR = "1h"


class ExplainTest(KeptTest):
    def submit(self, *arguments):
        return self.ergon("task", "submit", *arguments).strip()

    def explain(self, task):
        return json.loads(self.ergon("task", "explain", task, "--json"))

    def until(self, task, reason):
        """What explain tells when it gives this reason."""
        told = {}

        def gives():
            told.clear()
            told.update(self.explain(task))
            return told["reason"] == reason
        eventually(gives, f"{task} is explained by {reason}")
        return told

    def stays(self, task, reason):
        for _ in range(5):
            self.assertEqual(self.explain(task)["reason"], reason)

    def ends(self, task):
        self.ergon("task", "cancel", task)
        self.assertEqual(self.until(task, "ended")["state"], "cancelled")

    # ---- the queue ----

    def block(self, *options):
        return self.submit("block", HOUR, "--durable", "async", *options)

    def test_turn_and_executors(self):
        self.start("--loops", "1", "--blocking", "1")
        holder = self.block()
        self.assertEqual(self.until(holder, "running")["attempt"], 1)
        own = [self.block() for _ in range(4)]
        self.until(own[3], "turn")
        other, higher = self.block("--tenant", "other"), self.block("--priority", "9")
        self.assertEqual(self.until(higher, "executors")["executors"][0]["running"], "block")
        queued = [task for task in own[:3] if self.explain(task)["state"] == "queued"]  # an executor's queue may hold one
        ahead = self.until(own[3], "turn")["ahead"]
        self.assertEqual((ahead["higher"], ahead["own"], ahead["others"]), (1, len(queued), 1))
        for task in queued:
            self.ends(task)
        self.assertEqual(self.until(own[3], "turn")["ahead"]["own"], 0)  # the first of its tenant, but not the next
        for task in {holder, *own[:3]} - set(queued):
            self.ergon("task", "cancel", task)
        self.until(higher, "running")
        eventually(lambda: self.explain(own[3])["reason"] in ("executors", "assigned"), "it is the next, or about to begin")
        self.ends(higher)
        eventually(lambda: "running" in (self.explain(own[3])["reason"], self.explain(other)["reason"]), "one of both began")

    def test_paused(self):
        self.start()
        self.ergon("queue", "pause", "echo")
        task = self.submit("echo", "x")
        self.assertIn('"echo" is paused', self.until(task, "paused")["text"])
        self.stays(task, "paused")
        self.ergon("queue", "resume", "echo")
        self.assertEqual(self.until(task, "ended")["state"], "done")

    # ---- limits and rates ----

    def test_limit_and_rate(self):
        self.start("--blocking", "4")
        holder = self.submit("block", HOUR, "--limit", "disk=1")
        self.until(holder, "running")
        low = self.submit("block", HOUR, "--limit", "disk=1", "--rate", "mail=1/1h", "--priority", "1")
        told = self.until(low, "limit")
        self.assertEqual((told["key"], told["limit"], told["taken"], told["before"], told["running"]), ("disk", 1, 1, 0, [holder]))
        high = self.submit("block", HOUR, "--limit", "disk=1", "--priority", "8")
        self.until(high, "limit")
        self.assertEqual((self.explain(low)["before"], self.explain(high)["before"]), (1, 0))
        rated = self.submit("block", HOUR, "--rate", "mail=1/1h")  # who waits for the limit keeps no token
        self.until(rated, "running")
        self.ends(holder)
        self.until(high, "running")
        # Where a thread came late to the one that goes first, the other had its turn meanwhile, and waits for its rate.
        self.assertIn(self.explain(low)["reason"], ("limit", "rate"))
        self.ends(high)
        told = self.until(low, "rate")
        self.assertEqual((told["key"], told["rate"], told["per"], told["before"]), ("mail", 1, 3600000, 0))
        self.assertAlmostEqual(told["refill"] / 1000, time.time() + 3600, delta=300)
        free = self.submit("block", HOUR, "--limit", "disk=1")  # and who waits for the rate keeps no place
        self.until(free, "running")

    def test_a_rate_lets_go_in_time(self):
        clock = WallClock()
        self.start()
        first = self.submit("echo", "1", "--rate", "mail=1/1s")
        self.until(first, "ended")
        second = self.submit("echo", "2", "--rate", "mail=1/1s")
        self.assertEqual(self.until(second, "ended")["state"], "done")
        started = [json.loads(self.ergon("task", "get", task, "--json"))["started"] for task in (first, second)]
        self.assertGreaterEqual(started[1] - started[0], 999 - clock.moved())  # in ms, each rounded

    def test_a_rate_holds_over_kill(self):
        self.start()
        for name in "ab":
            self.submit("echo", name, "--rate", "mail=2/1h", "--keep", "1ms", "--durable", "none")
        eventually(lambda: json.loads(self.ergon("info", "--json"))["info"]["kept"]["held"] == 0, "both are done, and forgotten")
        self.crash()
        task = self.submit("echo", "c", "--rate", "mail=2/1h")
        told = self.until(task, "rate")
        self.assertAlmostEqual(told["refill"] / 1000, time.time() + 3600, delta=300)
        self.crash()
        self.until(task, "rate")

    # ---- other tasks, and time ----

    def test_after(self):
        self.start()
        first = self.submit("sleep", HOUR)
        task = self.submit("echo", "x", "--after", first)
        self.assertEqual(self.until(task, "after")["after"], [first])
        self.until(first, "parked")
        self.ends(first)
        self.assertIn("AFTER", self.until(task, "ended")["last_error"])

    def test_times(self):
        self.start()
        now = time.time()
        later = self.submit("echo", "x", "--delay", HOUR)
        self.assertAlmostEqual(self.until(later, "delay")["next"] / 1000, now + 3600, delta=300)
        retried = self.submit("fail", "ODD", "no", "--retries", "2", "--backoff", HOUR, "--backoff-jitter", "0")
        told = self.until(retried, "retry")
        self.assertAlmostEqual(told["next"] / 1000, now + 3600, delta=300)
        self.assertEqual(told["last_error"], "ODD: no")
        again = self.submit("echo", "x", "--delay", "20ms")
        self.assertEqual(self.until(again, "ended")["state"], "done")

    def test_suspect(self):
        self.start("--blocking", "2")
        tasks = [self.submit("block", HOUR) for _ in range(2)]
        for _ in range(2):
            for task in tasks:
                self.until(task, "running")
            self.crash("--blocking", "2")
        reasons = {}

        def apart():
            reasons.update({self.explain(task)["reason"]: task for task in tasks})
            return {"running", "suspect"} <= set(reasons)
        eventually(apart, "one runs, and the other waits for it")
        self.assertEqual(self.explain(reasons["suspect"])["running"], reasons["running"])
        suspect = reasons["suspect"]
        self.ends(reasons["running"])
        self.until(suspect, "running")


if __name__ == "__main__":
    unittest.main()
