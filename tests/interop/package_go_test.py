"""The tests inside the Go package, with this build's ergond, without a network, on a copy: they write nothing into the tree."""
import os
import subprocess
import unittest

import clients
import interop
from client_go_test import OFFLINE
from harness import ERGOND, SANITIZE


class Package(unittest.TestCase):
    def test_its_own_tests(self):
        source = clients.copy("go", to="package-go")
        before = clients.files(source)
        # lint/clients vets; programs without symbols are linked in half the time.
        race = ("-race",) if SANITIZE == "thread" else ()
        done = subprocess.run(["go", "test", "-count=1", "-vet=off", "-ldflags=-s -w", *race, "./..."], cwd=source,
                              env={**OFFLINE, "ERGOND": ERGOND}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(clients.files(source), before)


if __name__ == "__main__":
    interop.needs("go")
    unittest.main()
