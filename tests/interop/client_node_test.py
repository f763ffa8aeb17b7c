"""The Node package, packed and installed without a network, against real servers."""
import glob
import json
import os
import subprocess
import unittest

import clients
import interop

HERE = os.path.dirname(os.path.abspath(__file__))
INSTALLED = os.path.join(clients.PLACE, "node-installed")
MODULES = os.path.join(INSTALLED, "node_modules")


def npm(*words, cwd):
    done = subprocess.run(["npm", *words, "--offline", "--no-audit", "--no-fund", "--loglevel=error"], cwd=cwd,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def install():
    """The package as users get it, by npm pack and npm install."""
    source = clients.copy("node")
    npm("pack", cwd=source)
    clients.shutil.rmtree(INSTALLED, ignore_errors=True)
    os.makedirs(INSTALLED)
    npm("install", "--no-package-lock", "--no-save", *glob.glob(os.path.join(source, "*.tgz")), cwd=INSTALLED)


class Node(clients.Clients, unittest.TestCase):
    ENVIRONMENT = {"NODE_PATH": MODULES, "NODE_OPTIONS": "--trace-warnings --unhandled-rejections=strict"}
    COMMAND = ("node", os.path.join(HERE, "client_node.js"))
    WORKER, CALLER = (("node", os.path.join(clients.SOURCE, "clients", "node", f"example_{what}.js"))
                      for what in ("worker", "caller"))

    @classmethod
    def setUpClass(cls):
        install()
        super().setUpClass()
        with open(os.path.join(MODULES, "ergon-client", "package.json")) as f:
            cls.VERSION = json.load(f)["version"]

    def test_the_example(self):
        self.COMMAND = ("node", os.path.join(clients.SOURCE, "clients", "node", "example.js"))
        super().test_the_example()

    def test_node_says_nothing(self):
        """Warnings are about promises that nobody waits for, and listeners that nobody takes away."""
        for scenario in ("errors", "cancel", "many", "watch"):
            with self.subTest(scenario):
                self.assertEqual(self.play(scenario, self.unix), "")


if __name__ == "__main__":
    if os.environ.get("ERGON_WITHOUT_NPM"):
        interop.skip("ERGON_WITHOUT_NPM is set")
    interop.needs("node", "npm")
    unittest.main()
