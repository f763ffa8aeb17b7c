#!/usr/bin/python3
"""Answers, events and requests that wait cost the server no copies: results are shared, who does not read is let go,
who waits keeps no message, and one tenant leaves room for others."""
import signal
import unittest

import msgpack

import harness

MEGA = 1 << 20
LARGE = 15 * MEGA
BOUND = 300 * MEGA  # what an attack may add, at most; a copy of the result for each request would be fifty times that
ASKED = 1024


class Held(unittest.TestCase):
    def setUp(self):
        self.server = harness.Server("--tasks-bytes=256m")
        self.addCleanup(self.server.discard)
        self.good = self.connect()
        self.good.call("server.ping")
        self.before = self.server.rss()

    def connect(self):
        client = self.server.connect()
        self.addCleanup(client.close)
        return client

    def kept(self, **options):
        task = self.good.call("task.submit", "echo", [b"x" * LARGE],
                              {"keep_size": "16m", "durable": "none", "keep": "1h", **options})["id"]
        self.good.call("task.wait", task, {"result": False})
        return task

    def ask_without_reading(self, *request):
        client = self.connect()
        message = b"".join(msgpack.packb([0, i, request[0], list(request[1:])]) for i in range(ASKED))
        client.send_bytes(message)
        return client

    def expect_small(self):
        for _ in range(20):  # what was sent before is served meanwhile
            self.assertEqual(self.good.call("echo", "good"), "good")
        self.good.call("task.list", {"limit": 1})
        if not harness.SANITIZED:
            self.assertLess(self.server.rss() - self.before, BOUND)

    def test_a_result_is_shared_by_all_who_ask_for_it(self):
        self.ask_without_reading("task.get", self.kept())
        self.expect_small()

    def test_so_is_that_of_a_kept_key(self):
        self.kept(key="k")
        self.ask_without_reading("task.call", "echo", [1], {"key": "k", "durable": "none"})
        self.expect_small()

    def test_peers_with_raw_strings_share_one_that_is_rewritten(self):
        task, old = self.kept(), self.connect()
        old.call("server.hello", {"raw": True})
        old.send_bytes(b"".join(msgpack.packb([0, i, "task.get", [task]]) for i in range(ASKED)))
        self.expect_small()

    def test_a_number_has_no_million_digits(self):
        task = self.good.call("task.submit", "echo", [1], {"delay": "1h", "durable": "none"})["id"]
        waiter = self.connect()
        for _ in range(32):
            waiter.send("task.wait", task, {"timeout": "0" * LARGE + "5s"})
            with self.assertRaises(harness.RemoteError) as refused:
                waiter.result(waiter.next_id)
            self.assertEqual(refused.exception.code, "BAD_PARAMS")
        self.expect_small()

    def test_who_watches_without_reading_is_let_go(self):
        task = self.good.call("task.submit", "echo", [1], {"delay": "1h", "durable": "none"})["id"]
        watcher = self.connect()
        watcher.call("server.hello", {"push": True})
        for _ in range(1000):
            watcher.send("task.watch", task, {"push": True})
        for i in range(400):
            self.good.call("task.change", task, {"delay": f"{i + 2}h"})
        self.expect_small()
        for _ in range(100000):
            message = watcher.receive()
            if message[0] == 1:
                self.assertTrue(message[2].startswith("BUSY: "), message)
                self.assertIn("watch again from", message[2])
                return
        self.fail("no watch was closed")

    def watched(self, server):
        """1,000 watches on one connection, which is not read from here on."""
        good, watcher = server.connect(), server.connect()
        for client in (good, watcher):
            self.addCleanup(client.close)
        task = good.call("task.submit", "echo", [1], {"delay": "1h", "durable": "none"})["id"]
        watcher.call("server.hello", {"push": True})
        for _ in range(1000):
            watcher.send("task.watch", task, {"push": True})
        watcher.send("sleep", "1h")
        for i in range(400):
            good.call("task.change", task, {"delay": f"{i + 2}h"})
        return good, watcher

    def test_its_connection_is_closed_with_a_reason(self):
        server = harness.Server("--limits-unread=500ms")
        self.addCleanup(server.discard)
        before = server.rss()
        good, watcher = self.watched(server)
        harness.eventually(lambda: good.call("server.info")["connections"]["unread"] == 1, "it is closed")
        if not harness.SANITIZED:
            self.assertLess(server.rss() - before, BOUND)
        harness.eventually(lambda: "what is pushed here is not read" in server.log_text(), "the log says why")
        last = None
        while (message := watcher.receive()) is not None:  # who reads again hears it
            last = message
        self.assertEqual(last[:2], [2, "server.closing"])
        self.assertEqual(last[2][0], "BUSY")
        harness.eventually(lambda: good.call("server.info")["connections"]["open"] == 1, "nothing is left of it")
        self.assertEqual(good.call("echo", "good"), "good")

    def test_one_tenant_leaves_room_for_others(self):
        with self.assertRaises(harness.RemoteError) as full:
            for _ in range(100):
                self.good.call("task.submit", "echo", [b"x" * LARGE], {"delay": "30d", "durable": "none"})
        self.assertEqual(full.exception.code, "BUSY")
        self.assertIn("tasks.tenant_share", str(full.exception))


class Shares(unittest.TestCase):
    """What each tenant keeps, with a store, across kill -9."""

    def start(self, *flags):
        server = harness.Server("--store", self.store, "--tasks-bytes=64m", *flags)
        self.addCleanup(server.discard)
        client = server.connect()
        self.addCleanup(client.close)
        return server, client

    @staticmethod
    def held(client):
        return {t["tenant"]: t for t in client.call("queue.tenants")["tenants"]}

    def test_who_keeps_much_forgets_its_own_before_and_after_a_kill(self):
        self.store = harness.scratch(self.addCleanup) + "/tasks.db"
        server, client = self.start()
        of = {"keep": "1h", "durable": "async"}
        little = [client.call("task.submit", "echo", ["little"], {**of, "tenant": "little"})["id"] for _ in range(5)]
        client.call("task.wait", little)
        for _ in range(40):
            task = client.call("task.submit", "echo", [b"x" * (MEGA // 2)], {**of, "tenant": "much"})["id"]
            client.call("task.wait", task, {"result": False})
        client.call("task.submit", "echo", [1], {"delay": "1h", "durable": "fsync", "tenant": "little"})
        limit = client.call("server.info")["kept"]["ended_bytes_limit"]
        self.assertEqual(limit, 16 * MEGA)
        harness.eventually(lambda: self.held(client)["much"]["ended_bytes"] < limit, "who keeps much has forgotten some")
        before = self.held(client)
        self.assertEqual((before["little"]["ended"], before["little"]["open"]), (5, 1))
        self.assertLess(before["much"]["ended"], 40)
        server.signal(signal.SIGKILL)
        server.process.wait()
        server, client = self.start()
        harness.eventually(lambda: self.held(client)["much"]["ended_bytes"] < limit, "it is no more after the kill")
        after = self.held(client)
        self.assertEqual([after["little"][k] for k in ("ended", "open")], [5, 1])
        self.assertAlmostEqual(after["much"]["ended"], before["much"]["ended"], delta=1)
        self.assertEqual([client.call("task.get", t)["result"] for t in little], ["little"] * 5)
        status, out, _ = harness.run_ergon(server.urls[0], "queue", "tenants")
        self.assertEqual((status, [line.split()[0] for line in out.decode().splitlines()]), (0, ["tenant", "much", "little"]), out)


if __name__ == "__main__":
    unittest.main()
