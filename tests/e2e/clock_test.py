"""A clock that was set back while the server did not run: as the store shows it, since its times are all ahead by as much."""
import json
import os
import sqlite3
import unittest

from harness import OK, Server, WallClock, eventually, run_ergon, scratch

DAY = 24 * 3600 * 10 ** 9  # ns


class ClockTest(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.store = os.path.join(self.folder, "tasks.db")
        self.url = "unix://" + os.path.join(self.folder, "socket")
        self.start()
        self.addCleanup(lambda: self.server.discard())

    def start(self):
        self.server = Server("--store", self.store, listen=(self.url,))

    def ergon(self, *arguments):
        got, out, err = run_ergon(self.url, *arguments)
        self.assertEqual(got, OK, (arguments, out, err))
        return out.decode()

    def of(self, task):
        return json.loads(self.ergon("task", "get", task, "--json"))

    def set_back(self):
        """Once the server is down: what was now is a day ahead."""
        db = sqlite3.connect(self.store)
        db.execute("UPDATE counters SET committed_at = committed_at + ?", (DAY,))
        db.execute("UPDATE lives SET due_at = due_at + ?", (DAY,))
        db.commit()
        db.close()

    def test_a_delay_goes_on(self):
        clock = WallClock()
        task = self.ergon("task", "submit", "echo", "x", "--delay", "3s").strip()
        due = self.of(task)["due"]
        self.server.stop()
        self.set_back()
        self.start()
        eventually(lambda: "delays go on with the time that was left" in self.server.log_text(), "a line of the log")
        told = self.of(task)
        if told["state"] == "delayed":
            self.assertLess(abs(told["due"] - due), 60 * 1000)
        eventually(lambda: self.of(task)["state"] == "done", "it has run")
        self.assertGreaterEqual(self.of(task)["started"], due - 1 - clock.moved())  # never early; in ms, each rounded


if __name__ == "__main__":
    unittest.main()
