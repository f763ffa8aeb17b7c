#!/usr/bin/python3
"""The times that the admin listener gives: a call, a request that does not become whole, a reader who does not read.

They are short here, and what has to happen is waited for; that something lasts at least so long is not looked at."""
import concurrent.futures
import contextlib
import json
import select
import unittest

from admin_client import JSON, refusal
from admin_test import AdminTest
from harness import LIMIT, eventually

LONG = "1h"  # so that what does not count cannot end anything
SHORT = "1s"  # of a request: a client that is in order has to keep it, on a machine that is busy, too


class Times(AdminTest):
    def open(self, *flags, **times):
        times = {"call": LONG, "request": LONG, **times}
        server, admin = super().open("--admin-call-timeout", times["call"], "--admin-request-timeout", times["request"], *flags)
        return server, admin

    def in_flight(self, server):
        with server.connect() as other:
            return sum(c["in_flight"] for c in other.call("connection.list")["connections"] if c["listener"].startswith("http://"))

    def test_a_call_that_takes_longer_is_given_up(self):
        server, admin = self.open(call="2s")
        admin.sign_in()
        self.assertEqual(refusal(admin.call("sleep", "1h")), (504, "TIMEOUT"))
        eventually(lambda: self.in_flight(server) == 0, "the call was cancelled, too")
        eventually(lambda: admin.call("echo", 1) == (200, {"result": 1}), "the session goes on")

    def test_calls_are_given_up_one_by_one(self):
        server, admin = self.open(call="2s")
        admin.sign_in()
        asked = []
        for _ in range(8):
            connection = admin.connection()
            self.addCleanup(connection.close)
            connection.request("POST", "/api/call", json.dumps({"method": "sleep", "params": ["1h"]}), {**JSON, "Cookie": admin.cookie, "X-Ergon-CSRF": admin.csrf})
            asked.append(connection)
        for connection in asked:
            self.assertEqual(connection.getresponse().status, 504)
        eventually(lambda: self.in_flight(server) == 0, "all were cancelled")

    def test_a_request_that_is_slow_does_not_bound_a_call(self):
        _, admin = self.open(request=SHORT)
        admin.sign_in()
        self.assertEqual(admin.call("sleep", "3s")[0], 200)

    def closes(self, admin, begin, drops=b""):
        """The server closes what begins so, and goes on with a byte of `drops` again and again.  What it has said."""
        connection = admin.connection()
        with contextlib.closing(connection):
            connection.connect()
            connection.sock.sendall(begin)
            got = b""

            def is_closed():
                nonlocal got
                with contextlib.suppress(BrokenPipeError):
                    connection.sock.sendall(drops)
                if not select.select([connection.sock], [], [], 0.01)[0]:
                    return False
                try:
                    more = connection.sock.recv(1 << 16)
                except ConnectionResetError:
                    more = b""
                got += more
                return not more
            eventually(is_closed, f"a connection that says {begin!r} and then {drops!r} is closed")
            return got

    def test_half_a_request_is_given_up(self):
        _, admin = self.open(request=SHORT)
        admin.sign_in()
        head = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        halves = ((b"", b""), (b"GET", b""), (b"GET / HTTP/1.1\r\n", b""), (head, b""), (head + b"Content-Length: 100000\r\n\r\n{", b""),
                  (head + b"Transfer-Encoding: chunked\r\n\r\n", b""), (head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{", b""),
                  # Bytes alone do not prolong it.
                  (b"", b"\r\n"), (b"GET /", b"x"), (b"GET / HTTP/1.1\r\nX: ", b"x"), (b"GET / HTTP/1.1\r\n", b"A: b\r\n"), (head + b"Content-Length: 100000\r\n\r\n{", b" "),
                  (head + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"))
        with concurrent.futures.ThreadPoolExecutor(len(halves)) as pool:
            for half, got in zip(halves, pool.map(lambda half: self.closes(admin, *half), halves)):
                self.assertNotIn(b"200", got[:16], half)
        got = self.closes(admin, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 200"), "and a connection that is idle after an answer")
        self.assertEqual(admin.text("/healthz"), (200, "ok\n"))
        self.assertTrue(admin.api("GET", "/api/session")[1]["principal"], "the session has nothing to do with it")

    def test_a_stream_that_nobody_reads_is_ended(self):
        _, admin = self.open_with_large_events("--admin-call-timeout", LONG, "--admin-request-timeout", SHORT)
        connection = admin.connection()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/live", headers={"Cookie": admin.cookie})
        ended = select.poll()
        ended.register(connection.sock, select.POLLRDHUP)
        self.assertTrue(ended.poll(LIMIT * 1000), "the stream is ended while nobody reads it")
        self.assertEqual(admin.call("server.ping")[0], 200)


if __name__ == "__main__":
    unittest.main()
