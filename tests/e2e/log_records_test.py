"""What the log tells: that the server is up and what it is, the life of a connection and of a task, levels for journald."""
import json
import os
import re
import signal
import socket
import subprocess
import unittest

from harness import ERGOND, LIMIT, RemoteError, Server, eventually, make_token, scratch

LEVELS = {"debug": 7, "info": 6, "audit": 5, "warn": 4, "error": 3}


def records(server):
    """Those that the log has now, of the form json."""
    whole, _, _ = server.log_text().rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


class RecordsTest(unittest.TestCase):
    def start(self, *flags, **more):
        server = Server("--log-format", "json", *flags, **more)
        self.addCleanup(server.discard)
        return server

    def wait_for(self, server, what, **fields):
        """The first record with this text and these fields."""
        def find():
            return [r for r in records(server) if r["msg"] == what and fields.items() <= r.items()]
        eventually(find, f"the record {what!r} with {fields}")
        return find()[0]

    def ended(self, server):
        self.assertEqual(server.stop(), 0)
        return records(server)


class StartTest(RecordsTest):
    def test_one_record_says_what_is_up(self):
        place = scratch(self.addCleanup)
        store = os.path.join(place, "tasks.db")
        path = os.path.join(place, "socket")
        server = self.start("--loops", "2", "--store", store, "--limits-connections", "300", "--limits-memory", "64m",
                            "--tasks-max", "5000", "--tasks-bytes", "32m", listen=("ergon://127.0.0.1:0", f"unix://{path}"))
        up = self.wait_for(server, "server is up")
        version = subprocess.run([ERGOND, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        with open(f"/proc/{server.pid}/limits") as f:
            files = int(re.search(r"Max open files\s+(\d+)", f.read())[1])
        self.assertEqual({k: up[k] for k in up if k not in ("time", "idle")}, {
            "level": "info", "msg": "server is up", "version": version, "pid": server.pid, "loops": 2,
            "listeners": " ".join(server.urls), "store": store, "open_files": files, "connections": 300,
            "memory": 64 << 20, "tasks": 5000, "tasks_bytes": 32 << 20})
        self.assertEqual(sum(r["msg"] == "server is up" for r in self.ended(server)), 1)

    def test_without_a_store_it_says_so(self):
        server = self.start()
        self.assertEqual(self.wait_for(server, "server is up")["store"], "none")

    def test_a_server_that_does_not_start_is_not_up(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = subprocess.run([ERGOND, "--listen", "ergon://127.0.0.1:%d" % taken.getsockname()[1]],
                                  capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("server is up", done.stderr)


class LifeTest(RecordsTest):
    """By the records of one connection, and of one task, one can tell what happened to it."""

    def setUp(self):
        self.place = scratch(self.addCleanup)
        tokens = os.path.join(self.place, "tokens")
        self.token = make_token(tokens, "ann", "--methods", "echo,hash,fail,task.*,server.*")
        self.config = os.path.join(self.place, "ergond.yaml")
        self.write("debug")
        self.flags = ("--config", self.config, "--tokens", tokens)

    def write(self, level):
        with open(self.config, "w") as f:
            f.write(f"log: {{level: {level}}}\n")

    def of(self, all_records, **fields):
        """Of the records with these fields what tells them apart."""
        return [r for r in all_records if fields.items() <= r.items()]

    def test_a_connection(self):
        server = self.start(*self.flags)
        with server.connect() as client:
            with self.assertRaises(RemoteError):
                client.call("echo", 1)
            client.call("server.auth", self.token)
            client.call("echo", 1)
            client.notify("echo", 2)
            with self.assertRaises(RemoteError):
                client.call("compress", "x")
            client.call("hash", "md5", "x")
            with self.assertRaises(RemoteError):
                client.call("fail", "FULL", "no room")
            conn = self.wait_for(server, "connected")["conn"]
        self.wait_for(server, "disconnected", conn=conn)
        life = self.of(self.ended(server), conn=conn)
        self.assertTrue(life[0]["listener"] == server.urls[0] and life[0]["peer"].startswith("127.0.0.1:"), life[0])
        told = [(r["msg"], r.get("request"), r.get("method"), r.get("error")) for r in life]
        self.assertEqual(told, [
            ("connected", None, None, None),
            ("call", "1", "echo", None), ("denied", "1", None, "AUTH"),
            ("call", "2", "server.auth", None), ("authenticated", None, None, None),
            ("answered", "2", "server.auth", None),
            ("call", "3", "echo", None), ("answered", "3", "echo", None),
            ("notification", None, "echo", None), ("answered", None, "echo", None),
            ("call", "4", "compress", None), ("denied", "4", None, "DENIED"),
            ("call", "5", "hash", None), ("answered", "5", "hash", None),
            ("call", "6", "fail", None), ("answered", "6", "fail", "FULL"),
            ("disconnected", None, None, None)])
        self.assertIn('ann may not call "compress"', next(r["reason"] for r in life if r.get("error") == "DENIED"))
        numbers = [r["task"] for r in life if r["msg"] == "answered" and "task" in r]
        self.assertEqual(len(set(numbers)), 4)  # echo, its notification, hash, fail

    def test_a_call_of_a_trace_names_it(self):
        trace = "0af7651916cd43dd8448eb211c80319c"
        server = self.start(*self.flags)
        with server.connect() as client:
            client.call("server.auth", self.token)
            client.call("task.call", "echo", [1], {"traceparent": f"00-{trace}-b7ad6b7169203331-00"})
            client.call("echo", 2)
        answered = self.of(self.ended(server), msg="answered", method="echo")
        self.assertEqual([r.get("trace") for r in answered], [trace, None])

    def test_a_task(self):
        server = self.start(*self.flags, "--store", os.path.join(self.place, "tasks.db"))
        with server.connect() as client:
            client.call("server.auth", self.token)
            task = client.call("task.submit", "echo", [1], {"durable": "fsync"})["id"]
            client.call("task.wait", task)
            conn = self.wait_for(server, "connected")["conn"]
        life = self.of(self.ended(server), task=task)
        self.assertEqual({k: life[1][k] for k in ("conn", "method", "tenant", "durable")},
                         {"conn": conn, "method": "echo", "tenant": "ann", "durable": "fsync"})
        self.assertEqual([(r["msg"], r.get("from"), r.get("to"), r.get("reason")) for r in life], [
            ("task moves", None, "queued", "commit"), ("submitted", None, None, None),
            ("task moves", "queued", "queued", "turn"), ("task moves", "queued", "assigned", "assigned"),
            ("task moves", "assigned", "running", "running"), ("task moves", "running", "running", "commit"),
            ("task moves", "running", "done", "ended")])

    def test_the_level_changes_at_a_reload(self):
        self.write("info")
        server = self.start(*self.flags)

        def reload(level):
            self.write(level)
            before = sum(r["msg"] == "reloaded" for r in records(server))
            server.signal(signal.SIGHUP)
            eventually(lambda: sum(r["msg"] == "reloaded" for r in records(server)) > before, "it has reloaded")

        with server.connect() as client:
            client.call("server.auth", self.token)
            client.call("echo", 1)
            reload("debug")
            client.call("echo", 2)
            client.call("hash", "md5", "x")
            reload("info")
            client.call("echo", 3)
            client.call("hash", "md5", "x")
        calls = [r["request"] for r in self.ended(server) if r["msg"] in ("call", "answered")]
        self.assertEqual(calls, ["3", "3", "4", "4"])


class JournalTest(RecordsTest):
    """Standard error is a pipe that may be journald's."""

    def text(self, *flags, stream, ends_with=0, served=True):
        """What the server writes there from its start to its end; `stream`: makes JOURNAL_STREAM of the pipe's own."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        st = os.fstat(writing)
        env = {"JOURNAL_STREAM": stream(st)}
        if served:
            server = Server(*flags, log=writing, env=env)
            os.close(writing)
            self.addCleanup(server.discard)
            server.signal(signal.SIGTERM)
            status = server.wait()
        else:
            status = subprocess.run([ERGOND, *flags], stderr=writing, stdout=subprocess.DEVNULL,
                                    env={**os.environ, **env}, timeout=LIMIT).returncode
            os.close(writing)
        self.assertEqual(status, ends_with)
        with os.fdopen(os.dup(reading)) as log:
            return log.read()

    @staticmethod
    def named(st):
        return f"{st.st_dev}:{st.st_ino}"

    @staticmethod
    def another(st):
        return f"{st.st_dev}:{st.st_ino + 1}"

    def check_levels(self, text, pattern):
        seen = set()
        for line in text.splitlines():
            found = re.match(pattern, line)
            self.assertTrue(found, line)
            self.assertEqual(int(found[1]), LEVELS[found[2]], line)
            seen.add(found[2])
        self.assertLessEqual({"info", "audit"}, seen)

    def test_each_record_has_its_level(self):
        self.check_levels(self.text(stream=self.named), r"<(\d)>time=\S+ level=(\w+) ")

    def test_each_record_in_json_too(self):
        self.check_levels(self.text("--log-format", "json", stream=self.named), r'<(\d)>\{"time":"[^"]+","level":"(\w+)"')

    def test_not_where_the_stream_is_another(self):
        self.assertTrue(all(line.startswith("time=") for line in self.text(stream=self.another).splitlines()))

    def test_it_can_be_forced(self):
        self.check_levels(self.text("--log-levels", "on", stream=self.another), r"<(\d)>time=\S+ level=(\w+) ")

    def test_it_can_be_switched_off(self):
        text = self.text("--log-levels", "off", stream=self.named)
        self.assertTrue(all(line.startswith("time=") for line in text.splitlines()))

    def test_each_error_of_the_configuration_is_one(self):
        text = self.text("--drain", "8", "--loops", "many", stream=self.named, ends_with=2, served=False)
        self.assertEqual(len(text.splitlines()), 2, text)
        self.assertTrue(all(line.startswith("<3>") for line in text.splitlines()), text)


if __name__ == "__main__":
    unittest.main()
