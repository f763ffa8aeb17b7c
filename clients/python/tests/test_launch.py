"""The launcher starts processes, replaces them, and ends them in good order. The tests wait for its lines on standard error."""
import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any

from ergon_client import Client, Task, testing
from ergon_launch.main import main

LIMIT = 50.0  # s
APP = """
import os, sys, threading, time
import ergon_client

app = ergon_client.App()
held = []


@app.task()
def pid() -> int:
    return os.getpid()


@app.task()
def hold(path: str, context: ergon_client.Context) -> int:
    context.progress(1, 1)
    while not os.path.exists(path) and context.cancelled is None:
        time.sleep(0.005)
    context.check()
    return os.getpid()


@app.task()
def take(size: int) -> int:
    held.append(b"x" * size)
    return os.getpid()
"""


class Launched:
    """The launcher, and what it has said."""

    def __init__(self, folder: str, url: str, *flags: str, app: str = "app:app") -> None:
        environment = {**os.environ, "ERGON_URL": url, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen([sys.executable, "-m", "ergon_client", "work", app, *flags], cwd=folder, env=environment,
                                        stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        self._late = threading.Timer(LIMIT, self.process.kill)
        self._late.start()

    def until(self, *wanted: str) -> list[str]:
        """Reads until the launcher has said each of these, in any order. Returns the groups that they matched."""
        found: dict[str, str] = {}
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            for number, each in enumerate(wanted):
                key = f"{number}"
                if key not in found and (match := re.search(each, line)):
                    found[key] = match[1] if match.groups() else line
                    break
            if len(found) == len(wanted):
                return [found[f"{number}"] for number in range(len(wanted))]
        raise AssertionError(f"{wanted} is not said: {''.join(self.said)}")

    def end(self, number: int | None = signal.SIGTERM) -> int:
        if number is not None:
            self.process.send_signal(number)
        assert self.process.stderr is not None
        self.said += self.process.stderr
        self.process.stderr.close()
        status = self.process.wait()
        self._late.cancel()
        return status


class Launcher(unittest.TestCase):
    url: str
    ergon: Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.url = cls.enterClassContext(testing.server())
        cls.ergon = cls.enterClassContext(Client(cls.url, timeout=LIMIT))

    def setUp(self) -> None:
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.write(APP)

    def write(self, text: str) -> None:
        """As editors do: the file is there, old or new."""
        path = os.path.join(self.folder, "app.py")
        with open(path + ".new", "w") as file:
            file.write(text)
        os.replace(path + ".new", path)

    def launch(self, *flags: str, **more: Any) -> Launched:
        launched = Launched(self.folder, more.pop("url", self.url), *flags, **more)
        self.addCleanup(launched.process.kill)  # if it still runs
        return launched

    def hold(self) -> tuple[Task, str]:
        """A task that runs until this file is there."""
        path = os.path.join(self.folder, "go")
        task = self.ergon.submit("hold", path)
        for event in task.watch():
            if event["event"] == "progress":
                break
        return task, path

    def test_processes_are_replaced_and_end_in_good_order(self) -> None:
        launched = self.launch("--processes", "2", "--slots", "2", "--name", "shop")
        first, _second = map(int, launched.until(r"process 1: (\d+) works", r"process 2: (\d+) works"))
        os.kill(first, signal.SIGKILL)
        launched.until(f"{first} has ended by SIGKILL", r"process 1: starts again in 0.1 s", r"process 1: \d+ works")
        while len(workers := self.ergon.request("worker.list")["workers"]) > 2:
            pass  # the server has not seen yet that the first has gone
        self.assertEqual([each["name"] for each in workers], ["shop", "shop"])
        task, path = self.hold()
        launched.process.send_signal(signal.SIGTERM)
        launched.until("SIGTERM: the processes end$")
        with open(path, "w"):
            pass
        self.assertEqual((launched.end(None), launched.said[-1]), (0, "ergon: all processes have ended\n"))
        self.assertEqual(task.get()["state"], "done")

    def test_a_second_signal_ends_it_at_once(self) -> None:
        launched = self.launch()
        launched.until("works")
        task, _ = self.hold()
        launched.process.send_signal(signal.SIGINT)
        launched.until("SIGINT: the processes end$")
        self.assertEqual(launched.end(signal.SIGINT), 0)
        self.assertEqual(task.get()["attempt"], 1)
        self.assertIn(task.cancel()["state"], ("queued", "waiting", "cancelled"))  # handed back

    def test_a_process_is_asked_once_however_often_it_gets_sigterm(self) -> None:
        launched = self.launch()
        pid, = launched.until(r"(\d+) works")
        task, path = self.hold()
        os.kill(int(pid), signal.SIGTERM)
        launched.process.send_signal(signal.SIGTERM)
        launched.until("SIGTERM: the processes end$")
        os.kill(int(pid), signal.SIGTERM)
        with open(path, "w"):
            pass
        self.assertEqual((launched.end(None), task.get()["state"]), (0, "done"))

    def test_two_signals_as_soon_as_it_works(self) -> None:
        launched = self.launch()
        launched.until("works")
        launched.process.send_signal(signal.SIGTERM)
        self.assertEqual(launched.end(signal.SIGINT), 0)

    def test_after_so_many_tasks_and_on_sighup(self) -> None:
        launched = self.launch("--max-tasks", "2")
        launched.until("works")
        first = {self.ergon.submit("pid").wait() for _ in range(2)}
        launched.until("is replaced: it has run 2 tasks", "works", "has left")
        second = self.ergon.submit("pid").wait()
        self.assertNotIn(second, first)
        task, path = self.hold()
        launched.process.send_signal(signal.SIGHUP)
        launched.until("SIGHUP: all processes are replaced", "works")
        with open(path, "w"):
            pass
        self.assertEqual(task.wait(), second)
        launched.until(f"{second} has left")
        self.assertEqual(launched.end(), 0)

    def test_too_much_memory(self) -> None:
        launched = self.launch("--max-memory", "150m")
        launched.until("works")
        first = self.ergon.submit("take", 200 << 20).wait()
        launched.until(r"is replaced: it has \d+ MiB", "works", f"{first} has left")
        self.assertEqual(launched.end(), 0)

    def test_dev(self) -> None:
        launched = self.launch("--dev")
        first, = launched.until(r"(\d+) works")
        self.write(APP + "\nthis is no Python\n")
        launched.until("app.py has changed", "cannot load app:app: SyntaxError", "waits for a change")
        self.assertEqual(self.ergon.submit("pid").wait(), int(first))
        self.write(APP + "\n\n@app.task()\ndef new() -> int:\n    return 7\n")
        launched.until("app.py has changed", "works", f"{first} has left")
        self.assertEqual(self.ergon.submit("new").wait(), 7)
        self.assertEqual(launched.end(), 0)

    def test_one_that_ends_at_once_is_started_after_pauses(self) -> None:
        self.write("import os\nos._exit(3)")
        launched = self.launch()
        launched.until("has ended with status 3", "again in 0.1 s", "again in 0.2 s")
        self.assertEqual(launched.end(), 0)

    def test_the_processes_leave_with_their_parent(self) -> None:
        launched = self.launch()
        launched.until("works")
        self.assertNotEqual(launched.end(signal.SIGKILL), 0)  # what they say ends with the last of them

    def test_usage(self) -> None:
        self.write(APP + "\nother = 5\n")
        for app, text in (("gone:app", "cannot load gone:app: ModuleNotFoundError"), ("app:other", "no ergon_client.App")):
            with self.subTest(text):
                launched = self.launch(app=app)
                self.assertEqual(launched.end(None), 2)
                self.assertIn(text, "".join(launched.said))
        launched = self.launch(url="")
        self.assertEqual((launched.end(None), "the app knows no server" in "".join(launched.said)), (2, True))
        for flags, text in ((["--slots", "0"], "is no number from 1 on"), (["--max-memory", "much"], "is no size"),
                            (["--grace", "soon"], "is no duration"), (["--url", "http://x"], "is neither ergon://"),
                            (["--turbo"], "unrecognized arguments: --turbo")):
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()) as said:
                main(["work", "app", *flags])
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(text, said.getvalue())

    def test_a_server_that_refuses(self) -> None:
        self.write(APP.replace("App()", "App(timeout='1s')") + "\n\n@app.task('server.mine')\ndef mine() -> None:\n    pass\n")
        launched = self.launch()
        launched.until(r"cannot work: ", "has ended with status 1", "starts again")
        self.assertEqual(launched.end(), 0)


if __name__ == "__main__":
    unittest.main()
