#!/usr/bin/python3
"""A newcomer's first ten minutes: the README's lines, each typed into one shell after the other has ended; none fails or hangs, and before the server is stopped
its page, in a real Chromium, shows the task that was just submitted.

With ERGON_ROOT the shell is in that root, in the clone /ergon, as `./run bare` has it, and the browser is still this machine's. How long each line took is printed.
"""
import contextlib
import os
import re
import select
import subprocess
import sys
import time
import unittest

import browser
import documents_test
from harness import LIMIT, SOURCE, scratch

ROOT = os.environ.get("ERGON_ROOT", "")
MARK = "--- it has ended with"
# Of the line before it, in a root of its own: /proc, and what is made there ends with the shell.
INSIDE = """mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$1" bash -c 'cd /ergon; exec bash'"""


class Shell:
    """A bash that is given a line at a time."""

    def __init__(self, folder):
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-eu", "-c", INSIDE, "sh", ROOT] if ROOT else ["bash"]
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": folder}
        self.process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.seen = b""

    def run(self, line):
        """What it prints, its status, and how long it took."""
        began = time.monotonic()
        # Between two lines $? stays what it was.
        self.process.stdin.write(f"{line}\nstatus=$?; printf '%s %d\\n' '{MARK}' $status; (exit $status)\n".encode())
        self.process.stdin.flush()
        while not (ended := re.search(rb"(?:^|\n)?" + MARK.encode() + rb" (\d+)\n", self.seen)):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, began + LIMIT - time.monotonic()))
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                raise AssertionError(f"{line!r} {'ended the shell' if ready else 'hangs'}; it has printed {self.seen.decode()!r}")
            self.seen += data
        out, self.seen = self.seen[:ended.start()].decode(), self.seen[ended.end():]
        return out.rstrip("\n"), int(ended[1]), time.monotonic() - began

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class FirstTenMinutes(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        with open(os.path.join(SOURCE, "README.md")) as f:
            self.lines = documents_test.examples(f.read())
        if not ROOT:
            documents_test.Readme.prepare(self, self.folder)
        self.shell = Shell(self.folder)
        self.addCleanup(self.shell.close)

    def test_by_the_readme_alone(self):
        self.assertGreater(len(self.lines), 15)
        self.looked = False
        for line, expected in self.lines:
            if line.startswith("nvim") and self.shell.run("command -v nvim")[1] != 0:
                continue  # as the README says
            if line.startswith("kill $!"):
                self.look()
            with self.subTest(line):
                out, status, seconds = self.shell.run(line)
                print(f"{seconds:6.2f} s  {line}", file=sys.stderr)
                self.assertEqual(status, 0, out)
                self.assertTrue(re.fullmatch(re.escape("\n".join(expected)).replace("…", ".*"), out), f"{out!r} instead of {expected!r}")
        self.assertTrue(self.looked, "no line stops the server")

    def look(self):
        """The page, at the address that the log has, and on it the task that $id is."""
        self.looked = True
        page, identity = (self.shell.run(line)[0] for line in ("grep ^http log | tail -1", "echo $id"))
        self.assertRegex(identity, r"^t\w+$")
        if browser.missing():
            print(f"the page was not looked at: {browser.missing()} is not installed", file=sys.stderr)
            return
        b = browser.browser()
        b.driver.get(page + "/#/tasks")
        b.sees(identity, "main")
        b.driver.get(page + "/#/task/" + identity)
        b.sees("flaky", "main")
        b.sees("attempt 2 fails; attempt 3 will not", "main")
        b.shot("newcomer")
        self.assertEqual(b.complaints(), [])


if __name__ == "__main__":
    unittest.main()
