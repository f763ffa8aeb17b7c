"""Who may do what: each method of the server's own, for each kind of principal, with a thing of its own and with another's."""
import os
import pwd
import signal
import subprocess
import time
import unittest

import roles_table as table
from harness import ERGON, LIMIT, RemoteError, Server, eventually, make_token, scratch, self_signed, trusting

USER = pwd.getpwuid(os.getuid()).pw_name

CONFIG = """
tokens_file: {tokens}
store: {folder}/store
listen:
  - {{url: "ergon://127.0.0.1:0", auth: token}}
  - {{url: "ergon://127.0.0.1:0", auth: none}}
  - {{url: "unix://{folder}/socket", auth: peer}}
  - {{url: "ergons://127.0.0.1:0", auth: cert, tls: {{cert: "{cert}", key: "{key}", client_ca: "{client}", client_cert: required}}}}
  - {{url: "ergon://127.0.0.1:0", auth: token, allow: [echo, "counter.*", "server.*"]}}
roles:
  - {{name: operator, members: ["token:operator"], methods: ["*", task.any]}}
  - {{name: users, members: ["unix:*"], methods: ["*"]}}
  - {{name: certificates, members: ["cert:ops.example"], methods: ["*"], tenants: ["shared-*"], queues: [echo, "counter.*"], keys: ["k-*", "counter/*"]}}
  - {{name: mixed, members: ["token:mixed"], methods: [task.get], tenants: [victim]}}
  - {{name: mixed too, members: ["token:mixed"], methods: [task.cancel, task.retry]}}
{more}
"""


class Roles(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.tokens = os.path.join(self.folder, "tokens")
        self.token = {n: self.make(n, m) for n, m in (
            ("victim", "*"), ("alice", "*"), ("operator", "echo"), ("bare", "sum"), ("mixed", "sum"), (USER, "*"))}
        self.cert, self.key = self_signed(self.folder)
        self.client_cert, self.client_key = self_signed(self.folder, "ops.example")

    def make(self, name, methods, *flags):
        return make_token(self.tokens, name, "--methods", methods, *flags)

    def write(self, more=""):
        path = os.path.join(self.folder, "ergond.yaml")
        with open(path, "w") as f:
            f.write(CONFIG.format(tokens=self.tokens, folder=self.folder, cert=self.cert, key=self.key,
                                  client=self.client_cert, more=more))
        return path

    def start(self, more=""):
        server = Server("--config", self.write(more), listen=())
        self.addCleanup(server.__exit__, None)
        server.urls = [server.process.stdout.readline().strip() for _ in range(5)]
        return server

    def known(self, server, name, at=0):
        client = server.connect(server.urls[at])
        self.addCleanup(client.close)
        self.assertEqual(client.call("server.auth", self.token[name]), "token:" + name)
        return client

    def peers(self, server):
        """Of each kind: its connection, who it is, its tenant, which methods it may call, whether others' things count."""
        context = trusting(self.cert)
        context.load_cert_chain(self.client_cert, self.client_key)
        everything, nothing = lambda m: True, lambda m: False
        made = {
            "nobody": (server.connect(server.urls[0]), None, None, None, False),
            "token": (self.known(server, "alice"), "token:alice", "alice", everything, False),
            "token without rights": (self.known(server, "bare"), "token:bare", "bare", nothing, False),
            "token with task.any": (self.known(server, "operator"), "token:operator", "operator", everything, True),
            "user": (server.connect(server.urls[2]), "unix:" + USER, "unix:" + USER, everything, False),
            "certificate": (server.connect(server.urls[3], context), "cert:ops.example", "cert:ops.example", everything, False),
            "address": (server.connect(server.urls[1]), "address:127.0.0.1", "anybody", everything, False),
            "token on a listener that allows little":
                (self.known(server, "operator", 4), "token:operator", "operator", lambda m: m.startswith("server."), False),
        }
        for client, name, *_ in made.values():
            self.addCleanup(client.close)
            self.assertEqual(client.call("server.hello")["principal"], name)
        return made

    @staticmethod
    def code(client, method, params):
        try:
            return None, client.call(method, *params)
        except RemoteError as error:
            return error.code, None

    def things(self, operator, tenant, name):
        options = {"delay": "1h", "tenant": tenant, "durable": "none"}
        task = operator.call("task.submit", "echo", ["of " + name], options)["id"]
        cron = "cron of " + name
        operator.call("cron.put", cron, "@yearly", "echo", [], {"durable": "none", "tenant": tenant})
        operator.call("actor.tell", "counter/roles", "add", [0], {"tenant": tenant})
        batch = operator.call("batch.create", {"durable": "none", "tenant": tenant})["id"]
        return {"t": task, "c": cron, "b": batch, "tenant": tenant}

    def check_other(self, method, outcome, code, answer, other, what):
        if outcome in (table.HIDDEN, table.DENIED):
            if method == "task.submit_many" and code is None:
                self.assertIn("DENIED", str(answer), what)
            else:
                self.assertEqual(code, outcome, what)
        else:
            self.assertIsNone(code, what)
            self.assertNotIn(other["t"], str(answer), what)
            self.assertNotIn(other["c"], str(answer), what)
            self.assertNotIn(other["b"], str(answer), what)
            self.assertTrue(method != "queue.tenants" or other["tenant"] not in [t["tenant"] for t in answer["tenants"]], what)
            self.assertTrue(outcome != table.SPARED or answer is False, what)

    def check(self, operator, kind, peer, method, other):
        client, _, tenant, may, any_tenant = peer
        access, params, outcome, _ = table.ROWS[method]
        own = self.things(operator, tenant, kind + method) if tenant else other
        for whose, thing in (("own", own), ("another's", other)):
            if whose != "own" and outcome is table.NONE:
                continue
            what = f"{kind}: {method} of {whose}"
            code, answer = self.code(client, method, params(thing))
            if access == table.OPEN:
                self.assertNotIn(code, ("DENIED", "NOT_FOUND"), what)
                self.assertEqual(code == "AUTH", method == "server.auth", what)
            elif may is None:
                self.assertEqual(code, "AUTH", what)
            elif access == table.KNOWN:
                self.assertNotIn(code, ("AUTH", "DENIED"), what)
            elif not may(method) if access == table.GUARDED else not (may("echo") or "little" in kind):
                self.assertEqual(code, "DENIED", what)
            elif method.startswith("cluster."):
                self.assertNotIn(code, ("AUTH", "DENIED"), what)  # this server belongs to no cluster
            elif whose == "own" or any_tenant:
                self.assertNotIn(code, ("AUTH", "DENIED", "NOT_FOUND"), what)
            else:
                self.check_other(method, outcome, code, answer, other, what)

    def test_each_method_for_each_kind_of_principal(self):
        server = self.start()
        operator, victim = self.known(server, "operator"), self.known(server, "victim")
        for kind, peer in self.peers(server).items():
            for method in table.ROWS:
                if method == "server.auth" and kind != "nobody":
                    continue  # a wrong token costs its address
                other = self.things(operator, "victim", "victim, for " + kind + method)
                with self.subTest(kind=kind, method=method):
                    self.check(operator, kind, peer, method, other)
                operator.call("queue.resume", "echo")
        self.assertEqual(victim.call("server.hello")["principal"], "token:victim")

    def test_roles_are_not_mixed(self):
        server = self.start()
        victim, mixed = self.known(server, "victim"), self.known(server, "mixed")
        task = victim.call("task.submit", "echo", [1], {"delay": "1h", "durable": "none"})["id"]
        self.assertEqual(mixed.call("task.get", task)["id"], task)
        self.assertEqual(self.code(mixed, "task.cancel", [task])[0], "NOT_FOUND")

    def test_queues_keys_and_tenants_of_a_role(self):
        server = self.start()
        context = trusting(self.cert)
        context.load_cert_chain(self.client_cert, self.client_key)
        client = server.connect(server.urls[3], context)
        self.addCleanup(client.close)
        for options, code in (({}, None), ({"key": "k-1"}, None), ({"key": "other"}, "DENIED"),
                              ({"tenant": "shared-x"}, None), ({"tenant": "unshared"}, "DENIED")):
            got = self.code(client, "task.submit", ["echo", [1], {"durable": "none", **options}])[0]
            self.assertEqual(got, code, options)
        for key, code in (("k-1", None), ("other", "DENIED")):
            for shared in ({"limit": {"key": key, "max": 2}}, {"rate": {"key": key, "max": 9, "per": "1s"}}, {"coalesce": key}):
                options = {"durable": "none", **shared}
                for method, params in (("task.submit", ["echo", [1], options]), ("task.call", ["echo", [1], options]),
                                       ("task.submit_many", [[["echo", [1]]], options]),
                                       ("task.submit_many", [[["echo", [1], options]]]),
                                       ("cron.put", ["c", "@yearly", "echo", [1], options])):
                    self.assertEqual(self.code(client, method, params)[0], code, (method, shared))
        self.assertEqual(self.code(client, "task.submit", ["sum", [1]])[0], "DENIED")
        self.assertEqual(self.code(client, "queue.pause", ["sum"])[0], "DENIED")
        self.known(server, "operator").call("task.submit", "sum", [1], {"delay": "1h", "durable": "none"})
        self.assertEqual(self.code(client, "queue.pause", ["sum"])[0], "DENIED", "nor one that is there")
        self.assertEqual([q["method"] for q in client.call("queue.list")], ["echo"])

    def test_what_a_role_does_not_reach_is_neither_waited_for_nor_named(self):
        server = self.start()
        context = trusting(self.cert)
        context.load_cert_chain(self.client_cert, self.client_key)
        client, operator = server.connect(server.urls[3], context), self.known(server, "operator")
        self.addCleanup(client.close)
        tenant = {"delay": "1h", "durable": "none", "tenant": "cert:ops.example"}
        within = operator.call("task.submit", "echo", [1], {**tenant, "key": "k-1"})["id"]
        others = [operator.call("task.submit", "sum", [1], tenant)["id"],
                  operator.call("task.submit", "echo", [1], {**tenant, "key": "other"})["id"],
                  operator.call("task.submit", "echo", [1], {**tenant, "tenant": "victim"})["id"]]
        for option in ("after", "after_any"):
            for on in others:
                self.assertEqual(self.code(client, "task.submit", ["echo", [1], {"durable": "none", option: [on]}])[0], "NOT_FOUND")
            self.assertIsNone(self.code(client, "task.submit", ["echo", [1], {"durable": "none", option: [within]}])[0])
        waits = {"durable": "none", "tenant": "cert:ops.example", "after": [*others, within]}
        task = operator.call("task.submit", "echo", [1], waits)["id"]
        said = client.call("task.explain", task)
        self.assertEqual(said["after"], [within])
        for on in others:
            self.assertNotIn(on, str(said))
        waits["after"] = others
        said = client.call("task.explain", operator.call("task.submit", "echo", [1], waits)["id"])
        self.assertEqual((said["after"], said["text"]), ([], "3 tasks that you may not see must end first"))

    def test_names_of_crons_are_each_tenants_own(self):
        server = self.start()
        alice, victim, operator = (self.known(server, n) for n in ("alice", "victim", "operator"))
        for client, schedule in ((alice, "@daily"), (victim, "@yearly")):
            client.call("cron.put", "nightly", schedule, "echo", [])
        self.assertEqual([(c["schedule"], c["made_by"]) for c in alice.call("cron.list")], [("@daily", "token:alice")])
        self.assertEqual(sorted(c["tenant"] for c in operator.call("cron.list")), ["alice", "victim"])
        self.assertIs(alice.call("cron.delete", "nightly", {"tenant": "victim"}), False)
        self.assertIs(operator.call("cron.delete", "nightly"), False, "its own tenant has none")
        self.assertIs(operator.call("cron.delete", "nightly", {"tenant": "alice"}), True)
        self.assertEqual([c["tenant"] for c in operator.call("cron.list")], ["victim"])

    def test_to_have_a_task_run_again_one_must_be_allowed_its_method(self):
        server = self.start("  - {name: weak, members: [\"token:mixed\"], methods: [\"task.*\"], tenant: victim}")
        victim, weak = self.known(server, "victim"), self.known(server, "mixed")
        task = victim.call("task.submit", "echo", [1], {"delay": "1h", "durable": "none"})["id"]
        for method, params in (("task.run_now", [task]), ("task.change", [task, {"priority": 9}]), ("task.retry", [task])):
            self.assertEqual(self.code(weak, method, params)[0], "DENIED", method)
        victim.call("task.submit", "echo", ["secret"], {"key": "k", "coalesce": "c", "durable": "none"})
        for how in ("task.call", "task.submit"):
            self.assertEqual(self.code(weak, how, ["sum", [1], {"key": "k"}])[0], "DENIED", "it has another's result")
        self.assertTrue(victim.call("task.submit", "echo", ["secret"], {"key": "k", "durable": "none"})["duplicate"])
        weak.call("task.cancel", task)
        self.assertEqual(weak.call("task.retry", {"all": True})["retried"], 0)
        self.assertEqual(victim.call("task.retry", {"all": True})["retried"], 1)


class Offers(unittest.TestCase):
    """Who may be a worker by a Unix socket."""

    def offer(self, server, user):
        os.seteuid(user)  # the kernel notes it when the socket connects
        try:
            client = server.connect()
        finally:
            os.seteuid(os.getuid())
        with client:
            try:
                return client.call("worker.register", ["resize"])["methods"] == 1
            except RemoteError as error:
                self.assertEqual(error.code, "DENIED")
                self.assertIn("worker.offer.resize", str(error))
                return False

    def test_who_may_offer_by_a_unix_socket(self):
        folder = scratch(self.addCleanup)
        os.chmod(folder, 0o711)
        tokens = os.path.join(folder, "tokens")
        make_token(tokens, "x", "--methods", "*")
        for number, (listener, more, own, other) in enumerate(table.OFFERS):
            path = os.path.join(folder, f"{number}.yaml")
            with open(path, "w") as f:
                f.write(f'listen: [{{url: "unix://{folder}/{number}", mode: "0666", {listener}}}]\n' + more.format(tokens=tokens))
            with self.subTest(listener=listener, more=more), Server("--config", path, listen=()) as server:
                server.urls = [server.process.stdout.readline().strip()]
                self.assertEqual(self.offer(server, os.getuid()), own)
                for user in (1234567, 65534) if os.getuid() == 0 else ():  # the latter: any user of another namespace
                    self.assertEqual(self.offer(server, user), other)


class Ends(Roles):
    """What was granted ends."""
    test_each_method_for_each_kind_of_principal = test_roles_are_not_mixed = None
    test_queues_keys_and_tenants_of_a_role = test_to_have_a_task_run_again_one_must_be_allowed_its_method = None

    def revoke(self, what, *flags, text=None):
        return subprocess.run([ERGON, "token", "revoke", what, "--file", self.tokens, *flags], input=text,
                              capture_output=True, text=True, timeout=LIMIT).returncode

    def is_closed(self, client):
        try:
            client.call("server.ping")
            return False
        except (ConnectionError, EOFError, OSError):
            return True

    def test_a_revoked_token_closes_its_connections(self):
        server = self.start()
        alice, victim = self.known(server, "alice"), self.known(server, "victim")
        self.assertEqual(self.revoke("-", text=self.token["alice"] + "\n"), 0)
        self.assertEqual(self.revoke("alice"), 1)
        server.signal(signal.SIGHUP)
        eventually(lambda: self.is_closed(alice), "alice is closed")
        self.assertEqual(victim.call("echo", 1), 1)

    def test_or_lowers_them(self):
        server = self.start("on_revoke: lower")
        alice, operator, pushed, victim = (self.known(server, name) for name in ("alice", "operator", "operator", "victim"))
        task = victim.call("task.submit", "echo", [1], {"delay": "1h", "durable": "none"})["id"]
        waits = [operator.send(method, *params) for method, params in
                 (("task.wait", [task, {"timeout": "1h"}]), ("task.watch", [task, {"from": 100, "timeout": "1h"}]),
                  ("task.events", [{"timeout": "1h"}]), ("event.wait", ["e", {"timeout": "1h"}]))]
        goes_on = victim.send("task.wait", task, {"timeout": "1h"})
        pushed.call("server.hello", {"push": True})
        watch = pushed.send("task.watch", task, {"push": True})
        self.assertEqual(self.revoke("alice"), 0)
        with open(self.write("on_revoke: lower")) as f:
            text = f.read().replace('methods: ["*", task.any]', "methods: [echo]")
        with open(os.path.join(self.folder, "ergond.yaml"), "w") as f:
            f.write(text)
        server.signal(signal.SIGHUP)
        eventually(lambda: "msg=reloaded" in server.log_text(), "the server says when that holds")
        self.assertEqual(self.code(alice, "echo", [1])[0], "AUTH")  # with the very next message
        self.assertEqual(self.code(operator, "task.list", [])[0], "DENIED")
        self.assertEqual(operator.call("echo", 1), 1)
        echo, ended = pushed.send("echo", 1), {}
        while echo not in ended:
            message = pushed.receive()
            if message[0] == 1:
                ended[message[1]] = message[2]
        self.assertIn("DENIED", str(ended.get(watch)))
        victim.call("task.cancel", task)
        for number in waits:
            with self.assertRaises(RemoteError) as caught:
                operator.result(number)
            self.assertEqual(caught.exception.code, "DENIED")
        self.assertEqual(victim.result(goes_on)["ended"][0]["state"], "cancelled")

    def test_a_token_with_an_end_ends(self):
        self.token["late"] = self.make("late", "echo", "--expires", "2001-01-01T00:00:00Z")
        for seconds in (3, 15, 60):  # a busy machine may need more until the guest is in
            end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
            name = f"guest{seconds}"
            self.token[name] = self.make(name, "echo", "--expires", end)
            server = self.start()
            try:
                guest = self.known(server, name)
                break
            except RemoteError as error:
                self.assertEqual(error.code, "AUTH")
            server.stop()
        else:
            self.fail("the guest's token ends before he is in")
        other = server.connect(server.urls[0])
        self.addCleanup(other.close)
        self.assertEqual(self.code(other, "server.auth", [self.token["late"]])[0], "AUTH")
        eventually(lambda: self.is_closed(guest), "the guest's token has ended")


if __name__ == "__main__":
    unittest.main()
