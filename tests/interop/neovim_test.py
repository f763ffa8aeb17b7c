"""Neovim, unmodified: a thousand requests over TCP and over a Unix socket, values of every kind, errors that it shows."""
import json
import os
import subprocess
import tempfile
import unittest

import interop
from harness import LIMIT, Server

SCRIPT = os.path.join(os.path.dirname(__file__), "neovim.lua")


class Neovim(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.socket = os.path.join(cls.folder.name, "socket")
        cls.server = Server(listen=("ergon://127.0.0.1:0", "unix://" + cls.socket))
        cls.addClassCleanup(cls.server.__exit__, None)

    def nvim(self, *commands, **environment):
        done = subprocess.run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", *commands, "-c", "quitall!"],
                              env={**os.environ, **environment}, capture_output=True, text=True, timeout=LIMIT,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def by_script(self, mode, address):
        done = self.nvim("-c", "luafile " + SCRIPT, ERGON_MODE=mode, ERGON_ADDRESS=address)
        self.assertTrue(done.stdout.startswith("{"), done.stdout + done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["wrong"], [])
        for text, expected in zip(seen["errors"], ("NO_METHOD", "NO_SPACE: the disk is full", "BAD_PARAMS",
                                                   "NO_SPACE: the disk is full"), strict=True):
            self.assertIn(expected, text)

    def test_tcp(self):
        self.by_script("tcp", f"127.0.0.1:{self.server.port}")

    def test_unix_socket(self):
        self.by_script("pipe", self.socket)

    def test_in_its_own_language(self):
        done = self.nvim(
            "-c", f"let c = sockconnect('tcp', '127.0.0.1:{self.server.port}', {{'rpc': v:true}})",
            "-c", "for i in range(1000) | if rpcrequest(c, 'echo', i) != i | cquit | endif | endfor",
            "-c", "try | call rpcrequest(c, 'no.such.method') | catch | verbose echo v:exception | endtry")
        self.assertIn("NO_METHOD", done.stderr)


if __name__ == "__main__":
    interop.needs("nvim")
    unittest.main()
