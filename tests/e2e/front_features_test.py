#!/usr/bin/python3
"""What clients of a front get is what they get at the owner: rights, the audit log, limits, pushes, the admin page; and how nodes
know each other."""
import json
import os
import signal
import subprocess
import unittest

from front_test import Nodes
from harness import LIMIT, RemoteError, eventually, scratch, token_of, write_tokens


def raised(client, *call):
    """The name of the error."""
    try:
        client.call(*call)
    except RemoteError as e:
        return e.code
    return None


class Features(Nodes):
    """The same clients, tokens and limits at both nodes: what a client gets through b is what it gets at a."""

    def start(self, name, *flags, **more):
        tokens = write_tokens(self.folder, {"root": "*,task.any,worker.any", "alice": "task.*,sem.*,echo,server.info"})
        return super().start(name, "--tokens", tokens, "--audit-file", f"{self.folder}/{name}.audit", "--tasks-max", "40", "--tasks-tenant-share", "50",
                             *flags, **more)

    def wait_owner(self, server, name):
        with self.connect(server, "root") as client:
            eventually(lambda: client.call("cluster.status")["owner"] == name, f"{name} owns")

    def connect(self, server, name):
        client = server.connect()
        client.call("server.auth", token_of(name))
        return client

    def audit(self, name):
        with open(f"{self.folder}/{name}.audit", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]

    def test_features(self):
        with self.connect(self.a, "root") as self.root, self.connect(self.b, "alice") as self.alice:
            for part in self.acts, self.listings, self.pushes, self.semaphores, self.shares, self.page:
                with self.subTest(part.__name__):
                    part()

    def acts(self):
        """An act through b: both nodes record it, the owner with the node that it came by."""
        with self.connect(self.b, "root") as root:
            root.call("queue.pause", "echo")
            root.call("queue.resume", "echo")
            self.assertEqual(raised(self.alice, "queue.pause", "echo"), "DENIED")
        for name, via in ("a", "b"), ("b", None):
            eventually(lambda at=name: any(r.get("method") == "queue.resume" for r in self.audit(at)), "it is recorded")
            record = next(r for r in self.audit(name) if r.get("method") == "queue.pause" and r["outcome"] == "ok")
            self.assertEqual((record["principal"], record.get("via"), record["on"]), ("token:root", via, '"echo"'))

        def denied():
            return [(r["principal"], r["outcome"], r.get("via")) for name in "ab" for r in self.audit(name) if r["msg"] == "administrative act refused"]
        eventually(lambda: denied() == [("token:alice", "DENIED", None)], "b has refused it, and recorded that")

    def listings(self):
        self.alice.call("task.list")
        mine = [c for c in self.root.call("connection.list", {"principal": "token:alice"})["connections"]]
        self.assertEqual([(c["via"], c["peer"].split(":")[0]) for c in mine], [("b", "unix")])
        # The sessions of connections to b that were closed may end later, and b may offer its handlers later.
        eventually(lambda: {c["via"] for c in self.root.call("connection.list", {"principal": "token:root"})["connections"]} == {None}, "root is at a")
        eventually(lambda: {(w["name"], w["via"]) for w in self.root.call("worker.list")["workers"]} == {("b", "b")}, "b works")

    def pushes(self):
        """A watch with pushes, and the feed, which waits for what comes."""
        last = self.alice.call("task.events")["next"]
        waits = self.alice.send("task.events", {"after": last, "timeout": "30s", "event": "done"})
        with self.connect(self.b, "alice") as watcher:
            watcher.call("server.hello", {"push": True})
            task = watcher.call("task.submit", "echo", [5])["id"]
            watch = watcher.send("task.watch", task, {"push": True})
            seen = []
            while "done" not in seen:
                kind, name, (of, event) = watcher.receive()
                self.assertEqual((kind, name, of), (2, "task.event", task))
                seen.append(event["event"])
            self.assertEqual(seen[0], "submitted")
            watcher.result(watch)
        fed = self.alice.result(waits)["events"]
        self.assertEqual([(e["id"], e["event"]) for e in fed], [(task, "done")])

    def semaphores(self):
        """A hold of a session is resumed and renewed at another node as by another connection."""
        with self.connect(self.b, "alice") as holder:
            held = holder.call("sem.acquire", "s", {"of": 1, "grace": "1m"})
        with self.connect(self.a, "alice") as other:
            eventually(lambda: self.root.call("sem.explain", "s", {"tenant": "alice"})["holders"][0]["connected"] is False, "its session has ended")
            self.assertEqual(other.call("sem.resume", "s", held["hold"])["fence"], held["fence"])
            # Moved back while the other connection is open.
            self.assertEqual(self.alice.call("sem.resume", "s", held["hold"])["fence"], held["fence"])
        self.assertEqual(self.alice.call("sem.renew", "s", held["hold"], {"ttl": "1h"})["fence"], held["fence"])
        with self.connect(self.a, "root") as stranger:
            self.assertEqual(raised(stranger, "sem.renew", "s", held["hold"]), "FENCED")
        self.assertTrue(self.alice.call("sem.release", "s", held["hold"]))

    def shares(self):
        """One share of tasks, whichever node they come by: each brings half of them, and then both are refused."""
        ids = []
        with self.connect(self.a, "alice") as here:
            for _ in range(20):
                for client in self.alice, here:
                    try:
                        ids.append(client.call("task.submit", "echo", [1], {"delay": "1h"})["id"])
                    except RemoteError as e:
                        self.assertEqual(e.code, "BUSY")
            for client in self.alice, here:
                self.assertEqual(raised(client, "task.submit", "echo", [1], {"delay": "1h"}), "BUSY")
        self.assertIn(len(ids), range(10, 21))
        for task in ids:
            self.alice.call("task.cancel", task)
            self.alice.call("task.forget", task)

    def page(self):
        """The page's gateway is a client of b."""
        page = self.b.admin
        self.assertEqual(page.sign_in(token_of("alice"))[0], 200)
        status, said = page.call("task.submit", "echo", [7], {"keep": "1h"})
        self.assertEqual(status, 200, said)
        task = said["result"]["id"]
        self.assertEqual(page.call("task.wait", task, {"result": True})[1]["result"]["ended"][0]["result"], 7)
        self.assertEqual(self.root.call("task.get", task)["tenant"], "alice")
        metrics = page.text("/metrics")[1]
        for family in "sessions", "requests_total":
            self.assertRegex(metrics, rf"(?m)^ergon_front_{family} [1-9]")
        front = self.alice.call("server.info")["cluster"]["front"]
        self.assertEqual((front["waiting"], front["refused"], front["unsure"]), (0, 0, 0))


class Roles(Nodes):
    """The node b has a role for all certificates and users, which grants no handler."""

    def start(self, name, *flags, **more):
        if name == "b":
            config = os.path.join(self.folder, "b.yaml")
            with open(config, "w") as f:
                f.write("roles:\n  - {name: few, members: ['cert:*', 'unix:*'], methods: ['task.*', 'cluster.*']}\n")
            flags = ("--config", config, *flags)
        return super().start(name, *flags, demo=name == "b", **more)

    def test_a_node_runs_what_the_owner_gives_it(self):
        with self.a.connect() as client:
            eventually(lambda: client.call("worker.list")["workers"], "b offers its handlers")
            task = client.call("task.submit", "block", [1])["id"]
            self.assertEqual([t["state"] for t in client.call("task.wait", task)["ended"]], ["done"])


def authority(folder, name):
    """A certificate authority: the paths of certificate and key."""
    cert, key = (os.path.join(folder, name + suffix) for suffix in (".crt", ".key"))
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-out", cert,
            "-keyout", key)
    return cert, key


def certificate(folder, of, name):
    """Signed by the authority, for this name."""
    cert, key, request, names = (os.path.join(folder, f"{os.path.basename(of[0])}-{name}.{suffix}") for suffix in ("crt", "key", "csr", "ext"))
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-out", request, "-keyout", key)
    with open(names, "w") as f:
        f.write(f"subjectAltName=DNS:{name}\n")
    openssl("x509", "-req", "-in", request, "-CA", of[0], "-CAkey", of[1], "-CAcreateserial", "-days", "2", "-extfile", names, "-out", cert)
    return cert, key


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=LIMIT)


class Certificates(Nodes):
    """The nodes meet by TLS, and show certificates of one authority."""

    def setUp(self):
        folder = scratch(self.addCleanup)
        self.ca, self.other_ca = authority(folder, "ca"), authority(folder, "other")
        self.made = {}
        self.make = lambda name, of=None: certificate(folder, of or self.ca, name)
        super().setUp()

    def start(self, name, *flags, shows=None, **more):
        cert, key = self.made[name] = shows or self.make(name)
        return super().start(name, "--cluster-ca", self.ca[0], "--cluster-cert", cert, "--cluster-key", key, *flags,
                             listen="ergons://127.0.0.1:0", **more)

    def refused(self, server, text):
        """Where no session was refused within its patience, a busy node does not know yet why it reaches nobody."""
        def refusal():
            with server.connect() as client, self.assertRaises(RemoteError) as caught:
                client.call("task.list")
            self.assertEqual(caught.exception.code, "BUSY")
            return caught.exception.value
        eventually(lambda: text in refusal(), text)

    def test_only_nodes_speak_for_others(self):
        with self.b.connect() as client:
            self.assertEqual(client.call("task.wait", client.call("task.submit", "echo", [1])["id"])["ended"][0]["state"], "done")
            with self.assertRaises(RemoteError) as caught:
                client.call("cluster.session", {})
            self.assertEqual(caught.exception.code, "DENIED")
        stranger = self.start("c", "--cluster-weight", "0", "--cluster-patience", "1s", shows=self.make("c", self.other_ca))
        self.refused(stranger, "unknown ca")
        liar = self.start("d", "--cluster-weight", "0", "--cluster-patience", "1s", shows=self.make("e"))
        self.refused(liar, "the certificate is of e, not of node d")
        eventually(lambda: "session of a node refused" in self.a.log_text(), "a has logged it")

    def test_certificates_are_read_again(self):
        """Another authority signs the nodes: after a reload of both, new sessions go by that."""
        with self.b.connect() as client:
            client.call("task.list")
        shown = {name: self.made[name] for name in "ab"}
        for name in shown:
            for old, new in zip(shown[name], self.make(name, self.other_ca)):
                os.replace(new, old)
        os.replace(self.other_ca[0], self.ca[0])
        for server in self.a, self.b:
            server.signal(signal.SIGHUP)
            eventually(lambda at=server: "msg=reloaded" in at.log_text(), "certificates are read again")
        with self.b.connect() as client:
            client.call("task.list")
            eventually(lambda: {w["name"] for w in client.call("worker.list")["workers"]} == {"b"}, "b works again")


if __name__ == "__main__":
    unittest.main()
