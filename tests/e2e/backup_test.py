"""`ergon store backup`: a copy of a store's file, while a server writes it, is killed, or is not there; and what a kill of the
copying process leaves."""
import os
import resource
import signal
import sqlite3
import subprocess
import threading
import unittest

from harness import ERGON, ERGOND, LIMIT, Server, eventually, scratch

ENV = {**os.environ, "PATH": os.path.dirname(ERGOND) + ":" + os.environ["PATH"]}
LARGE, PIECES = "x" * 100_000, 200  # so that a copy takes many steps


def tool(word, *arguments, **options):
    """ergon store WORD: (exit status, stdout, stderr)."""
    done = subprocess.run([ERGON, "store", word, *arguments], capture_output=True, timeout=LIMIT, env=ENV, text=True, **options)
    return done.returncode, done.stdout, done.stderr


def submit(client, *params):
    return client.call("task.submit", "echo", list(params), {"delay": "1h", "durable": "fsync"})["id"]


class Backup(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.path = self.at("tasks.db")
        self.copy = self.at("copy.db")

    def at(self, name):
        return os.path.join(self.folder, name)

    def serve(self, path=None):
        server = Server("--store", path or self.path)
        self.addCleanup(server.discard)
        return server

    def begun(self):
        """A copy that has begun, stopped; in the middle of it, or, where this process was too slow, after it."""
        process = subprocess.Popen([ERGON, "store", "backup", self.path, self.copy], stdout=subprocess.DEVNULL, env=ENV)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        eventually(lambda: process.poll() is not None or self.has_pages(self.copy + ".part") or os.path.exists(self.copy),
                   "a copy begins")
        process.send_signal(signal.SIGSTOP)
        return process

    def has_pages(self, path):
        try:
            return os.path.getsize(path) > 0
        except FileNotFoundError:
            return False

    def sound(self, path):
        status, out, errors = tool("check", path)
        self.assertEqual((status, errors), (0, ""), out)

    def tasks(self, path):
        """How many are in a file that nobody uses."""
        with sqlite3.connect(path) as db:
            return db.execute("SELECT count(*) FROM submissions").fetchone()[0]

    def test_while_no_server_runs(self):
        with Server("--store", self.path).until_killed() as server, server.connect() as client:
            for n in range(10):
                submit(client, n)
        self.assertEqual(tool("backup", self.path, self.copy), (0, f"{self.copy}: 10 tasks\n", ""))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("copy")], ["copy.db"])
        self.assertEqual(os.stat(self.copy).st_mode & 0o777, 0o600)
        self.sound(self.copy)
        self.assertEqual(tool("export", self.copy)[1], tool("export", self.path)[1])

    def test_while_a_server_writes(self):
        """All that was answered before is in it, whatever comes meanwhile; a server goes on from it."""
        server = self.serve()
        with server.connect() as client:
            before = [submit(client, n, LARGE) for n in range(PIECES)]
        enough, wrong = threading.Event(), []

        def write():
            try:
                with server.connect() as client:
                    while not enough.is_set():
                        submit(client, "meanwhile")
            except OSError as e:
                wrong.append(e)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            self.assertEqual(tool("backup", self.path, self.copy)[0], 0)
        finally:
            enough.set()
            writer.join()
        self.assertEqual(wrong, [])
        self.assertEqual(server.stop(), 0)
        self.sound(self.copy)
        self.sound(self.path)
        self.assertGreaterEqual(self.tasks(self.path), self.tasks(self.copy))
        restored = self.serve(self.copy)
        with restored.connect() as client:
            for task in before:
                self.assertEqual(client.call("task.get", task)["state"], "delayed")

    def test_what_a_kill_leaves(self):
        server = self.serve()
        with server.connect() as client:
            for n in range(PIECES):
                submit(client, n, LARGE)
        process = self.begun()
        process.kill()
        process.wait()
        if os.path.exists(self.copy):
            self.sound(self.copy)
            os.unlink(self.copy)
        self.assertEqual(tool("backup", self.path, self.copy), (0, f"{self.copy}: {PIECES} tasks\n", ""))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("copy") and not name.endswith(".lock")],
                         ["copy.db"])
        self.sound(self.copy)
        with server.connect() as client:
            submit(client, "after")
        self.assertEqual(server.stop(), 0)

    def test_the_server_is_killed_meanwhile(self):
        """It starts again beside the copy, which ends as it began."""
        server = self.serve()
        with server.connect() as client:
            for n in range(PIECES):
                submit(client, n, LARGE)
        process = self.begun()
        server.discard()
        with Server("--store", self.path) as again:
            with again.connect() as client:
                submit(client, "after")
            process.send_signal(signal.SIGCONT)
            self.assertEqual(process.wait(LIMIT), 0)
        self.sound(self.copy)
        self.sound(self.path)
        self.assertEqual((self.tasks(self.copy), self.tasks(self.path)), (PIECES, PIECES + 1))

    def test_one_copy_at_a_time_and_none_over_another(self):
        server = self.serve()
        with server.connect() as client:
            submit(client, 1)
        self.assertEqual(tool("backup", self.path, self.copy)[0], 0)
        with open(self.copy, "rb") as f:
            was = f.read()
        status, _, errors = tool("backup", self.path, self.copy)
        self.assertEqual(status, 2)
        self.assertIn("it is there", errors)
        with open(self.copy, "rb") as f:
            self.assertEqual(f.read(), was)
        status, _, errors = tool("backup", self.at("none.db"), self.at("other.db"))
        self.assertEqual((status, os.path.exists(self.at("none.db"))), (2, False))
        self.assertIn("there is no such file", errors)
        self.assertEqual(tool("backup", self.path, self.at("no/folder.db"))[0], 2)

    def test_no_room(self):
        with Server("--store", self.path) as server, server.connect() as client:
            for n in range(PIECES):
                submit(client, n, LARGE)

        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))

        status, _, errors = tool("backup", self.path, self.copy, preexec_fn=little_room)
        self.assertEqual(status, 2, errors)
        self.assertIn("there is no backup", errors)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("copy") and not name.endswith(".lock")], [])

    def test_damage_is_not_copied_in_silence(self):
        with Server("--store", self.path) as server, server.connect() as client:
            for n in range(PIECES):
                submit(client, n, LARGE)
        with open(self.path, "r+b") as f:
            f.seek(4096 * 3)
            f.write(b"\xff" * 4096)
        status, _, errors = tool("backup", self.path, self.copy)
        self.assertEqual(status, 1, errors)
        self.assertIn("damaged", errors)
        self.assertFalse(os.path.exists(self.copy))

    def test_it_is_put_back(self):
        """As docs/store.md says it: what is later than the copy is gone, and the rest goes on."""
        server = self.serve()
        with server.connect() as client:
            kept = submit(client, "kept")
            self.assertEqual(tool("backup", self.path, self.copy)[0], 0)
            lost = submit(client, "lost")
        self.assertEqual(server.stop(), 0)
        os.mkdir(self.at("old"))
        for name in os.listdir(self.folder):
            if name.startswith("tasks.db"):
                os.rename(self.at(name), self.at(os.path.join("old", name)))
        os.rename(self.copy, self.path)
        with self.serve().connect() as client:
            self.assertEqual(client.call("task.get", kept)["state"], "delayed")
            with self.assertRaisesRegex(Exception, "NOT_FOUND"):
                client.call("task.get", lost)


if __name__ == "__main__":
    unittest.main()
