"""Clients that are killed, or interrupted, free their work; those that only half-close are answered."""
import signal
import socket
import ssl
import subprocess
import sys
import unittest

import msgpack

from harness import ERGON, INTERRUPTED, LIMIT, ServerTest, eventually, run_ergon, scratch, self_signed, trusting

# A client that knows nothing of server.hello: it sends a call of an hour, and a second one whose answer tells that
# the first has been read.
FOREIGN = """
import socket, ssl, sys, msgpack
scheme, place, cert = sys.argv[1:]
if scheme == "unix":
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(place)
else:
    host, port = place.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, 1)
if scheme == "ergons":
    sock = ssl.create_default_context(cafile=cert).wrap_socket(sock, server_hostname="localhost")
calls = int(sys.stdin.readline())
sleeps = b"".join(msgpack.packb([0, i, "sleep", ["1h"]]) for i in range(calls))
sock.sendall(sleeps + msgpack.packb([0, calls, "echo", [1]]))
if calls < 1000:
    sock.recv(100)
print("sent", flush=True)
sys.stdin.read()
"""


class Killed(ServerTest):
    """The system of a killed client answers for it for a minute (tcp_fin_timeout), or so long as the client's socket
    says (TCP_LINGER2), here a second: so what is tried here in seconds is true of the defaults in 70."""

    FLAGS = ("--limits-keepalive", "1s")

    @classmethod
    def setUpClass(cls):
        cls.folder = scratch(cls.addClassCleanup)
        cls.cert, key = self_signed(cls.folder)
        cls.FLAGS += ("--tls-cert", cls.cert, "--tls-key", key)
        cls.LISTEN = ("ergon://127.0.0.1:0", "ergons://localhost:0", f"unix://{cls.folder}/socket")
        super().setUpClass()

    def parked(self):
        return sum(e["parked"] for e in self.client.call("server.topology")["executors"])

    def polls(self):
        return sum(c["polls"] for c in self.client.call("connection.list")["connections"])

    def settled(self):
        eventually(lambda: self.client.call("server.info")["connections"]["open"] == 1 and self.parked() == 0,
                   "no call and no connection is left")

    def ergon(self, url, *arguments):
        return subprocess.Popen([ERGON, "--server", url, "--cacert", self.cert, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def each_url(self):
        for url in self.server.urls:
            with self.subTest(url=url.split(":")[0]):
                yield url
                self.settled()

    def test_ergon_is_killed(self):
        for url in self.each_url():
            for number in (signal.SIGKILL, signal.SIGTERM):
                with self.ergon(url, "call", "sleep", "1h") as client:
                    eventually(lambda: self.parked() == 1, "the call runs")
                    client.send_signal(number)
                self.settled()

    def test_ergon_is_interrupted(self):
        commands = (("call", "sleep", "1h"), ("call", "--deadline", "1h", "sleep", "1h"),
                    ("task", "call", "sleep", "1h"))
        for url in self.each_url():
            for command in commands:
                with self.ergon(url, *command) as client:
                    eventually(lambda: self.parked() == 1, "the call runs")
                    client.send_signal(signal.SIGINT)
                    out, errors = client.communicate(timeout=LIMIT)
                self.assertEqual((client.returncode, out, errors), (INTERRUPTED, b"", b""))
                self.settled()

    def test_an_interrupt_leaves_a_task_alone(self):
        url = self.server.urls[0]
        for command in (("task", "wait"), ("task", "watch")):
            status, out, _ = run_ergon(url, "task", "submit", "sleep", "1h")
            self.assertEqual(status, 0)
            name = out.decode().strip()
            self.addCleanup(self.client.call, "task.cancel", name)  # whatever happens: others count what is parked
            eventually(lambda: self.parked() == 1, "the task runs")
            with self.ergon(url, *command, name) as client:
                eventually(lambda: self.polls() == 1, "it waits")
                client.send_signal(signal.SIGINT)
                client.communicate(timeout=LIMIT)
            self.assertEqual(client.returncode, INTERRUPTED)
            self.assertEqual(self.client.call("task.get", name)["state"], "parked")
            self.client.call("task.cancel", name)
            self.settled()

    def kill_foreign(self, url, calls):
        scheme, place = url.split("://")
        with subprocess.Popen([sys.executable, "-c", FOREIGN, scheme, place, self.cert], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as client:
            client.stdin.write(f"{calls}\n")
            client.stdin.flush()
            self.assertEqual(client.stdout.readline(), "sent\n")
            eventually(lambda: self.parked() >= min(calls, 1000), "its calls run")
            client.kill()
            client.wait()
            client.stdin.close()

    def test_a_client_that_never_greeted_is_killed(self):
        for url in self.each_url():
            self.kill_foreign(url, 1)

    def test_one_whose_requests_a_limit_keeps_from_being_read_is_killed(self):
        for url in self.each_url():
            self.kill_foreign(url, 2000)

    def test_who_half_closes_is_answered(self):
        for url in (self.server.urls[0], self.server.urls[2]):
            with self.subTest(url=url.split(":")[0]), self.server.connect(url) as client:
                first, second = client.send("sleep", "2s"), client.send("echo", "x" * 300000)
                client.sock.shutdown(socket.SHUT_WR)
                self.assertEqual(client.result(second), "x" * 300000)
                self.assertIsInstance(client.result(first), int)
                self.assertTrue(client.at_end())
        self.settled()

    def test_who_half_closes_tls_is_answered(self):
        """By the alert close_notify, which is how TLS says it."""
        place = self.server.urls[1].rsplit(":", 1)[1]
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = trusting(self.cert).wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(("localhost", int(place)), timeout=LIMIT) as sock:
            def move(step):
                while True:
                    try:
                        result = step()
                    except ssl.SSLWantReadError:
                        result = None
                    sock.sendall(outgoing.read())
                    if result is not None:
                        return result
                    data = sock.recv(1 << 16)
                    if not data:
                        return b""
                    incoming.write(data)
            move(lambda: tls.do_handshake() or True)
            tls.write(msgpack.packb([0, 1, "sleep", ["200ms"]]))
            with self.assertRaises(ssl.SSLWantReadError):
                tls.unwrap()
            self.assertEqual(msgpack.unpackb(move(lambda: tls.read(1 << 16)))[:3], [1, 1, None])
        self.settled()

    def test_a_notification_outlives_its_client(self):
        def done():
            return sum(e["done"] for e in self.client.call("server.topology")["executors"] if e["kind"] == "blocking")
        for url in self.each_url():
            before = done()
            with self.ergon(url, "call", "--notify", "block", "200ms") as client:
                self.assertEqual(client.wait(LIMIT), 0)
            eventually(lambda: done() == before + 1, "it is done")


if __name__ == "__main__":
    unittest.main()
