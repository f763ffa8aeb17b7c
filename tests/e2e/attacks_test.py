"""Attacks, each for a moment and at most at the size at which it once hurt: the server stays within its memory, the good client
loses nothing and every answer is right, also after the attackers vanished. `./run prove attacks` goes on for a minute
each, with all of that size, and judges the times, which are only printed here.
"""
import os
import sys
import unittest

from harness import SANITIZED, scratch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "attacks"))
from attack import ATTACKS  # noqa: E402 (the path above)
from siege import Siege  # noqa: E402

BENCH = ("-c", "4", "-i", "1")
SECONDS, BRIEF = 0.4, 0.15  # of the good client's load, which takes what it gets of the machine: under attack, and before and behind it

# Resident MiB of the server at most.
BOUNDS = {"kept-call": 256, "task-get": 256, "watches": 256, "wait-zeros": 256, "block": 256, "burn": 64, "sleepers": 128, "partial": 320,
          "wrong-tokens": 64, "lock-out": 64, "past-keys": 64, "reauth": 64, "silent": 64, "idle": 64, "decompress": 192, "kept-bytes": 224, "elements": 224, "after": 192, "half-read": 192, "worker-unread": 96,
          "worker-drips": 96, "worker-answers": 64, "worker-asks": 64, "worker-halves": 96, "worker-results": 192, "worker-silent": 64, "register": 64, "rate-names": 96}

# Of hundreds of MiB, about what the server holds: a sanitizer takes minutes for these, and memory means nothing there.
BULK = {"wait-zeros", "kept-bytes", "partial", "after", "worker-answers", "worker-halves"}


class Attacks(unittest.TestCase):
    def test_each_is_borne(self):
        for name, bound in BOUNDS.items():
            if SANITIZED and name in BULK:
                continue
            with self.subTest(name):
                self.assertIn(name, ATTACKS)
                figures = Siege(scratch(self.addCleanup), BENCH, SECONDS, BRIEF, light=True).run(name)
                print(figures.line(name), flush=True)
                self.assertGreater(figures.checked, 0)
                if not SANITIZED:
                    self.assertLess(figures.peak / 2**20, bound)


if __name__ == "__main__":
    unittest.main()
