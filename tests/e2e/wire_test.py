"""Bytes that no good client sends: each ends in an error response or a close, and beside each a good
client is served."""
import random
import socket
import unittest

import msgpack

from harness import SANITIZED, ServerTest, eventually

MESSAGE_MAX = 1 << 20
PARTIAL_TOTAL = 64 << 20


class Wire(ServerTest):
    FLAGS = ("--limits-message", "1m", "--limits-partial", "64m", "--limits-connections", "4000")

    def setUp(self):
        super().setUp()
        self.good = self.server.connect()
        self.addCleanup(self.good.close)

    def tearDown(self):
        self.assertEqual(self.good.call("echo", "still here"), "still here")

    def assert_closed(self, data):
        with self.server.connect() as bad:
            bad.send_bytes(data)
            self.assertTrue(bad.at_end(), data[:32])

    def test_a_byte_at_a_time(self):
        for byte in msgpack.packb([0, 1, "echo", [["x" * 40, {"k": [1, 2.5, None]}]]]):
            self.client.send_bytes(bytes([byte]))
        self.assertEqual(self.client.result(1), ["x" * 40, {"k": [1, 2.5, None]}])

    def test_ten_thousand_in_one_write(self):
        self.client.send_bytes(b"".join(msgpack.packb([0, i, "echo", [i]]) for i in range(10000)))
        for i in range(10000):
            self.assertEqual(self.client.result(i), i)

    @staticmethod
    def of_size(size):
        """A whole request of exactly so many bytes."""
        head = b"\x94\x00\x01\xa4echo\x91\xc6"
        body = size - len(head) - 4
        return head + body.to_bytes(4, "big") + b"x" * body

    def test_payload_of_the_limit_and_a_byte_less(self):
        for size in (MESSAGE_MAX - 1, MESSAGE_MAX):
            self.client.send_bytes(self.of_size(size))
            self.assertEqual(len(self.client.result(1)), size - len(b"\x94\x00\x01\xa4echo\x91\xc6") - 4)

    def test_a_byte_more_is_refused_and_said(self):
        with self.server.connect() as bad:
            bad.send_bytes(self.of_size(MESSAGE_MAX + 1)[:4096])
            error, result = bad.response(1)
            self.assertTrue(error.startswith("TOO_LARGE"), error)
            self.assertIsNone(result)
            self.assertTrue(bad.at_end())

    def test_counts_that_cannot_be_true(self):
        for head in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff",
                     b"\x94\xdd\xff\xff\xff\xff", b"\xdc\xff\xff" * 32):
            before = self.server.rss()
            self.assert_closed(head)
            if not SANITIZED:
                self.assertLess(self.server.rss() - before, 4 << 20)

    def test_nesting_of_ten_thousand(self):
        self.assert_closed(b"\x91" * 10000)
        with self.server.connect() as bad:
            bad.send_bytes(b"\x94\x00\x01\xa4echo" + b"\x91" * 10000)
            self.assertTrue(bad.response(1)[0].startswith("TOO_LARGE"))
            self.assertTrue(bad.at_end())

    def test_the_byte_that_is_never_used(self):
        self.assert_closed(b"\xc1")
        self.assert_closed(b"\x94\x00\x01\xc1")

    def test_what_is_no_message_at_all(self):
        for value in (7, "GET / HTTP/1.0\r\n\r\n", [], [0], {}, [0, "id", "echo", []], [0, -5, "echo", []]):
            self.assert_closed(msgpack.packb(value))
        self.assert_closed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")

    def test_ten_thousand_random_strings(self):
        dice = random.Random(7466)
        for i in range(10000):
            with self.server.connect() as bad:
                bad.send_bytes(dice.randbytes(dice.randrange(1, 64)))
                bad.sock.shutdown(socket.SHUT_WR)
                try:
                    while bad.sock.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
            if i % 1000 == 0:
                self.assertEqual(self.good.call("echo", i), i)

    def test_a_thousand_partial_messages_of_the_limits_size(self):
        """Memory for what is not whole yet is bounded over all connections: the largest holders go."""
        before = self.server.rss()
        partial = self.of_size(MESSAGE_MAX)[:-1]
        clients = []
        for _ in range(1000):
            client = self.server.connect()
            clients.append(client)
            try:
                client.send_bytes(partial)
            except (BrokenPipeError, ConnectionResetError):
                pass
        open_now = self.good.call("server.info")["connections"]
        if not SANITIZED:
            self.assertLess(self.server.rss() - before, PARTIAL_TOTAL + (64 << 20))
        self.assertLessEqual(open_now["partial_bytes"], PARTIAL_TOTAL)
        self.assertEqual(self.good.call("echo", "beside"), "beside")
        for client in clients:
            client.close()
        eventually(lambda: self.good.call("server.info")["connections"]["partial_bytes"] == 0,
                   "partial bytes are given back")


if __name__ == "__main__":
    unittest.main()
