"""The npm clients msgpack5rpc and neovim, unmodified: a thousand pipelined calls over TCP, TLS and a Unix socket, values of
every kind, errors that they show.  Without npm, or where its registry is out of reach, the test is skipped and says so."""
import json
import os
import subprocess
import tempfile
import unittest

import interop
from harness import LIMIT, Server, self_signed

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = interop.NPM


class Npm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.socket = os.path.join(cls.folder.name, "socket")
        cls.cert, key = self_signed(cls.folder.name)
        cls.server = Server("--tls-cert", cls.cert, "--tls-key", key,
                            listen=("ergon://127.0.0.1:0", "ergons://127.0.0.1:0", "unix://" + cls.socket))
        cls.addClassCleanup(cls.server.__exit__, None)

    def run_client(self, name, mode, address):
        environment = {**os.environ, "NODE_PATH": os.path.join(PLACE, "node_modules"), "ERGON_MODE": mode,
                       "ERGON_ADDRESS": address, "ERGON_CA": self.cert}
        done = subprocess.run(["node", os.path.join(HERE, "npm_client.js"), name], env=environment, capture_output=True,
                              text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for text, expected in zip(json.loads(done.stdout)["errors"],
                                  ("NO_METHOD", "NO_SPACE: the disk is full", "BAD_PARAMS"), strict=True):
            self.assertIn(expected, text)

    def over_each_transport(self, name):
        for mode, address in (("tcp", self.server.urls[0].split("://")[1]), ("tls", self.server.urls[1].split("://")[1]),
                              ("pipe", self.socket)):
            with self.subTest(mode):
                self.run_client(name, mode, address)

    def test_msgpack5rpc(self):
        self.over_each_transport("msgpack5rpc")

    def test_neovim(self):
        self.over_each_transport("neovim")


if __name__ == "__main__":
    interop.needs_npm()
    unittest.main()
