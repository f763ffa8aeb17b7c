"""The proxy of tests/support/pg_proxy.py, between psycopg2 and a real server: it knows a batch by its messages, and
closes where it is told."""
import os
import subprocess
import sys
import threading
import unittest

SUPPORT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "support"))
sys.path.insert(0, SUPPORT)

import ending  # noqa: E402
import pg_proxy  # noqa: E402
import postgres  # noqa: E402

psycopg2 = postgres.psycopg2
LOST = (psycopg2.OperationalError, psycopg2.InterfaceError) if psycopg2 else ()


@ending.needs(postgres.missing())
class ProxyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = postgres.Cluster()
        cls.addClassCleanup(cls.cluster.end)
        cls.server = cls.cluster.primary
        cls.server.query("CREATE TABLE kept (n int)")

    def setUp(self):
        self.server.query("TRUNCATE kept")
        self.proxy = pg_proxy.Proxy(self.server, ending.make_folder(self.server.folder, self.id().rsplit(".", 1)[1][-30:]))
        self.addCleanup(self.proxy.end)

    def connect(self, **more):
        link = psycopg2.connect(self.proxy.url(**more))
        self.addCleanup(link.close)
        link.autocommit = True
        return link

    def rows(self):
        return [n for n, in self.server.query("SELECT n FROM kept ORDER BY n")]

    def insert(self, link, n):
        with link.cursor() as cursor:
            cursor.execute("INSERT INTO kept VALUES (%s)", (n,))

    def test_it_passes_on_what_both_say(self):
        for more in ({}, {"tcp": True, "passfile": self.cluster.password_file}):
            link = self.connect(**more)
            with link.cursor() as cursor:
                cursor.execute("SELECT repeat('x', 1000000), 2")
                self.assertEqual(cursor.fetchone(), ("x" * 1000000, 2))
            self.assertEqual((self.proxy.last.types("frontend"), self.proxy.last.types("backend")), ("Q", "TDCZ"))

    def test_a_copy_is_one_batch(self):
        link = self.connect()
        with link.cursor() as cursor:
            copied = os.path.join(self.proxy.folder, "rows")
            with open(copied, "w+") as rows:
                rows.write("1\n2\n")
                rows.seek(0)
                cursor.copy_expert("COPY kept FROM STDIN", rows)
        self.assertEqual((self.proxy.last.types("frontend")[0], self.proxy.last.types("backend")), ("Q", "GCZ"))
        self.insert(link, 3)
        self.assertEqual((self.proxy.last.types("frontend"), self.proxy.last.types("backend")), ("Q", "CZ"))
        self.assertEqual(self.rows(), [1, 2, 3])

    def test_before_the_request_nothing_is_done(self):
        link = self.connect()
        cut = self.proxy.cut("frontend", 0)
        with self.assertRaises(LOST):
            self.insert(link, 1)
        self.assertTrue(cut.reached.wait(ending.LIMIT))  # the client may hear of the end before the cut says so
        self.assertEqual(self.rows(), [])

    def test_after_the_commit_its_answer_is_lost(self):
        link = self.connect()
        for at in range(2):  # nothing, then CommandComplete: only ReadyForQuery proves a commit
            cut = self.proxy.cut("backend", at, close=("client",), committed=True)
            with self.assertRaises(LOST):
                self.insert(link, at)
            self.assertTrue(cut.answered.wait(ending.LIMIT))
            self.assertEqual(cut.batch.types("backend"), "CZ")
            self.assertEqual(self.rows(), list(range(at + 1)))
            cut.release()
            link = self.connect()

    def test_the_old_backend_goes_on_while_its_client_is_gone(self):
        other = self.server.connect()
        self.addCleanup(other.close)
        other.autocommit = False
        other.cursor().execute("LOCK TABLE kept")
        link = self.connect()
        cut = self.proxy.cut("frontend", 1, close=("client",))
        with self.assertRaises(LOST):
            self.insert(link, 1)
        waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        ending.eventually(lambda: self.server.query(waits), "the backend waits")
        self.assertFalse(cut.answered.is_set())
        other.rollback()
        self.assertTrue(cut.answered.wait(ending.LIMIT))
        self.assertEqual(self.rows(), [1])

    def test_the_server_loses_its_client_and_the_client_hears_nothing(self):
        link = self.connect()
        cut = self.proxy.cut("frontend", 0, close=("server",))
        failed = []

        def insert():
            try:
                self.insert(link, 1)
            except LOST as e:
                failed.append(e)

        asking = threading.Thread(target=insert)
        asking.start()
        cut.reached.wait(ending.LIMIT)
        self.assertEqual(failed, [])
        cut.release()
        asking.join(ending.LIMIT)
        self.assertEqual(len(failed), 1)

    def test_a_cut_finds_its_batch(self):
        link = self.connect()
        cut = self.proxy.cut("frontend", 0, where=lambda batch: batch.has(b"INSERT"), skip=1)
        self.insert(link, 1)
        link.cursor().execute("SELECT 1")
        with self.assertRaises(LOST):
            self.insert(link, 2)
        self.assertTrue(cut.batch.has(b"(2)"))
        self.assertEqual(self.rows(), [1])

    def test_what_is_held_goes_on_later(self):
        link = self.connect()
        self.proxy.hold()
        done = threading.Event()
        asking = threading.Thread(target=lambda: (self.insert(link, 1), done.set()))
        asking.start()
        self.assertEqual(self.rows(), [])
        self.assertFalse(done.is_set())
        self.proxy.go_on()
        asking.join(ending.LIMIT)
        self.assertEqual(self.rows(), [1])

    def test_all_connections_are_closed(self):
        links = [self.connect() for _ in range(3)]
        self.proxy.close_all()
        for link in links:
            with self.assertRaises(LOST):
                self.insert(link, 1)
        ending.eventually(lambda: not self.proxy.sessions, "no session is left")


# Orders, as a test program in C sends them.
BY_ORDERS = """
import os, socket, psycopg2
control = socket.socket(socket.AF_UNIX)
control.connect(os.environ["ERGON_TEST_PG_CONTROL"])
lines = control.makefile("rw")
def order(text):
    lines.write(text + "\\n"), lines.flush()
    print(lines.readline().strip())
link = psycopg2.connect(os.environ["ERGON_TEST_PG_PROXY_URL"])
link.autocommit = True
link.cursor().execute("CREATE TABLE kept (n int)")
order("batch")
order("cut backend 0 client committed where INSERT")
link.cursor().execute("SELECT 1")
try:
    link.cursor().execute("INSERT INTO kept VALUES (1)")
except psycopg2.OperationalError:
    order("reached"), order("answered"), order("release")
check = psycopg2.connect(os.environ["ERGON_TEST_PG_URL"]).cursor()
check.execute("SELECT n FROM kept")
print(check.fetchall())
"""


@ending.needs(postgres.missing())
class Orders(unittest.TestCase):
    def test_a_program_gives_orders(self):
        program = os.path.join(SUPPORT, "with_postgres.py")
        done = subprocess.run([sys.executable, program, "--proxy", "--", sys.executable, "-c", BY_ORDERS],
                              capture_output=True, text=True, timeout=4 * ending.LIMIT, check=False)
        self.assertEqual(done.stdout.split("\n"), ["ok Q CZ", "ok", "ok", "ok", "ok", "[(1,)]", ""], done.stderr)


if __name__ == "__main__":
    unittest.main()
