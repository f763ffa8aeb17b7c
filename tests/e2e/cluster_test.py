#!/usr/bin/python3
"""Several nodes on one PostgreSQL: they agree on an owner, replace it when it is gone, and nothing that was kept is lost.

Clients talk to the owner here; what other nodes pass on is tested elsewhere.  What each loss gets, and which test says so:

- the owner's process, restarted at once: unit/cluster/members (a_node_that_comes_back_keeps_its_place_and_its_board), here
  test_a_locked_table...; its machine: test_another_node_takes_over..., e2e/cluster_loss
- the owner cut off from the engine: unit/cluster/members, ./run prove cluster; from nodes only: e2e/front test_owner_out_of_reach
- the engine's process, machine or role: test_an_outage_of_the_database..., e2e/cluster_loss test_the_engine_fails_over, unit/store/failover
- a front with its clients and workers: e2e/front test_front_killed; a node that runs attempts: e2e/front, unit/jobs/loss
- no owner, or none that a front can reach: e2e/front test_no_owner, test_owner_out_of_reach; two nodes of one name: test_of_two_nodes...
- a row changed by hand: test_a_row_that_cannot_be_a_task...; a wrong URL, database, version or role, settings of the role, `cluster
  init` twice: unit/store/contract; replicated without a cluster: unit/jobs/durable
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest

from admin_client import Admin
from harness import ERGOND, LIMIT, NOT_FOUND, OK, REMOTE, SOURCE, RemoteError, Server, eventually, run_ergon, scratch

sys.path.append(os.path.join(SOURCE, "tests", "support"))
import postgres  # noqa: E402

# Of the first somebody waits until it is over; where nobody does, a busy machine may be silent for longer.
LEASE, LONG_LEASE = "3s", "1m"
WITH_ERGOND = {"PATH": os.pathsep.join([os.path.dirname(os.path.abspath(ERGOND)), os.environ["PATH"]])}
DEPOSED, NAMESAKE, REFUSED, NOTHING_DONE = 75, 2, 1, 2


@unittest.skipIf(postgres.missing() and "CI" not in os.environ, postgres.missing())
class ClusterTest(unittest.TestCase):
    databases = 0

    @classmethod
    def setUpClass(cls):
        cls.engine = postgres.Cluster()
        cls.addClassCleanup(cls.engine.end)
        cls.engine.create_role("ergon")

    def setUp(self):
        ClusterTest.databases += 1
        self.folder = scratch(self.addCleanup)
        self.database = f"tasks{self.databases}"
        self.engine.create_database(self.database, owner="ergon")
        self.url = self.engine.url(self.database, user="ergon")
        self.nodes, self.lease = [], LEASE
        self.ergon("cluster", "init", self.url, "--name", "test")

    def ergon(self, *words, at=None, status=OK):
        """What it prints; status None: whatever its exit status."""
        got, out, err = run_ergon(at.urls[0] if at else "unix:///nonexistent", *words, env=WITH_ERGOND)
        self.assertEqual(got, got if status is None else status, (words, out, err))
        return out.decode() + err

    def start(self, name, *flags, cluster="test"):
        """A node, with a folder of its own that outlives it."""
        state = os.path.join(self.folder, name)
        os.makedirs(state, exist_ok=True)
        node = Server("--cluster", cluster, "--cluster-node", name, "--store", self.url, "--store-replicated", "by-storage", "--cluster-lease", self.lease,
                      "--cluster-state", state, "--loops", "1", "--admin", f"unix://{state}/admin.sock", *flags)
        self.addCleanup(node.discard)
        node.name, node.admin = name, f"unix://{state}/admin.sock"
        self.nodes.append(node)
        return node

    def status(self, node):
        return json.loads(run_ergon(node.urls[0], "cluster", "status", "-o", "json")[1] or "{}")

    def owner(self, *nodes, epoch):
        """Waits until all of these know the same owner, of this epoch, and returns it."""
        def agreed():
            seen = [self.status(node) for node in nodes]
            names = {s.get("owner") for s in seen}
            roles = [s.get("role") for s in seen]
            return len(names) == 1 and names != {None} and all(s.get("epoch") == epoch and not s.get("moving_from") for s in seen) and "owner" in roles
        eventually(agreed, f"an owner of epoch {epoch}: {[self.status(n) for n in nodes]}")
        return next(n for n in nodes if n.name == self.status(n)["owner"])

    def three(self, *flags):
        """Nodes a, b and c, of which a owns the tasks; the flags are for b."""
        first = self.start("a")
        self.owner(first, epoch=1)
        nodes = [first, self.start("b", *flags), self.start("c")]
        self.assertIs(self.owner(*nodes, epoch=1), first)
        return nodes

    def sql(self, statement):
        self.engine.primary.query(statement, dbname=self.database)

    def keep(self, node, count=3):
        """Tasks that are on the disk; their ids."""
        with node.connect() as client:
            return sorted(client.call("task.submit", "echo", [n], {"delay": "1h"})["id"] for n in range(count))

    def is_taken(self, node):
        try:
            return self.keep(node, 1)
        except RemoteError as e:
            self.assertEqual(e.code, "STORE")
            return False

    def kept(self, node):
        with node.connect() as client:
            return sorted(task["id"] for task in client.call("task.list", {})["tasks"])

    def test_one_node_owns_its_tasks_and_says_so(self):
        self.lease = LONG_LEASE
        node = self.start("a")
        self.owner(node, epoch=1)
        eventually(lambda: re.search(r"(?m)^a +owner ", self.ergon("cluster", "status", at=node)), "a row that says owner")
        self.assertRegex(self.ergon("cluster", "status", at=node), r"(?m)^owner +a, epoch 1$")
        ids = self.keep(node)
        metrics = Admin(node.admin).text("/metrics")[1]
        for family, value in ("owner", 1), ("owner_known", 1), ("epoch", 1), ("takeovers_total", 1), ("replicates", 0), ('nodes{state="owner"}', 1):
            self.assertRegex(metrics, rf"(?m)^ergon_cluster_{family}".replace("{", r"\{") + rf" {value}$")
        self.assertIn("ergon_cluster_renewal_age_seconds ", metrics)
        self.assertEqual(Admin(node.admin).text("/readyz"), (200, "ready\n"))
        self.ergon("cluster", "retry", at=node, status=NOT_FOUND)
        self.assertRegex(self.ergon("completion", "live", "--", "-s", node.urls[0], "cluster", "drain", "", at=node), r"^a\b")
        self.assertEqual(node.stop(), 0)
        again = self.start("a")
        self.owner(again, epoch=2)
        self.assertEqual(self.kept(again), ids)

    def test_what_is_wrong_with_a_database_is_told(self):
        self.assertIn("is there already", self.ergon("cluster", "init", self.url, status=NOTHING_DONE))
        said = self.ergon("cluster", "doctor", self.url, status=REMOTE)
        self.assertRegex(said, r"(?m)^bad +synchronous_standby_names = $")
        self.assertRegex(said, r"(?m)^note +archive_mode = off$")
        stranger = self.start("a", cluster="other")
        self.assertEqual(stranger.wait(), REFUSED)
        self.assertIn("those of the cluster 'test'", stranger.log_text())
        self.engine.create_database("empty", owner="ergon")
        self.url = self.engine.url("empty", user="ergon")
        with self.assertRaisesRegex(AssertionError, r"(?s)did not start \(1\).*ergon cluster init"):
            self.start("a").connect()

    def test_another_node_takes_over_when_the_owner_is_killed(self):
        audit = os.path.join(self.folder, "audit.log")
        a, b, c = self.three("--audit-file", audit)
        ids = self.keep(a)
        a.discard()
        owner = self.owner(b, c, epoch=2)
        self.assertEqual(self.kept(owner), ids)
        with open(audit, encoding="utf-8") as records:
            changes = [r for r in map(json.loads, records) if r["msg"] == "owner changed"]
        self.assertIn(("a", owner.name, 2), [(r["from"], r["to"], r["epoch"]) for r in changes])
        again = self.start("a")
        self.assertIs(self.owner(again, b, c, epoch=2), owner)
        self.assertEqual(self.ergon("cluster", "forget", "a", at=b), "a is forgotten\n")
        self.assertNotIn(again.name, [row["node"] for row in self.status(b)["nodes"]])
        self.assertEqual(again.wait(), DEPOSED)

    def test_actors_outlive_their_owner(self):
        a, b, c = self.three()
        with a.connect() as client:
            for n in range(30):
                client.call("actor.call", f"counter/{n % 10}", "add", [n])
            client.call("actor.stop", "counter/3", {"reason": "by hand"})
            told = client.call("actor.tell", "counter/3", "add", [100])
            self.assertEqual(told["durable"], "replicated")
            client.call("actor.remind", "counter/4", "later", "add", [1], {"in": "1h"})
            client.call("actor.call", "ticker/1", "start", [1_000_000, "1s"])
            client.call("actor.drop", "counter/9")
        a.discard()
        owner = self.owner(b, c, epoch=2)
        with owner.connect() as client:
            states = {shown["actor"]: client.call("actor.get", shown["actor"], {"state": True}) for shown in client.call("actor.list", {})["actors"]}
            self.assertEqual({name: shown["state"] for name, shown in states.items() if name != "ticker/1"},
                             {f"counter/{n}": 30 + 3 * n for n in range(9)})
            self.assertEqual((states["counter/3"]["stopped"], states["counter/3"]["waiting"]), ("by hand", 1))
            self.assertEqual([r["name"] for r in states["counter/4"]["reminders"]], ["later"])
            client.call("actor.start", "counter/3")
            self.assertEqual(client.call("actor.call", "counter/3", "add", [1]), 140)
            self.assertEqual(client.call("task.run_now", states["counter/4"]["reminders"][0]["id"])["state"], "queued")
            eventually(lambda: client.call("actor.call", "counter/4", "get") == 43, "the reminder comes")
            version = states["ticker/1"]["version"]
            eventually(lambda: client.call("actor.get", "ticker/1")["version"] > version, "the steps go on")
            audit = client.call("server.audit")
            self.assertTrue(audit["balanced"], audit)

    def test_batches_outlive_their_owner(self):
        nodes = [self.start(name, "--cluster-listen", f"unix://{self.folder}/{name}.nodes") for name in "abc"]
        a = self.owner(*nodes, epoch=1)
        b, c = (node for node in nodes if node is not a)
        with b.connect() as front:
            outer = front.call("batch.create", {"on_end": ["echo", ["after outer"], {"keep": "1h"}]})["id"]
            inner = front.call("batch.create", {"parent": outer, "on_success": ["echo", ["after inner"], {"keep": "1h"}]})["id"]
            failing = front.call("batch.create", {"parent": outer, "on_failure": ["echo", ["after failure"], {"keep": "1h"}]})["id"]
            self.assertEqual(front.call("batch.get", outer)["durable"], "replicated")
            front.call("batch.add", inner, [["echo", [n]] for n in range(200)])
            waiting = [front.call("task.submit", "echo", [], {"batch": inner, "delay": "1h"})["id"] for _ in range(5)]
            front.call("task.submit", "fail", ["ODD", "on purpose"], {"batch": failing, "retries": 0})
            for batch in inner, failing, outer:
                front.call("batch.close", batch)
            eventually(lambda: front.call("batch.get", inner)["done"] == 200, "200 are done")
            eventually(lambda: front.call("batch.get", failing)["state"] == "ended", "the failing batch has ended")
        a.discard()
        owner = self.owner(b, c, epoch=2)

        def followed(client):
            return {name: len(client.call("task.list", {"contains": f"after {name}", "params_text": True})["tasks"])
                    for name in ("inner", "failure", "outer")}
        with owner.connect() as client:
            shown = client.call("batch.get", inner)
            self.assertEqual((shown["state"], shown["done"], shown["open"]), ("closed", 200, 5), shown)
            self.assertEqual(followed(client), {"inner": 0, "failure": 1, "outer": 0})
            for task in waiting:
                client.call("task.run_now", task)
            eventually(lambda: client.call("batch.get", outer)["state"] == "ended", "all have ended")
            self.assertEqual(client.call("batch.get", inner)["done"], 205)
            self.assertEqual(followed(client), {"inner": 1, "failure": 1, "outer": 1})
            audit = client.call("server.audit")
            self.assertTrue(audit["balanced"], audit)

    def test_an_owner_that_stood_still_is_deposed_and_ends(self):
        a, b, c = self.three()
        ids = self.keep(a)
        a.signal(signal.SIGSTOP)
        owner = self.owner(b, c, epoch=2)
        a.signal(signal.SIGCONT)
        self.assertEqual(a.wait(), DEPOSED)
        self.assertRegex(a.log_text(), "this node was deposed.*another took over")
        self.assertEqual(self.kept(owner), ids)

    def test_a_drained_owner_hands_over_and_comes_back_as_a_front(self):
        self.lease = LONG_LEASE
        a, b, c = self.three()
        ids = self.keep(a)
        self.ergon("cluster", "drain", "b", at=c, status=NOT_FOUND)
        self.assertRegex(self.ergon("cluster", "drain", at=c), "^[bc] owns the tasks now, epoch 2\n$")
        self.assertEqual(a.wait(), DEPOSED)
        again = self.start("a")
        owner = self.owner(again, b, c, epoch=2)
        self.assertIsNot(owner, again)
        self.assertEqual(self.status(b)["boards"], 0)
        self.assertEqual(self.kept(owner), ids)
        self.assertEqual(owner.stop(), 0)
        self.owner(*(n for n in (again, b, c) if n is not owner), epoch=3)

    def test_a_row_that_cannot_be_a_task_stops_two_take_overs_and_no_third_is_tried(self):
        first = self.start("a")
        self.owner(first, epoch=1)
        ids = self.keep(first, 2)
        first.discard()
        self.sql("UPDATE ergon.submissions SET method = ''")
        for name in "a", "b":
            node = self.start(name)
            self.assertEqual(node.wait(), DEPOSED)
            self.assertIn("has no method", node.log_text())
        third = self.start("c")
        eventually(lambda: self.status(third)["tries"] == 2, "two tries")
        said = self.ergon("cluster", "status", at=third, status=REMOTE)
        self.assertRegex(said, r"(?m)^b .*has no method")
        self.assertIn("run ergon cluster retry", said)
        self.assertIn("cluster_no_owner", self.ergon("doctor", at=third, status=REMOTE))
        self.sql("UPDATE ergon.submissions SET method = 'echo'")
        self.ergon("cluster", "retry", at=third)
        self.assertEqual(self.kept(self.owner(third, epoch=4)), ids)

    def test_of_two_nodes_with_one_name_the_later_stays(self):
        self.lease = LONG_LEASE
        a, b, c = self.three()
        os.rename(os.path.join(self.folder, "c"), os.path.join(self.folder, "elsewhere"))
        later = self.start("c")
        self.assertEqual(c.wait(), NAMESAKE)
        self.assertRegex(c.log_text(), "another process has this node's name, and came later.*node=c incarnation=[0-9]+")
        self.assertIs(self.owner(a, b, later, epoch=1), a)

    def test_an_outage_of_the_database_deposes_nobody(self):
        nodes = self.three()
        ids = self.keep(nodes[0])
        self.engine.primary.stop("immediate")
        for node in nodes:
            eventually(lambda n=node: self.status(n)["trouble"], "trouble")
        eventually(lambda: not self.status(nodes[0])["may_act"], "the owner fences itself")
        self.assertIn("The database does not answer", self.ergon("cluster", "status", at=nodes[1], status=REMOTE))
        self.engine.primary.start()
        for node in nodes:
            eventually(lambda n=node: not self.status(n)["trouble"], "the database answers")
        self.assertIs(self.owner(*nodes, epoch=1), nodes[0])
        eventually(lambda: self.status(nodes[0])["may_act"], "the owner acts")
        self.assertEqual(self.kept(nodes[0]), ids)
        eventually(lambda: self.is_taken(nodes[0]), "a submission is taken again")

    def test_a_locked_table_keeps_the_owner_from_reading_and_its_note_names_the_session(self):
        first = self.start("a")
        self.owner(first, epoch=1)
        ids = self.keep(first)
        first.discard()
        session = self.engine.primary.connect(self.database)
        self.addCleanup(session.close)
        session.autocommit = False
        session.cursor().execute("SET application_name = 'maintenance'; LOCK TABLE ergon.submissions")
        again, other = self.start("a"), self.start("b")
        note = rf"(?m)^a .*ergon\.submissions is locked by the session {session.info.backend_pid} \(maintenance\)"
        eventually(lambda: re.search(note, self.ergon("cluster", "status", at=other, status=None)), "a note that names the session")
        self.assertEqual(self.status(again)["role"], "loading")
        session.rollback()
        self.assertIs(self.owner(again, other, epoch=2), again)
        self.assertEqual(self.kept(again), ids)
        eventually(lambda: "is locked" not in self.ergon("cluster", "status", at=other, status=None), "no note")

    def test_a_host_that_is_ill_is_passed_over_and_ends_no_node(self):
        """As a former primary does whose files were removed: it answers each connection with a FATAL."""
        folder = scratch(self.addCleanup)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(os.path.join(folder, f".s.PGSQL.{self.engine.primary.port}"))
        listener.listen(64)
        fields = b"SFATAL\0VFATAL\0C58P01\0Mcould not open file \"global/pg_filenode.map\"\0\0"

        def answer():
            while True:
                try:
                    client = listener.accept()[0]
                except OSError:
                    return
                with client:
                    client.recv(1000)
                    client.sendall(b"E" + (4 + len(fields)).to_bytes(4, "big") + fields)
        threading.Thread(target=answer, daemon=True).start()
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
        alone = f"postgresql:///{self.database}?host={folder}&port={self.engine.primary.port}&user=ergon"
        real, self.url = self.url, alone
        ill = self.start("a")
        eventually(lambda: "58P01" in (self.status(ill)["trouble"] or ""), "what the host says")
        self.assertEqual(ill.stop(), 0)
        self.url = real.replace("host=", f"host={folder},").replace("port=", f"port={self.engine.primary.port},")
        self.assertIsNotNone(self.owner(self.start("b"), epoch=1))

    def test_a_stop_waits_no_longer_for_a_database_that_is_frozen(self):
        owner, front = self.start("a"), self.start("b")
        self.assertIs(self.owner(owner, front, epoch=1), owner)
        ids = self.keep(owner)
        self.engine.primary.freeze()
        self.addCleanup(self.engine.primary.thaw)
        eventually(lambda: not self.status(owner)["may_act"], "the owner fences itself")
        for node in owner, front:
            node.signal(signal.SIGTERM)
            self.assertEqual(node.wait(), 0)
            self.assertIn("the server had not answered when this process stopped", node.log_text())
        self.assertIn("the tasks are not handed over", owner.log_text())
        self.engine.primary.thaw()
        self.assertEqual(self.kept(self.owner(self.start("c"), epoch=2)), ids)

    def test_a_start_that_waits_for_a_database_is_ended_at_once(self):
        """Its store waits for that first, then the node as a member."""
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(os.path.join(self.folder, ".s.PGSQL.5432"))
        listener.listen(64)
        for waits in 1, 2:
            node = subprocess.Popen([ERGOND, "--cluster", "test", "--cluster-node", "a", "--store",
                                     f"postgresql:///tasks?host={self.folder}", "--cluster-state", self.folder, "--listen",
                                     f"unix://{self.folder}/socket"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(node.kill)
            connections = [listener.accept() for _ in range(waits)]
            node.send_signal(signal.SIGTERM)
            self.assertEqual(node.wait(LIMIT), 0)
            for connection, _ in connections:
                connection.close()


if __name__ == "__main__":
    unittest.main()
