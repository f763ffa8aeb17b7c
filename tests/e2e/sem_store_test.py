#!/usr/bin/python3
"""Durable semaphores: what is held is held after kill -9 of the server, in order, and fences only grow."""
import os
import unittest

from harness import RemoteError, Server, eventually, scratch


class Durable(unittest.TestCase):
    def setUp(self):
        self.store = os.path.join(scratch(self.addCleanup), "store")
        self.server = None
        self.addCleanup(lambda: self.server.discard())

    def start(self):
        self.server = Server("--store", self.store)
        return self.server

    def kill(self):
        self.server.discard()

    def test_no_permit_is_lost_or_doubled(self):
        fences = []
        self.start()
        client = self.server.connect()
        holds = [client.call("sem.acquire", "gpu", {"of": 3, "grace": "1h"}) for _ in range(3)]
        for _ in range(4):
            fences += [h["fence"] for h in holds[-3:]]
            self.kill()
            self.start()
            client = self.server.connect()
            with self.assertRaises(RemoteError) as caught:
                client.call("sem.acquire", "gpu", {"of": 3, "wait": 0})
            self.assertEqual(caught.exception.code, "DEADLINE")
            shown = client.call("sem.explain", "gpu")
            self.assertEqual([h["fence"] for h in shown["holders"]], fences[-3:])
            self.assertEqual((shown["free"], shown["permits"], shown["durable"]), (0, 3, True))
            waits = [client.send("sem.acquire", "gpu", {"wait": "1h", "grace": "1h"}) for _ in range(3)]
            with self.server.connect() as other:
                eventually(lambda: other.call("sem.explain", "gpu")["waiting"] == 3, "they wait")
                for hold in holds[-3:]:
                    self.assertEqual(other.call("sem.resume", "gpu", hold["hold"])["fence"], hold["fence"])
                    self.assertTrue(other.call("sem.release", "gpu", hold["hold"]))
            holds = [client.result(w) for w in waits]
            new = [h["fence"] for h in holds]
            self.assertEqual(new, sorted(new))  # in order of arrival
            self.assertGreater(new[0], max(fences))
        self.assertEqual(len(set(fences)), len(fences))

    def test_one_that_was_made_stays(self):
        self.start()
        with self.server.connect() as client:
            client.call("sem.create", "made", 2)
            client.call("sem.create", "fleeting", 2, {"durable": "none"})
            client.call("sem.acquire", "lost", {"of": 1, "durable": "none"})
        self.kill()
        self.start()
        with self.server.connect() as client:
            self.assertEqual([(s["name"], s["permits"]) for s in client.call("sem.list")], [("made", 2)])

    def test_a_released_one_is_free_after_a_kill(self):
        self.start()
        with self.server.connect() as client:
            hold = client.call("sem.acquire", "free", {"of": 1, "grace": "1h"})
            client.call("sem.release", "free", hold["hold"])
        self.kill()
        self.start()
        with self.server.connect() as client:
            self.assertGreater(client.call("sem.acquire", "free", {"of": 1, "wait": 0})["fence"], hold["fence"])


if __name__ == "__main__":
    unittest.main()
