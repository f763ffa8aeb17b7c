"""task.events and ergon events: what happens to all tasks, across broken connections and kill -9 of the server."""
import json
import re
import signal
import unittest

from harness import INTERRUPTED, LIMIT, TIMEOUT, USAGE, KeptTest, RemoteError, eventually

HOUR = "1h"
READERS = 50
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}(?:Z|[+-]\d\d:\d\d)  (\S+) +(t\S+)?")


class FeedTest(KeptTest):
    def setUp(self):
        super().setUp()
        self.start()

    def start(self):
        super().start()
        self.client = self.server.connect(self.url)

    def crash(self):
        self.client.close()
        super().crash()

    def submit(self, method, *params, **options):
        return self.client.call("task.submit", method, list(params), dict({"durable": "fsync"}, **options))["id"]

    def events(self, **options):
        return self.client.call("task.events", dict({"timeout": 0}, **options))

    def until(self, event, task, cursor):
        """All pages from the cursor to the one that holds this event of the task."""
        told = []
        while not any(e["event"] == event and e["id"] == task for e in told):
            page = self.events(after=cursor, timeout=HOUR)
            self.assertIsNone(page["gap"])
            told += page["events"]
            cursor = page["next"]
        return told, cursor

    # ---- on the wire ----

    def test_each_event_is_told_once_and_in_order(self):
        cursor = self.events()["next"]
        tasks = [self.submit("echo", i) for i in range(20)]
        told, cursor = [], cursor
        for task in tasks:
            if not any(e["event"] == "done" and e["id"] == task for e in told):
                more, cursor = self.until("done", task, cursor)
                told += more
        self.assertEqual([e["seq"] for e in told], list(range(told[0]["seq"], told[0]["seq"] + len(told))))
        for task in tasks:
            self.assertEqual([e["event"] for e in told if e["id"] == task], ["submitted", "started", "done"])

    def test_many_readers_are_told_the_same(self):
        cursor = self.events()["next"]
        readers = [self.server.connect(self.url) for _ in range(READERS)]
        for reader in readers:
            self.addCleanup(reader.close)
        asked = [r.send("task.events", {"after": cursor, "timeout": HOUR, "event": ["failed"]}) for r in readers]
        task = self.submit("fail", "NOPE", "on purpose")
        for reader, msgid in zip(readers, asked):
            self.assertEqual([e["id"] for e in reader.result(msgid)["events"]], [task])

    def test_a_killed_server_says_that_there_is_a_gap(self):
        cursor = self.events()["next"]
        task = self.submit("sleep", HOUR)
        _, cursor = self.until("submitted", task, cursor)
        eventually(lambda: self.client.call("task.get", task)["state"] == "parked", "it sleeps")
        self.crash()
        page = self.events(after=cursor, timeout=HOUR)
        self.assertEqual((page["gap"], page["missed"]), ("restart", None))
        self.assertNotEqual(page["next"].rpartition("-")[0], cursor.rpartition("-")[0])
        self.assertIn(("interrupted", task), [(e["event"], e["id"]) for e in self.events(after="oldest")["events"]])

    def test_a_cursor_that_never_was_is_refused(self):
        epoch, _, number = self.events()["next"].rpartition("-")
        with self.assertRaises(RemoteError):
            self.events(after="%s-%d" % (epoch, int(number) + 1000))

    def test_tasks_are_followed_by_their_ids(self):
        first, other, last = (self.submit("echo", i) for i in range(3))
        self.client.call("task.wait", [first, other, last])
        told = self.events(after="oldest", id=[first, last])["events"]
        self.assertEqual([(e["id"], e["event"]) for e in told if e["id"] == first],
                         [(first, name) for name in ("submitted", "started", "done")])
        self.assertEqual({e["id"] for e in told}, {first, last})
        self.assertEqual({e["id"] for e in self.events(after="oldest", id=other)["events"]}, {other})
        self.assertEqual(self.events(after="oldest", id=other, event="failed")["events"], [])
        # Who waits for one is not answered by what happens to others.
        waits = self.submit("echo", 1, delay="1h")
        cursor = self.events()["next"]
        with self.server.connect(self.url) as reader:
            asked = reader.send("task.events", {"id": waits, "after": cursor, "timeout": HOUR})
            self.client.call("task.wait", [self.submit("echo", 2)])
            self.client.call("task.cancel", waits)
            self.assertEqual([(e["id"], e["event"]) for e in reader.result(asked)["events"]], [(waits, "cancelled")])

    def test_ids_that_are_none_are_refused(self):
        for wrong in ("no id", 7, ["t0000000000001", 7], ["t0000000000001"] * 33):
            with self.assertRaises(RemoteError) as caught:
                self.events(id=wrong)
            self.assertEqual(caught.exception.code, "BAD_PARAMS")
        self.assertEqual(self.events(after="oldest", id="t0000000000001")["events"], [])

    def test_a_cron_that_is_paused_and_resumed_is_told(self):
        self.client.call("cron.put", "tick", "@yearly", "echo", [], {"durable": "none"})
        for _ in range(2):
            self.client.call("cron.pause", "tick")
        self.client.call("cron.resume", "tick")
        told = self.events(after="oldest", event=["cron_paused", "cron_resumed"])["events"]
        self.assertEqual([(e["event"], e["cron"], e["method"], e["id"], e["key"]) for e in told],
                         [(event, "tick", "echo", None, None) for event in ("cron_paused", "cron_resumed")])
        out = self.ergon("events", "--after", "oldest", "-n", "1", "--event", "cron_paused")
        self.assertIn("cron=tick", out)
        out = self.ergon("events", "--after", "oldest", "-n", "1", "--event", "cron_resumed", "--json")
        self.assertEqual(json.loads(out)["cron"], "tick")

    def test_an_actor_that_is_stopped_and_started_is_told(self):
        self.client.call("actor.call", "counter/feed", "add", [1])
        self.client.call("actor.stop", "counter/feed", {"reason": "a look"})
        self.client.call("actor.start", "counter/feed")
        self.client.call("actor.drop", "counter/feed")
        told = self.events(after="oldest", event=["actor_stopped", "actor_started", "actor_dropped"])["events"]
        self.assertEqual([(e["event"], e["actor"], e["method"], e["text"]) for e in told],
                         [("actor_stopped", "counter/feed", None, "a look"), ("actor_started", "counter/feed", None, None),
                          ("actor_dropped", "counter/feed", None, None)])
        self.assertIn("actor=counter/feed  a look", self.ergon("events", "--after", "oldest", "-n", "1", "--event", "actor_stopped"))

    # ---- the command ----

    def test_follows_tasks_by_their_ids(self):
        first, other, last = (self.submit("echo", i) for i in range(3))
        self.client.call("task.wait", [first, other, last])
        out = self.ergon("events", "--after", "oldest", "-n", "6", "--task", first, "--task", last)
        self.assertEqual({LINE.match(line).group(2) for line in out.splitlines()}, {first, last})
        self.assertIn("id", self.complaint("events", "--task", "none", status=1))

    def test_prints_a_line_an_event_and_ends_at_its_count(self):
        task = self.submit("echo", 1, key="k1")
        self.until("done", task, "oldest")
        out = self.ergon("events", "--after", "oldest", "-n", "3")
        self.assertEqual([LINE.match(line).groups() for line in out.splitlines()],
                         [(event, task) for event in ("submitted", "started", "done")])
        self.assertIn("key=k1", out)
        out = self.ergon("events", "--after", "oldest", "-n", "1", "--state", "done", "--method", "echo",
                            "--task-key", "k1", "--json")
        self.assertEqual(json.loads(out)["id"], task)

    def test_its_time_may_be_limited(self):
        # With a longer one where the machine is too busy to ask within it.
        self.assertTrue(any("--after t" in self.complaint("events", "--timeout", limit, status=TIMEOUT) for limit in ("300ms", "3s", "20s")))

    def test_a_state_that_no_event_tells_is_refused(self):
        err = self.complaint("events", "--state", "parked", status=1)
        self.assertIn("state", err)
        self.complaint("events", "one", status=USAGE)

    def test_an_interrupt_prints_the_cursor_that_goes_on(self):
        follow = self.background("events", "--after", "oldest")
        first = self.submit("echo", 1)
        while "done" not in follow.stdout.readline():
            pass
        follow.send_signal(signal.SIGINT)
        self.assertEqual(follow.wait(LIMIT), INTERRUPTED)
        cursor = re.search(r"--after (t\S+)", follow.stderr.read()).group(1)
        second = self.submit("echo", 2)
        out = self.ergon("events", "--after", cursor, "-n", "3")
        self.assertNotIn(first, out)
        self.assertEqual(out.count(second), 3)

    def test_goes_on_across_a_killed_server_and_tells_the_gap(self):
        follow = self.background("events", "--after", "oldest")
        task = self.submit("echo", 1)
        while "done" not in follow.stdout.readline():
            pass
        self.crash()
        task = self.submit("echo", 2)
        told = [follow.stdout.readline()]
        while "done" not in told[-1] or task not in told[-1]:
            told.append(follow.stdout.readline())
            self.assertTrue(told[-1], "it has ended: %s" % told)
        self.assertIn("started anew", told[0])
        self.assertEqual([LINE.match(line).group(1) for line in told if task in line], ["submitted", "started", "done"])


if __name__ == "__main__":
    unittest.main()
