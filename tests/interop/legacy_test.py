"""Clients of older days, which run no more, by the bytes that they send (legacy.txt); and any program that has a
MessagePack library and a socket."""
import os
import socket
import struct
import unittest

import msgpack

import interop  # finds the modules below
from harness import LIMIT, ServerTest
from protocol_test import Replay, examples_of

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "legacy.txt")


class Legacy(ServerTest):
    def test_what_they_send(self):
        count = 0
        for count, example in enumerate(examples_of(RECORDED), 1):
            with self.subTest(example.name), self.server.connect() as client:
                Replay(client.sock).play(example)
        self.assertGreaterEqual(count, 12)


class BareLibrary(ServerTest):
    """Raw framing by python3-msgpack: a thousand calls in one write, read as they come."""

    def pipelined(self, use_bin_type, raw):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=LIMIT) as sock:
            packer = msgpack.Packer(use_bin_type=use_bin_type)
            payload = b"\xff" * 40 if raw else "x" * 40
            sock.sendall(b"".join(packer.pack([0, i, "echo", [i, payload]]) for i in range(1000)))
            sock.shutdown(socket.SHUT_WR)
            unpacker, seen = msgpack.Unpacker(raw=raw), {}
            while data := sock.recv(1 << 16):
                unpacker.feed(data)
                for kind, msgid, error, result in unpacker:
                    self.assertEqual((kind, error), (1, None))
                    self.assertNotIn(msgid, seen)
                    seen[msgid] = result
            self.assertEqual(seen, {i: [i, payload] for i in range(1000)})

    def test_today(self):
        self.pipelined(use_bin_type=True, raw=False)

    def test_as_before_2013(self):
        self.pipelined(use_bin_type=False, raw=True)

    def test_without_any_library(self):
        """From the shell: printf and a pipe would do."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=LIMIT) as sock:
            for i in range(1000):
                msgid = struct.pack(">BI", 0xCE, i)
                sock.sendall(b"\x94\x00" + msgid + b"\xa4echo\x91\xa1x")
                answer = b""
                while len(answer) < 10:
                    answer += sock.recv(10 - len(answer))
                self.assertEqual(answer, b"\x94\x01" + msgid + b"\xc0\xa1x")


if __name__ == "__main__":
    unittest.main()
