"""Each active object gets its step: stepped tasks that go on for ever hold up nobody."""
import unittest

from harness import Server, ServerTest, eventually


class Fair(ServerTest):
    flags = ("--loops", "2")

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


if __name__ == "__main__":
    unittest.main()
