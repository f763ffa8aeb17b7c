"""Memory: what one principal makes the server hold is bounded, whatever it sends and does not read, and another
principal beside it is served, also afterwards."""
import functools
import gzip
import unittest

import msgpack

from harness import SANITIZED, Server, build_handlers, eventually, scratch, token_of, write_tokens

MESSAGE_MAX = 16 << 20
LIMIT = 256 << 20
BASE = 128 << 20  # beside what is counted: what four decompressions work in, and what the allocator keeps
RIGHTS = {"alice": "*", "mallory": "*"}


@functools.cache
def bomb():
    """16 KB that become as much as a message holds."""
    return gzip.compress(b"\0" * (MESSAGE_MAX - 64))


class Beside(unittest.TestCase):
    """alice, who is served, whatever mallory makes the server hold."""

    def setUp(self):
        self.server = Server("--tokens", write_tokens(scratch(self.addCleanup), RIGHTS), *self.FLAGS, "--loops", "2")
        self.addCleanup(self.server.discard)
        self.alice = self.connect("alice")
        self.peak = 0

    def tearDown(self):
        self.assertEqual(self.alice.call("echo", "still here"), "still here")
        self.server.stop()

    def connect(self, who):
        client = self.server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", token_of(who))
        return client

    def memory(self):
        self.peak = max(self.peak, self.server.rss())
        return self.alice.call("server.info")["memory"]

    def assert_bounded(self):
        if not SANITIZED:
            self.assertLess(self.peak, LIMIT + BASE)

    def flood(self, clients, data, enough=lambda: True):
        """Sends as much to each as the server takes, until it takes no more, and holds `enough`; nothing is read. Of two loops one
        may be full while the other has not come to read at all."""
        offsets = [0] * len(clients)
        for client in clients:
            client.sock.setblocking(False)

        def taken():
            before = sum(offsets)
            for i, client in enumerate(clients):
                try:
                    offsets[i] += client.sock.send(data[offsets[i]:offsets[i] + (1 << 20)])
                except (BlockingIOError, ConnectionError):
                    pass
            return sum(offsets) > before

        def stuck():
            moved = taken()
            return self.memory()["stopped"] > 0 and not moved and enough() or min(offsets) == len(data)
        eventually(stuck, "the server takes no more")


class Memory(Beside):
    FLAGS = ("--limits-memory", "256m")

    def test_results_that_nobody_reads(self):
        data = b"".join(msgpack.packb([0, i, "decompress", [bomb()]]) for i in range(400))
        bad = [self.connect("mallory") for _ in range(8)]
        self.flood(bad, data)
        for _ in range(20):
            self.assertEqual(self.alice.call("echo", "beside"), "beside")
            self.assertEqual(len(self.alice.call("decompress", gzip.compress(b"x" * 100000))), 100000)
            memory = self.memory()
            self.assertLessEqual(memory["bytes"], LIMIT)
        self.assert_bounded()
        for client in bad:
            client.close()
        eventually(lambda: self.memory()["bytes"] < 1 << 20, "what the attackers made is given back")
        self.assertEqual(len(self.alice.call("decompress", bomb())), MESSAGE_MAX - 64)
        self.assert_bounded()

    def test_one_who_reads_gets_all_of_them(self):
        """He is stopped again and again, and no answer is lost or out of place."""
        client = self.connect("alice")
        count = 60
        data = b"".join(msgpack.packb([0, i, "decompress", [bomb()]]) for i in range(count))
        client.send_bytes(data)
        for i in range(count):
            self.assertEqual(len(client.result(i)), MESSAGE_MAX - 64)
            self.memory()
        self.assertEqual(self.memory()["refused"], 0)
        self.assert_bounded()

    def test_partial_messages_of_one_principal_leave_those_of_another(self):
        head = b"\x94\x00\x01\xa4echo\x91\xc6"
        part = head + (MESSAGE_MAX - 64).to_bytes(4, "big") + b"x" * (7 << 20)
        bad = []
        for _ in range(32):
            client = self.connect("mallory")
            bad.append(client)
            try:
                client.send_bytes(part)
            except (BrokenPipeError, ConnectionResetError):
                pass
        for _ in range(10):
            self.assertEqual(len(self.alice.call("echo", b"x" * (15 << 20))), 15 << 20)
            self.memory()
        self.assert_bounded()


MODULE = """
#include <ergon/handler.h>
#include <string.h>
#include <time.h>

/* Until it is cancelled. */
static void stay(struct ergon_task *task)
{
    struct timespec t = {.tv_nsec = 10000000};
    while (!ergon_cancelled(task))
        nanosleep(&t, NULL);
    ergon_result_nil(task);
}

/* stay, with the same bytes. */
static void relay(struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes value;
    struct ergon_outcome out;
    if (ergon_params_open(task, &r) != 1 || !ergon_read_any(&r, &value)) {
        ergon_fail(task, "BAD_PARAMS", "relay takes [value]");
        return;
    }
    uint8_t *params = ergon_alloc(task, value.len + 1);
    params[0] = 0x91;
    memcpy(params + 1, value.at, value.len);
    ergon_call(task, "stay", (struct ergon_bytes){params, value.len + 1}, &out);
    if (out.ok)
        ergon_result_nil(task);
    else
        ergon_fail(task, out.code, out.text);
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof *handlers, .kind = ERGON_BLOCKING, .name = "stay", .summary = "", .params = "[value]", .run = stay},
    {.size = sizeof *handlers, .kind = ERGON_BLOCKING, .name = "relay", .summary = "", .params = "[value]", .run = relay},
};

ERGON_MODULE(relay_module, "relay", "1.0")
{
    int failed = ergon_register(module, &handlers[0]);
    return failed ? failed : ergon_register(module, &handlers[1]);
}
"""


class Nested(unittest.TestCase):
    """What a handler's own calls hold is charged to whoever called the handler."""

    def test_calls_of_blocking_handlers(self):
        folder = scratch(self.addCleanup)
        built = build_handlers(folder, "relay", MODULE)
        server = Server("--tokens", write_tokens(folder, RIGHTS), "--module", built, "--limits-memory", "256m")
        self.addCleanup(server.discard)
        alice, mallory = server.connect(), server.connect()
        for client, who in ((alice, "alice"), (mallory, "mallory")):
            self.addCleanup(client.close)
            client.call("server.auth", token_of(who))

        def held():
            rows = alice.call("connection.list", {"principal": "token:mallory"})["connections"]
            return rows[0]["principal_bytes"] if rows else 0

        size = 4 << 20
        mallory.send("relay", b"x" * size)
        eventually(lambda: held() >= 2 * size, "both hold the parameters")
        self.assertLess(held(), 3 * size)
        self.assertEqual(alice.call("connection.kill", {"principal": "token:mallory"})["killed"], 1)
        eventually(lambda: alice.call("server.info")["memory"]["bytes"] < size, "all is given back")
        self.assertEqual(alice.call("echo", 1), 1)


class OfOne(Beside):
    """What one connection holds, and one principal by all of its connections, has a limit each, as they are configured."""
    FLAGS = ("--limits-memory", "64m", "--limits-principal-memory", "6m", "--limits-connection-memory", "2m")
    PIECE = 64 << 10  # of a call
    BATCH = 2 << 20  # of all loops in one round, which is allowed beside a limit

    def test_what_is_not_read_stays_below_both(self):
        memory = self.memory()
        self.assertEqual([memory[k] for k in ("limit", "principal_limit", "connection_limit")], [64 << 20, 6 << 20, 2 << 20])
        data = b"".join(msgpack.packb([0, i, "echo", [b"x" * self.PIECE]]) for i in range(800))

        def look():
            return self.alice.call("connection.list", {"principal": "token:mallory"})["connections"]
        self.flood([self.connect("mallory") for _ in range(8)], data, enough=lambda: look()[0]["principal_bytes"] > 4 << 20)
        rows = look()
        self.assertEqual(len(rows), 8)
        self.assertLessEqual(max(row["bytes"] for row in rows), (2 << 20) + self.BATCH)
        self.assertLessEqual(rows[0]["principal_bytes"], (6 << 20) + self.BATCH)


if __name__ == "__main__":
    unittest.main()
