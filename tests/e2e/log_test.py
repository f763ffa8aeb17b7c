"""The log makes nobody wait: not when nobody reads it, not when somebody makes it write without an end."""
import os
import re
import signal
import unittest

from harness import SANITIZED, Server, eventually, make_token, scratch


class LogTest(unittest.TestCase):
    """The log goes into a pipe that is read only when a test says so."""

    TOKENS = 4000  # wrong ones: far more than the pipe and the smallest buffer take

    def setUp(self):
        self.tokens = os.path.join(scratch(self.addCleanup), "tokens")
        self.token = make_token(self.tokens, "good")
        self.reading, self.writing = os.pipe()
        self.addCleanup(os.close, self.reading)

    def start(self, *flags):
        server = Server("--loops", "1", "--tokens", self.tokens, "--limits-auth-failures", "1000", "--limits-penalty", "off",
                        *flags, log=self.writing)
        os.close(self.writing)
        self.addCleanup(server.discard)
        return server

    def client(self, server):
        client = server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", self.token)
        return client

    def attack(self, server):
        """So many wrong tokens, each of them a record, and each answered."""
        for _ in range(self.TOKENS // 1000):
            with server.connect() as client:
                for msgid in [client.send("server.auth", "wrong") for _ in range(1000)]:
                    self.assertEqual(client.response(msgid)[0].split(":")[0], "AUTH")

    def read_all(self):
        """What the log says until its end."""
        with os.fdopen(os.dup(self.reading), errors="replace") as log:
            return log.read()

    def test_a_full_pipe_stops_no_loop(self):
        server = self.start("--log-buffer", "64k", "--log-repeats", "off")
        good = self.client(server)
        self.attack(server)
        self.assertEqual(good.call("echo", 1), 1)
        figures = good.call("server.info")["log"]
        self.assertGreater(figures["dropped"], self.TOKENS / 4)
        self.assertLessEqual(figures["waiting"], 64 << 10)
        server.signal(signal.SIGTERM)
        text = self.read_all()
        self.assertEqual(server.wait(), 0)
        said = [(int(m[1]), int(m[2]), m.end()) for m in
                re.finditer(r'level=warn msg="log records dropped" dropped=(\d+) in_all=(\d+)\n', text)]
        dropped = sum(times for times, _, _ in said)
        self.assertEqual(said[-1][1], dropped)
        self.assertGreaterEqual(dropped, figures["dropped"])
        self.assertIn("msg=stopped", text[said[-1][2]:])
        others = text.count("authentication failed") + dropped - self.TOKENS  # records that were dropped with them
        self.assertIn(others, range(self.TOKENS // 100))

    def test_what_repeats_is_summed_up(self):
        server = self.start()
        self.attack(server)
        figures = self.client(server).call("server.info")["log"]
        self.assertEqual(figures["dropped"], 0)
        self.assertEqual(server.stop(), 0)
        text = self.read_all()
        written = text.count('msg="authentication failed"')
        sums = re.findall(r'msg=repeated record="authentication failed" source=127.0.0.1 times=(\d+) within=[\d.]+ms', text)
        self.assertEqual(written + sum(map(int, sums)), self.TOKENS)
        self.assertGreater(figures["repeated"], self.TOKENS / 2)

    @unittest.skipIf(SANITIZED, "a sanitizer has reports of its own")
    def test_the_last_record_comes_out_of_a_full_pipe(self):
        """It waits for who reads, but not without an end."""
        server = self.start("--log-buffer", "64k", "--log-repeats", "off")
        self.attack(server)
        server.signal(signal.SIGABRT)
        text = self.read_all()
        self.assertEqual(server.wait(), -signal.SIGABRT)
        self.assertRegex(text.splitlines()[-1], "level=error .*signal=SIGABRT")
        self.assertIn("log records dropped", text)

    def test_a_pipe_that_nobody_reads_does_not_keep_it_from_dying(self):
        """Nor from leaving what its threads did last."""
        place = scratch(self.addCleanup)
        server = self.start("--log-buffer", "64k", "--log-repeats", "off", "--recorder-directory", place)
        self.attack(server)
        server.signal(signal.SIGABRT)
        self.assertEqual(server.wait(), -signal.SIGABRT)
        if not SANITIZED:
            self.assertEqual(len(os.listdir(place)), 1)

    def test_a_pipe_that_nobody_reads_does_not_keep_it_from_stopping(self):
        server = self.start("--log-buffer", "64k", "--log-repeats", "off")
        self.attack(server)
        self.assertEqual(server.stop(), 0)

    def test_a_pipe_whose_reader_has_gone(self):
        server = self.start("--log-repeats", "off")
        good = self.client(server)
        other = os.open(os.devnull, os.O_RDONLY)
        os.dup2(other, self.reading)
        os.close(other)
        self.attack(server)
        eventually(lambda: good.call("server.info")["log"]["dropped"] >= self.TOKENS, "all are lost, and counted")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
