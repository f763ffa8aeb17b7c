"""--watch on lists: again and again until an interrupt, in place on a terminal, and across a server that goes."""
import json
import os
import pty
import re
import signal
import subprocess
import unittest

from harness import ERGON, INTERRUPTED, LIMIT, OK, USAGE, Server, run_ergon, scratch

LISTS = (("task", "list"), ("queue", "list"), ("worker", "list"), ("connection", "list"), ("sem", "list"),
         ("cron", "list"), ("info",))
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}(?:Z|[+-]\d\d:\d\d)\n")


class RepeatTest(unittest.TestCase):
    def setUp(self):
        self.url = "unix://" + os.path.join(scratch(self.addCleanup), "socket")  # the same after a restart
        self.start()
        self.addCleanup(lambda: self.server.discard())

    def start(self):
        self.server = Server(listen=(self.url,))

    def repeat(self, *arguments, stdout=subprocess.PIPE):
        process = subprocess.Popen([ERGON, "--server", self.url, *arguments], stdout=stdout, stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.stderr.close)
        if process.stdout:
            self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def moment(self, process):
        """Reads up to the next line that is a time; those before it."""
        lines = []
        while not lines or not MOMENT.fullmatch(lines[-1]):
            lines.append(process.stdout.readline())
            self.assertTrue(lines[-1], "it has ended behind %s" % lines)
        return lines[:-1]

    def interrupt(self, process):
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(LIMIT), INTERRUPTED)

    def test_each_list_is_printed_again_behind_its_time(self):
        for words in LISTS:
            with self.subTest(words=words):
                process = self.repeat(*words, "--watch=10ms")
                for _ in range(3):
                    self.moment(process)
                self.interrupt(process)

    def test_what_changes_is_seen(self):
        process = self.repeat("task", "list", "--watch=10ms")
        self.moment(process)
        status, out, _ = run_ergon(self.url, "task", "submit", "echo", "--durable", "none")
        self.assertEqual(status, OK)
        while out.decode().strip() not in "".join(self.moment(process)):
            pass
        self.interrupt(process)

    def test_json_stands_alone(self):
        process = self.repeat("queue", "list", "--watch=10ms", "--json")
        for _ in range(3):
            self.assertEqual(json.loads(process.stdout.readline()), [])
        self.interrupt(process)

    def test_on_a_terminal_each_takes_the_place_of_the_last(self):
        main, other = pty.openpty()
        self.addCleanup(os.close, main)
        process = self.repeat("queue", "list", "--watch=10ms", stdout=other)
        os.close(other)
        shown = b""
        while shown.count(b"\033[H\033[Jergon queue list") < 3:
            shown += os.read(main, 4096)
        self.interrupt(process)

    def test_a_server_that_is_away_is_told_and_waited_for(self):
        process = self.repeat("task", "list", "--watch=10ms")
        self.moment(process)
        self.server.discard()
        while "it is tried again" not in process.stderr.readline():
            pass
        self.start()
        status, out, _ = run_ergon(self.url, "task", "submit", "echo", "--durable", "none")
        self.assertEqual(status, OK)
        while out.decode().strip() not in "".join(self.moment(process)):
            pass
        self.interrupt(process)

    def test_an_error_that_stays_ends_it(self):
        self.assertEqual(run_ergon(self.url, "task", "list", "--state", "lost", "--watch")[0], 1)
        self.assertEqual(run_ergon(self.url, "ping", "--watch")[0], USAGE)
        self.assertEqual(run_ergon(self.url, "queue", "list", "--watch=soon")[0], USAGE)


if __name__ == "__main__":
    unittest.main()
