"""Workers whose machine is gone without a word, and workers that only look like it: a server and its workers in network
namespaces of their own, between which packets are dropped.

ERGON_HALF_OPEN=full takes the times that the server has by default, and holds them against what is promised; else they are
short, and only what happens counts."""
import ipaddress
import itertools
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "support")))

from network import ip, lacking  # noqa: E402

from harness import Server, eventually, scratch

FULL = os.environ.get("ERGON_HALF_OPEN") == "full"
SILENCE = 15 if FULL else 3  # seconds: workers.silence
STOPPED = 60 if FULL else 4 * SILENCE  # seconds: a worker with a full window stands still
NET = ipaddress.ip_network("198.51.100.0/30")
HERE, THERE = (str(a) for a in NET.hosts())
MIB = 1 << 20

# A worker that answers each request by the length of its parameter, or, for "never", reads on and says nothing.
WORKER = """
import socket, sys
import msgpack
host, port, method = sys.argv[1:]
sock = socket.create_connection((host, int(port)))
sock.sendall(msgpack.packb([0, 0, "worker.register", [[method], {"slots": 16}]]))
unpacker = msgpack.Unpacker(max_buffer_size=1 << 30)
while data := sock.recv(1 << 16):
    unpacker.feed(data)
    for kind, number, *rest in unpacker:
        if kind == 0 and method != "never":
            sock.sendall(msgpack.packb([1, number, None, len(rest[1][0])]))
"""


WHY_NOT = lacking()


class Wire:
    """Two namespaces and a wire between them, on which the server has the address HERE and its workers have THERE."""

    numbers = itertools.count(1)

    def __init__(self, add_cleanup):
        tag = f"ergon-{os.getpid()}-{next(self.numbers)}"
        self.here, self.there = tag + "-here", tag + "-there"
        for space in (self.here, self.there):
            ip("netns", "add", space)
            add_cleanup(ip, "netns", "del", space)
        ip("link", "add", "wire0", "netns", self.here, "type", "veth", "peer", "name", "wire0", "netns", self.there)
        for space, address in ((self.here, HERE), (self.there, THERE)):
            ip("-n", space, "addr", "add", f"{address}/{NET.prefixlen}", "dev", "wire0")
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "set", "wire0", "up")

    def cut(self):
        """From now on the workers' machine takes nothing from the server's, and sends it nothing."""
        ip("-n", self.there, "route", "replace", "blackhole", HERE)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class HalfOpen(unittest.TestCase):
    def setUp(self):
        self.wire = Wire(self.addCleanup)
        socket_path = os.path.join(scratch(self.addCleanup), "socket")
        self.server = Server("--insecure", f"--workers-silence={SILENCE}s", "--drain", "1s", "--limits-message", "8m",
                             listen=(f"ergon://{HERE}:0", "unix://" + socket_path),
                             wrapper=("ip", "netns", "exec", self.wire.here))
        self.addCleanup(self.server.discard)
        self.client = self.server.connect(self.server.urls[1])
        self.addCleanup(self.client.close)

    def worker(self, method):
        process = subprocess.Popen(["ip", "netns", "exec", self.wire.there, sys.executable, "-c", WORKER, HERE,
                                    str(self.server.port), method], stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        eventually(lambda: self.known(method), f"a worker of {method}")
        return process

    def known(self, method):
        return [w for w in self.client.call("worker.list")["workers"] if method in w["methods"]]

    def output_of(self, method):
        """Bytes that wait to be written to the worker of this method."""
        peer = self.known(method)[0]["peer"]
        return [c["output_bytes"] for c in self.client.call("connection.list")["connections"] if c["peer"] == peer][0]

    def fill(self, method):
        """Sends to a worker that stands still until its window is full, and more waits here."""
        calls = []
        while not calls or self.output_of(method) == 0:
            calls.append(self.client.send(method, b"x" * MIB))
            self.client.call("server.ping")
            self.assertLess(len(calls), 16, "a window that takes everything")
        return calls

    def lost_after(self, began, calls):
        """When each of the calls was told that its worker is lost."""
        for call in calls:
            error, _ = self.client.response(call)
            self.assertIn("WORKER_LOST", str(error))
        return time.monotonic() - began

    def test_a_machine_that_is_gone_is_noticed(self):
        for method in ("never", "idle", "busy"):
            self.worker(method)
        stopped = self.worker("stopped")
        stopped.send_signal(signal.SIGSTOP)
        full = self.client.send("stopped", b"")
        unsent = self.fill("stopped")[-1]
        waits = self.client.send("never", b"")  # and is acknowledged: nothing is under way then
        self.client.call("idle", b"")
        self.client.call("busy", b"")
        self.wire.cut()
        began = time.monotonic()
        busy = self.client.send("busy", b"x")
        eventually(lambda: not self.known("idle"), "the loss of the one that had nothing to do")
        took = {"idle": time.monotonic() - began}
        took |= {"busy": self.lost_after(began, [busy]), "never": self.lost_after(began, [waits])}
        took["full"] = self.lost_after(began, [full])
        error, _ = self.client.response(unsent)  # of which nothing was sent, or a part
        self.assertRegex(str(error), "NO_WORKER|WORKER_LOST")
        self.assertEqual(self.client.call("worker.list")["workers"], [])
        print("lost after", {name: round(seconds, 1) for name, seconds in took.items()})
        if FULL:
            for name, seconds in took.items():
                self.assertTrue(10 <= seconds <= 20, f"{name} after {seconds:.1f} s")

    def test_a_worker_that_stands_still_is_not_lost(self):
        stopped = self.worker("stopped")
        stopped.send_signal(signal.SIGSTOP)
        calls = self.fill("stopped")
        until = time.monotonic() + STOPPED
        while time.monotonic() < until:
            self.assertEqual(len(self.known("stopped")), 1, self.server.log_text())
            time.sleep(0.1)
        stopped.send_signal(signal.SIGCONT)
        for call in calls:
            self.assertEqual(self.client.response(call), (None, MIB))


if __name__ == "__main__":
    unittest.main()
