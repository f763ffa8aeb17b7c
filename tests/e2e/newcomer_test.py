#!/usr/bin/python3
"""A newcomer's first ten minutes and first hour: the lines of the README, then those of docs/first-hour.md and docs/actors.md, each typed into one shell after the other has ended;
none fails or hangs. The programs of the page are saved where they stand. Before a server is stopped its page, in a real Chromium, shows the tasks that were submitted.

With ERGON_ROOT the shell is in that root, in the clone /ergon, as `./run bare` has it, and the browser is still this machine's. How long each line took is printed.
"""
import contextlib
import os
import re
import select
import shutil
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
        # Debian's Python comes first, whatever else is installed.
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": folder, "GOPROXY": "off", "PATH": "/usr/bin:" + os.environ["PATH"]}
        self.process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.seen = b""

    def run(self, line):
        """What it prints, its status, and how long it took."""
        began = time.monotonic()
        limit = (10 if line.startswith("apt-get ") else 5) * LIMIT  # a compiler is a few hundred MB
        # Between two lines $? stays what it was.
        self.process.stdin.write(f"{line}\nstatus=$?; printf '%s %d\\n' '{MARK}' $status; (exit $status)\n".encode())
        self.process.stdin.flush()
        while not (ended := re.search(rb"(?:^|\n)?" + MARK.encode() + rb" (\d+)\n", self.seen)):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, began + limit - time.monotonic()))
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


# A program that a page says to save, or a line of its examples with what it prints.
PIECE = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```|^```console\n(.*?)^```", re.M | re.S)


class Typed:
    """The lines of a page, typed."""

    PAGE = ""
    STOPS = ""  # the line before which the page is looked at
    MAY_FAIL = ()  # beginnings of lines whose status may be another than 0

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        with open(os.path.join(SOURCE, self.PAGE)) as f:
            self.pieces = [piece for found in PIECE.findall(f.read()) for piece in self.pieces_of(*found)]
        if not ROOT:
            self.prepare()
        self.shell = Shell(self.folder)
        self.addCleanup(self.shell.close)

    def prepare(self):
        documents_test.Readme.prepare(self, self.folder)

    def pieces_of(self, name, code, console):
        """Of the PIECE that was found: a name with its program, or each line with what it prints."""
        return [(name, code)] if name else documents_test.examples(f"```console\n{console}```\n")

    def type(self):
        self.looked = False
        for line, expected in self.pieces:
            if isinstance(expected, str):
                with open(ROOT + os.path.join(self.shell.run("pwd")[0], line), "w") as f:
                    f.write(expected)
                continue
            if self.is_left_out(line):
                continue
            if self.STOPS and line.startswith(self.STOPS):
                self.looked = True
                self.look(*(self.shell.run(command)[0] for command in ("grep ^http log | tail -1", "echo $id")))
                if not browser.missing():
                    browser.browser().driver.get("about:blank")  # else the page complains of the server that ends
            out, status, seconds = self.shell.run(line)
            print(f"{seconds:6.2f} s  {line}", file=sys.stderr)
            if (status != 0 and not line.startswith(self.MAY_FAIL)) or not re.fullmatch(re.escape("\n".join(expected)).replace("…", ".*"), out):
                self.fail(f"{line}\nexit status {status}, {out!r} instead of {expected!r}; the logs there:\n{self.shell.run('tail -n 5 *log')[0]}")
        self.assertTrue(self.looked or not self.STOPS, "no line stops the server")

    def browser(self):
        """None, said, where there is none."""
        if browser.missing():
            print(f"the page was not looked at: {browser.missing()} is not installed", file=sys.stderr)
        return None if browser.missing() else browser.browser()


class FirstTenMinutes(Typed, unittest.TestCase):
    PAGE = "README.md"
    STOPS = "kill $!"

    def test_by_the_readme_alone(self):
        self.assertGreater(len(self.pieces), 15)
        self.type()

    def is_left_out(self, line):
        return line.startswith("nvim") and self.shell.run("command -v nvim")[1] != 0  # as the README says

    def look(self, page, identity):
        """The page, at the address that the log has, and on it the task that $id is."""
        self.assertRegex(identity, r"^t\w+$")
        if b := self.browser():
            b.driver.get(page + "/#/tasks")
            b.sees(identity, "main")
            b.driver.get(page + "/#/task/" + identity)
            b.sees("flaky", "main")
            b.sees("attempt 2 fails; attempt 3 will not", "main")
            b.shot("newcomer")
            self.assertEqual(b.complaints(), [])


class FirstHour(Typed, unittest.TestCase):
    PAGE = "docs/first-hour.md"
    STOPS = "kill $server"

    def prepare(self):
        super().prepare()
        os.symlink(os.path.join(SOURCE, "clients"), os.path.join(self.folder, "clients"))

    def test_by_the_page_alone(self):
        missing = [program for program in ("node", "go", "convert") if not ROOT and not shutil.which(program)]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}")
        self.assertGreater(len(self.pieces), 40)
        self.type()

    def is_left_out(self, line):
        return line.startswith("apt-get") and not ROOT  # scripts/setup.sh has installed that

    def look(self, page, identity):
        """The failed task, found by its parameter, with its traceback, and its parameters to be edited."""
        if b := self.browser():
            b.driver.get(page + "/#/tasks?contains=4711")
            b.sees(identity, "main")
            b.driver.get(page + "/#/task/" + identity)
            b.sees("KeyError: 'price'", "main")
            b.shot("first-hour")
            self.assertEqual(b.complaints(), [])


@unittest.skipIf(ROOT, "the root has no jq")
class Actors(Typed, unittest.TestCase):
    PAGE = "docs/actors.md"
    MAY_FAIL = ("kill -9", "ergon actor call")  # what they print is compared

    def prepare(self):
        super().prepare()
        os.symlink(os.path.join(SOURCE, "clients"), os.path.join(self.folder, "clients"))

    @unittest.skipUnless(shutil.which("jq"), "jq is not installed")
    def test_by_the_page_alone(self):
        self.assertGreater(len(self.pieces), 30)
        self.type()

    def is_left_out(self, line):
        return False


if __name__ == "__main__":
    unittest.main()
