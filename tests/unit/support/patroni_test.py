"""PostgreSQL under Patroni and etcd (tests/support/patroni.py): what was committed outlives the loss of its primary, and a
change that is asked for."""
import os
import sys
import unittest

sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "support")))

import ending  # noqa: E402
import patroni  # noqa: E402

TTL = 8  # seconds; nobody has to wait for 20


def rows(server):
    return [n for n, in server.query("SELECT n FROM kept ORDER BY n")]


@ending.needs(patroni.missing())
class OnLoopback(unittest.TestCase):
    def test_a_switchover_and_a_kill_lose_nothing(self):
        with patroni.Cluster(etcds=1, ttl=TTL) as cluster:
            self.assertEqual(len(cluster.members), 3)
            cluster.create_role("ergon")
            cluster.create_database("ergon", "ergon")
            first = cluster.primary()
            first.query("CREATE TABLE kept AS SELECT 1 AS n")
            second = cluster.switchover()
            self.assertIsNot(second, first)
            cluster.wait_standbys()
            second.query("INSERT INTO kept VALUES (2)")
            second.kill()
            third = cluster.wait_primary(besides=[second])
            third.query("INSERT INTO kept VALUES (3)")
            self.assertEqual(rows(third), [1, 2, 3])
            second.start()
            cluster.wait_standbys()
            self.assertFalse(second.is_primary())


@ending.needs(patroni.missing_for_namespaces())
class OnMachines(unittest.TestCase):
    def test_a_primary_that_is_cut_off_is_deposed(self):
        with patroni.Cluster(namespaces=True, more=1, ttl=TTL) as cluster:
            first, client = cluster.primary(), cluster.machines[-1]
            first.query("CREATE TABLE kept AS SELECT 1 AS n")

            def writable():
                """None where a busy machine is slower than a server that is cut off may be."""
                url = cluster.url(tcp=True, passfile=cluster.password_file, connect_timeout="2")
                try:
                    link = client.within(lambda: patroni.postgres.psycopg2.connect(url))
                except patroni.postgres.psycopg2.OperationalError:
                    return None
                try:
                    with link.cursor() as cursor:
                        cursor.execute("SELECT host(inet_server_addr())")
                        return cursor.fetchone()[0]
                finally:
                    link.close()

            self.assertEqual(ending.eventually(writable, "one can be written"), first.address)
            cluster.cut(first)
            second = cluster.wait_primary(besides=[first])
            second.query("INSERT INTO kept VALUES (2)")
            self.assertEqual(ending.eventually(writable, "one can be written"), second.address)
            self.assertEqual(rows(second), [1, 2])
            ending.eventually(lambda: not first.is_primary(), "the old one stops")


if __name__ == "__main__":
    unittest.main()
