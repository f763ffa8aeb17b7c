"""Tasks that outlive their connection, over the wire of the real server."""
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import ERGOND, RemoteError, Server, ServerTest, WallClock, eventually


def fill_up(path):
    """Writes until the disk is full."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            os.write(file, b"x" * 4096)
    except OSError:
        os.close(file)


class InMemory(ServerTest):
    FLAGS = ("--log-level", "warn", "--blocking", "2")

    def submit(self, method, params=(), **options):
        return self.client.call("task.submit", method, list(params), options)["id"]

    def wait(self, *ids, **options):
        return self.client.call("task.wait", list(ids), {"timeout": "60s", **options})

    def ended(self, task):
        return self.wait(task)["ended"][0]

    def state(self, task):
        return self.client.call("task.get", task)["state"]

    def test_a_task_outlives_its_connection(self):
        with self.server.connect() as other:
            told = other.call("task.submit", "echo", ["hi"])
        self.assertEqual((told["durable"], told["duplicate"], told["coalesced"]), ("none", False, False))
        task = self.ended(told["id"])
        self.assertEqual((task["state"], task["result"], task["attempt"]), ("done", "hi", 1))

    def test_no_name_has_a_zero(self):
        bad = "a\0b"
        submit = lambda **options: ("task.submit", "echo", [], options)
        put = lambda *params: ("cron.put", *params)
        names = [submit(key=bad), submit(coalesce=bad), submit(tenant=bad), submit(limit={"key": bad, "max": 1}),
                 submit(rate={"key": bad, "max": 1, "per": "1s"}), ("task.submit", bad), ("task.call", "echo", [], {"key": bad}),
                 ("task.submit_many", [["echo"]], {"key": bad}), put(bad, "@daily", "echo"), put("c", "@daily", bad),
                 put("c", "@daily", "echo", [], {"coalesce": bad}), ("cron.delete", bad), ("queue.pause", bad), ("sem.create", bad, 1),
                 ("sem.acquire", bad, {"of": 1}), ("event.set", bad), ("event.wait", bad)]
        names += [("worker.register", ["zero.work"], {name: bad}) for name in ("name", "host", "version")]
        others = [submit(traceparent=bad), submit(tracestate=bad), put("c", "@daily\0", "echo"), put("c", "@daily", "echo", [], {"zone": "UTC\0"}),
                  ("worker.register", [bad])]
        for method, *params in names + others:
            with self.assertRaises(RemoteError) as refused:
                self.client.call(method, *params)
            self.assertIn("BAD_PARAMS: ", refused.exception.value, (method, params))
            if (method, *params) in names:
                self.assertIn("U+0000", refused.exception.value, (method, params))
        self.assertEqual(self.client.call("cron.list"), [])

    def test_many_at_once_and_each_is_told(self):
        told = self.client.call("task.submit_many", [["echo", [n]] for n in range(1000)], {"priority": 3})
        ended = self.wait(*(t["id"] for t in told))["ended"]
        self.assertEqual(sorted(t["result"] for t in ended), list(range(1000)))

    def test_the_oldest_of_a_queue_is_known_behind_thousands_of_others(self):
        oldest = lambda: {q["method"]: q["oldest"] for q in self.client.call("queue.list")}
        for _ in range(5):
            self.client.call("task.submit_many", [["echo", []]] * 1000, {"delay": "1h"})
        first, second = (self.submit("sleep", ["1h"], delay="1h") for _ in range(2))
        created = lambda task: self.client.call("task.get", task)["created"]
        self.assertEqual(oldest()["sleep"], created(first))
        self.client.call("task.cancel", first)
        self.assertEqual(oldest()["sleep"], created(second))
        self.client.call("task.retry", first)
        self.assertEqual(oldest()["sleep"], created(first))
        self.client.call("task.cancel", {"method": "sleep"})  # the first may have begun: it ends when its handler has heard of that
        eventually(lambda: oldest()["sleep"] is None, "none is open")

    def test_an_error_in_one_refuses_all(self):
        with self.refused("BAD_PARAMS"):
            self.client.call("task.submit_many", [["echo", [1]], ["echo", [2], {"prioritee": 1}]])
        with self.refused("NO_METHOD"):
            self.client.call("task.submit_many", [["echo", [1]], ["no_such", []]])

    def test_failures(self):
        task = self.ended(self.submit("fail", ["ODD", "not today"]))
        self.assertEqual((task["state"], task["error"]), ("failed", "ODD: not today"))
        task = self.ended(self.submit("fail", ["ODD", "not today"], retries=2, backoff="1ms"))
        self.assertEqual((task["state"], task["attempt"]), ("dead", 3))
        task = self.ended(self.submit("fail", ["PERMANENT", "never"], retries=9, backoff="1ms"))
        self.assertEqual((task["state"], task["attempt"]), ("failed", 1))

    def test_retry_by_hand(self):
        task = self.submit("fail", ["ODD", "not today"])
        self.ended(task)
        self.assertEqual(self.client.call("task.retry", task)["id"], task)
        self.assertEqual(self.ended(task)["attempt"], 2)

    def test_timeout_and_deadline(self):
        task = self.ended(self.submit("sleep", ["1h"], timeout="20ms"))
        self.assertEqual(task["state"], "failed")
        self.assertTrue(task["error"].startswith("DEADLINE"))
        self.assertEqual(self.ended(self.submit("sleep", ["1h"], deadline="20ms"))["state"], "expired")
        self.assertEqual(self.ended(self.submit("echo", [], delay="1h", deadline="20ms"))["state"], "expired")

    def test_cancel(self):
        waiting = self.submit("echo", [], delay="1h")
        running = self.submit("sleep", ["1h"])
        eventually(lambda: self.state(running) == "parked", "it sleeps")
        for task in waiting, running:
            self.assertTrue(self.client.call("task.cancel", task)["cancelled"])
            self.assertEqual(self.ended(task)["state"], "cancelled")
        self.assertFalse(self.client.call("task.cancel", waiting)["cancelled"])

    def test_key(self):
        first = self.client.call("task.submit", "sleep", ["1h"], {"key": "report"})
        second = self.client.call("task.submit", "sleep", ["1h"], {"key": "report"})
        other = self.client.call("task.submit", "sleep", ["1h"], {"key": "report", "tenant": "somebody"})
        self.assertEqual((second["id"], second["duplicate"]), (first["id"], True))
        self.assertNotEqual(other["id"], first["id"])
        for task in first, other:
            self.client.call("task.cancel", task["id"])

    def test_coalesced_run_ends_with_its_last_waiter(self):
        first = self.client.send("task.call", "sleep", ["1h"], {"coalesce": "warm", "keep": "1m"})
        with self.server.connect() as other:
            other.send("task.call", "sleep", ["1h"], {"coalesce": "warm", "keep": "1m"})
            other.call("server.ping")
            eventually(lambda: len(self.client.call("task.list", {"method": "sleep", "state": "parked"})["tasks"]) == 1,
                       "one run for both")
            task = self.client.call("task.list", {"method": "sleep", "state": "parked"})["tasks"][0]["id"]
            self.client.notify("server.cancel", first)
            error, _ = self.client.response(first)
            self.assertTrue(error.startswith("CANCELLED"))
            self.assertEqual(self.state(task), "parked")
            other.reset()  # a FIN would only say that no more requests come
        eventually(lambda: self.state(task) == "cancelled", "its last waiter has gone")

    def test_call_with_options_answers_the_result(self):
        self.assertEqual(self.client.call("task.call", "echo", [7], {"priority": 9}), 7)
        with self.refused("ODD"):
            self.client.call("task.call", "fail", ["ODD", "x"], {"priority": 9})

    def test_after(self):
        first = self.submit("sleep", ["20ms"])
        second = self.submit("echo", ["second"], after=[first])
        self.assertEqual(self.ended(second)["result"], "second")
        self.assertEqual(self.state(first), "done")
        bad = self.submit("fail", ["ODD", "x"])
        never = self.ended(self.submit("echo", [], after=bad))
        self.assertEqual(never["state"], "failed")
        self.assertTrue(never["error"].startswith("AFTER"), never)
        self.assertEqual(self.ended(self.submit("echo", ["then"], after_any=[first, bad]))["result"], "then")

    def test_limit(self):
        clock, first = WallClock(), self.submit("sleep", ["1h"], limit={"key": "disk", "max": 1})
        tasks = [self.submit("sleep", ["20ms"], limit={"key": "disk", "max": 1}) for _ in range(5)]
        told = self.client.call("task.explain", tasks[-1])
        self.assertIn(told["reason"], ("limit", "turn"))
        self.client.call("task.cancel", first)
        spans = sorted((t["started"], t["ended"]) for t in self.wait(*tasks)["ended"])
        for before, then in zip(spans, spans[1:]):
            self.assertLessEqual(before[1], then[0] + 1 + clock.moved())

    def test_pause(self):
        self.client.call("queue.pause", "hash")
        task = self.submit("hash", ["sha256", b"x", "hex"])
        eventually(lambda: self.client.call("task.explain", task)["reason"] == "paused", "it is held")
        self.client.call("queue.resume", "hash")
        self.assertEqual(self.ended(task)["state"], "done")

    def test_watch(self):
        task = self.submit("sleep", ["10ms"])
        events, following = [], 1
        while True:
            told = self.client.call("task.watch", task, {"from": following, "timeout": "60s"})
            events += [e["event"] for e in told["events"]]
            following = told["next"]
            if told["ended"]:
                break
        self.assertEqual(events, ["submitted", "started", "done"])

    def test_watch_pushes_where_the_peer_opted_in(self):
        with self.refused("BAD_PARAMS"):
            self.client.call("task.watch", self.submit("echo"), {"push": True})
        self.client.call("server.hello", {"push": True})
        task = self.submit("sleep", ["10ms"])
        msgid = self.client.send("task.watch", task, {"push": True})
        events = []
        while True:
            message = self.client.receive()
            if message[0] == 1:
                break
            self.assertEqual(message[:2], [2, "task.event"])
            events.append(message[2][1]["event"])
        self.assertEqual(message[1], msgid)
        self.assertTrue(message[3]["ended"])
        self.assertEqual(events, ["submitted", "started", "done"])

    def test_a_poll_goes_with_its_connection(self):
        task = self.submit("echo", [], delay="1h")
        with self.server.connect() as other:
            other.send("task.wait", [task], {"timeout": "1h"})
            other.send("task.watch", task, {"from": 9, "timeout": "1h"})
            other.call("server.ping")
        self.assertTrue(self.client.call("task.cancel", task)["cancelled"])

    def test_durable_without_a_store_is_refused(self):
        with self.refused("STORE"):
            self.client.call("task.submit", "echo", [], {"durable": "fsync"})

    def test_unknown_ids(self):
        for method in "task.get", "task.wait", "task.watch", "task.cancel", "task.retry", "task.explain":
            with self.subTest(method), self.refused("NOT_FOUND"):
                self.client.call(method, "t0000000000001")
            with self.subTest(method), self.refused("BAD_PARAMS"):
                self.client.call(method, "no id")

    def test_cron(self):
        told = self.client.call("cron.put", "tick", "every 1s", "echo", ["tick"], {"durable": "none"})
        self.assertEqual(told["name"], "tick")
        eventually(lambda: self.client.call("cron.list")[0]["fired"] > 0, "the cron fires")
        self.assertEqual(self.ended(self.client.call("cron.list")[0]["last_task"])["result"], "tick")
        self.assertTrue(self.client.call("cron.delete", "tick"))
        self.assertEqual(self.client.call("cron.list"), [])

    def test_accounts(self):
        self.submit("echo")
        accounts = self.client.call("server.audit")
        self.assertTrue(accounts["balanced"], accounts)


class Durable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ergon-tasks-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = os.path.join(self.folder, "tasks.db")

    def server(self, *flags):
        return Server("--store", self.store, "--log-level", "warn", *flags)

    def test_a_file_is_not_replicated(self):
        why = ("durable: replicated needs a store on PostgreSQL with a synchronous standby; see docs/cluster.md")
        with self.server() as server, server.connect() as client:
            told = client.call("task.submit", "echo", [], {"key": "k", "delay": "1h"})
            asked = {"durable": "replicated"}
            for method, *params in (("task.submit", "echo", [], asked), ("task.submit", "echo", [], {**asked, "key": "k"}),
                                    ("task.call", "echo", [], asked), ("cron.put", "c", "@daily", "echo", [], asked)):
                with self.assertRaises(RemoteError) as refused:
                    client.call(method, *params)
                self.assertEqual(refused.exception.value, f"STORE: {why}", method)
            self.assertEqual(client.call("task.submit", "echo", [], {"key": "k"})["id"], told["id"])
            self.assertEqual(client.call("task.get", told["id"])["durable"], "fsync")
            self.assertEqual(client.call("cron.list"), [])
            first, second = client.call("task.submit_many", [["echo", []], ["echo", [], asked]])
            self.assertEqual((first["durable"], second["error"]), ("fsync", f"STORE: {why}"))

    def test_a_deploy_loses_nothing(self):
        with self.server() as server, server.connect() as client:
            done = client.call("task.submit", "echo", ["kept"])
            self.assertEqual(done["durable"], "fsync")
            client.call("task.wait", done["id"], {"timeout": "60s"})
            delayed = client.call("task.submit", "echo", ["later"], {"delay": "1ms", "after": [done["id"]]})
            running = client.call("task.submit", "sleep", ["1h"])["id"]
            eventually(lambda: client.call("task.get", running)["state"] == "parked", "it runs")
            client.call("cron.put", "nightly", "@daily", "echo", ["night"], {"zone": "Europe/Berlin"})
            client.call("queue.pause", "hash")
            before = client.call("cron.list")[0]["next"]
        with self.server() as server, server.connect() as client:
            task = client.call("task.get", done["id"])
            self.assertEqual((task["state"], task["result"], task["attempt"]), ("done", "kept", 1))
            told = client.call("task.wait", delayed["id"], {"timeout": "60s"})
            self.assertEqual(told["ended"][0]["result"], "later")
            eventually(lambda: client.call("task.get", running)["state"] == "parked", "it runs again")
            self.assertEqual(client.call("task.get", running)["attempt"], 2)
            self.assertEqual(client.call("cron.list")[0]["next"], before)
            self.assertTrue([q for q in client.call("queue.list") if q["method"] == "hash"][0]["paused"])
            client.call("task.cancel", running)
            eventually(lambda: client.call("task.get", running)["state"] == "cancelled", "it is cancelled")
            self.assertTrue(client.call("server.audit")["balanced"])

    def test_one_that_ran_in_too_many_crashes_is_dead(self):
        task = None
        for _ in range(3):
            with self.server("--tasks-crashes", "3").until_killed() as server, server.connect() as client:
                task = task or client.call("task.submit", "block", ["1h"])["id"]
                eventually(lambda: client.call("task.get", task)["state"] == "running", "it runs")
        with self.server("--tasks-crashes", "3") as server, server.connect() as client:
            told = client.call("task.wait", task, {"timeout": "60s"})["ended"][0]
            self.assertEqual((told["state"], told["crashes"], told["attempt"]), ("dead", 3, 3))

    def test_one_that_was_cancelled_does_not_run_again_after_a_crash(self):
        with self.server().until_killed() as server, server.connect() as client:
            task = client.call("task.submit", "block", ["1h", {"ignore_cancel": True}])["id"]
            eventually(lambda: client.call("task.get", task)["state"] == "running", "it runs")
            self.assertTrue(client.call("task.cancel", task)["cancelled"])
        with self.server() as server, server.connect() as client:
            told = client.call("task.wait", task, {"timeout": "60s"})["ended"][0]
            self.assertEqual((told["state"], told["attempt"]), ("cancelled", 1))
            self.assertTrue(client.call("server.audit")["balanced"])

    def test_the_store_of_another_server_is_left_alone(self):
        with self.server() as server:
            second = subprocess.run([ERGOND, "--store", self.store, "--listen", "ergon://127.0.0.1:0"], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(second.returncode, 0)
            self.assertIn(str(server.pid), second.stderr)

    def test_a_full_disk_refuses_what_is_to_last_and_nothing_else(self):
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", self.folder], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting a small file system needs root")
        try:
            self.fill()
        finally:
            subprocess.run(["umount", "-l", self.folder], check=True)

    def fill(self):
        ballast = os.path.join(self.folder, "ballast")
        with self.server() as server, server.connect() as client:
            kept = client.call("task.submit", "echo", ["kept"], {"delay": "1h"})["id"]
            fill_up(ballast)
            with self.assertRaises(RemoteError) as caught:
                for _ in range(1000):
                    client.call("task.submit", "echo", ["x" * 4000], {"delay": "1h"})
            self.assertTrue(caught.exception.value.startswith("STORE: "), caught.exception.value)
            self.assertIn("full", caught.exception.value)
            self.assertEqual(client.call("echo", 1), 1)
            self.assertEqual(client.call("task.get", kept)["state"], "delayed")
            os.remove(ballast)

            def works():
                try:
                    return client.call("task.submit", "echo", ["again"])["durable"] == "fsync"
                except RemoteError:
                    return False
            eventually(works, "with room on the disk it goes on by itself")
            self.assertTrue(client.call("server.audit")["balanced"])


if __name__ == "__main__":
    unittest.main()
