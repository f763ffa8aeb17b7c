#!/usr/bin/python3
"""`ergon store` with the URL of a database: what was exported of a file and imported there is exported again line for line; all
lines are taken or none; and what is wrong is said."""
import functools
import os
import shutil
import subprocess
import sys
import unittest

from harness import BUILD, ERGON, LIMIT, SOURCE, Server, scratch

sys.path[:0] = [os.path.join(SOURCE, "tests", folder) for folder in ("support", "interop")]
import ending  # noqa: E402  (its folder comes first)
import interop  # noqa: E402
import postgres  # noqa: E402

EXAMPLES = os.path.join(SOURCE, "examples", "transaction")
MODULES = os.path.join(interop.NPM, "node_modules")
ENV = {**os.environ, "PATH": os.path.join(BUILD, "server") + os.pathsep + os.environ["PATH"]}
HEAD = '{"store":{"version":12}}\n'


@functools.cache
def engine():
    """One PostgreSQL for all tests."""
    cluster = postgres.Cluster(fsync=False)
    unittest.addModuleCleanup(cluster.end)
    cluster.create_role("ergon")
    return cluster


def ergon(*words, given=""):
    done = subprocess.run([ERGON, *words], input=given, capture_output=True, text=True, timeout=120, env=ENV, check=False)
    return done.returncode, done.stdout, done.stderr


class StoreOfDatabase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = engine()

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


class OwnTransaction(unittest.TestCase):
    """Applications submit in transactions of their own: docs/own-transaction.md."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = engine()
        cls.cluster.create_role("shop")
        cls.cluster.primary.query("GRANT ergon_submit, ergon_read TO shop")
        cls.cluster.create_database("shop", owner="ergon")
        cls.cluster.primary.psql("CREATE TABLE orders (id serial PRIMARY KEY, item text, mail text);\n"
                                 "GRANT ALL ON orders, orders_id_seq TO shop;", dbname="shop")
        url = cls.cluster.url("shop", "ergon")
        assert ergon("cluster", "init", url)[0] == 0
        folder = scratch(cls.addClassCleanup)
        config = ending.write(os.path.join(folder, "ergond.yaml"), """
roles:
  - {name: all, members: ["unix:*"], methods: ["*", task.any]}
  - {name: shop, members: ["database:shop"], methods: ["mail.*", echo]}
""")
        cls.server = Server("--config", config, "--store", url, "--store-replicated", "by-storage", "--cluster", "ergon", "--cluster-node", "a",
                            "--cluster-state", folder, "--cluster-listen", f"unix://{folder}/nodes", "--workers-methods", "mail.*",
                            listen=(f"unix://{folder}/socket",))
        cls.addClassCleanup(cls.server.discard)

    def setUp(self):
        self.client = self.server.connect()
        self.addCleanup(self.client.sock.close)
        self.application = self.cluster.primary.connect("shop", "shop")
        self.application.autocommit = False
        self.addCleanup(self.application.close)

    def submit(self, *arguments):
        with self.application.cursor() as cursor:
            cursor.execute(f"SELECT ergon.submit({', '.join(['%s'] * len(arguments))})", arguments)
            return cursor.fetchone()[0]

    def rows(self, sql):
        with self.application, self.application.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def await_taken(self):
        ending.eventually(lambda: self.cluster.primary.query("SELECT count(*) FROM ergon.inbox", dbname="shop") == [(0,)],
                          lambda: "the inbox is empty:\n" + self.server.log_text())

    def tasks(self, **filters):
        return self.client.call("task.list", filters)["tasks"]

    def test_committed_or_not(self):
        self.submit("echo", '[{"a": [1, 2.5, null, "\u00e4"], "b": {"$bin": "AP8="}}]', '{"key": "good", "keep": "1h"}')
        self.submit("echo", "[]", '{"key": "good"}')
        self.application.commit()
        self.submit("echo", "[]", '{"key": "bad"}')
        self.application.rollback()
        self.await_taken()
        task, = self.tasks(method="echo", key="good")
        self.assertEqual((task["tenant"], task["durable"]), ("shop", "replicated"))
        result = self.client.call("task.wait", task["id"], {"result": True})["ended"][0]["result"]
        self.assertEqual(result, {"a": [1, 2.5, None, "\u00e4"], "b": b"\x00\xff"})
        self.assertEqual(self.tasks(key="bad"), [])
        self.assertEqual(self.rows("SELECT id, state, key FROM ergon.task_list WHERE key = 'good'"), [(task["id"], "done", "good")])

    def test_refused_and_submitted_again(self):
        for method, options in (("hash", "{}"), ("echo", '{"priority": 99}'), ("echo", '{"inbox": 1}'), ("echo", '{"durable": "async"}')):
            self.submit(method, "[1]", options)
        self.submit("echo", "[18446744073709551616]")
        self.submit("echo", "[2]", '{"key": "behind"}')
        self.application.commit()
        self.await_taken()
        errors = [row[0] for row in self.rows("SELECT error FROM ergon.refused ORDER BY id")]
        for error, expected in zip(errors, ("DENIED: ", 'BAD_PARAMS: option "priority" must be', 'BAD_PARAMS: unknown option "inbox"',
                                            'BAD_PARAMS: option durable: a transaction', "BAD_PARAMS: the parameters cannot be"), strict=True):
            self.assertIn(expected, error)
        self.assertEqual(len(self.tasks(key="behind")), 1)
        self.rows("WITH r AS (DELETE FROM ergon.refused RETURNING method, params, options) "
                  "SELECT ergon.submit('echo', '[]', '{\"key\": \"again\"}') FROM r")
        self.await_taken()
        self.assertEqual(len(self.tasks(key="again")), 1)
        self.assertEqual(self.rows("SELECT count(*) FROM ergon.refused"), [(0,)])

    def run_example(self, *command, **env):
        done = subprocess.run([*command, self.cluster.url("shop", "shop"), "a book", "alice@example.org"], capture_output=True, text=True,
                              timeout=10 * LIMIT, env={**os.environ, **env}, check=False)  # go compiles its library
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.await_taken()
        task, = self.tasks(key=done.stdout.strip())
        self.assertEqual((task["method"], task["tenant"], task["retries"]), ("mail.receipt", "shop", 5))

    def test_python(self):
        self.run_example(sys.executable, os.path.join(EXAMPLES, "order.py"))

    @unittest.skipUnless(shutil.which("go") and os.path.isdir("/usr/share/gocode/src/github.com/lib/pq"),
                         "lib/pq for Go is not installed (golang-github-lib-pq-dev)")
    def test_go(self):
        self.run_example("go", "run", os.path.join(EXAMPLES, "order.go"), GO111MODULE="off", GOPATH="/usr/share/gocode")

    @unittest.skipUnless(os.path.isdir(os.path.join(MODULES, "pg")), "pg for Node is not installed (interop/npm installs it)")
    def test_node(self):
        self.run_example("node", os.path.join(EXAMPLES, "order.js"), NODE_PATH=MODULES)


if __name__ == "__main__":
    lacks = postgres.missing()
    if lacks:
        print(lacks)
        sys.exit(1 if os.environ.get("CI") else 77)
    unittest.main()
