"""Rubbish from workers: whatever they say, only their own tasks, and turns of their own actors, are harmed.  Each run follows from its seed, but for the order in which
threads come to their turns."""
import os
import random
import threading
import time
import unittest

import msgpack

from bare_worker import Worker
from harness import RemoteError, Server, eventually, scratch

SEEDS = [int(s) for s in os.environ.get("ERGON_SEEDS", "1,2,3").split(",")]
CALLS = 100
ACTS = 15  # of a worker that nothing has ended before
MESSAGE_MAX = 1 << 20


class Bad(threading.Thread):
    """One worker after another, each of which ends by what it says."""

    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.server, self.rng, self.over, self.held, self.lives = server, random.Random(seed), False, [], 0
        self.worker = None
        self.start()

    def run(self):
        while not self.over:
            try:
                self.worker = self.register()
            except (OSError, RemoteError):
                continue
            self.lives, self.held = self.lives + 1, []
            try:
                for _ in range(ACTS):
                    self.act(*self.worker.take())
            except (OSError, ValueError, AssertionError, RemoteError, msgpack.UnpackException):
                pass
            self.worker.close()

    def register(self):
        return Worker(self.server, "t.bad", slots=self.rng.choice((1, 2, 8)), context=self.rng.random() < 0.5)

    def end(self):
        """Ends its connection, whichever it has by now.  True: the thread has ended."""
        try:
            self.worker.sock.shutdown(2)
        except OSError:
            pass
        self.join(0.05)
        return not self.is_alive()

    def stop(self):
        self.over = True
        eventually(self.end, "it ends")

    def value(self, depth=0):
        rng = self.rng
        leaves = (None, True, -1, 1 << 63, 1.5, "text", b"bytes", "x" * 300, b"y" * 70000)
        if depth > 3 or rng.random() < 0.6:
            return rng.choice(leaves)
        if rng.random() < 0.5:
            return [self.value(depth + 1) for _ in range(rng.randrange(4))]
        return {rng.choice(("code", "message", "a", 1)): self.value(depth + 1) for _ in range(rng.randrange(4))}

    def mutated(self, data):
        data = bytearray(data)
        for _ in range(self.rng.randrange(1, 4)):
            data[self.rng.randrange(min(len(data), 64))] = self.rng.randrange(256)
        return bytes(data)

    def act(self, number, method, params):
        rng, worker = self.rng, self.worker
        actions = {
            "well": lambda: worker.answer(number, self.value()), "error": lambda: worker.fail(number, self.value()),
            "both": lambda: worker.respond(number, self.value(), self.value()),
            "twice": lambda: (worker.answer(number, 1), worker.answer(number, 2)), "never": lambda: None,
            "later": lambda: self.held.append(number), "again": lambda: worker.fail(number, rng.choice(("AGAIN: 1ms", "AGAIN: 0", "AGAIN: x", "AGAIN"))),
            "strange": lambda: (worker.answer(rng.randrange(1 << 33), 1), worker.answer(number, 1)),
            "odd": lambda: worker.send_bytes(msgpack.packb([1, rng.choice((-1, "id", None, 1.0 * number, [number])), None, 1])),
            "mutated": lambda: worker.send_bytes(self.mutated(msgpack.packb([1, number, self.value(), self.value()]))),
            "large": lambda: worker.answer(number, b"x" * rng.choice((MESSAGE_MAX - 20, MESSAGE_MAX + 1, 2 * MESSAGE_MAX))),
            "deep": lambda: worker.send_bytes(msgpack.packb([1, number, None])[:-1] + b"\xc0" + b"\x91" * rng.choice((20, 40, 4000)) + b"\xc0"),
            "half": lambda: (worker.send_bytes(msgpack.packb([1, number, None, "x" * 1000])[:rng.randrange(1, 1000)]), worker.reset()),
            "bytes": lambda: worker.send_bytes(rng.randbytes(rng.randrange(1, 2000))),
            "say": lambda: worker.notify(rng.choice(("worker.progress", "worker.partial", "worker.cancel", "worker.quiet", "worker.resume",
                                                     "worker.register", "no.such")), *[rng.choice((number, 1, self.value())) for _ in range(rng.randrange(5))]),
            "ask": lambda: worker.send(rng.choice(("worker.register", "worker.quiet", "worker.resume", "worker.list", "t.bad", "t.good")),
                                       *[self.value() for _ in range(rng.randrange(3))]),
            "fin": lambda: worker.sock.shutdown(1), "reset": worker.reset,
        }
        heavy = ["well"] * 8 + ["later"] * 4
        actions[rng.choice(heavy + list(actions))]()
        if len(self.held) > 3:
            rng.shuffle(self.held)
            while self.held:
                worker.answer(self.held.pop(), self.value())


def turn(method, *params):
    """Counts in the state; a turn of `bad` tells `good/told`."""
    count = (params[-1]["state"] or 0) + 1
    return [count, {"state": count} | ({"tell": [["good/told", "add"]]} if method == "bad.add" else {})]


TIMEOUT = 0.25  # s, of a turn of `bad`


class BadHost(Bad):
    """What it says well of its actors counts them, once for each message; all else is to change nothing."""

    def register(self):
        return Worker(self.server, "bad.add", slots=self.rng.choice((1, 2, 8)), context=True,
                      actors={"bad": {"timeout": int(TIMEOUT * 1000), "intensity": 0, "durable": "fsync"}})

    def act(self, number, method, params):
        rng, worker = self.rng, self.worker
        result, changes = turn(method, *params)
        wrong = {"state": 10**9, "tell": [["good/told", "add"]]}  # were it taken
        actions = {
            "well": lambda: worker.answer(number, [result, changes]), "nothing": lambda: worker.answer(number, [result, None]),
            "twice": lambda: (worker.answer(number, [result, changes]), worker.answer(number, [result, wrong])),
            "late": lambda: (time.sleep(2 * TIMEOUT), worker.answer(number, [result, wrong])),
            "unknown": lambda: worker.answer(number, [result, wrong | {"stale": 1}]), "more": lambda: worker.answer(number, [result, wrong, 1]),
            "denied": lambda: worker.answer(number, [result, wrong | {"tell": [["good/told", "add", [], {"tenant": "other"}]]}]),
            "large": lambda: worker.answer(number, [result, wrong | {"state": "x" * rng.choice((70000, MESSAGE_MAX - 30, MESSAGE_MAX + 1))}]),
            "cut": lambda: (worker.send_bytes(msgpack.packb([1, number, None, [result, wrong]])[:-rng.randrange(1, 20)]), worker.reset()),
            "strange": lambda: worker.answer(number + rng.choice((-1, 1, 1 << 20)), [result, wrong | {"stale": 1}]),
            "turn": lambda: worker.send("actor.tell", "good/told", "add", [], {"turn": rng.choice((0, number + 1000, "x"))}),
        }
        if rng.random() < 0.5:
            actions[rng.choice(["well"] * 8 + list(actions))]()
        else:
            super().act(number, method, params)


class Rubbish(unittest.TestCase):
    def good(self, server, over):
        worker = Worker(server, "t.good", slots=4)

        def serve():
            try:
                while True:
                    worker.serve(lambda method, *params: ["good", *params[:1]])
            except (OSError, ValueError):
                if not over:
                    raise
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        return worker, thread

    def ended(self, client, msgid):
        try:
            return client.result(msgid)
        except RemoteError as error:
            return error

    def play(self, seed):
        over = []
        with Server("--limits-message", "1m", "--limits-penalty", "off") as server:
            worker, thread = self.good(server, over)
            bad = [Bad(server, seed * 100 + i) for i in range(3)]
            rng = random.Random(seed)
            with server.connect() as client, server.connect() as other:
                eventually(lambda: all(b.lives > 0 for b in bad), "all have begun")
                tasks = [other.call("task.submit", "t.bad", [i], {"retries": 5, "backoff": "1ms", "timeout": "250ms", "deadline": "5s"})["id"] for i in range(20)]
                for first in range(0, CALLS, 10):
                    wild = [other.send("task.call", "t.bad", [i, "x" * rng.choice((1, 1000, 200000))], {"deadline": "250ms"}) for i in range(first, first + 10)]
                    tame = [client.send("t.good", i) for i in range(first, first + 10)]
                    self.assertEqual([self.ended(client, c) for c in tame], [["good", i] for i in range(first, first + 10)])
                    for call in wild:
                        self.ended(other, call)
                for b in bad:
                    b.stop()
                self.assertEqual(client.call("t.good", "still"), ["good", "still"])
                shown = client.call("task.wait", tasks, {"timeout": "60s", "result": False})
                self.assertEqual(shown["open"], [])
                audit = client.call("server.audit")
                self.assertTrue(audit["balanced"] is not False, audit)
            over.append(True)
            worker.sock.shutdown(2)
            thread.join()
            worker.close()
            self.assertEqual(server.stop(), 0, server.log_text()[-2000:])

    def host(self, server, *methods):
        worker = Worker(server, *methods, slots=8, context=True, actors={m.split(".")[0]: {} for m in methods})
        self.addCleanup(worker.close)

        def serve():
            try:
                while True:
                    worker.serve(turn)
            except (OSError, ValueError):
                pass  # the server ends before
        threading.Thread(target=serve, daemon=True).start()

    def play_with_actors(self, seed):
        with Server("--limits-message", "1m", "--limits-penalty", "off", "--store", os.path.join(scratch(self.addCleanup), "tasks.db")) as server:
            self.host(server, "good.add")
            bad = [BadHost(server, seed * 100 + i) for i in range(3)]
            with server.connect() as client, server.connect() as other:
                eventually(lambda: all(b.lives > 0 for b in bad), "all have begun")
                told = []
                for first in range(0, CALLS, 10):
                    wild = [other.send("actor.call", f"bad/{i % 4}", "add", [], {"deadline": "250ms"}) for i in range(first, first + 10)]
                    told += [other.call("actor.tell", f"bad/{i}", "add", [], {"retries": 5, "backoff": "1ms", "keep": "1h"})["id"] for i in range(4)]
                    tame = [client.send("actor.call", "good/called", "add") for _ in range(10)]
                    self.assertEqual([self.ended(client, c) for c in tame], list(range(first + 1, first + 11)))
                    for call in wild:
                        self.ended(other, call)
                for b in bad:
                    b.stop()
                self.host(server, "bad.add")
                self.assertEqual(client.call("task.wait", told, {"timeout": "60s", "result": False})["open"], [])
                shown = [client.call("actor.get", f"bad/{i}", {"state": True}) for i in range(4)]
                counts = [s["version"] for s in shown]
                self.assertEqual([s["state"] for s in shown], [n or None for n in counts])
                self.assertGreater(sum(counts), 0)
                get = lambda: client.call("actor.get", "good/told", {"state": True})["state"]  # noqa: E731
                eventually(lambda: get() >= sum(counts), "each turn's message has come")
                self.assertEqual((get(), client.call("actor.get", "good/told")["waiting"]), (sum(counts), 0))
                audit = client.call("server.audit")
                self.assertTrue(audit["balanced"] is not False, audit)
            self.assertEqual(server.stop(), 0, server.log_text()[-2000:])

    def test_only_turns_of_its_own_actors_are_harmed(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.play_with_actors(seed)

    def test_only_its_own_tasks_are_harmed(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.play(seed)


if __name__ == "__main__":
    unittest.main()
