"""The tests of the Node package itself, in a copy of it."""
import os
import shutil
import subprocess
import unittest

import clients
import interop


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = os.path.join(clients.scratch(cls.addClassCleanup), "package")
        shutil.copytree(os.path.join(clients.SOURCE, "clients", "node"), cls.place)

    def test_the_package(self):
        environment = {**os.environ, "ERGOND": clients.ERGOND, "NODE_OPTIONS": "--trace-warnings"}
        done = subprocess.run(["node", "--test"], cwd=self.place, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=9 * clients.LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^. fail 0$")
        self.assertNotRegex(done.stdout, r"(?m)^. (tests|pass) 0$")


if __name__ == "__main__":
    interop.needs("node")
    unittest.main()
