"""Each active object gets its step: stepped tasks that go on for ever hold up nobody."""
import os
import unittest

from harness import NOT_FOUND, RemoteError, Server, ServerTest, eventually, run_ergon, scratch


class Fair(ServerTest):
    FLAGS = ("--loops", "2")

    def turning(self):
        return sum(e["turning"] for e in self.client.call("server.topology")["executors"])

    def burn(self, client, count):
        """So many endless tasks, all of which have begun."""
        ids = [client.send("burn", "1h") for _ in range(count)]
        eventually(lambda: self.turning() == count, "all take turns")
        return ids

    def test_beside_a_hundred_endless_tasks_everything_runs(self):
        with self.server.connect() as busy:
            self.burn(busy, 100)
            for n in range(50):
                self.assertEqual(self.client.call("echo", n), n)
            self.assertGreaterEqual(self.client.call("sleep", "5ms"), 4)
            self.assertEqual(self.client.call("sum", [1, 2]), 3)
            self.assertGreaterEqual(self.client.call("burn", "1ms"), 1)  # each gets its step
            self.assertEqual(self.client.call("task.call", "echo", ["x"]), "x")
            with self.server.connect() as other:
                self.assertEqual(other.call("echo", 1), 1)
            busy.reset()
        eventually(lambda: self.turning() == 0, "they end with their client")

    def test_one_that_takes_turns_is_cancelled(self):
        with self.server.connect() as busy:
            ids = self.burn(busy, 10)
            for msgid in ids:
                busy.notify("server.cancel", msgid)
                self.assertTrue(busy.response(msgid)[0].startswith("CANCELLED"))
            eventually(lambda: self.turning() == 0, "they see it")


class Principals(unittest.TestCase):
    """A peer on the Unix socket is its user, one on TCP its address: what the first does holds up the second for a
    moment at most."""

    def start(self, *flags):
        folder = scratch(self.addCleanup)
        server = Server("--loops", "1", *flags, listen=("ergon://127.0.0.1:0", f"unix://{folder}/socket"))
        self.addCleanup(server.stop)
        self.good, self.greedy = server.connect(), server.connect(server.urls[1])
        self.addCleanup(self.good.close)
        return server

    def is_served(self):
        self.assertEqual(self.good.call("echo", 1), 1)
        self.assertGreaterEqual(self.good.call("sleep", "1ms"), 1)
        self.assertGreaterEqual(self.good.call("burn", "1ms"), 1)
        self.assertGreaterEqual(self.good.call("block", "1ms"), 1)

    def takes_all_it_can_get(self, method, queued):
        self.is_served()
        for _ in range(500):
            self.greedy.send(method, "1h")
        eventually(lambda: self.good.call("server.topology")["manager"]["queued"] >= queued, "the rest of them wait")
        self.is_served()
        most = self.good.call("server.topology")["manager"]["principals"][0]
        self.assertTrue(most["name"].startswith("unix:"), most)
        self.assertGreaterEqual(most["queued"] + most["parked"], queued)
        self.greedy.reset()
        self.is_served()
        eventually(lambda: self.good.call("server.topology")["manager"]["queued"] == 0, "nothing is left of them")
        self.is_served()

    def test_sleepers_leave_places_for_others(self):
        self.start("--stepped-parked", "100")
        self.takes_all_it_can_get("sleep", 300)

    def test_what_goes_on_and_on_leaves_turns_and_places_for_others(self):
        self.start("--stepped-parked", "100")
        self.takes_all_it_can_get("burn", 300)

    def test_who_blocks_all_executors_leaves_one_for_others(self):
        self.start("--blocking", "2")
        self.takes_all_it_can_get("block", 300)  # the rest may stand at the executors, if these were thought to be brief

    def test_a_full_queue_has_room_for_others(self):
        self.start("--blocking", "2", "--manager-queue", "200")
        self.takes_all_it_can_get("block", 150)

    def test_calls_in_flight_of_a_principal_are_bounded(self):
        server = self.start("--limits-principal-in-flight", "10")
        self.is_served()
        with server.connect(server.urls[1]) as second:
            self.assertEqual(second.call("echo", 1), 1)
            self.assertGreaterEqual(second.call("sleep", "1ms"), 1)
            for _ in range(10):
                self.greedy.send("sleep", "1h")
            eventually(lambda: self.parked() == 10, "all of them are parked")
            with self.assertRaises(RemoteError) as caught:
                second.call("sleep", "1h")
            self.assertIn("BUSY", caught.exception.value)
            self.assertIn("limits.principal_in_flight", caught.exception.value)
            self.is_served()
            second.call("server.ping")  # nothing in flight is its own, so it is read on
            with self.assertRaises(RemoteError):
                second.call("sleep", "1h")
            self.greedy.send("sleep", "1h")
            eventually(lambda: self.stopped() == 1, "who has some waits for one of them to end")
            self.greedy.close()
            eventually(lambda: self.parked() == 0, "they end with their client")
            self.assertGreaterEqual(second.call("sleep", "1ms"), 1)

    def stopped(self):
        return sum(c["stopped"] for c in self.good.call("connection.list")["connections"])

    def parked(self):
        return sum(e["parked"] for e in self.good.call("server.topology")["executors"])


class FewTurns(unittest.TestCase):
    def test_submitted_tasks_wait_where_enough_take_turns(self):
        with Server("--loops", "1", "--stepped-turns", "4") as server, server.connect() as client:
            for _ in range(20):
                client.call("task.submit", "burn", ["1h"])
            last = client.call("task.submit", "echo", [1])["id"]
            eventually(lambda: client.call("server.topology")["executors"][0]["turning"] >= 4, "four take turns")
            self.assertEqual(client.call("echo", 1), 1)
            self.assertEqual(client.call("task.explain", last)["reason"], "turn")
            waiting = client.call("task.list", {"state": "queued"})["tasks"]
            self.assertGreater(len(waiting), 10)
            for task in client.call("task.list", {"method": "burn"})["tasks"]:
                client.call("task.cancel", task["id"])
            eventually(lambda: client.call("task.get", last)["state"] == "done", "its turn came")


class OneKind(unittest.TestCase):
    def refused(self, client, method, *params):
        with self.assertRaises(RemoteError) as caught:
            client.call(method, *params)
        self.assertTrue(caught.exception.value.startswith("NO_EXECUTOR"), caught.exception.value)

    def test_without_blocking_executors_the_others_run(self):
        folder = scratch(self.addCleanup)
        store = os.path.join(folder, "tasks.db")
        with Server("--loops", "1", "--store", store) as server, server.connect() as client:
            task = client.call("task.submit", "block", ["1ms"], {"durable": "fsync", "delay": "1h"})["id"]
        with Server("--loops", "1", "--blocking", "0", "--store", store) as server, server.connect() as client:
            self.assertEqual(client.call("echo", 1), 1)
            self.refused(client, "block", "1ms")
            self.refused(client, "task.submit", "block", ["1ms"])
            self.refused(client, "task.call", "block", ["1ms"])
            self.assertEqual(client.call("server.describe", "block")["executors"], 0)
            self.assertEqual(client.call("server.describe", "echo")["executors"], 1)
            client.call("task.change", task, {"delay": "1ms"})
            self.assertGreater(client.call("server.info")["no_executor"], 0)
            eventually(lambda: client.call("task.explain", task)["reason"] == "no_executor", "it waits for one")
            self.assertIn("blocking executor", client.call("task.explain", task)["text"])
            eventually(lambda: "no executor runs this method" in server.log_text(), "a line of the log")
            self.assertEqual(run_ergon(server.urls[0], "call", "block", "1ms")[0], NOT_FOUND)
        with Server("--loops", "1", "--store", store) as server, server.connect() as client:
            eventually(lambda: client.call("task.get", task)["state"] == "done", "there is one again")

    def test_without_stepped_executors_the_others_run(self):
        config = os.path.join(scratch(self.addCleanup), "ergond.yaml")
        with open(config, "w", encoding="utf-8") as f:
            f.write("executors: {list: [{kind: blocking}]}\n")
        with Server("--config", config) as server, server.connect() as client:
            self.refused(client, "echo", 1)
            self.assertGreaterEqual(client.call("block", "1ms"), 1)
            self.assertEqual(client.call("server.ping"), "pong")

    def test_a_fixed_bound_is_the_configured_length(self):
        with Server("--executors-bound", "fixed", "--blocking-queue", "5", "--blocking", "1") as server, server.connect() as client:
            for executor in client.call("server.topology")["executors"]:
                self.assertEqual(executor["bound"], executor["queue"])

            def five_stand_there():
                """Until 10 ms later, when the first has not ended: those behind it are taken back then."""
                ids = [client.send("block", "1h") for _ in range(8)]
                seen = []
                for _ in range(10):
                    seen += [e["outstanding"] for e in client.call("server.topology")["executors"] if e["kind"] == "blocking"]
                for msgid in ids:
                    client.notify("server.cancel", msgid)
                for msgid in ids:
                    client.response(msgid)
                self.assertLessEqual(max(seen), 5)
                return 5 in seen
            eventually(five_stand_there, "five of them stand there")


if __name__ == "__main__":
    unittest.main()
