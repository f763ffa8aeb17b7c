"""Many connections, blocked executors, and what an idle server does: nothing."""
import os
import re
import resource
import select
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import msgpack

from harness import LIMIT, Server, eventually

WANTED = 15000
SPARE = 500  # open files that neither connections nor tests use


def raise_limit():
    """Both ends hold a descriptor for each connection, in two processes."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(WANTED, hard - SPARE)


class ManyConnections(unittest.TestCase):
    REQUEST = msgpack.packb([0, 1, "echo", ["x"]])
    RESPONSE = msgpack.packb([1, 1, None, "x"])

    def open_all(self, server, count):
        sockets = []
        for _ in range(count):
            s = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT)
            sockets.append(s)
        return sockets

    def ask_all(self, sockets):
        """One request on each at once; every answer is checked."""
        for s in sockets:
            s.sendall(self.REQUEST)
        poller = select.epoll()
        waiting = {s.fileno(): s for s in sockets}
        for fd in waiting:
            poller.register(fd, select.EPOLLIN)
        end = time.monotonic() + LIMIT
        while waiting:
            self.assertLess(time.monotonic(), end, f"{len(waiting)} connections got no answer")
            for fd, _ in poller.poll(1):
                self.assertEqual(waiting.pop(fd).recv(64), self.RESPONSE)
                poller.unregister(fd)

    def idle_calls(self, server, seconds):
        """The system calls that strace counts meanwhile."""
        with tempfile.NamedTemporaryFile("r") as out:
            strace = subprocess.Popen(["strace", "-f", "-c", "-o", out.name, "-p", str(server.pid)],
                                      stderr=subprocess.PIPE, text=True)
            self.assertIn("attached", strace.stderr.readline())
            time.sleep(seconds)
            strace.send_signal(signal.SIGINT)
            strace.communicate()
            return out.read()

    def test_fifteen_thousand_idle_then_all_active(self):
        count = raise_limit()
        with Server("--log-level", "warn") as server:
            sockets = self.open_all(server, count)
            with server.connect() as client:
                eventually(lambda: client.call("server.info")["connections"]["open"] == count + 1,
                           f"{count} connections open")
            table = self.idle_calls(server, 3)
            counted = {name: int(calls) for calls, name in
                       re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", table, re.M)}
            counted.pop("total", None)
            # Attaching interrupts each blocking call once: it is restarted, which strace counts.
            threads = len(os.listdir(f"/proc/{server.pid}/task"))
            if os.environ.get("ERGON_SANITIZE") != "thread":  # which has a thread of its own
                self.assertLessEqual(sum(counted.values()), 2 * threads, table)
            self.ask_all(sockets)
            self.ask_all(sockets)
            for s in sockets:
                s.close()
        print(f"{count} connections: idle, {sum(counted.values())} system calls in 3 s; then all answered twice")


class BlockedExecutors(unittest.TestCase):
    def test_connections_stay_responsive(self):
        """Every blocking executor blocks; many echoes are answered before the first block returns."""
        with Server("--blocking", "4") as server:
            with server.connect() as blocker:
                blocks = [blocker.send("block", "1h") for _ in range(8)]
                clients = [server.connect() for _ in range(50)]
                for client in clients:
                    ids = [client.send("echo", i) for i in range(200)]
                    for i, msgid in enumerate(ids):
                        self.assertEqual(client.result(msgid), i)
                    client.close()
                # No answer to a block has come: it would stand in the socket.
                blocker.sock.settimeout(0)
                with self.assertRaises(BlockingIOError):
                    blocker.sock.recv(1)
                blocker.sock.settimeout(LIMIT)
                for msgid in blocks:
                    self.assertIs(blocker.call("server.cancel", msgid), True)


if __name__ == "__main__":
    unittest.main()
