#!/usr/bin/python3
"""What others build upon, as lists that are kept in golden/: methods with their parameters, errors, the members of the large answers,
families of metrics, keys, the schema, the exported store, libergon's symbols, all that --help says.  A difference fails, so that
each is seen, and wanted: ERGON_GOLDEN=write writes the lists anew.

Values that depend on the machine or the moment are left out: of an answer there are the members and the types."""
import difflib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from admin_client import Admin
from harness import BUILD, ERGON, ERGOND, SANITIZED, SOURCE, Server

sys.path.append(os.path.join(SOURCE, "tests", "lint"))
from commands_test import read_help  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
WRITE = os.environ.get("ERGON_GOLDEN") == "write"


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}).stdout


def paths(value, at=""):
    """A line for each member of an answer, with its type; members of a list are those of all its items."""
    if isinstance(value, dict) and value:
        return {line for name, member in value.items() for line in paths(member, f"{at}.{name}")}
    if isinstance(value, list) and value:
        return {line for item in value for line in paths(item, at + "[]")}
    kind = {int: "number", float: "number", type(None): "nil"}.get(type(value), type(value).__name__)
    return {f"{at} {kind}"}


def untyped(lines):
    return {line.rsplit(" ", 1)[0] for line in lines}


class Golden:
    maxDiff = None

    def is_as_kept(self, name, text):
        file = os.path.join(GOLDEN, name + ".txt")
        text = text.rstrip("\n") + "\n"
        if WRITE:
            with open(file, "w") as out:
                out.write(text)
        with open(file) as kept:
            before = kept.read()
        if before != text:
            changes = difflib.unified_diff(before.splitlines(), text.splitlines(), "golden/" + name, "now", lineterm="", n=1)
            self.fail("it is not as it was; if that is wanted, ERGON_GOLDEN=write writes it anew\n" + "\n".join(changes))

class OfPrograms(Golden, unittest.TestCase):
    def test_command_lines(self):
        self.is_as_kept("ergond-help", said(ERGOND, "--help"))
        commands, _ = read_help(ERGON)
        self.assertGreater(len(commands), 50)
        self.is_as_kept("ergon-help", "\n".join(f"=== ergon {name}\n{command.text}" for name, command in commands.items()))

    def test_keys(self):
        self.is_as_kept("print-config", said(ERGOND, "--print-config"))

    def test_errors(self):
        with open(os.path.join(SOURCE, "proto", "errors.h")) as f:
            rows = re.findall(r"X\((\w+), (-?\d+), (true|false), ", f.read())
        self.assertGreater(len(rows), 15)
        self.is_as_kept("errors", "\n".join(" ".join(row) for row in rows))

    @unittest.skipIf(SANITIZED, "a sanitizer's library has other symbols")
    def test_symbols_of_libergon(self):
        lines = said("nm", "-D", "--defined-only", "-P", os.path.join(BUILD, "client", "lib", "libergon.so"))
        self.is_as_kept("libergon", "\n".join(sorted(line.split()[0] for line in lines.splitlines())))


class OfAServer(Golden, unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = os.path.join(folder.name, "tasks.db")
        self.server = Server("--loops", "2", "--store", self.store, "--admin", "http://127.0.0.1:0")
        self.addCleanup(self.server.discard)
        self.admin = self.server.process.stdout.readline().strip()
        self.client = self.server.connect()
        self.addCleanup(self.client.close)
        self.fill()

    def submit(self, method, params, options):
        return self.client.call("task.submit", method, params, {"durable": "fsync", **options})["id"]

    def fill(self):
        """One of each thing that a store holds and an answer shows."""
        call = self.client.call
        ended = self.submit("echo", ["x"], {"limit": {"key": "l", "max": 2}, "rate": {"key": "r", "max": 9, "per": "1h"}, "key": "k"})
        call("task.wait", ended, {"timeout": "60s"})
        failed = self.submit("fail", [], {"retries": 0})
        call("task.wait", failed, {"timeout": "60s"})
        waits = self.submit("echo", ["y"], {"delay": "1h", "coalesce": "c", "keep": "1h", "deadline": "2h",
                                            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
        self.submit("echo", ["z"], {"after": [waits]})
        call("cron.put", "nightly", "0 3 * * *", "echo", ["c"], {})
        call("queue.pause", "sleep")
        call("sem.create", "s", 2)
        call("sem.acquire", "s")
        call("event.set", "e")
        call("worker.register", ["t.worker"], {"slots": 2})
        self.tasks = ended, failed, waits

    def test_methods(self):
        methods = self.client.call("server.methods")
        names = sorted(m["name"] if isinstance(m, dict) else m for m in methods)
        self.assertIn("server.describe", names)
        described = [self.client.call("server.describe", name) for name in names]
        self.is_as_kept("methods", "\n".join(json.dumps(d, sort_keys=True) for d in described))

    def test_answers(self):
        call = self.client.call
        ended, failed, waits = self.tasks
        asked = {"server.info": (), "server.topology": (), "server.whoami": (), "server.hello": (), "connection.list": (), "queue.list": (), "queue.tenants": (),
                 "cron.list": (), "sem.list": (), "sem.explain": ("s",), "queue.explain": ("echo",), "worker.list": (), "server.audit": (), "server.times": (), "task.list": (), "task.events": ({"after": "oldest"},)}
        lines = []
        for method, params in asked.items():
            found = paths(call(method, *params))
            # What is nil in those of the server depends on the machine.
            lines += [f"{method} {line}" for line in sorted(untyped(found) if method.startswith("server.") else found)]
        for which, task in (("ended", ended), ("failed", failed), ("waits", waits)):
            for method in ("task.get", "task.explain"):
                lines += [f"{method} ({which}) {line}" for line in sorted(paths(call(method, task)))]
        self.is_as_kept("answers", "\n".join(lines))

    def test_metrics(self):
        status, text = Admin(self.admin).text("/metrics")
        self.assertEqual(status, 200)
        families = re.findall(r"^# (?:HELP|TYPE) .*", text, re.M)
        labels = sorted({re.sub(r'="[^"]*"', "", line.rsplit(" ", 1)[0]) for line in text.splitlines() if line and line[0] != "#"})
        self.is_as_kept("metrics", "\n".join(families + labels))

    def test_the_store(self):
        with sqlite3.connect(self.store) as store:
            schema = [row[0] for row in store.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")]
        self.is_as_kept("schema", "\n".join(schema))
        self.client.close()
        self.assertEqual(self.server.stop(), 0)
        rows = [json.loads(line) for line in said(ERGOND, "--export-store", self.store).splitlines()]
        self.is_as_kept("export", "\n".join(sorted(line for row in rows for line in paths(row, str(row.get("kind", ""))))))


if __name__ == "__main__":
    unittest.main()
