"""The audit log: a file of its own, which is moved away and opened again, and the log where there is none."""
import json
import os
import signal
import stat
import unittest

import roles_table as table
from harness import RemoteError, Server, eventually, scratch, token_of, write_tokens

RIGHTS = {"root": "*", "bob": "echo"}


def everything(path):
    """All whole lines: one may be about to be written."""
    with open(path) as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def acts(path):
    """But that the server has started, which comes first."""
    return [a for a in everything(path) if a["msg"] != "server started"]


def shown(path):
    return [(a["msg"], a.get("principal"), a.get("method"), a.get("outcome")) for a in acts(path)]


class Audit(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.file = os.path.join(self.folder, "audit")

    def serve(self, *flags):
        server = Server("--tokens", write_tokens(self.folder, RIGHTS), *flags)
        self.addCleanup(server.discard)
        return server

    def connect(self, server, name):
        client = server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", token_of(name))
        return client

    def test_who_did_what(self):
        server = self.serve("--audit-file", self.file)
        root, bob = self.connect(server, "root"), self.connect(server, "bob")
        root.call("queue.pause", "echo")
        root.call("queue.resume", "echo")
        with self.assertRaises(RemoteError):
            bob.call("queue.pause", "echo")
        self.assertEqual(root.call("connection.kill", {"address": "127.0.0.1"})["killed"], 1)
        eventually(lambda: len(acts(self.file)) == 5, "all is recorded")
        self.assertEqual(shown(self.file), [
            ("administrator authenticated", "token:root", None, None),
            ("administrative act", "token:root", "queue.pause", "ok"),
            ("administrative act", "token:root", "queue.resume", "ok"),
            ("administrative act refused", "token:bob", "queue.pause", "DENIED"),
            ("administrative act", "token:root", "connection.kill", "ok"),
        ])
        self.assertEqual(acts(self.file)[4]["on"], '{"address": "127.0.0.1"}')
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.assertNotIn("administrative act", server.log_text())
        eventually(lambda: root.call("server.info")["audit"]["waiting"] == 0, "all is written")
        info = root.call("server.info")["audit"]
        self.assertEqual((info["records"], info["dropped"]), (6, 0))

    def test_it_goes_on_in_a_new_file(self):
        server = self.serve("--audit-file", self.file)
        root = self.connect(server, "root")
        root.call("queue.pause", "echo")
        eventually(lambda: len(acts(self.file)) == 2, "the act is recorded")
        os.rename(self.file, self.file + ".1")
        server.signal(signal.SIGHUP)
        eventually(lambda: os.path.exists(self.file) and shown(self.file), "the reload is recorded")
        root.call("queue.resume", "echo")
        eventually(lambda: len(acts(self.file)) == 2, "the act is recorded in the new file")
        self.assertEqual(len(acts(self.file + ".1")), 2)
        reload = acts(self.file)[0]
        self.assertEqual((reload["principal"], reload["method"], reload["outcome"], reload["pid"]),
                         (f"uid:{os.getuid()}", "SIGHUP", "ok", os.getpid()))

    def test_a_reload_tells_which_tokens_have_changed(self):
        server = self.serve("--audit-file", self.file)
        tokens = os.path.join(self.folder, "tokens")
        with open(tokens) as lines:
            root, bob = lines.read().splitlines()
        with open(tokens, "w") as out:
            out.write(f"{root}\n{bob},sum\nsha256:{'5' * 64} carol echo\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: len(acts(self.file)) == 3, "the reload is recorded")
        self.assertEqual([(a[1], a[3]) for a in shown(self.file)[:2]],
                         [("token:bob", "changed"), ("token:carol", "added")])
        self.assertEqual(acts(self.file)[0]["by"], f"uid:{os.getuid()}")
        with open(tokens, "w") as out:
            out.write(f"{root}\n{bob},sum\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: len(acts(self.file)) == 5, "the second is recorded, too")
        self.assertEqual(shown(self.file)[3], ("token changed", "token:carol", "reload", "removed"))

    def test_a_reload_tells_whose_rights_have_changed(self):
        path = os.path.join(self.folder, "ergond.yaml")

        def write(more):
            with open(path, "w") as out:
                out.write(f"tokens_file: {write_tokens(self.folder, RIGHTS)}\naudit: {{file: {self.file}}}\nroles:\n{more}")

        write("  - {name: old, members: ['unix:*'], methods: [echo]}\n"
              "  - {name: mail, members: ['cert:ops.example', 'token:bob'], methods: ['task.*']}\n")
        server = Server("--config", path)
        self.addCleanup(server.discard)
        write("  - {name: mail, members: ['cert:ops.example', 'token:bob'], methods: ['task.*'], tenants: ['mail-*']}\n"
              "  - {name: new, members: ['address:192.0.2.7'], methods: [sum]}\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: "SIGHUP" in [a[2] for a in shown(self.file)], "the reload is recorded")
        told = [(a["msg"], a.get("principal"), a["outcome"], a.get("on")) for a in acts(self.file)[:-1]]
        self.assertEqual(told[:4], [("token changed", "token:bob", "changed", "token"),
                                    ("role changed", "unix:*", "removed", "old"),
                                    ("role changed", "cert:ops.example,token:bob", "changed", "mail"),
                                    ("role changed", "address:192.0.2.7", "added", "new")])
        self.assertTrue(all(a[0] == "configuration changed" and a[3].startswith("roles") for a in told[4:]))
        self.assertEqual({a["by"] for a in acts(self.file)[:-1]}, {f"uid:{os.getuid()}"})

    def test_a_start_is_recorded(self):
        self.serve("--audit-file", self.file)
        eventually(lambda: everything(self.file), "the start is recorded")
        first = everything(self.file)[0]
        self.assertEqual((first["msg"], first["principal"], first["modules"]), ("server started", f"uid:{os.getuid()}", "demo"))

    def test_a_stop_is_recorded(self):
        server = self.serve("--audit-file", self.file)
        server.signal(signal.SIGTERM)
        server.wait()
        self.assertEqual([a[2] for a in shown(self.file)], ["SIGTERM"])

    def test_without_a_file_it_is_in_the_log(self):
        server = self.serve("--log-level", "error")
        self.connect(server, "root").call("queue.pause", "echo")
        eventually(lambda: "method=queue.pause outcome=ok" in server.log_text(), "the act is in the log")
        self.assertIn("level=audit", server.log_text())

    def test_a_link_is_refused(self):
        os.symlink("/etc/passwd", self.file)
        with self.assertRaises(AssertionError) as caught:
            self.serve("--audit-file", self.file)
        self.assertIn("it is a link", str(caught.exception))


class Acts(Audit):
    """Each method of the server's own is recorded, or is not: the table says which."""
    CONFIG = """
tokens_file: {tokens}
audit: {{file: {file}}}
roles:
  - {{name: overseer, members: ["token:root"], methods: ["*"], tenants: [bob]}}
  - {{name: any, members: ["token:any", "token:mark"], methods: ["*", task.any]}}
"""

    def setUp(self):
        super().setUp()
        tokens = write_tokens(self.folder, {"root": "echo", "any": "echo", "bob": "*", "mark": "echo"})
        path = os.path.join(self.folder, "ergond.yaml")
        with open(path, "w") as out:
            out.write(self.CONFIG.format(tokens=tokens, file=self.file))
        self.server = Server("--config", path)
        self.addCleanup(self.server.discard)

    def known(self, name):
        client = self.server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", token_of(name))
        return client

    def thing(self, bob, owner, name):
        """A task and a cron of `owner`, by itself or by bob."""
        options = {"delay": "1h", "durable": "none"}
        task = owner.call("task.submit", "echo", [1], options)["id"]
        owner.call("cron.put", name, "@yearly", "echo", [], {"durable": "none"})
        batch = owner.call("batch.create", {"durable": "none"})["id"]
        return {"t": task, "c": name, "b": batch, "tenant": "bob" if owner is bob else None}

    def marked(self):
        """All acts until now; the last is the mark."""
        self.marks += 1
        self.marker.call("cron.delete", f"mark {self.marks}")
        eventually(lambda: [act.get("on") for act in acts(self.file)][-1:] == [f'"mark {self.marks}"'], "the mark is recorded")
        return acts(self.file)

    def recorded(self, client, method, params):
        """Records of this call: those between two acts of somebody else's."""
        before = len(self.marked())
        try:
            client.call(method, *params)
        except RemoteError:
            pass
        self.marker.call("queue.resume", "echo")  # that it may be paused says nothing
        found = [a for a in self.marked()[before:-1] if a["principal"] != "token:mark"]
        self.assertTrue(all(a["method"] == method for a in found), found)
        return found

    def check(self, method, who, client, whose, thing):
        _, params, _, act = table.ROWS[method]
        found = self.recorded(client, method, params(thing))
        wanted = (act == table.ALWAYS or (act == table.REACHING and whose == "another's" and who != "bob") or
                  (act == table.NAMED and whose == "another's" and who != "bob"))
        self.assertEqual(len(found), wanted, f"{method} by {who} of {whose}: {found}")
        for a in found:
            self.assertEqual((a["msg"], a["principal"]), ("administrative act", "token:" + who), a)
            self.assertTrue(a["peer"].startswith("127.0.0.1:") and "on" in a, a)

    def test_each_method_of_each_kind_of_principal(self):
        bob, self.marker, self.marks = self.known("bob"), self.known("mark"), 0
        for who in ("root", "any", "bob"):
            client = self.known(who)
            for method in table.ROWS:
                if method == "server.auth":
                    continue  # a wrong token costs its address
                for whose in ("own", "another's"):
                    name = f"cron for {who} {method} {whose}"
                    thing = self.thing(bob, client if whose == "own" else bob, name)
                    if whose == "own":
                        thing["tenant"] = who
                    with self.subTest(method=method, who=who, whose=whose):
                        self.check(method, who, client, whose, thing)

    def test_what_is_about_ones_own_alone_is_no_act(self):
        root, bob, self.marker, self.marks = self.known("root"), self.known("bob"), self.known("mark"), 0
        for owner in (root, bob):
            for _ in range(2):
                owner.call("task.submit", "echo", [1], {"delay": "1h", "durable": "none"})
        unknown = "t" + "0" * 20
        for params, recorded in [([{"tenant": "root"}], False), ([unknown], True), ([{"tenant": "bob"}], True), ([{"all": True}], True)]:
            with self.subTest(params=params):
                self.assertEqual(len(self.recorded(root, "task.cancel", params)), recorded)

    def test_a_submission_in_anothers_name(self):
        root, bob = self.known("root"), self.known("bob")
        root.call("task.submit_many", [["echo", ["secret"], {"tenant": "bob"}], ["echo"], ["sum", [1], {"tenant": "bob"}]])
        for client in (root, bob):
            with self.assertRaises(RemoteError):
                client.call("task.submit", "echo", [1], {"tenant": "carol"})
        eventually(lambda: len(acts(self.file)) == 5, "all is recorded")
        self.assertEqual([(a["msg"], a["principal"], a["method"], a["outcome"], a.get("on")) for a in acts(self.file)[2:]], [
            ("administrative act", "token:root", "task.submit_many", "ok",
             '{"method": "echo", "tenant": "bob"} {"method": "sum", "tenant": "bob"}'),
            ("administrative act refused", "token:root", "task.submit", "DENIED", None),
            ("administrative act refused", "token:bob", "task.submit", "DENIED", None)])


for inherited in [n for n in dir(Audit) if n.startswith("test_")]:
    setattr(Acts, inherited, None)


if __name__ == "__main__":
    unittest.main()
