#!/usr/bin/python3
"""Tasks that submit tasks, read results and keep checkpoints, and batches in batches, under kill -9 of server and workers.

composed.py says what there is. After each kill all batches that were acknowledged are there, those that had ended are as they
were, and the audit balances; in the end each task and each callback is there once, and each reader has read the result of its
root. ERGON_KILLS says how often the server is killed, ERGON_ROOTS and ERGON_TREES what there is, ERGON_SEED which random numbers.
"""
import os
import random
import threading
import unittest

import composed
from harness import KeptTest

KILLS = int(os.environ.get("ERGON_KILLS", "3"))
ROOTS = int(os.environ.get("ERGON_ROOTS", "60"))
TREES = int(os.environ.get("ERGON_TREES", "8"))
SEED = int(os.environ.get("ERGON_SEED", "4711"))


class Killed(KeptTest):
    roles = "{name: all, members: ['unix:*'], methods: ['*', task.any, 'worker.offer.*']}"

    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.start()
        self.composition = composed.Composition([self.url], self.rng, ROOTS, TREES)
        self.addCleanup(self.composition.end)

    def go_on_until_killed(self):
        """Some request is under way then."""
        killer = threading.Timer(0.02 + self.rng.random() * 0.3, self.server.process.kill)
        killer.start()
        while self.server.process.poll() is None:
            self.composition.go_on()
        killer.join()

    def test_each_is_there_once(self):
        for n in range(KILLS):
            self.composition.part = (n + 1) / KILLS
            self.go_on_until_killed()
            self.crash()
            self.composition.leave()
            self.composition.look()
        while not self.composition.is_made():
            self.composition.go_on()
        self.composition.await_the_end()
        self.composition.check()
        print(self.composition.summary())


if __name__ == "__main__":
    unittest.main()
