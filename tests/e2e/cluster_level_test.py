#!/usr/bin/python3
"""What `durable` promises on PostgreSQL: `replicated` is answered where a standby has it, and refused where there is none."""
import os
import sys
import unittest

from harness import ERGOND, OK, SOURCE, RemoteError, Server, eventually, run_ergon, scratch

sys.path.append(os.path.join(SOURCE, "tests", "support"))
import postgres  # noqa: E402

WITH_ERGOND = {"PATH": os.pathsep.join([os.path.dirname(os.path.abspath(ERGOND)), os.environ["PATH"]])}
NOT_NOW = "STORE: the database has no synchronous standby now; submit again later, or with durable: async, or see docs/cluster.md"


@unittest.skipIf(postgres.missing() and "CI" not in os.environ, postgres.missing())
class LevelTest(unittest.TestCase):
    databases = 0

    @classmethod
    def setUpClass(cls):
        cls.engine = postgres.Cluster(standbys=1, sync=True, fsync=True)
        cls.addClassCleanup(cls.engine.end)
        cls.sync = cls.engine.primary.query("SHOW synchronous_standby_names")[0][0]
        cls.engine.create_role("ergon")

    def setUp(self):
        LevelTest.databases += 1
        self.database = f"tasks{self.databases}"
        self.engine.create_database(self.database, owner="ergon")
        self.addCleanup(self.engine.set, synchronous_standby_names=self.sync)
        self.url = self.engine.url(self.database, user="ergon")
        self.folder = scratch(self.addCleanup)
        status, out, err = run_ergon("unix:///nonexistent", "cluster", "init", self.url, env=WITH_ERGOND)
        self.assertEqual(status, OK, (out, err))

    def start(self, *flags):
        node = Server("--cluster-node", "a", "--store", self.url, "--cluster-state", self.folder, *flags)
        self.addCleanup(node.discard)
        client = node.connect()
        self.addCleanup(client.close)
        eventually(lambda: client.call("server.info")["cluster"]["role"] == "owner", "an owner")
        return client

    def store(self, client):
        return client.call("server.info")["store"]

    def submit(self, client, **options):
        return client.call("task.submit", "echo", [1], options)

    def refusal(self, client, **options):
        with self.assertRaises(RemoteError) as refused:
            self.submit(client, **options)
        return refused.exception.value

    def test_with_a_standby_each_answer_is_replicated(self):
        client = self.start()
        for options in {}, {"durable": "replicated"}, {"durable": "fsync"}:
            self.assertEqual(self.submit(client, **options)["durable"], "replicated")
        self.assertEqual(self.submit(client, durable="async")["durable"], "async")
        store = self.store(client)
        self.assertEqual((store["engine"], store["level"]), ("postgresql", "replicated"))
        kept = self.submit(client, durable="async", key="k", delay="1h")["id"]
        self.assertEqual(self.submit(client, durable="replicated", key="k")["id"], kept)
        self.assertEqual(client.call("task.get", kept)["durable"], "replicated")
        rows = self.engine.primary.query("SELECT DISTINCT durable FROM ergon.submissions WHERE durable = 'replicated'", dbname=self.database)
        self.assertEqual(rows, [("replicated",)])

    def test_without_one_it_is_refused_and_what_runs_goes_on(self):
        client = self.start()
        before = self.submit(client, delay="1h")["id"]
        self.engine.set(synchronous_standby_names="")
        eventually(lambda: not self.is_taken(client), "a refusal")
        for options in {}, {"durable": "replicated"}, {"durable": "fsync"}, {"key": "k"}:
            self.assertEqual(self.refusal(client, **options), NOT_NOW)
        self.assertEqual(self.submit(client, durable="async")["durable"], "async")
        client.call("task.change", before, {"priority": 9})
        client.call("task.run_now", before)
        self.assertEqual(client.call("task.wait", before, {"timeout": "60s"})["ended"][0]["state"], "done")
        eventually(lambda: self.store(client)["level"] == "fsync", "a commit on one machine")
        self.engine.set(synchronous_standby_names=self.sync)
        eventually(lambda: self.is_taken(client), "a standby again")

    def is_taken(self, client):
        try:
            self.assertEqual(self.submit(client)["durable"], "replicated")
        except RemoteError as e:
            self.assertEqual(e.value, NOT_NOW)
            return False
        return True

    def test_while_the_standby_is_away_the_answer_waits(self):
        client = self.start()
        standby = self.engine.standbys[0]
        standby.stop()
        self.addCleanup(lambda: standby.is_running() or standby.start())
        asked = client.send("task.submit", "echo", [1], {"durable": "replicated"})
        self.assertEqual(client.call("echo", "brief"), "brief")
        eventually(lambda: self.store(client)["backlog"] > 0, "a commit that waits")
        self.assertNotIn(asked, client.early)
        standby.start()
        self.assertEqual(client.result(asked)["durable"], "replicated")

    def test_less_can_be_asked_for(self):
        self.engine.set(synchronous_standby_names="")
        client = self.start("--store-require", "any")
        told = self.submit(client)
        self.assertEqual(told["durable"], "fsync")
        self.assertEqual(self.refusal(client, durable="replicated"), NOT_NOW)

    def test_the_storage_may_replicate(self):
        self.engine.set(synchronous_standby_names="")
        client = self.start("--store-replicated", "by-storage")
        self.assertEqual(self.submit(client)["durable"], "replicated")


if __name__ == "__main__":
    unittest.main()
