"""Every method of the server, asked by a plain client."""
import gzip
import hashlib
import os
import struct
import unittest
import zlib

import msgpack

from harness import RemoteError, ServerTest


class Handlers(ServerTest):
    def test_echo_answers_its_parameter(self):
        self.assertEqual(self.client.call("echo", "hello"), "hello")
        self.assertEqual(self.client.call("echo", 1, [2, {"three": None}]), [1, [2, {"three": None}]])
        self.assertIsNone(self.client.call("echo"))

    def test_echo_keeps_the_family_of_what_came(self):
        for value in ("text", b"bytes", b"\xff\xfe", 2**64 - 1, -2**63, 1.5, True, msgpack.ExtType(5, b"x"),
                      "x" * 300, b"y" * 70000):
            self.assertEqual(self.client.call("echo", value), value)

    def test_sleep_parks_and_answers_the_milliseconds(self):
        self.assertGreaterEqual(self.client.call("sleep", "20ms"), 19)
        self.assertGreaterEqual(self.client.call("sleep", 20), 19)

    def test_a_short_call_overtakes_a_long_one(self):
        slow = self.client.send("sleep", "5s")
        self.assertEqual(self.client.call("echo", 1), 1)
        self.client.notify("server.cancel", slow)
        error, _ = self.client.response(slow)
        self.assertTrue(error.startswith("CANCELLED"), error)

    def test_block_and_burn(self):
        self.assertGreaterEqual(self.client.call("block", "10ms"), 9)
        self.assertGreaterEqual(self.client.call("burn", "10ms"), 9)

    def test_sum(self):
        self.assertEqual(self.client.call("sum", 1, 2, 3), 6)
        self.assertEqual(self.client.call("sum", [1, 2, 3]), 6)
        self.assertEqual(self.client.call("sum", 1, 0.5), 1.5)
        self.assertEqual(self.client.call("sum"), 0)
        self.assertEqual(self.client.call("sum", list(range(100000))), sum(range(100000)))
        self.assertEqual(self.client.call("sum", 2**63 - 1, 1), float(2**63))
        with self.refused("BAD_PARAMS"):
            self.client.call("sum", "three")

    def test_hash_agrees_with_hashlib(self):
        data = os.urandom(300000)
        for name in ("sha256", "sha512", "md5", "sha3-256", "blake2b512"):
            ours = self.client.call("hash", name, data)
            theirs = hashlib.new(name.replace("sha3-", "sha3_").replace("blake2b512", "blake2b"), data)
            self.assertEqual(ours, theirs.digest())
            self.assertEqual(self.client.call("hash", name, data, "hex"), theirs.hexdigest())
        with self.refused("BAD_PARAMS") as caught:
            self.client.call("hash", "sha255", data)
        self.assertIn("sha255", caught.exception.value)

    def test_compress_is_read_by_zlib_and_the_reverse(self):
        data = os.urandom(1000) * 200
        self.assertEqual(gzip.decompress(self.client.call("compress", data)), data)
        self.assertEqual(zlib.decompress(self.client.call("compress", data, {"format": "zlib", "level": 9})), data)
        self.assertEqual(zlib.decompress(self.client.call("compress", data, {"format": "raw"}), -15), data)
        self.assertEqual(self.client.call("decompress", gzip.compress(data)), data)
        self.assertEqual(self.client.call("decompress", gzip.compress(b"a") + gzip.compress(b"b")), b"ab")
        self.assertEqual(self.client.call("decompress", zlib.compress(data), {"format": "zlib"}), data)
        self.assertEqual(self.client.call("decompress", self.client.call("compress", b"")), b"")

    def test_decompress_is_bounded_and_says_what_is_wrong(self):
        bomb = gzip.compress(b"\0" * (64 << 20))
        with self.refused("TOO_LARGE"):
            self.client.call("decompress", bomb)
        with self.refused("TOO_LARGE"):
            self.client.call("decompress", gzip.compress(b"x" * 101), {"limit": 100})
        self.assertEqual(len(self.client.call("decompress", gzip.compress(b"x" * 100), {"limit": 100})), 100)
        with self.refused("BAD_DATA"):
            self.client.call("decompress", gzip.compress(b"x" * 100)[:-9])
        with self.refused("BAD_DATA"):
            self.client.call("decompress", b"no gzip at all")
        with self.refused("BAD_PARAMS") as caught:
            self.client.call("decompress", b"", {"fromat": "gzip"})
        self.assertIn("fromat", caught.exception.value)

    def test_fail_fails_as_asked(self):
        with self.assertRaises(RemoteError) as caught:
            self.client.call("fail", "NO_SPACE", "the disk is full")
        self.assertEqual(caught.exception.value, "NO_SPACE: the disk is full")
        with self.refused("FAILED"):
            self.client.call("fail")


class Server(ServerTest):
    def test_ping_and_info(self):
        self.assertEqual(self.client.call("server.ping"), "pong")
        info = self.client.call("server.info")
        self.assertEqual((info["server"], info["pid"]), ("ergon", self.server.pid))
        self.assertGreaterEqual(info["connections"]["open"], 1)

    def test_methods_and_describe(self):
        methods = self.client.call("server.methods")
        for name in ("echo", "sleep", "block", "burn", "hash", "compress", "decompress", "sum", "fail",
                     "server.hello", "server.auth", "server.ping", "server.info", "server.methods",
                     "server.describe", "server.cancel", "server.topology", "server.debug_dump", "task.call"):
            self.assertIn(name, methods)
            described = self.client.call("server.describe", name)
            self.assertEqual(described["name"], name)
            self.assertTrue(described["summary"])
        self.assertEqual(self.client.call("server.describe", "hash")["kind"], "blocking")
        with self.refused("NOT_FOUND"):
            self.client.call("server.describe", "nothing")

    def test_topology_shows_every_executor_live(self):
        blocked = self.client.send("block", "30s")
        seen = []

        def running():
            seen[:] = self.client.call("server.topology")["executors"]
            return any(e["running"] == "block" and e["outstanding"] == 1 for e in seen)

        from harness import eventually
        eventually(running, f"a blocking executor that runs block: {seen}")
        self.client.call("server.cancel", blocked)
        self.assertEqual({e["kind"] for e in seen}, {"stepped", "blocking"})

    def test_hello_chooses_the_shape_of_errors(self):
        self.client.call("server.hello", {"errors": "pair"})
        error, result = self.client.response(self.client.send("nothing"))
        self.assertEqual((error[0], result), (-32601, None))
        self.assertTrue(error[1].startswith("NO_METHOD: "))
        self.client.call("server.hello", {"errors": "map"})
        error, _ = self.client.response(self.client.send("nothing"))
        self.assertEqual((error["code"], error["retryable"]), (-32601, False))
        with self.assertRaises(RemoteError) as caught:
            self.client.call("server.hello", {"erors": "map"})
        self.assertIn("erors", caught.exception.value["message"])

    def test_hello_raw_speaks_to_clients_of_2013(self):
        self.client.call("server.hello", {"raw": True})
        self.client.send("echo", b"x" * 40)
        data = b""
        while len(data) < 4 + 3 + 40:
            data += self.client.sock.recv(100)
        self.assertEqual(data[-43:], b"\xda\x00\x28" + b"x" * 40)

    def test_an_unknown_method_is_an_error_and_the_connection_stays(self):
        with self.refused("NO_METHOD") as caught:
            self.client.call("no.such.method")
        self.assertIn("no.such.method", caught.exception.value)
        self.client.notify("nvim_set_client_info", "x", {}, "remote", {}, {})
        self.assertEqual(self.client.call("echo", 1), 1)


class Calls(ServerTest):
    def test_message_ids_come_back_byte_for_byte(self):
        for raw in (b"\x00", b"\x7f", b"\xcc\x01", b"\xcd\x00\x01", b"\xce\x00\x00\x00\x01",
                    b"\xcf" + struct.pack(">Q", 2**64 - 1), b"\xd1\x00\x05", b"\xd2\x00\x00\x00\x05"):
            self.client.send_bytes(b"\x94\x00" + raw + b"\xa4echo\x91\x2a")
            expected = b"\x94\x01" + raw + b"\xc0\x2a"
            got = b""
            while len(got) < len(expected):
                got += self.client.sock.recv(len(expected) - len(got))
            self.assertEqual(got, expected)

    def test_odd_but_readable_requests_are_served(self):
        for head in (b"\x94", b"\xdc\x00\x04", b"\xdd\x00\x00\x00\x04"):
            for kind in (b"\x00", b"\xcc\x00", b"\xd3" + bytes(8)):
                self.client.send_bytes(head + kind + b"\x07" + b"\xc4\x04echo" + b"\x91\xa1x")
                self.assertEqual(self.client.result(7), "x")
        self.client.send_bytes(b"\x94\x00\x08\xa4echo\xa1x")  # parameters that are no array
        self.assertEqual(self.client.result(8), "x")
        self.client.send_bytes(b"\x94\x00\x09\xa4echo\xc0")
        self.assertIsNone(self.client.result(9))

    def test_what_is_no_request_is_told_so_where_an_id_can_be_read(self):
        for message in ([0, 5, 17, []], [0, 5, "echo"], [9, 5, "echo", []]):
            self.client.send_bytes(msgpack.packb(message))
            error, _ = self.client.response(5)
            self.assertTrue(error.startswith("BAD_REQUEST"), error)
        self.assertEqual(self.client.call("echo", 1), 1)

    def test_deadline(self):
        with self.refused("DEADLINE"):
            self.client.call("task.call", "sleep", ["30s"], {"deadline": "20ms"})
        with self.refused("DEADLINE"):
            self.client.call("task.call", "block", ["30s"], {"deadline": 20})
        self.assertEqual(self.client.call("task.call", "echo", ["in time"], {"deadline": "20s"}), "in time")
        self.assertEqual(self.client.call("task.call", "echo", ["x"]), "x")

    def test_options_are_checked(self):
        for options, named in (({"deadlin": 1}, "deadlin"), ({"deadline": "30"}, "deadline"),
                               ({"deadline": -1}, "deadline"), (5, "map")):
            with self.refused("BAD_PARAMS") as caught:
                self.client.call("task.call", "echo", [1], options)
            self.assertIn(named, caught.exception.value)
        twice = b"\x94\x00\x06\xa9task.call\x93\xa4echo\x90\x82\xa8deadline\x01\xa8deadline\x02"
        self.client.send_bytes(twice)
        error, _ = self.client.response(6)
        self.assertIn("twice", error)

    def test_cancel_answers_once_and_ends_the_work(self):
        for method in ("sleep", "block", "burn"):
            msgid = self.client.send(method, "60s")
            self.assertIs(self.client.call("server.cancel", msgid), True)
            error, _ = self.client.response(msgid)
            self.assertTrue(error.startswith("CANCELLED"), error)
            self.assertIs(self.client.call("server.cancel", msgid), False)

    def test_many_calls_of_both_kinds_in_one_write(self):
        requests = b""
        for i in range(2000):
            method, params = (("echo", [i]), ("hash", ["md5", b"x"]), ("sum", [i, 1]), ("nothing", []))[i % 4]
            requests += msgpack.packb([0, i + 1, method, params])
        self.client.send_bytes(requests)
        for i in range(2000):
            error, result = self.client.response(i + 1)
            self.assertEqual(error is None, i % 4 != 3)
            if i % 4 == 0:
                self.assertEqual(result, i)

    def test_half_close_still_gets_its_answers(self):
        import socket
        ids = [self.client.send("block", "20ms") for _ in range(8)]
        self.client.sock.shutdown(socket.SHUT_WR)
        for msgid in ids:
            self.assertGreaterEqual(self.client.result(msgid), 19)
        self.assertTrue(self.client.at_end())


if __name__ == "__main__":
    unittest.main()
