#!/usr/bin/python3
"""Tasks that submit tasks, read results and keep checkpoints, under kill -9 of the server and of the workers.

A client submits roots by their keys, and a reader behind each, until it is answered. A worker's attempt at a root keeps a checkpoint,
adds two tasks to its end, one of which adds another to its own, and now and then fails, dies, or takes its time. In the end each task is
there once and done, each reader has read the result of its root, and the audit balances. ERGON_KILLS says how often the server is
killed, ERGON_ROOTS how many roots there are, ERGON_SEED which random numbers."""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

import msgpack

from harness import LIMIT, KeptTest, RemoteError, Server

KILLS = int(os.environ.get("ERGON_KILLS", "3"))
ROOTS = int(os.environ.get("ERGON_ROOTS", "60"))
SEED = int(os.environ.get("ERGON_SEED", "4711"))
WORKERS = 2
POLICY = {"retries": 100000, "backoff": "5ms", "backoff_max": "50ms", "timeout": "2s", "keep": "1d", "durable": "fsync"}


def connect(url):
    """None: the server is away."""
    try:
        return Server.connect(None, url)
    except OSError:
        return None


# ---- a worker, which is killed ----


def work(client, rng, request):
    _, number, method, (n, *rest, context) = request
    found = context.get("checkpoint")
    if found is not None and found != ["of", n]:
        raise AssertionError(f"root {n} has the checkpoint {found}")
    luck = rng.random()
    client.notify("worker.checkpoint", number, ["of", n])
    if luck < 0.1:
        return [1, number, "FLAKY: not today", None]
    if luck < 0.15:
        os.kill(os.getpid(), signal.SIGKILL)
    if luck < 0.2:
        time.sleep(rng.random() * 0.2)
    if method == "c.reader":
        return [1, number, None, rest]
    children = {"c.root": [["c.left", [n], POLICY], ["echo", [n, "right"], POLICY]], "c.left": [["echo", [n, "leaf"], POLICY]]}[method]
    client.notify("worker.submit", number, {"task": children})
    return [1, number, None, ["result", n]]


def serve(client, rng):
    asked = client.send("worker.register", ["c.root", "c.left", "c.reader"], {"slots": 4, "context": True})
    while (message := client.receive()) is not None:
        if message[0] == 0:
            client.send_bytes(msgpack.packb(work(client, rng, message)))
        elif message[0] == 1 and message[1] == asked and message[2] is not None:
            raise RemoteError(message[2])


def run_worker(url, seed):
    rng = random.Random(seed)
    while True:
        client = connect(url)
        try:
            if client is not None:
                serve(client, rng)
        except OSError:
            pass
        time.sleep(0.01)


# ---- the client ----


class Killed(KeptTest):
    roles = "{name: all, members: ['unix:*'], methods: ['*', task.any, 'worker.offer.*']}"

    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.start()
        self.workers = {}
        self.roots, self.readers = {}, {}
        self.client = connect(self.url)
        self.addCleanup(lambda: self.client.close())
        self.addCleanup(self.end_workers)

    def keep_workers(self):
        for n in range(WORKERS):
            process = self.workers.get(n)
            if process is None or process.poll() is not None:
                if process is not None:
                    self.assertEqual(process.returncode, -signal.SIGKILL, "a worker found something wrong")
                arguments = [sys.executable, os.path.abspath(__file__), "worker", self.url, str(self.rng.randrange(1 << 30))]
                self.workers[n] = subprocess.Popen(arguments)

    def end_workers(self):
        for process in self.workers.values():
            process.kill()
            process.wait()

    def ask(self, *call):
        """None: it was not answered."""
        try:
            return self.client.call(*call)
        except (OSError, ConnectionError):
            self.client.close()
            self.client = connect(self.url) or self.client
            return None
        except RemoteError as error:
            if error.code != "NO_METHOD":  # no worker has come so far, or that is not on disk
                raise
            return None

    def submit_some(self):
        self.keep_workers()
        for n in [n for n in range(ROOTS) if n not in self.readers][:10]:
            if n not in self.roots and (answer := self.ask("task.submit", "c.root", [n], {**POLICY, "key": f"root {n}"})):
                self.roots[n] = answer["id"]
            if n in self.roots and n not in self.readers:
                options = {**POLICY, "key": f"reader {n}", "after": self.roots[n]}
                if answer := self.ask("task.submit", "c.reader", [n, {"$result": self.roots[n]}], options):
                    self.readers[n] = answer["id"]

    def kill_server(self):
        self.crash()
        self.client.close()
        self.client = connect(self.url)

    def tasks(self):
        found, cursor = [], None
        while True:
            page = self.client.call("task.list", {"limit": 1000, "cursor": cursor} if cursor else {"limit": 1000})
            found += page["tasks"]
            if (cursor := page["next"]) is None:
                return found

    def await_the_end(self):
        """As long as something ends."""
        done, last = -1, time.monotonic()
        while done < 5 * ROOTS:
            self.keep_workers()
            now = sum(task["state"] == "done" for task in self.tasks())
            if now != done:
                done, last = now, time.monotonic()
            elif time.monotonic() - last > LIMIT:
                self.fail(f"{done} of {5 * ROOTS} are done, and no other ends: {self.tasks()[-3:]}")
            time.sleep(0.1)

    def test_each_is_there_once(self):
        for _ in range(KILLS):
            end = time.monotonic() + 0.02 + self.rng.random() * 0.3
            while time.monotonic() < end:
                self.submit_some()
            self.kill_server()
        while len(self.readers) < ROOTS:
            self.submit_some()
        self.await_the_end()
        seen = {}
        for task in self.tasks():
            params = self.client.call("task.get", task["id"], {"params": True})["params"]
            key = task["method"], params[0], params[1] if task["method"] == "echo" else None
            seen[key] = seen.get(key, 0) + 1
        wanted = [(m, n, None) for m in ("c.root", "c.left", "c.reader") for n in range(ROOTS)] + [("echo", n, w) for w in ("right", "leaf") for n in range(ROOTS)]
        self.assertEqual(seen, {key: 1 for key in wanted})
        for n, task in self.readers.items():
            self.assertEqual(self.client.call("task.get", task)["result"], [["result", n]])
        self.assertTrue(self.client.call("server.audit")["balanced"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        run_worker(sys.argv[2], int(sys.argv[3]))
    unittest.main()
