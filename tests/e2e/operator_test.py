#!/usr/bin/python3
"""What who runs a server does by hand: a cron paused and resumed, permits taken back, and what one may do at all; on the wire and
by the command line, with roles, the audit log and a restart."""
import json
import os
import unittest

import harness
from harness import NOT_FOUND, OK, REMOTE, USAGE, Server, eventually, run_ergon, scratch, token_of, write_tokens

ROLES = """
tokens_file: {tokens}
store: {folder}/store
audit: {{file: {folder}/audit}}
roles:
  - {{name: operators, members: ["token:root"], methods: ["*"], tenants: ["*"]}}
  - {{name: makers, members: ["token:maker"], methods: [echo, "cron.*", "sem.*"], keys: ["k-*"]}}
  - {{name: readers, members: ["token:reader"], methods: [server.info, server.figures, "queue.*", task.list], tenants: [maker, "shop-*"], queues: [echo]}}
"""


class Operator(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        tokens = write_tokens(self.folder, {"root": "echo", "maker": "echo", "reader": "echo", "bare": "sum"})
        self.config = os.path.join(self.folder, "ergond.yaml")
        with open(self.config, "w") as out:
            out.write(ROLES.format(tokens=tokens, folder=self.folder))
        self.server = self.start()

    def start(self):
        server = Server("--config", self.config)
        self.addCleanup(server.discard)
        return server

    def known(self, name):
        client = self.server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", token_of(name))
        return client

    def ergon(self, name, *arguments):
        status, out, err = run_ergon(self.server.urls[0], *arguments, env={"ERGON_TOKEN": token_of(name)})
        return status, out.decode(), err

    def code(self, client, method, *params):
        try:
            client.call(method, *params)
        except harness.RemoteError as error:
            return error.code
        return None

    def acts(self):
        with open(os.path.join(self.folder, "audit")) as lines:
            return [(a.get("principal"), a.get("method"), a.get("outcome"), a.get("on"))
                    for a in map(json.loads, (line for line in lines if line.endswith("\n"))) if a["msg"].startswith("administrative act")]

    def test_a_cron_that_is_paused_stays_so(self):
        maker, root, reader = self.known("maker"), self.known("root"), self.known("reader")
        maker.call("cron.put", "nightly", "@yearly", "echo", [], {})
        self.assertEqual(self.code(reader, "cron.pause", "nightly", {"tenant": "maker"}), "DENIED")
        self.assertEqual(self.code(root, "cron.pause", "nightly"), "NOT_FOUND", "its own tenant has none")
        self.assertEqual(self.ergon("root", "cron", "pause", "--tenant", "maker", "nightly"), (OK, "nightly is paused\n", ""))
        self.assertEqual([(c["paused"], c["next"]) for c in maker.call("cron.list")], [(True, None)])
        self.server.__exit__(None)
        self.server = self.start()
        maker = self.known("maker")
        self.assertEqual([(c["paused"], c["next"]) for c in maker.call("cron.list")], [(True, None)], "kept over the restart")
        maker.call("cron.put", "nightly", "@monthly", "echo", [], {})
        self.assertEqual([(c["schedule"], c["paused"]) for c in maker.call("cron.list")], [("@monthly", True)])
        self.assertIn("paused", self.ergon("maker", "cron", "list")[1])
        status, out, _ = self.ergon("maker", "cron", "resume", "nightly")
        self.assertEqual((status, out.split(" ")[:2]), (OK, ["nightly", "next"]))
        [cron] = maker.call("cron.list")
        self.assertFalse(cron["paused"])
        self.assertIsNotNone(cron["next"])
        status, _, err = self.ergon("maker", "cron", "pause", "none", "nightly")
        self.assertEqual(status, NOT_FOUND)
        self.assertIn("there is no cron of this name", err)
        self.assertTrue(maker.call("cron.list")[0]["paused"], "the second was paused all the same")
        eventually(lambda: ("token:maker", "cron.pause", "ok", '"nightly" {}') in self.acts(), "the pause is recorded")
        self.assertIn(("token:reader", "cron.pause", "DENIED", None), self.acts())
        self.assertIn(("token:root", "cron.pause", "ok", '"nightly" {"tenant": "maker"}'), self.acts())
        self.assertIn(("token:maker", "cron.resume", "ok", '"nightly" {}'), self.acts())

    def test_figures_of_queues_are_those_that_one_may_see(self):
        maker, root, reader = self.known("maker"), self.known("root"), self.known("reader")
        self.assertEqual(self.code(maker, "server.figures"), "DENIED")
        root.call("task.submit", "echo", [1])
        root.call("task.submit", "sum", [1])
        eventually(lambda: {"echo", "sum"} <= set(root.call("server.figures")["queues"]), "a sample has both")
        self.assertEqual(list(reader.call("server.figures", {"seconds": 1})["queues"]), ["echo"])

    def test_a_cron_is_run_now(self):
        maker, reader = self.known("maker"), self.known("reader")
        maker.call("cron.put", "nightly", "@yearly", "echo", ["now"], {})
        maker.call("cron.pause", "nightly")
        self.assertEqual(self.code(reader, "cron.run", "nightly", {"tenant": "maker"}), "DENIED")
        status, out, err = self.ergon("root", "cron", "run", "--tenant", "maker", "nightly")
        self.assertEqual((status, err), (OK, ""))
        root = self.known("root")
        eventually(lambda: root.call("task.get", out.strip())["state"] == "done", "its task ends")
        self.assertEqual([(c["paused"], c["fired"], c["last_task"]) for c in maker.call("cron.list")], [(True, 0, None)])
        self.assertIn("there is no cron of this name", self.ergon("maker", "cron", "run", "none")[2])
        eventually(lambda: ("token:root", "cron.run", "ok", '"nightly" {"tenant": "maker"}') in self.acts(), "the run is recorded")

    def test_permits_of_who_is_stuck_are_taken_back(self):
        stuck, waits, root = self.known("maker"), self.known("maker"), self.known("root")
        hold = stuck.call("sem.acquire", "k-gpu", {"of": 2, "permits": 2})
        waiting = waits.send("sem.acquire", "k-gpu", {"wait": "1h"})
        eventually(lambda: stuck.call("sem.explain", "k-gpu")["waiting"] == 1, "somebody waits")
        self.assertEqual(self.code(root, "sem.explain", "k-gpu"), "NOT_FOUND", "its own tenant has none")
        shown = root.call("sem.explain", "k-gpu", {"tenant": "maker"})["holders"]
        self.assertEqual([(h["principal"], h["permits"], h["fence"]) for h in shown], [("token:maker", 2, hold["fence"])])
        self.assertEqual(self.code(self.known("reader"), "sem.revoke", "k-gpu", hold["fence"], {"tenant": "maker"}), "DENIED")
        self.assertEqual(self.code(stuck, "sem.revoke", "other", hold["fence"]), "FENCED", "a key that its role does not name")
        self.assertEqual(self.code(root, "sem.revoke", "k-gpu", hold["fence"]), "FENCED", "of its own tenant there is none")
        self.assertEqual(self.ergon("root", "sem", "revoke", "k-gpu", "x")[0], USAGE)
        self.assertEqual(self.ergon("root", "sem", "revoke", "--tenant", "maker", "k-gpu", str(hold["fence"] + 1))[0], REMOTE)
        self.assertEqual(self.ergon("root", "sem", "revoke", "--tenant", "maker", "k-gpu", str(hold["fence"])),
                         (OK, "2 permits of token:maker taken back\n", ""))
        self.assertGreater(waits.result(waiting)["fence"], hold["fence"])
        self.assertEqual(self.code(stuck, "sem.renew", "k-gpu", hold["hold"]), "FENCED")
        self.assertEqual(self.code(stuck, "sem.release", "k-gpu", hold["hold"]), "FENCED")
        self.assertIn("token:maker", self.ergon("root", "sem", "explain", "--tenant", "maker", "k-gpu")[1])
        act = ("token:root", "sem.revoke", "ok", f'"k-gpu" {hold["fence"]} {{"tenant": "maker"}}')
        eventually(lambda: act in self.acts(), "it is recorded")

    def test_a_hold_that_outlived_the_server_is_taken_back(self):
        maker = self.known("maker")
        hold = maker.call("sem.acquire", "k-gpu", {"of": 1, "grace": "1h"})
        self.server.__exit__(None)
        self.server = self.start()
        root = self.known("root")
        [shown] = root.call("sem.explain", "k-gpu", {"tenant": "maker"})["holders"]
        self.assertEqual((shown["connected"], shown["fence"]), (False, hold["fence"]))
        self.assertEqual(root.call("sem.revoke", "k-gpu", hold["fence"], {"tenant": "maker"}),
                         {"principal": "token:maker", "permits": 1, "fence": hold["fence"], "connected": False})
        self.server.__exit__(None)
        self.server = self.start()
        self.assertEqual(self.known("root").call("sem.list"), [])

    def test_each_learns_what_it_may(self):
        with self.server.connect() as nobody:
            self.assertEqual(self.code(nobody, "server.whoami"), "AUTH")
        me = self.known("reader").call("server.whoami")
        self.assertEqual((me["principal"], me["tenant"], me["unconfigured"], me["others"], me["allow"]),
                         ("token:reader", "reader", False, False, None))
        self.assertEqual(me["grants"], [
            {"methods": ["server.info", "server.figures", "queue.*", "task.list"], "tenants": ["maker", "shop-*"], "queues": ["echo"], "keys": None},
            {"methods": ["echo"], "tenants": None, "queues": None, "keys": None}])
        self.assertIn("queue.pause", me["methods"])
        self.assertIn("server.whoami", me["methods"])
        self.assertNotIn("task.cancel", me["methods"])
        self.assertGreater(me["limits"]["message"], 0)
        bare = self.known("bare").call("server.whoami")
        for method in bare["methods"]:
            self.assertNotIn(method.split(".")[0], ("queue", "cron", "sem", "event", "connection"), "nothing that needs a right")
        status, out, _ = self.ergon("reader", "whoami")
        self.assertEqual(status, OK)
        for line in ("token:reader, of the tenant reader", "  methods  server.info, server.figures, queue.*, task.list", "  tenants  maker, shop-*",
                     "  queues   echo"):
            self.assertIn(line, out.splitlines())
        self.assertEqual(json.loads(self.ergon("reader", "whoami", "--json")[1]), me)

    def test_what_one_may_is_what_one_is_let(self):
        """The list is what the server goes by: each method that it lacks is denied, and none that it has."""
        for name in ("root", "maker", "reader", "bare"):
            client = self.known(name)
            may = set(client.call("server.whoami")["methods"])
            for method in set(self.known("root").call("server.whoami")["methods"]) - {"server.auth"}:
                code = self.code(client, method, "\0", "\0", "\0", "\0", "\0", "\0")  # too many parameters, of a wrong kind
                self.assertEqual(code == "DENIED", method not in may, f"{name}: {method}: {code}")


class Times(harness.ServerTest):
    def test_histograms_count_what_ran(self):
        def counts(name):
            row = next((m for m in self.client.call("server.times", {"limit": 64})["methods"] if m["name"] == name), None)
            return [sum(row[kind][1::2]) for kind in ("wait", "run")] if row else [0, 0]
        before = counts("block")
        for _ in range(3):
            self.client.call("block", "1ms")
        self.assertEqual([after - then for after, then in zip(counts("block"), before)], [3, 3])
        told = self.client.call("server.times", {"limit": 64})
        row = next(m for m in told["methods"] if m["name"] == "block")
        slowest = max(row["run"][0::2])
        self.assertGreaterEqual(told["bounds"][slowest] if slowest < len(told["bounds"]) else 1 << 60, 1000000, "1 ms is in its bucket")
        self.assertEqual(told["bounds"], sorted(told["bounds"]))


if __name__ == "__main__":
    unittest.main()
