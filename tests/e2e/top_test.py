"""ergon top: on a terminal of its own (a pty), as text, and as JSON."""
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from harness import ERGON, INTERRUPTED, LIMIT, OK, Server, eventually, run_ergon, scratch


class Screen:
    """A command on a terminal, and what stands on that: as much of a terminal as `ergon top` asks for."""

    def __init__(self, url, *arguments, rows=24, columns=80, env=None):
        self.master, slave = os.openpty()
        self.before = termios.tcgetattr(slave)
        self.resize(rows, columns, tell=False)
        self.process = subprocess.Popen([ERGON, "-s", url, "top", "-d", "100ms", *arguments], stdin=slave, stdout=slave,
                                        stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**os.environ, "TERM": "xterm-256color", **(env or {})})
        self.slave, self.pending, self.raw, self.second = slave, b"", b"", False

    def resize(self, rows, columns, tell=True):
        self.rows, self.columns = rows, columns
        self.lines, self.row, self.wide = [""] * rows, 0, 0
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def _text(self, text):
        line = self.lines[self.row][:self.at]
        self.lines[self.row] = line + text
        self.at += len(text)
        self.wide = max(self.wide, self.at)

    def _obey(self, sequence):
        if sequence in ("\033[?1049h", "\033[?1049l"):
            self.second = sequence.endswith("h")
        elif sequence == "\033[H":
            self.row, self.at = 0, 0
        elif sequence == "\033[2J":
            self.lines = [""] * self.rows
        elif sequence == "\033[J":
            self.lines[self.row:] = [""] * (self.rows - self.row)
        elif sequence == "\r\n":
            self.row, self.at = min(self.row + 1, self.rows - 1), 0
        elif sequence == "\033[K":
            self.lines[self.row] = self.lines[self.row][:self.at]

    row = at = 0

    def read(self):
        """Takes what has been written."""
        while select.select([self.master], [], [], 0)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.raw += data
            self.pending += data
        whole = re.match(rb"(?:\033\[[?0-9;]*[A-Za-z]|\r+\n|[^\033\r]+)*", self.pending)
        text, self.pending = whole.group().decode(errors="replace"), self.pending[whole.end():]
        for part in re.findall(r"\033\[[?0-9;]*[A-Za-z]|\r+\n|[^\033\r]+", text):
            if part.startswith(("\033", "\r")):
                self._obey(part.replace("\r\r", "\r"))
            else:
                self._text(part)

    def shows(self, *words):
        """Waits until all of these stand on the screen."""
        def there():
            self.read()
            return all(word in self.text() for word in words)
        try:
            eventually(there, f"the screen shows {words}")
        except AssertionError as missing:
            raise AssertionError(f"{missing}; it shows\n{self.text()}") from None

    def text(self):
        return "\n".join(self.lines)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        """The exit status; the terminal is as it was."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            self.read()
            assert time.monotonic() < end, "ergon top did not end"
            time.sleep(0.01)
        self.read()
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class TopTest(unittest.TestCase):
    def start(self, *flags, **more):
        server = Server(*flags, **more)
        self.addCleanup(server.discard)
        return server

    def screen(self, url, *arguments, **more):
        screen = Screen(url, *arguments, **more)
        self.addCleanup(screen.close)
        return screen

    def restored(self, screen):
        self.assertEqual(termios.tcgetattr(screen.slave), screen.before)
        self.assertFalse(screen.second, "the first screen is back")
        self.assertIn(b"\033[?25h", screen.raw)  # the cursor, too


class OnScreen(TopTest):
    def setUp(self):
        self.server = self.start("--loops", "2")
        self.client = self.server.connect()
        self.addCleanup(self.client.close)
        for _ in range(30):
            self.client.call("hash", "sha256", "x" * 10000)
        self.client.call("queue.pause", "echo")
        self.client.call("task.submit", "echo", [])

    def test_the_overview_fits_80_by_24_and_40_by_12(self):
        for rows, columns in ((24, 80), (12, 40)):
            screen = self.screen(self.server.urls[0], rows=rows, columns=columns)
            screen.shows("ergon 0.", "calls ", "memory ", "hash", "overview")
            self.assertLessEqual(screen.wide, columns)
            screen.type("q")
            self.assertEqual(screen.end(), OK)
            self.restored(screen)

    def test_a_resize_draws_anew(self):
        screen = self.screen(self.server.urls[0])
        screen.shows("blocking 2", "q: end")
        screen.resize(12, 40)
        screen.shows("ergon 0.", "overview")
        eventually(lambda: screen.read() or screen.lines[11].startswith("overview"), "the bar stands in the last line of 12")
        screen.wide = 0  # what was drawn before it heard of the resize may have come after that
        screen.type("2")
        screen.shows("handlers  every")
        self.assertIn(screen.wide, range(1, 41))
        screen.resize(50, 120)
        eventually(lambda: screen.read() or screen.lines[49].startswith("handlers"), "the bar stands in the last line of 50")

    def test_keys(self):
        screen = self.screen(self.server.urls[0])
        screen.type("2")
        screen.shows("busy%v", "handlers  every")
        screen.type(">")
        screen.shows("share%v")
        screen.type("r")
        screen.shows("share%^")
        screen.type("\033[D")
        screen.shows("busy%v".replace("v", "^"))
        screen.type("3")
        screen.shows("queuedv", "paused")
        screen.type("/nothing")
        screen.shows("/nothing_", "(none)")
        screen.type("\033")
        screen.shows("echo", "queues  every")
        screen.type("4")
        screen.shows("blocking 2", "stepped 0")
        screen.type("5")
        screen.shows("loop 0", "loop 1", "rounds/s")
        screen.type("6")
        screen.shows("address:127.0.0.1", "msgs/s")
        screen.type("\t")
        screen.shows("workers  every", "(none)")
        screen.type("?")
        screen.shows("sort by another column")
        screen.type("?1p")
        screen.shows("PAUSED")
        screen.type("p+")
        screen.shows("every 200ms")
        screen.type("q")
        self.assertEqual(screen.end(), OK)
        self.restored(screen)

    def test_colours_only_where_they_are_wanted(self):
        for env, flags, coloured in (({}, (), True), ({"NO_COLOR": "1"}, (), False), ({}, ("--no-color",), False)):
            screen = self.screen(self.server.urls[0], *flags, env={"NO_COLOR": "", **env})
            screen.shows("q: end")
            screen.type("q")
            screen.end()
            self.assertEqual(b"\033[1;36m" in screen.raw, coloured, (env, flags))

    def test_signals_restore_the_terminal(self):
        for number, status in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP),
                               (signal.SIGQUIT, -signal.SIGQUIT), (signal.SIGABRT, -signal.SIGABRT)):
            screen = self.screen(self.server.urls[0])
            screen.shows("q: end")
            screen.process.send_signal(number)
            self.assertEqual(screen.end(), status)
            self.restored(screen)

    def test_a_stop_gives_the_terminal_back_and_goes_on(self):
        screen = self.screen(self.server.urls[0])
        screen.shows("q: end")
        screen.process.send_signal(signal.SIGTSTP)
        eventually(lambda: screen.read() or not screen.second, "the first screen is back")
        os.waitid(os.P_PID, screen.process.pid, os.WSTOPPED | os.WNOWAIT)
        self.assertEqual(termios.tcgetattr(screen.slave), screen.before)
        screen.process.send_signal(signal.SIGCONT)
        eventually(lambda: screen.read() or screen.second, "it goes on")
        screen.shows("q: end")
        screen.type("q")
        self.assertEqual(screen.end(), OK)
        self.restored(screen)

    def test_names_do_not_steer(self):
        worker = self.server.connect()
        self.addCleanup(worker.close)
        worker.call("worker.register", ["odd"], {"name": "\033]0;owned\007\033[2J"})
        screen = self.screen(self.server.urls[0])
        screen.type("7")
        screen.shows("workers  every", "owned")
        self.assertNotIn(b"\033]0;", screen.raw)


class Lost(TopTest):
    def test_a_lost_connection_is_said_and_made_again(self):
        place = scratch(self.addCleanup)
        url = f"unix://{place}/socket"
        server = Server(listen=(url,))
        screen = self.screen(url)
        screen.shows("q: end")
        server.stop()
        server.log.close()
        screen.shows("no connection to unix://", "it is tried again")
        again = Server(listen=(url,))
        self.addCleanup(again.discard)
        screen.shows(f"pid {again.pid}")
        eventually(lambda: screen.read() or "no connection" not in screen.text(), "the trouble is over")
        screen.type("q")
        self.assertEqual(screen.end(), OK)
        self.restored(screen)

    def test_a_server_that_hangs_is_said(self):
        server = self.start("--loops", "1")
        screen = self.screen(server.urls[0])
        screen.shows("q: end")
        server.signal(signal.SIGSTOP)
        try:
            screen.shows("server.info has no answer")
        finally:
            server.signal(signal.SIGCONT)
        eventually(lambda: screen.read() or "no answer" not in screen.text(), "the trouble is over")

    def test_no_server_at_all(self):
        status, out, err = run_ergon(f"unix://{scratch(self.addCleanup)}/none", "top", "-n", "1")
        self.assertEqual((status, out), (3, b""))
        self.assertIn("no connection to unix://", err)


class AsText(TopTest):
    def test_blocks_into_a_pipe(self):
        server = self.start()
        with server.connect() as client:
            client.call("hash", "sha256", "x")
            status, out, err = run_ergon(server.urls[0], "top", "-n", "2", "-d", "10ms")
        self.assertEqual((status, err), (OK, ""))
        blocks = out.decode().strip().split("\n\n")
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            self.assertRegex(block, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\nergon 0\.")
            for words in ("calls ", "memory ", "handler ", "hash", "executor", "stepped 0"):
                self.assertIn(words, block)
        self.assertNotIn(b"\033", out)

    def test_lines_of_json(self):
        server = self.start()
        with server.connect() as client:
            client.call("echo", 1)
            status, out, err = run_ergon(server.urls[0], "top", "--json", "-n", "3", "-d", "10ms")
        self.assertEqual((status, err), (OK, ""))
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertEqual((line["server"]["pid"], line["trouble"], line["restarted"]), (server.pid, None, False))
            self.assertIn("echo", [row["name"] for row in line["handlers"]])

    def test_rates_go_on_over_a_restart(self):
        place = scratch(self.addCleanup)
        url = f"unix://{place}/socket"
        server = Server(listen=(url,))
        top = subprocess.Popen([ERGON, "-s", url, "top", "--json", "-d", "50ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
        self.addCleanup(top.wait)
        self.addCleanup(top.kill)
        self.addCleanup(top.stdout.close)
        self.addCleanup(top.stderr.close)
        json.loads(top.stdout.readline())
        server.stop()
        server.log.close()
        self.assertIn("no connection to", top.stderr.readline())
        again = Server(listen=(url,))
        self.addCleanup(again.discard)
        self.assertIn("there is a connection again", top.stderr.readline())
        while True:
            line = json.loads(top.stdout.readline())
            for name in ("calls", "messages", "bytes_in"):
                self.assertGreaterEqual(line["server"][name], 0)
            if line["server"]["pid"] == again.pid:
                break
        self.assertTrue(line["restarted"])


if __name__ == "__main__":
    unittest.main()
