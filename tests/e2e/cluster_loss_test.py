"""Three nodes on PostgreSQL with two standbys: any node takes any call, and what was answered outlives the owner, its drain,
and the engine's primary."""
import unittest

from harness import LIMIT
import nodes  # which finds tests/support
import ending
import postgres

COUNT = 20  # tasks that each node answers between two events


@ending.needs(postgres.missing())
class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.engine = postgres.Cluster(standbys=2, sync=True)
        self.addCleanup(self.engine.end)
        self.cluster = nodes.Nodes(self.engine)
        self.addCleanup(self.cluster.end)
        self.owner = self.cluster.start()
        self.submitters = [nodes.Submitter(node) for node in self.cluster.nodes]

    def submit(self):
        """Tasks are submitted by each node from now on."""
        for submitter in self.submitters:
            submitter.start()
            self.addCleanup(submitter.stop)
        self.all_answer()

    def all_answer(self, but=None):
        """Each node answers more submissions."""
        for submitter in self.submitters:
            if submitter.node is not but:
                wanted = len(submitter.answers) + COUNT
                ending.eventually(lambda s=submitter, w=wanted: len(s.answers) >= w,
                                  lambda s=submitter: f"{s.node.name} answers; {s.unanswered}:\n{self.cluster.logs()}")

    def nothing_is_missing(self):
        tasks = {}
        for submitter in self.submitters:
            submitter.stop()
        client = nodes.ergon_client.Client(self.cluster.wait_owner().url, timeout=LIMIT).connect()
        self.addCleanup(client.close)
        for submitter in self.submitters:
            self.assertEqual(submitter.missing(client), [])
            tasks.update(submitter.acknowledged)
        self.assertEqual(len(tasks), sum(len(s.acknowledged) for s in self.submitters))

    def test_the_owner_is_killed(self):
        self.submit()
        self.owner.kill()
        self.all_answer(but=self.owner)
        self.assertIsNot(self.cluster.wait_owner(besides=[self.owner]), self.owner)
        self.owner.start()
        self.all_answer()
        self.nothing_is_missing()

    def test_the_owner_is_drained(self):
        self.submit()
        with self.owner.connect() as client:
            client.call("cluster.drain")
        self.cluster.wait_owner(besides=[self.owner])
        self.all_answer()
        self.assertEqual(self.owner.statuses, [nodes.DEPOSED])
        self.nothing_is_missing()

    def test_the_engine_fails_over(self):
        self.submit()
        self.engine.primary.kill()
        self.engine.promote(self.engine.most_advanced())
        self.all_answer()
        self.assertIs(self.cluster.wait_owner(), self.owner)
        self.nothing_is_missing()


if __name__ == "__main__":
    unittest.main()
