"""Who is connected, and away with them: by the command line, against a server of several loops."""
import contextlib
import json
import threading
import unittest

from harness import NOT_FOUND, OK, USAGE, Server, eventually, run_ergon, scratch, token_of, write_tokens

RIGHTS = {"alice": "sleep,block,echo,task.submit,task.get", "bob": "echo", "root": "*,task.any"}


def setUpModule():
    global server, url
    folder = scratch(unittest.addModuleCleanup)
    server = Server("--tokens", write_tokens(folder, RIGHTS), "--loops", "3", "--limits-auth-timeout", "off")
    unittest.addModuleCleanup(server.__exit__, None)
    url = server.urls[0]


def connect(name=None):
    client = server.connect()
    if name:
        client.call("server.auth", token_of(name))
    return client


def ergon(*arguments):
    """(exit status, standard output)"""
    status, out, _ = run_ergon(url, *arguments, env={"ERGON_TOKEN": token_of("root")})
    return status, out.decode()


def listed(*arguments):
    status, out = ergon("connection", "list", "--json", *arguments)
    assert status == OK, out
    return json.loads(out)


def the_principal(name):
    """Its name as the server says it."""
    with connect(name) as client:
        return client.call("server.hello")["principal"]


class Filled(unittest.TestCase):
    """Somebody takes all that there is, and whoever runs the server gets in and clears it."""

    def start(self, *flags):
        folder = scratch(self.addCleanup)
        filled = Server(*flags, listen=("ergon://127.0.0.1:0", f"unix://{folder}/socket"))
        self.addCleanup(filled.discard)
        return filled

    def many(self, filled, count, url=None):
        clients = [filled.connect(url) for _ in range(count)]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    @staticmethod
    def is_served(client):
        try:
            return client.call("echo", 1) == 1
        except (ConnectionError, OSError):
            return False

    def kill(self, filled, *conditions):
        status, out, err = run_ergon(filled.urls[-1], "connection", "kill", *conditions)
        self.assertEqual(status, OK, err)
        return int(out.split()[0])

    def test_all_connections_are_taken(self):
        filled = self.start("--limits-connections", "20", "--limits-penalty", "off")
        clients = self.many(filled, 30)
        self.assertEqual(sum(self.is_served(c) for c in clients), 20)
        own = self.many(filled, 9, filled.urls[-1])
        self.assertEqual([self.is_served(c) for c in own], [True] * 8 + [False], "there are eight kept places")
        own[0].close()
        eventually(lambda: own[1].call("server.info")["connections"]["open"] == 27, "one of them is free")
        self.assertEqual(self.kill(filled, "--address", "127.0.0.1"), 20)
        eventually(lambda: self.is_served(self.many(filled, 1)[0]), "there is room again")

    @staticmethod
    def take(client):
        """Sends until its connection is closed, and reads no answer."""
        with contextlib.suppress(OSError):
            while True:
                client.send("echo", b"x" * (1 << 20))

    def test_all_memory_is_taken(self):
        filled = self.start("--limits-memory", "8m")
        takers, good = self.many(filled, 8), self.many(filled, 1)[0]  # they have one principal
        for client in takers:
            threading.Thread(target=self.take, args=(client,), daemon=True).start()
        eventually(lambda: good.call("server.info")["memory"]["bytes"] > (2 << 20), "much is held")
        eventually(lambda: good.call("server.info")["memory"]["stopped"] > 0, "there is no room")
        self.assertEqual(good.call("connection.kill", {"address": "127.0.0.1"})["killed"], 8)
        eventually(lambda: good.call("server.info")["memory"]["bytes"] < (1 << 20), "it is free again")

    def test_all_calls_of_the_same_user_are_in_flight(self):
        filled = self.start("--limits-principal-in-flight", "10")
        client = self.many(filled, 1, filled.urls[-1])[0]
        for _ in range(30):
            client.send("sleep", "1h")
        good = self.many(filled, 1)[0]

        def in_flight():
            return [c["id"] for c in good.call("connection.list")["connections"] if c["in_flight"] >= 10]

        eventually(in_flight, "all are in flight")
        self.assertEqual(self.kill(filled, str(in_flight()[0])), 1)
        eventually(lambda: not in_flight(), "they have ended")


class Connections(unittest.TestCase):
    def setUp(self):
        self.watcher = connect("root")  # one of those that are counted
        self.addCleanup(self.watcher.close)
        self.settle(0)

    def settle(self, count):
        """Until so many are there, and the watcher: those of the test before, and of the command line, have gone."""
        eventually(lambda: self.watcher.call("server.info")["connections"]["open"] == count + 1, f"{count} are connected")

    def listed(self, count, *arguments):
        """The list when so many are there; the command line is not in it."""
        self.settle(count)
        return [c for c in listed(*arguments) if "connection.list" not in [call["method"] for call in c["calls"]]]

    def test_all_loops_are_listed_with_what_goes_on(self):
        clients = [connect("alice") for _ in range(9)] + [connect() for _ in range(3)]
        clients[4].send("sleep", "1h")
        clients[4].send("block", "1h")
        eventually(lambda: any(len(c["calls"]) == 2 for c in listed()), "both calls are shown")
        rows = self.listed(12)
        self.assertEqual(len(rows), 13)
        self.assertEqual(len({c["id"] for c in rows}), 13)
        self.assertEqual(sum(c["principal"] is None for c in rows), 3)
        busy = next(c for c in rows if c["calls"])
        self.assertEqual({c["method"] for c in busy["calls"]}, {"sleep", "block"})
        alice = the_principal("alice")
        self.assertEqual(len(self.listed(12, "--nobody")), 3)
        self.assertEqual(len(self.listed(12, "--principal", alice)), 9)
        self.assertEqual(len(listed("--limit", "5")), 5)
        self.assertIn(", +1", ergon("connection", "list")[1])
        self.settle(12)
        self.assertEqual(ergon("connection", "kill", "--all"), (OK, "13 connections killed\n"))
        for client in clients:
            self.assertTrue(client.at_end())
            client.close()

    def test_kill_by_principal_cancels_calls_and_leaves_tasks(self):
        alice, bob = connect("alice"), connect("bob")
        for _ in range(20):
            alice.send("block", "1h")  # most wait in the queue
        task = alice.call("task.submit", "sleep", ["1h"], {"durable": "none"})["id"]
        name = the_principal("alice")
        self.settle(2)
        eventually(lambda: [c["in_flight"] for c in listed("--principal", name)] == [20], "all are in flight")
        for act in "list", "kill":
            for part in ("alice", "alice.example", "user:alice", "127.0.0.1", "2001:db8::/64"):
                code, _, said = run_ergon(url, "connection", act, "--principal", part, env={"ERGON_TOKEN": token_of("root")})
                self.assertEqual(code, USAGE)
                for full in (f"token:{part}", f"cert:{part}", f"unix:{part}", f"address:{part}"):
                    self.assertIn(full, said)
        self.assertEqual(ergon("connection", "kill", "--principal", name, "--dry-run"),
                         (OK, "1 connection would be killed\n"))
        self.assertEqual(ergon("connection", "kill", "--principal", name), (OK, "1 connection killed\n"))
        self.assertTrue(alice.at_end())
        alice.close()
        self.assertEqual(bob.call("echo", 1), 1)
        with connect("root") as root:
            eventually(lambda: all(h["running"] == 0 for h in root.call("server.info")["handlers"] if h["name"] == "block"),
                       "what ran was told to stop")
            self.assertEqual(root.call("task.get", task)["state"], "parked")
            root.call("task.cancel", task)
        eventually(lambda: "killed by an administrator" in server.log_text(), "the log says why")
        bob.close()

    def test_kill_by_id_and_address(self):
        clients = [connect("bob") for _ in range(4)]
        bob = the_principal("bob")
        one = self.listed(4, "--principal", bob)[0]
        self.assertEqual(ergon("connection", "kill", str(one["id"]))[0], OK)
        self.settle(3)
        self.assertEqual(ergon("connection", "kill", str(one["id"]))[0], NOT_FOUND)
        self.assertEqual(ergon("connection", "kill", "--address", "127.0.0.2")[1], "0 connections killed\n")
        self.settle(3)
        self.assertEqual(ergon("connection", "kill", "--address", "127.0.0.1")[1], "4 connections killed\n")
        for client in clients:
            self.assertTrue(client.at_end())
            client.close()

    def test_what_is_unclear_is_refused(self):
        for wrong in ([], ["--dry-run"], ["1", "--all"], ["x"], ["0"]):
            self.assertEqual(ergon("connection", "kill", *wrong)[0], USAGE, wrong)


if __name__ == "__main__":
    unittest.main()
