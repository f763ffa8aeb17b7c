"""Clients that vanish, at each named point of a connection's life and at ten thousand random ones."""
import os
import random
import socket
import unittest

import msgpack

from harness import SANITIZED, ServerTest, eventually

RANDOM_ENDS = int(os.environ.get("ERGON_VANISH", "10000"))


def leave_politely(client):
    client.close()


def leave_by_reset(client):
    client.reset()


PARTS = 5
BURST = 50  # clients that vanish before the server is waited for
LEAK = RANDOM_ENDS // PARTS * 16  # bytes: 16 for each client would be seen
BOUND = 64 << 20  # bytes that the largest burst may leave behind in heaps and pools

LEAVES = (leave_politely, leave_by_reset)

# A FIN only says that no more requests come: what is under way goes on, and must end by itself.
# A reset says that nobody reads the answer: then even an hour of work is dropped.
UNDER_WAY = {leave_politely: "50ms", leave_by_reset: "1h"}


class Vanish(ServerTest):
    FLAGS = ("--log-level", "warn", "--blocking", "2")
    ENV = {"MALLOC_ARENA_MAX": "1"}  # what is free in one thread's heap serves the others: less noise

    def before_a_byte(self, client, _leave):
        pass

    def within_a_message(self, client, _leave):
        client.send_bytes(msgpack.packb([0, 1, "echo", ["x" * 1000]])[:500])

    def within_a_large_message(self, client, _leave):
        client.send_bytes(msgpack.packb([0, 1, "echo", [b"x" * 3000000]])[:2000000])

    def with_a_call_queued(self, client, _leave):
        for _ in range(20):
            client.send("block", "20ms")

    def with_a_call_running(self, client, _leave):
        client.send("block", "50ms")
        client.call("echo", 1)

    def with_a_call_parked(self, client, leave):
        client.send("sleep", UNDER_WAY[leave])
        client.call("echo", 1)

    def with_a_call_that_burns(self, client, leave):
        client.send("burn", UNDER_WAY[leave])
        client.send("echo", 1)

    def with_answers_unread(self, client, _leave):
        for _ in range(50):
            client.send("echo", b"x" * 100000)

    def after_an_error(self, client, _leave):
        client.send_bytes(b"\xc1")

    def after_half_close(self, client, _leave):
        client.send("block", "20ms")
        client.sock.shutdown(socket.SHUT_WR)

    def after_a_cancel(self, client, _leave):
        msgid = client.send("sleep", "1h")
        client.notify("server.cancel", msgid)

    POINTS = (before_a_byte, within_a_message, within_a_large_message, with_a_call_queued, with_a_call_running,
              with_a_call_parked, with_a_call_that_burns, with_answers_unread, after_an_error, after_half_close,
              after_a_cancel)

    def settle(self):
        """Nothing of the vanished clients is left: no connection, no descriptor, no task."""
        def quiet():
            topology = self.client.call("server.topology")
            return (self.client.call("server.info")["connections"]["open"] == 1
                    and all(e["outstanding"] == 0 and e["parked"] == 0 for e in topology["executors"]
                            if e["kind"] == "blocking")
                    and all(e["parked"] == 0 for e in topology["executors"])
                    and topology["manager"]["queued"] == 0)
        eventually(quiet, "the server is quiet again")

    def vanish(self, point, leave):
        client = self.server.connect()
        try:
            point(self, client, leave)
        except (BrokenPipeError, ConnectionResetError):
            pass
        leave(client)

    def test_each_named_point(self):
        self.settle()
        fds = self.server.fds()
        for point in self.POINTS:
            for leave in LEAVES:
                with self.subTest(point=point.__name__, leave=leave.__name__):
                    self.vanish(point, leave)
                    self.settle()
                    eventually(lambda: self.server.fds() == fds, f"{fds} open files again")

    def test_random_points(self):
        dice = random.Random(10000)
        calls = [msgpack.packb([0, i, m, p]) for i, (m, p) in enumerate(
            [("echo", ["x" * 50]), ("sum", [1, 2]), ("hash", ["sha256", b"x" * 999]), ("sleep", ["1s"]),
             ("block", ["1ms"]), ("nothing", []), ("server.info", []), ("burn", ["300us"])])]
        stream = b"".join(dice.choice(calls) for _ in range(40))
        self.settle()
        fds = self.server.fds()
        sizes = [self.server.rss()]
        for part in range(PARTS):
            for n in range(RANDOM_ENDS // PARTS):
                self.vanish_at(stream[:dice.randrange(len(stream))], dice.choice(LEAVES))
                if part > 0 and n % BURST == 0:
                    self.settle()
            self.settle()
            sizes.append(self.server.rss())
        eventually(lambda: self.server.fds() == fds, f"{fds} open files again")
        print(f"{RANDOM_ENDS} clients vanished; resident KiB after each part: {[s >> 10 for s in sizes]}")
        if not SANITIZED:
            # The first part is one burst, and heaps keep its size.  Behind it bursts are short, so that their size does
            # not hide or feign a leak, which grows in every part.
            growths = [after - before for before, after in zip(sizes[1:], sizes[2:])]
            self.assertLess(min(growths), LEAK, sizes)
            self.assertLess(max(sizes) - sizes[0], BOUND, sizes)

    def vanish_at(self, data, leave):
        client = self.server.connect()
        try:
            client.send_bytes(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        leave(client)


if __name__ == "__main__":
    unittest.main()
