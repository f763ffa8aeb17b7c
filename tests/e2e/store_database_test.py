#!/usr/bin/python3
"""`ergon store` with the URL of a database: what was exported of a file and imported there is exported again line for line; all
lines are taken or none; and what is wrong is said."""
import os
import subprocess
import sys
import unittest

from harness import BUILD, ERGON, Server, scratch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import postgres  # noqa: E402  (its folder comes first)

ENV = {**os.environ, "PATH": os.path.join(BUILD, "server") + os.pathsep + os.environ["PATH"]}
HEAD = '{"store":{"version":12}}\n'


def ergon(*words, given=""):
    done = subprocess.run([ERGON, *words], input=given, capture_output=True, text=True, timeout=120, env=ENV, check=False)
    return done.returncode, done.stdout, done.stderr


class StoreOfDatabase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = postgres.Cluster(fsync=False)
        cls.addClassCleanup(cls.cluster.end)
        cls.cluster.create_role("ergon")

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        name = self.id().rsplit(".", 1)[1][:60]
        self.cluster.create_database(name, owner="ergon")
        self.database, self.url = name, self.cluster.url(name, user="ergon")
        self.name = f"postgresql:///{name}"

    def init(self):
        self.assertEqual(ergon("cluster", "init", self.url)[0], 0)

    def made(self):
        """Lines of a store that has a row of each kind."""
        path = os.path.join(self.folder, "tasks.db")
        with Server("--store", path) as server, server.connect() as client:
            for n in range(40):
                client.call("task.submit", "echo", [n], {"durable": ["async", "fsync"][n % 2]})
            held = [client.call("task.submit", "echo", [n], {"durable": "fsync", "delay": "1h", "key": f"k{n}", "retries": n,
                                                             "rate": {"key": "r", "max": 5, "per": "1h"}})["id"] for n in range(20)]
            client.call("task.cancel", held[0])
            client.call("queue.pause", "sleep")
            for n in range(5):
                client.call("actor.call", "counter/1", "add", [n])
            client.call("actor.call", "counter/2", "add", [7])
            client.call("actor.stop", "counter/2", {"reason": "for a while"})
            client.call("actor.remind", "counter/1", "later", "add", [1], {"in": "1h"})
            client.call("cron.put", "nightly", "@daily", "echo")
        status, lines, _ = ergon("store", "export", path)
        self.assertEqual(status, 0)
        return lines

    def test_a_new_cluster_is_filled_from_a_store_or_an_export(self):
        lines = self.made()
        export = os.path.join(self.folder, "tasks.jsonl")
        with open(export, "w", encoding="utf-8") as out:
            out.write(lines)
        for file in os.path.join(self.folder, "tasks.db"), export:
            status, _, errors = ergon("cluster", "init", self.url, "--import", file)
            self.assertEqual((status, errors), (0, f"{self.name}: 61 tasks imported\n"))
            self.assertEqual(ergon("store", "export", self.url), (0, lines, ""))
            self.cluster.primary.query("DROP SCHEMA ergon CASCADE", dbname=self.database)
        status, _, errors = ergon("cluster", "init", self.url, "--import", self.folder + "/none")
        self.assertEqual(status, 2)
        self.assertIn("cannot be read, so nothing was made", errors)
        with open(export, "a", encoding="utf-8") as out:
            out.write("{}\n")
        status, _, errors = ergon("cluster", "init", self.url, "--import", export)
        self.assertEqual(status, 1)
        self.assertRegex(errors, r"line [0-9]+: (?s:.*)nothing was imported(?s:.*)there, and empty")
        self.assertEqual(self.cluster.primary.query("SELECT count(*) FROM ergon.submissions", dbname=self.database), [(0,)])

    def test_line_for_line(self):
        lines = self.made()
        self.init()
        self.assertEqual(ergon("store", "import", self.url, given=lines), (0, "", f"{self.name}: 61 tasks imported\n"))
        self.assertEqual(ergon("store", "export", self.url), (0, lines, ""))
        status, out, _ = ergon("store", "check", self.url)
        self.assertEqual((status, out.split(",")[0]), (0, f"{self.name}: sound: 61 tasks"))
        back = os.path.join(self.folder, "back.db")
        self.assertEqual(ergon("store", "import", back, given=lines)[0], 0)
        self.assertEqual(ergon("store", "export", back), (0, lines, ""))
        status, _, errors = ergon("store", "import", self.url, given=lines)
        self.assertEqual(status, 2)
        self.assertIn("it has rows already", errors)

    def test_all_lines_or_none(self):
        self.init()
        task = '{"task":{"id":7,"method":"m","durable":"fsync"}}\n'
        status, _, errors = ergon("store", "import", self.url, given=HEAD + task + '{"task":{"id":0}}\n')
        self.assertEqual(status, 1)
        self.assertIn("nothing was imported", errors)
        name = '{"task":{"id":8,"method":{"$bytes":"/w=="},"durable":"fsync"}}\n'
        ergon("store", "import", self.url, given=HEAD + task + name + '{"counters":{"submitted":2,"last_id":8}}\n')
        self.assertEqual(ergon("store", "export", self.url)[1].count('"task"'), 0)

    def test_what_is_wrong(self):
        self.assertEqual(ergon("store", "export", self.url)[0], 2)
        self.assertIn("ergon cluster init", ergon("store", "check", self.url)[1] + ergon("store", "export", self.url)[2])
        status, _, errors = ergon("store", "backup", self.url, os.path.join(self.folder, "copy.db"))
        self.assertEqual(status, 2)
        self.assertIn("pg_basebackup", errors)
        secret = "postgresql://ergon:hidden@localhost/tasks"
        for verb in ("check", "export"):
            status, out, errors = ergon("store", verb, secret)
            self.assertEqual(status, 2)
            self.assertIn("password", out + errors)
            self.assertNotIn("hidden", out + errors)


if __name__ == "__main__":
    lacks = postgres.missing()
    if lacks:
        print(lacks)
        sys.exit(1 if os.environ.get("CI") else 77)
    unittest.main()
