#!/usr/bin/python3
"""sem.* and event.* on the wire: permits of semaphores, held by connections, and events that clients name."""

import unittest

from harness import ServerTest, eventually


class Semaphores(ServerTest):
    def holders(self, name):
        return self.client.call("sem.explain", name)["holders"]

    def waiting(self, name):
        return self.client.call("sem.explain", name)["waiting"]

    def test_permits_go_round(self):
        with self.server.connect() as a, self.server.connect() as b:
            first = a.call("sem.acquire", "round", {"of": 1})
            self.assertEqual(len(first["hold"]), 32)
            self.assertEqual(first["permits"], 1)
            waits = b.send("sem.acquire", "round", {"of": 1, "wait": "1h"})
            eventually(lambda: self.waiting("round") == 1, "b waits")
            self.assertTrue(a.call("sem.release", "round", first["hold"]))
            second = b.result(waits)
            self.assertGreater(second["fence"], first["fence"])
            with self.refused("FENCED"):
                a.call("sem.release", "round", first["hold"])
            self.assertTrue(a.call("sem.release", "round", second["hold"]))  # who knows the secret may
            with self.refused("NOT_FOUND"):
                self.client.call("sem.explain", "round")  # made by `of`, and nobody needs it

    def test_what_is_wrong(self):
        with self.refused("NOT_FOUND"):
            self.client.call("sem.acquire", "none")
        with self.refused("BAD_PARAMS"):
            self.client.call("sem.acquire", "long", {"of": 1, "grace": "61m"})
        with self.refused("BAD_PARAMS"):
            self.client.call("sem.acquire", "wrong", {"of": 2, "permits": 3})
        with self.refused("BAD_PARAMS"):
            self.client.call("sem.acquire", "wrong", {"of": 0})
        with self.refused("BAD_PARAMS"):
            self.client.call("sem.release", "wrong", "no hold")
        with self.refused("FENCED"):
            self.client.call("sem.release", "wrong", "0" * 32)
        with self.refused("NOT_FOUND"):
            self.client.call("sem.explain", "wrong")
        with self.refused("BAD_PARAMS"):
            self.client.call("sem.create", "wrong", 0)

    def test_made_for_itself(self):
        self.assertEqual(self.client.call("sem.create", "made", 2), {"name": "made", "permits": 2})
        held = self.client.call("sem.acquire", "made", {"permits": 2})
        with self.refused("DEADLINE"):
            self.client.call("sem.acquire", "made", {"wait": 0})
        self.client.call("sem.create", "made", 3)
        more = self.client.call("sem.acquire", "made", {"wait": 0})
        for hold in held, more:
            self.client.call("sem.release", "made", hold["hold"])
        listed = [s for s in self.client.call("sem.list") if s["name"] == "made"]
        self.assertEqual([(s["permits"], s["free"], s["held"], s["waiting"]) for s in listed], [(3, 3, 0, 0)])
        self.assertTrue(self.client.call("sem.delete", "made"))
        self.assertFalse(self.client.call("sem.delete", "made"))
        with self.refused("NOT_FOUND"):
            self.client.call("sem.acquire", "made")

    def test_a_lost_connection_keeps_what_it_holds_for_its_grace(self):
        lost, other = self.server.connect(), self.server.connect()
        hold = lost.call("sem.acquire", "grace", {"of": 1, "grace": "1h"})
        waits = lost.send("sem.acquire", "grace", {"wait": "1h"})
        eventually(lambda: self.waiting("grace") == 1, "it waits")
        lost.close()
        eventually(lambda: self.waiting("grace") == 0, "who is gone waits no more")
        eventually(lambda: not self.holders("grace")[0]["connected"], "its loss is seen")
        self.assertGreater(self.holders("grace")[0]["grace_ms"], 3500000)
        with self.refused("DEADLINE"):
            other.call("sem.acquire", "grace", {"wait": 0})
        self.assertEqual(other.call("sem.resume", "grace", hold["hold"]), {"fence": hold["fence"]})
        self.assertTrue(self.holders("grace")[0]["connected"])
        other.close()
        eventually(lambda: not self.holders("grace")[0]["connected"], "its loss is seen")
        self.assertTrue(self.client.call("sem.release", "grace", hold["hold"]))
        self.assertGreater(waits, 0)

    def test_after_the_grace_another_goes_on(self):
        lost = self.server.connect()
        hold = lost.call("sem.acquire", "over", {"of": 1, "grace": "1ms"})
        waits = self.client.send("sem.acquire", "over", {"wait": "1h"})
        eventually(lambda: any(s["waiting"] for s in self.other().call("sem.list") if s["name"] == "over"), "it waits")
        lost.close()
        next_one = self.client.result(waits)
        self.assertGreater(next_one["fence"], hold["fence"])
        with self.refused("FENCED"):
            self.client.call("sem.resume", "over", hold["hold"])
        self.client.call("sem.release", "over", next_one["hold"])

    def other(self):
        client = self.server.connect()
        self.addCleanup(client.close)
        return client

    def test_a_time_to_live_ends(self):
        hold = self.client.call("sem.acquire", "ttl", {"of": 1, "ttl": "1h"})
        self.assertGreater(self.holders("ttl")[0]["ends_ms"], 3500000)
        self.assertEqual(self.client.call("sem.renew", "ttl", hold["hold"], {"ttl": "1ms"}), {"fence": hold["fence"]})
        again = self.client.call("sem.acquire", "ttl", {"of": 1, "wait": "1m"})
        self.assertGreater(again["fence"], hold["fence"])
        with self.refused("FENCED"):
            self.client.call("sem.renew", "ttl", hold["hold"])
        self.client.call("sem.release", "ttl", again["hold"])

    def test_permits_are_shared_with_tasks(self):
        hold = self.client.call("sem.acquire", "gpu", {"of": 1})
        task = self.client.call("task.submit", "echo", [1], {"limit": {"key": "gpu", "max": 1}})["id"]
        eventually(lambda: self.client.call("task.explain", task)["reason"] == "limit", "the task waits")
        why = self.client.call("task.explain", task)
        self.assertEqual([h["fence"] for h in why["held"]], [hold["fence"]])
        self.assertEqual([w["task"] for w in self.client.call("sem.explain", "gpu")["waiters"]], [task])
        self.client.call("sem.release", "gpu", hold["hold"])
        self.assertEqual(self.client.call("task.wait", task)["open"], [])
        sleeps = self.client.call("task.submit", "sleep", ["1h"], {"limit": {"key": "gpu", "max": 1}})["id"]
        eventually(lambda: [h["task"] for h in self.holders("gpu")] == [sleeps], "the task holds")
        waits = self.client.send("sem.acquire", "gpu", {"wait": "1h"})
        eventually(lambda: self.other().call("sem.explain", "gpu")["waiting"] == 1, "a client waits")
        self.other().call("task.cancel", sleeps)
        self.client.call("sem.release", "gpu", self.client.result(waits)["hold"])

    def test_a_cancelled_acquire_holds_nothing(self):
        hold = self.client.call("sem.acquire", "cancel", {"of": 1})
        waits = self.client.send("sem.acquire", "cancel", {"wait": "1h"})
        self.client.call("server.cancel", waits)
        with self.refused("CANCELLED"):
            self.client.result(waits)
        eventually(lambda: self.waiting("cancel") == 0, "it waits no more")
        self.client.call("sem.release", "cancel", hold["hold"])
        with self.refused("NOT_FOUND"):
            self.client.call("sem.explain", "cancel")


class Events(ServerTest):
    def test_who_waits_goes_on(self):
        before = self.client.call("server.info")["shared"]["events"]
        waits = self.client.send("event.wait", "go", {"timeout": "1h"})
        with self.server.connect() as other:
            eventually(lambda: other.call("server.info")["shared"]["events"] > before, "it waits")
            seq = other.call("event.set", "go", {"n": 1})["seq"]
        first = self.client.result(waits)
        self.assertEqual(first, {"seq": seq, "value": {"n": 1}})
        later = self.client.call("event.wait", "go", {"from": seq})
        self.assertEqual(later, first)
        self.assertEqual(self.client.call("event.wait", "go", {"timeout": 0}), {"seq": seq, "timeout": True})
        self.assertGreater(self.client.call("event.set", "go")["seq"], seq)
        self.assertIsNone(self.client.call("event.wait", "go", {"from": seq + 1})["value"])

    def test_what_is_wrong(self):
        with self.refused("TOO_LARGE"):
            self.client.call("event.set", "large", "x" * 5000)
        with self.refused("BAD_PARAMS"):
            self.client.call("event.wait", "large", {"from": 0})
        with self.refused("BAD_PARAMS"):
            self.client.call("event.set")
        self.assertEqual(self.client.call("event.wait", "never", {"timeout": 0}), {"seq": 0, "timeout": True})

    def test_many_wait_for_one(self):
        waits = [self.client.send("event.wait", "many", {"from": 1, "timeout": "1h"}) for _ in range(500)]
        with self.server.connect() as other:
            eventually(lambda: other.call("server.info")["shared"]["events"] == 1, "they wait")
            seq = other.call("event.set", "many", 7)["seq"]
        for msgid in waits:
            self.assertEqual(self.client.result(msgid), {"seq": seq, "value": 7})


if __name__ == "__main__":
    unittest.main()
