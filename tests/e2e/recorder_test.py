"""The flight recorder: fetched from a server under load and from one whose loop hangs, and read without a server."""
import json
import os
import threading
import unittest

from harness import ServerTest, run_ergon, scratch


NOBODY = "unix:///nonexistent"  # a file is read without a server


def show(path, *flags):
    return run_ergon(NOBODY, *flags, "debug", "show", path)


def decode(path, *flags):
    status, out, err = run_ergon(NOBODY, "--json", "debug", "show", path, *flags)
    assert status == 0, err
    return [json.loads(line) for line in out.splitlines()]


class RecorderTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.place = scratch(self.addCleanup)
        self.file = os.path.join(self.place, "server.rec")

    def dump(self):
        status, _, err = run_ergon(self.server.urls[0], "debug", "dump", self.file)
        self.assertEqual(status, 0, err)
        return decode(self.file)

    def test_tasks_are_there_with_their_methods_and_outcomes(self):
        for i in range(100):
            self.client.call("echo", i)
        with self.refused("NOPE"):
            self.client.call("fail", "NOPE", "on purpose")
        self.client.call("block", "20ms")
        with self.refused("NO_METHOD"):
            self.client.call("nothing.there")
        events = self.dump()
        tasks = [e for e in events if e["event"] == "task"]
        self.assertGreaterEqual(sum(e["method"] == "echo" and e["outcome"] == "ok" for e in tasks), 100)
        self.assertEqual([e["outcome"] for e in tasks if e["method"] == "fail"][-1], "FAILED")
        block = [e for e in tasks if e["method"] == "block" and e["outcome"] == "ok"][-1]
        self.assertGreaterEqual(block["run_ns"], 19_000_000)
        self.assertEqual(len({(e["loop"], e["task"]) for e in tasks}), len(tasks))
        self.assertTrue(all(e["loop"].startswith("loop ") for e in events), events[-1])
        self.assertIn("conn_opened", {e["event"] for e in events})
        self.assertIn("refused", {e["event"] for e in events})
        times = [e["time"] for e in events]
        self.assertEqual(times, sorted(times))

    def test_a_cancelled_call_and_a_submitted_task_are_there(self):
        msgid = self.client.send("block", "60s")
        self.assertIs(self.client.call("server.cancel", msgid), True)
        self.client.response(msgid)
        submitted = self.client.call("task.submit", "sum", [2, 3], {})
        self.client.call("task.wait", submitted["id"], {"timeout": "60s"})
        self.assertEqual(self.client.call("task.get", submitted["id"])["state"], "done")
        tasks = [e for e in self.dump() if e["event"] == "task"]
        self.assertIn(("block", "CANCELLED"), {(e["method"], e["outcome"]) for e in tasks})
        self.assertIn(("sum", "ok"), {(e["method"], e["outcome"]) for e in tasks})

    def test_under_load_each_task_is_there_once(self):
        stop = threading.Event()

        def work():
            with self.server.connect() as client:
                while not stop.is_set():
                    for msgid in [client.send("echo", i) for i in range(200)]:
                        client.result(msgid)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        try:
            for _ in range(5):
                tasks = [e for e in self.dump() if e["event"] == "task"]
                self.assertEqual(len({e["task"] for e in tasks}), len(tasks))
                self.assertFalse([e for e in tasks if e["method"] is None], "a task without a method")
        finally:
            stop.set()
            for t in threads:
                t.join()

    def test_what_is_shown_can_be_chosen(self):
        for i in range(10):
            self.client.call("echo", i)
        with self.refused("NOPE"):
            self.client.call("fail", "NOPE", "on purpose")
        self.dump()
        self.assertEqual({e["method"] for e in decode(self.file, "--method", "echo")}, {"echo"})
        # Of this method alone: what an earlier test has cancelled may have ended just now.
        failed = [e for e in decode(self.file, "--failed", "--method", "fail") if e["event"] == "task"]
        self.assertEqual({e["outcome"] for e in failed}, {"FAILED"})
        self.assertEqual(len(decode(self.file, "-n", "3")), 3)
        self.assertEqual(decode(self.file, "--loop", "loop 999"), [])
        status, out, err = run_ergon(NOBODY, "debug", "show", self.file, "--method", "echo")
        self.assertEqual(status, 0, err)
        self.assertRegex(out.decode().splitlines()[-1], r"^\d{4}-.*Z +loop \d+ +task +\d+ .* ok +echo$")

    def test_files_that_are_none_or_end_early(self):
        self.client.call("echo", 1)
        self.dump()
        with open(self.file, "rb") as f:
            data = f.read()
        with open(self.file, "wb") as f:
            f.write(data[: len(data) - 20])
        status, _, err = show(self.file)
        self.assertEqual(status, 1)
        self.assertIn("ends early", err)
        with open(self.file, "wb") as f:
            f.write(b"something else")
        status, _, err = show(self.file)
        self.assertEqual(status, 2)
        self.assertIn("no dump", err)
        self.assertEqual(show(self.file + ".missing")[0], 2)

    def test_parameters_that_are_none(self):
        for params in (["x"], [0], [99, 0, 0], [0, 0, 0, 0]):
            with self.refused("BAD_PARAMS"):
                self.client.call("server.debug_dump", *params)
        self.assertEqual(self.client.call("server.debug_dump", 1, 2**63, 5)["data"], b"")


if __name__ == "__main__":
    unittest.main()
