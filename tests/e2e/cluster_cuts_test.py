"""A proxy between a node and PostgreSQL closes the connection after a commit before its answer, and while the old backend
still runs the batch: the rows are those of what was acknowledged.  unit/store/every_cut has the other boundaries."""
import unittest

from harness import LIMIT
import nodes  # which finds tests/support
import ending
import pg_proxy
import postgres

ROWS = "SELECT count(*) FROM ergon.submissions"


@ending.needs(postgres.missing())
class CutsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = postgres.Cluster(standbys=1, sync=True)
        cls.addClassCleanup(cls.engine.end)
        cls.proxy = pg_proxy.Proxy(cls.engine.primary, ending.make_folder(cls.engine.folder.path, "proxy"))
        cls.addClassCleanup(cls.proxy.end)
        # Nobody waits for the end of its lease, which a busy machine may keep from being renewed for a while.
        cls.cluster = nodes.Nodes(cls.engine, "--cluster-lease", "1m", names=("a",), store=cls.proxy.url("ergon", "ergon"))
        cls.addClassCleanup(cls.cluster.end)
        cls.node = cls.cluster.start()
        cls.acknowledged = set()
        cls.fence = cls.name_of_fence()

    @classmethod
    def name_of_fence(cls):
        """The prepared statement that each batch of the writer begins with: from the Parse that has its text."""
        parses = [message for batch in cls.proxy.batches() for message in batch.frontend if b"ergon.fence(" in message]
        return parses[-1][5:].split(b"\0")[0] + b"\0"

    def setUp(self):
        self.client = self.node.connect()
        self.addCleanup(self.client.close)

    def submit(self):
        """Submits one task, which is not due while the test runs: one row."""
        return self.client.send("task.submit", "echo", [1], {"delay": "1d", "durable": "replicated"})

    def acknowledge(self, number):
        self.acknowledged.add(self.client.result(number)["id"])

    def rows_are_right(self):
        rows = self.engine.primary.query(ROWS, dbname="ergon")[0][0]
        self.assertEqual(rows, len(self.acknowledged))
        with self.node.connect() as client:
            for id in self.acknowledged:
                self.assertEqual(client.call("task.get", id)["state"], "delayed")

    def messages(self):
        """How many the node sends for the batch of one submission."""
        before = self.proxy.begun
        self.acknowledge(self.submit())
        batch = next(b for b in self.proxy.batches() if b.number > before and b.has(self.fence))
        ending.eventually(lambda: batch.answered, "the batch is answered")
        return len(batch.frontend)

    def cut(self, side, at, **more):
        cut = self.proxy.cut(side, at, where=lambda batch: batch.has(self.fence), **more)
        number = self.submit()
        self.assertTrue(cut.reached.wait(LIMIT), (side, at, more, self.node.log()[-3000:]))
        return cut, number

    def test_the_answer_after_the_commit_is_lost(self):
        for at in range(2):
            cut, number = self.cut("backend", at, close=("client",), committed=True)
            self.assertTrue(cut.answered.wait(LIMIT))
            self.acknowledge(number)
            self.rows_are_right()
            cut.release()

    def test_the_old_backend_still_runs_the_batch(self):
        frontend = self.messages()
        standby = self.engine.standbys[0]
        standby.freeze()
        self.addCleanup(standby.thaw)
        cut, number = self.cut("frontend", frontend, close=("client",))
        self.assertFalse(cut.answered.is_set())  # it waits for the standby, and the writer for its lock
        standby.thaw()
        self.acknowledge(number)
        cut.release()
        self.rows_are_right()


if __name__ == "__main__":
    unittest.main()
