#!/usr/bin/python3
"""All that clients of the admin listener may do to it at once, over HTTP and HTTPS with client certificates: streams that vanish, calls whose
clients go, sign-ins, half requests, half handshakes, floods of headers; with reloads that revoke and give back, and a stop in the middle.

It holds that health is told throughout, that the server stops in order, and, under a sanitizer, that nothing is wrong within.  The seed is printed
when it fails; ERGON_SEED chooses it, ERGON_DEEDS says how many deeds each of the clients does."""
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import ssl
import threading
import unittest

from admin_client import JSON, Admin
from crl_test import Authority
from harness import LIMIT, Server, eventually, trusting

SEED = int(os.environ.get("ERGON_SEED") or random.randrange(1 << 30))
DEEDS = int(os.environ.get("ERGON_DEEDS") or 60)
CLIENTS = 8
HEAD = b"POST /api/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HALVES = (b"", b"G", b"GET / HT", b"GET / HTTP/1.1\r\nX: y", HEAD + b"Content-Length: 500000\r\n\r\n{", HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\n{", HEAD + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
          b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 3000)
EXPECTED = (OSError, http.client.HTTPException)  # ssl.SSLError is an OSError


class Somebody(threading.Thread):
    """One client, who does one thing after the other."""

    def __init__(self, storm, number):
        super().__init__(daemon=True)
        self.storm, self.random, self.left, self.wrong = storm, random.Random(SEED * 100 + number), [], None
        self.deeds = (self.call, self.leave_call, self.stream, self.leave_stream, self.sign_in, self.half, self.burst, self.figures, self.renew)
        self.who = self.new_one()

    def new_one(self):
        plain, secure = self.storm.urls
        name = self.random.choice(("alice", "bob", None))
        return Admin(secure, self.storm.context(name)) if name else Admin(plain)

    def run(self):
        try:
            for _ in range(DEEDS):
                if self.storm.over.is_set():
                    break
                with contextlib.suppress(*EXPECTED, json.JSONDecodeError):
                    self.random.choice(self.deeds)()
                while len(self.left) > 6:
                    self.left.pop(self.random.randrange(len(self.left))).close()
        except Exception as error:  # told by the test
            self.wrong = error

    def begin(self, method, path, body=None, headers=()):
        connection = self.who.connection()
        connection.timeout = 5
        self.left.append(connection)
        own = {"Cookie": self.who.cookie} if self.who.cookie else {}
        connection.request(method, path, body, {**JSON, **own, "X-Ergon-CSRF": self.who.csrf or "", **dict(headers)})
        return connection

    def call(self):
        method, params = self.random.choice((("echo", [1]), ("sleep", ["20ms"]), ("connection.list", []), ("task.submit", ["echo", ["x"]]), ("task.events", [{"timeout": 50}])))
        self.who.call(method, *params)

    def leave_call(self):
        connection = self.begin("POST", "/api/call", json.dumps({"method": "sleep", "params": ["1h"]}))
        how = self.random.randrange(3)
        if how == 0:
            connection.sock.shutdown(socket.SHUT_WR)
        elif how == 1:
            connection.close()

    def stream(self):
        answer = self.begin("GET", "/api/live").getresponse()
        if answer.status == 200:
            answer.readline()
            data = answer.readline().partition(b": ")[2]  # none where the server stops
            self.who.api("POST", "/api/live", {"stream": json.loads(data)["stream"], "follow": {"after": "oldest"}})
            answer.readline()

    def leave_stream(self):
        self.begin("GET", "/api/live").close()

    def sign_in(self):
        if self.random.random() < 0.3:
            self.who = self.new_one()
        self.who.sign_in()
        if self.random.random() < 0.2:
            self.who.api("DELETE", "/api/session")

    def half(self):
        connection = self.who.connection()
        plain = socket.create_connection((connection.host, connection.port), timeout=5)
        self.left.append(plain)
        plain.sendall(self.random.choice(HALVES))

    def burst(self):
        for _ in range(30):
            connection = self.who.connection()
            self.left.append(connection)
            connection.connect()

    def figures(self):
        self.who.text(self.random.choice(("/metrics", "/debug/topology", "/healthz", "/readyz", "/", "/app.js", "/nothing")))

    def renew(self):
        """A handshake that is left in the middle."""
        port = self.storm.urls[1].rsplit(":", 1)[1]
        context = self.storm.context(self.random.choice(("alice", "bob")))
        with socket.create_connection(("127.0.0.1", int(port)), timeout=5) as plain, contextlib.closing(context.wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False)) as half:
            half.setblocking(False)
            with contextlib.suppress(ssl.SSLWantReadError):
                half.do_handshake()


class Storm(Authority):
    def setUp(self):
        super().setUp()
        path = self.at("ergond.yaml")
        with open(path, "w") as out:
            out.write(f"""
tls: {{cert: {self.cert}, key: {self.key}, client_ca: {self.at("ca.crt")}, crl: {self.at("crl.pem")}}}
listen: ["ergon://127.0.0.1:0"]
drain: 6s
admin:
  call_timeout: 2s
  request_timeout: 2s
  listen: ["http://127.0.0.1:0", {{url: "https://127.0.0.1:0", auth: cert}}]
""")
        self.server = Server("--config", path, listen=())
        self.addCleanup(self.server.discard)
        lines = [self.server.process.stdout.readline().strip() for _ in range(3)]
        self.server.urls += [line for line in lines if line.startswith("ergon://")]
        self.urls = [next(line for line in lines if line.startswith(way)) for way in ("http://", "https://")]
        self.over = threading.Event()
        watcher = Admin(self.urls[0])
        eventually(lambda: watcher.text("/readyz")[0] == 200, "/readyz says that the server has started")

    def is_healthy(self):
        with contextlib.suppress(*EXPECTED):
            return Admin(self.urls[0]).text("/healthz") == (200, "ok\n")

    def turn(self, storm, meanwhile):
        for one in storm:
            one.start()
        try:
            meanwhile()
        finally:
            self.over.set()
            for one in storm:
                one.join(LIMIT)
                self.assertFalse(one.is_alive(), f"somebody hangs (seed {SEED})")
                for connection in one.left:
                    connection.close()
        for one in storm:
            self.assertIsNone(one.wrong, f"seed {SEED}")

    def reloads(self):
        lists = []
        with open(self.at("crl.pem")) as f:
            lists.append(f.read())
        self.revoke("bob")
        self.make_list()
        with open(self.at("crl.pem")) as f:
            lists.append(f.read())
        for i in range(6):
            with open(self.at("next.pem"), "w") as f:
                f.write(lists[(i + 1) % 2])
            os.replace(self.at("next.pem"), self.at("crl.pem"))
            self.server.signal(signal.SIGHUP)
            eventually(self.is_healthy, f"health is told (seed {SEED})")

    def test_it_is_borne_and_the_server_goes_on(self):
        storm = [Somebody(self, i) for i in range(CLIENTS)]

        def until_all_is_done():
            self.reloads()
            for one in storm:
                eventually(lambda one=one: not one.is_alive(), f"a client has done its {DEEDS} deeds (seed {SEED})")
        self.turn(storm, until_all_is_done)
        eventually(self.is_healthy, f"health is told (seed {SEED})")
        with self.server.connect() as client:
            eventually(lambda: not [c for c in client.call("connection.list")["connections"] if c["in_flight"] and c["listener"].startswith("http")], "nothing is under way of those who have gone")
        self.assertEqual(self.server.stop(), 0, self.server.log_text())

    def test_a_stop_in_the_middle_is_in_order(self):
        for name in ("TERM", "TERM at once"):
            with self.subTest(name):
                if self.over.is_set():
                    self.doCleanups()
                    self.setUp()
                storm = [Somebody(self, i + 50) for i in range(CLIENTS)]

                def stop():
                    if name == "TERM":
                        self.reloads()
                    self.server.signal(signal.SIGTERM)
                    self.assertEqual(self.server.wait(), 0, self.server.log_text())
                self.turn(storm, stop)


if __name__ == "__main__":
    unittest.main()
