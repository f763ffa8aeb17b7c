"""The PostgreSQL that tests start (tests/support/postgres.py): it is what its words say, and nothing of it stays."""
import os
import signal
import socket
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.abspath(os.path.join(HERE, "..", "..", "support"))
sys.path.insert(0, SUPPORT)

import ending  # noqa: E402
import postgres  # noqa: E402

psycopg2 = postgres.psycopg2


@ending.needs(postgres.missing())
class OneServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = postgres.Cluster()
        cls.addClassCleanup(cls.cluster.end)
        cls.server = cls.cluster.primary
        cls.cluster.create_role("ergon")
        cls.cluster.create_database("ergon", owner="ergon")

    def setUp(self):
        self.addCleanup(lambda: self.server.is_running() or self.server.start())

    def test_a_role_of_its_own_has_a_database(self):
        sql = "SELECT current_user, current_database()"
        self.assertEqual(self.server.query(sql, dbname="ergon", user="ergon"), [("ergon", "ergon")])
        self.assertEqual(self.server.psql("SELECT 1, 'b'", "ergon", "ergon"), "1|b\n")
        with self.assertRaisesRegex(AssertionError, "permission denied"):
            self.server.psql("CREATE ROLE other", "ergon", "ergon")

    def test_by_tcp_a_password_is_asked_for(self):
        url = self.server.url("ergon", "ergon", tcp=True)
        with self.assertRaisesRegex(psycopg2.OperationalError, "password"):
            psycopg2.connect(url, passfile="/nonexistent")
        psycopg2.connect(url, passfile=self.cluster.password_file).close()

    def test_a_service_file_says_all(self):
        path = self.cluster.service_file("store", "ergon", "ergon")
        done = subprocess.run([os.path.join(postgres.programs(), "psql"), "-XAtc", "SELECT current_user", "service=store"],
                              env={**os.environ, "PGSERVICEFILE": path}, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), ("ergon\n", ""))

    def test_it_runs_as_no_root(self):
        users = [self.user_of(pid) for pid in self.server.pids()]
        self.assertNotIn(0, users)
        self.assertGreater(len(users), 3)

    @staticmethod
    def user_of(pid):
        """None of a backend whose client has gone, and which has ended by now."""
        try:
            return os.stat(f"/proc/{pid}").st_uid
        except FileNotFoundError:
            return None

    def test_each_stop_lets_it_start_again(self):
        for ended in (self.server.stop, lambda: self.server.stop("smart"), lambda: self.server.stop("immediate"),
                      self.server.kill):
            self.server.query("DROP TABLE IF EXISTS kept")
            self.server.query("CREATE TABLE kept AS SELECT 7 AS n")
            ended()
            self.assertEqual(self.server.pids(), [])
            self.server.start()
            self.assertEqual(self.server.query("SELECT n FROM kept"), [(7,)])

    def test_its_port_is_kept_while_it_is_down(self):
        self.server.stop()
        with socket.socket() as other, self.assertRaises(OSError):
            other.bind(("127.0.0.1", self.server.port))
        self.server.start()

    def test_a_server_that_is_frozen_says_nothing_until_it_is_thawed(self):
        self.server.freeze()
        answered = threading.Event()
        asking = threading.Thread(target=lambda: (self.server.query("SELECT 1"), answered.set()))
        states = {ending.state_of(pid) for pid in self.server.pids()}
        self.assertEqual(states, {"T"})
        asking.start()
        self.assertFalse(answered.is_set())
        self.server.thaw()
        asking.join(ending.LIMIT)
        self.assertTrue(answered.is_set())

    def test_what_cannot_start_says_why(self):
        self.server.stop()
        self.server.configure(shared_buffers="much")
        with self.assertRaisesRegex(AssertionError, 'invalid value for parameter "shared_buffers": "much"'):
            self.server.start()
        self.server.configure(shared_buffers="32MB")


@ending.needs(postgres.missing())
class Standbys(unittest.TestCase):
    def test_what_was_committed_is_there_after_the_loss_of_the_primary(self):
        with postgres.Cluster(standbys=2, sync=True) as cluster:
            first = cluster.primary
            cluster.primary.psql("CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")
            first.kill()
            cluster.promote(cluster.most_advanced())
            self.assertIsNot(cluster.primary, first)
            self.assertEqual(cluster.primary.query("SELECT n FROM kept"), [(1,)])
            # The other standby follows, or this commit would wait for ever; and so does the old primary.
            cluster.primary.query("INSERT INTO kept VALUES (2)")
            cluster.rejoin(first)
            self.assertFalse(first.is_primary())
            connection = psycopg2.connect(cluster.url())
            self.assertEqual(connection.info.port, cluster.primary.port)
            connection.close()

    def test_a_commit_waits_for_a_standby_and_not_for_two(self):
        with postgres.Cluster(standbys=2, sync=True) as cluster:
            one, two = cluster.standbys
            one.freeze()
            cluster.primary.query("CREATE TABLE kept (n int)")
            two.freeze()
            waits = cluster.primary.connect()
            pid = waits.info.backend_pid
            commit = threading.Thread(target=lambda: waits.cursor().execute("INSERT INTO kept VALUES (1)"))
            commit.start()
            ending.eventually(lambda: cluster.primary.query("SELECT wait_event FROM pg_stat_activity WHERE pid = %s", (pid,)) ==
                              [("SyncRep",)], "the commit waits")
            one.thaw()
            commit.join(ending.LIMIT)
            self.assertFalse(commit.is_alive())
            waits.close()

    def test_a_setting_is_changed_on_all(self):
        with postgres.Cluster(standbys=1, sync=True) as cluster:
            cluster.set(synchronous_standby_names="")
            for server in cluster.servers:
                self.assertEqual(server.query("SHOW synchronous_standby_names"), [("",)])


def run_with(*words, env=None):
    return subprocess.run([sys.executable, os.path.join(SUPPORT, "with_postgres.py"), *words], capture_output=True, text=True,
                          timeout=4 * ending.LIMIT, env=env, check=False)


@ending.needs(postgres.missing())
class Ended(unittest.TestCase):
    def test_all_ends_with_a_test_that_is_killed(self):
        script = "import postgres; c = postgres.Cluster(standbys=1); print(c.folder.path, flush=True); input()"
        test = subprocess.Popen([sys.executable, "-c", script], cwd=SUPPORT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)
        folder = test.stdout.readline().strip()
        self.assertGreater(len(ending.pids_below(folder)), 6)
        test.send_signal(signal.SIGKILL)
        test.communicate()
        ending.eventually(lambda: not os.path.exists(folder), "the folder is removed")
        self.assertEqual(ending.pids_below(folder), [])

    def test_a_command_finds_its_server(self):
        script = """
import os, socket, psycopg2
psycopg2.connect(os.environ["ERGON_TEST_PG_URL"]).close()
control = socket.socket(socket.AF_UNIX)
control.connect(os.environ["ERGON_TEST_PG_CONTROL"])
lines = control.makefile("rw")
def order(text):
    lines.write(text + "\\n"), lines.flush()
    return lines.readline().strip()
print(order("kill a"), order("promote standby"), order("dance a"), len(os.environ["ERGON_TEST_PG_STANDBY_URLS"].split()))
link = psycopg2.connect(os.environ["ERGON_TEST_PG_CLUSTER_URL"])
cursor = link.cursor()
cursor.execute("SHOW cluster_name")
print(cursor.fetchone()[0])
raise SystemExit(3)
"""
        done = run_with("--standbys", "1", "--", sys.executable, "-c", script)
        said = "ok ok error: ValueError(\"unknown order 'dance'\") 1\ns1\n"
        self.assertEqual((done.returncode, done.stdout), (3, said), done.stderr)


class Missing(unittest.TestCase):
    def test_a_test_without_postgresql_is_skipped_and_fails_in_ci(self):
        script = ("import os, sys, unittest; sys.path.insert(0, %r); import postgres, ending; postgres.programs = lambda: None\n"
                  "@ending.needs(postgres.missing())\nclass T(unittest.TestCase):\n  def test_it(self): pass\n"
                  "unittest.main(verbosity=2)" % SUPPORT)
        for ci, status, said in (("", 0, "skipped"), ("yes", 1, "AssertionError")):
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                                  env={**os.environ, "CI": ci}, check=False)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertIn("not installed: postgresql", done.stderr)


if __name__ == "__main__":
    unittest.main()
