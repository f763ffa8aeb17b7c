"""A reload: the limits of submitted tasks that it takes over, and those that need a restart, which it names."""
import os
import signal
import unittest

from harness import RemoteError, Server, eventually, scratch


class Reload(unittest.TestCase):
    def setUp(self):
        self.path = os.path.join(scratch(self.addCleanup), "ergond.yaml")

    def write(self, text):
        with open(self.path, "w") as out:
            out.write(text)

    def reload(self, text):
        self.write(text)
        before = self.server.log_text().count("msg=reloaded")
        self.server.signal(signal.SIGHUP)
        eventually(lambda: self.server.log_text().count("msg=reloaded") > before, "the reload has been taken over")

    def is_logged(self, words):
        """The log is written by a thread of its own."""
        eventually(lambda: words in self.server.log_text(), f"the log says {words}")

    def submit(self):
        return self.client.call("task.submit", "sleep", ["1h"], {"durable": "none"})

    def test_limits_of_tasks_are_taken_over(self):
        self.write("modules: [demo]\ntasks: {max: 1000}\n")
        self.server = Server("--config", self.path)
        self.addCleanup(self.server.discard)
        self.client = self.server.connect()
        self.addCleanup(self.client.close)
        for _ in range(3):
            self.submit()
        self.reload("modules: [demo]\ntasks: {max: 3, history: 50}\n")
        eventually(self.is_busy, "the jobs go by what is new")
        self.assertEqual(self.client.call("server.info")["kept"]["limit"], 3)
        self.is_logged('msg="configuration changed" key=tasks.max')
        self.is_logged('msg="configuration changed, but only a restart takes it over" key=tasks.history')
        self.reload("modules: [demo]\ntasks: {max: 1000, history: 50}\n")
        eventually(lambda: not self.is_busy(), "and by what is newer")

    def is_busy(self):
        try:
            self.submit()
        except RemoteError as error:
            self.assertIn("tasks.max", str(error))
            return True
        return False


if __name__ == "__main__":
    unittest.main()
