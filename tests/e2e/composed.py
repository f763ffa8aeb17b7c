"""What a composition of tasks is proved by, on one server (compose_killed_test.py) or on a cluster (tests/cluster/compose.py).

A client submits *roots* by their keys, and a *reader* behind each, until it is answered. A worker's attempt at a root keeps a
checkpoint, adds two tasks to its end, one of which adds another to its own, and now and then fails, dies, or takes its time.

Beside these the client makes *trees* of batches: three, each a member of the one before, and each with its three callbacks. It
adds members by keys, one of which adds another member with its end, some without a key, which are forgotten as they end, and in
each third batch one that fails; then it closes the batch. One of four trees is cancelled. A batch that was made and not
acknowledged is closed."""
import json
import os
import random
import signal
import subprocess
import sys
import time

import msgpack

from harness import LIMIT, RemoteError, Server

WORKERS = 2
LEVELS = 3
CALLS = ("on_success", "on_failure", "on_end")
ENDS = ("done", "failed", "cancelled", "expired", "dead")
POLICY = {"retries": 100000, "backoff": "5ms", "backoff_max": "50ms", "timeout": "2s", "keep": "1d", "durable": "fsync"}
CHILDREN = {"c.root": [("c.left", "left"), ("echo", "right")], "c.left": [("echo", "leaf")], "c.reader": [], "c.plain": []}
# Of a request that got no answer, or one that does not say whether it was done.
LOST = ("NO_METHOD", "UNSURE", "STORE", "DRAINING", "BUSY")


def connect(url):
    """None: the server is away."""
    try:
        return Server.connect(None, url)
    except OSError:
        return None


# ---- a worker, which is killed ----


def attempt(client, rng, number, method, params):
    """What it answers."""
    n, *rest, context = params
    found = context.get("checkpoint")
    if found is not None and found != ["of", n]:
        raise AssertionError(f"{method} {n} has the checkpoint {found}")
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
    if method == "c.grows":
        children = [["c.plain", [n, *rest, "grown"], {**POLICY, "batch": rest[-1]}]]
    else:
        children = [[child, [n, name], POLICY] for child, name in CHILDREN[method]]
    if children:
        client.notify("worker.submit", number, {"task": children})
    return [1, number, None, ["result", n]]


def work(client, rng, message):
    _, number, method, params = message
    if method == "c.fails":
        return [1, number, "FLAKY: never", None]
    return attempt(client, rng, number, method, params)


def serve(client, rng):
    asked = client.send("worker.register", [*CHILDREN, "c.grows", "c.fails"], {"slots": 4, "context": True})
    while (message := client.receive()) is not None:
        if message[0] == 0:
            client.send_bytes(msgpack.packb(work(client, rng, message)))
        elif message[0] == 1 and message[1] == asked and message[2] is not None:
            raise RemoteError(message[2])


def run_worker(urls, seed):
    rng, parent = random.Random(seed), os.getppid()
    while os.getppid() == parent:
        client = connect(rng.choice(urls))
        try:
            if client is not None:
                serve(client, rng)
        except OSError:
            pass
        except RemoteError as error:
            if error.code not in LOST:
                raise
        time.sleep(0.01)


class Workers:
    """They are started again when they were killed."""

    def __init__(self, urls, rng):
        self.urls, self.rng, self.processes = urls, rng, {}

    def keep(self):
        for n in range(WORKERS):
            process = self.processes.get(n)
            if process is None or process.poll() is not None:
                assert process is None or process.returncode == -signal.SIGKILL, "a worker found something wrong"
                arguments = [sys.executable, os.path.abspath(__file__), str(self.rng.randrange(1 << 30)), *self.urls]
                self.processes[n] = subprocess.Popen(arguments)

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()


# ---- the client ----


class Batch:
    """One that is to be, as the client knows it."""

    # Requests that add members: (method, is it kept).
    ADDS = ((("c.plain", True), ("c.grows", True)), (("c.plain", True), ("echo", False)), (("echo", False), ("c.grows", True)))

    def __init__(self, number, parent):
        self.number, self.parent, self.child = number, parent, None
        self.tree, self.level = divmod(number, LEVELS)
        self.id, self.tag = None, None
        self.adds, self.members, self.asked = 0, 0, 0  # requests that were answered; members that were, and that may be there
        self.closed = self.refused = self.cancelled = False
        self.ended = None  # how it was when it had ended
        if parent is not None:
            parent.child = self

    def in_cancelled(self):
        return self.cancelled or (self.parent is not None and self.parent.in_cancelled())

    def cancels(self):
        """Is it the one of its tree that is cancelled?"""
        return self.tree % 4 == 3 and self.level == self.tree // 4 % LEVELS

    def is_made(self):
        return self.closed or self.refused

    def specs(self):
        for place, (method, kept) in enumerate(self.ADDS[self.adds]):
            if method == "c.plain" and self.number % 3 == 1:
                method = "c.fails"
            options = {**POLICY, "batch": self.id, "retries": 0 if method == "c.fails" else POLICY["retries"]}
            options.update({"key": f"member {self.number} {self.adds} {place}"} if kept else {"keep": 0})
            yield [method, [self.number, self.adds, place, self.id], options]


class Composition:
    def __init__(self, urls, rng, roots, trees):
        self.urls, self.rng, self.count = urls, rng, roots
        self.workers = Workers(urls, rng)
        self.part = 1  # of the roots and trees that may begin
        self.roots, self.readers = {}, {}
        self.batches, self.tags, self.unknown = [], 0, 0
        for number in range(trees * LEVELS):
            self.batches.append(Batch(number, self.batches[-1] if number % LEVELS else None))
        self.client = None

    def end(self):
        self.workers.end()
        self.leave()

    def leave(self):
        if self.client is not None:
            self.client.close()
        self.client = None

    def ask(self, *call):
        """None: it was not answered, or not for sure."""
        try:
            self.client = self.client or connect(self.rng.choice(self.urls))
            if self.client is not None:
                return self.client.call(*call)
            time.sleep(0.01)
        except (OSError, ConnectionError):
            self.leave()
        except RemoteError as error:
            if error.code not in LOST:  # no worker has come so far, or that is not on disk
                raise
        return None

    def must(self, *call):
        """Until it is answered."""
        end = time.monotonic() + LIMIT
        while (answer := self.ask(*call)) is None:
            assert time.monotonic() < end, f"{call} is not answered"
            time.sleep(0.01)
        return answer

    # Roots and readers.

    def submit_roots(self):
        for n in [n for n in range(round(self.count * self.part)) if n not in self.readers][:10]:
            if n not in self.roots and (answer := self.ask("task.submit", "c.root", [n], {**POLICY, "key": f"root {n}"})):
                self.roots[n] = answer["id"]
            if n in self.roots:
                options = {**POLICY, "key": f"reader {n}", "after": self.roots[n]}
                if answer := self.ask("task.submit", "c.reader", [n, {"$result": self.roots[n]}], options):
                    self.readers[n] = answer["id"]

    # Batches.

    def create(self, batch):
        self.tags += 1
        batch.tag = self.tags
        options = {name: ["echo", [batch.tag, name], {"keep": "1d"}] for name in CALLS}
        options.update({"durable": "fsync", "keep": "1d", **({"parent": batch.parent.id} if batch.parent else {})})
        if answer := self.ask("batch.create", options):
            batch.id = answer["id"]

    def add(self, batch):
        specs = list(batch.specs())
        # What has no key may be there twice.
        keyed = sum("key" in options for _, _, options in specs)
        batch.asked += len(specs) - keyed
        answers = self.ask("batch.add", batch.id, specs, {"durable": "fsync"})
        if answers is None:
            return
        errors = [answer["error"] for answer in answers if "error" in answer]
        refused = [error for error in errors if error.split(":")[0] not in LOST]
        assert not refused or batch.in_cancelled(), refused
        batch.refused |= bool(refused)
        batch.members += sum("error" not in answer for answer, (_, _, options) in zip(answers, specs) if "key" not in options)
        batch.adds += not errors

    def change(self, batch, how):
        batch.cancelled |= how == "batch.cancel"
        if self.ask(how, batch.id) is not None:
            batch.closed = True

    def step(self, batch):
        """The next thing that is to be done of it."""
        try:
            if batch.id is None:
                self.create(batch)
            elif batch.cancels() and batch.adds > 0 and not batch.cancelled:
                self.change(batch, "batch.cancel")
            elif batch.adds < len(batch.ADDS) and not batch.refused:
                self.add(batch)
            elif batch.child is None or batch.child.id or batch.child.refused:
                self.change(batch, "batch.cancel" if batch.cancelled else "batch.close")
        except RemoteError as error:
            # One that was cancelled takes no members.
            assert error.code == "BAD_PARAMS" and batch.in_cancelled(), error
            batch.refused = True
            if batch.id is None:
                while (batch := batch.child) is not None:
                    batch.refused = True

    def make_batches(self):
        """A step of some."""
        begun = self.batches[:round(len(self.batches) * self.part)]
        able = [b for b in begun if not b.is_made() and (b.parent is None or b.parent.id)][:6]
        for batch in able:
            if self.rng.random() < 0.5:
                self.step(batch)

    def close_unknown(self):
        """A batch that nobody knows would keep its parent open for ever."""
        known = {b.id for b in self.batches}
        page = self.ask("batch.list", {"state": "open", "limit": 1000})
        for found in page["batches"] if page else []:
            if found["id"] not in known:
                self.unknown += self.ask("batch.close", found["id"]) is not None

    def go_on(self):
        self.workers.keep()
        self.submit_roots()
        self.make_batches()
        if self.rng.random() < 0.1:
            self.close_unknown()

    def is_made(self):
        return len(self.readers) == self.count and all(b.is_made() for b in self.batches)

    # What is looked at.

    def look_at(self, batch):
        """How it is, as far as it may be."""
        found = self.must("batch.get", batch.id)
        total = found["open"] + sum(found[end] for end in ENDS)
        assert found["total"] == total, found
        assert not batch.closed or found["state"] != "open", f"its close was answered: {found}"
        if batch.ended is not None:
            assert found == batch.ended, f"it has ended as {batch.ended}, and is {found}"
        elif found["state"] == "ended":
            assert found["open"] == 0, found
            batch.ended = found
        return found

    def look(self):
        """Each batch that was acknowledged is there, and the audit balances."""
        for batch in self.batches:
            if batch.id is not None:
                self.look_at(batch)
        audit = self.must("server.audit")
        assert audit["balanced"], audit

    def tasks(self, **conditions):
        found, cursor = [], None
        while True:
            page = self.must("task.list", {"limit": 1000, **conditions, **({"cursor": cursor} if cursor else {})})
            found += page["tasks"]
            if (cursor := page["next"]) is None:
                return found

    def open_tasks(self):
        return [task for state in ("queued", "running", "waiting", "delayed") for task in self.tasks(state=state)]

    def await_the_end(self):
        """As long as something ends."""
        least, last = None, time.monotonic()
        while True:
            self.workers.keep()
            self.close_unknown()
            tasks = self.open_tasks()
            batches = [found for b in self.batches if b.id and (found := self.look_at(b))["state"] != "ended"]
            left = len(tasks) + len(batches)
            if left == 0:
                return
            if least is None or left < least:
                least, last = left, time.monotonic()
            assert time.monotonic() - last < LIMIT, f"{left} are open, and no other ends: {tasks[-3:]}, {batches[-3:]}"
            time.sleep(0.1)

    # In the end.

    def expected(self):
        """The tasks that are kept, but for callbacks and members: each once."""
        roots = [(method, (n, *name)) for n in range(self.count)
                 for method, name in (("c.root", ()), ("c.left", ("left",)), ("echo", ("right",)), ("echo", ("leaf",)))]
        return {key: 1 for key in roots}

    def check_calls(self, batch, seen):
        outcome = batch.ended["outcome"]
        counts = [seen.pop(("echo", (batch.tag, name)), 0) for name in CALLS]
        due = [outcome == "done", outcome == "failed", True]
        assert counts[0] == due[0] and counts[2] == 1, f"{outcome}, and callbacks came {counts} times: {batch.ended}"
        # The first failure may have come before a cancel.
        assert counts[1] == due[1] or (outcome == "cancelled" and counts[1] == 1), f"{outcome}, {counts}: {batch.ended}"

    def check_members(self, batch, seen, children):
        """Each is there once, and what it adds once if it is done; all are counted, with those that were forgotten."""
        there = children
        for adds in range(len(batch.ADDS)):
            for place, (method, kept) in enumerate(batch.ADDS[adds]):
                if not kept:
                    continue
                states = seen.pop(("member", (batch.number, adds, place)), [])
                grown = seen.pop(("member", (batch.number, adds, place, "grown")), [])
                assert len(states) == 1 or (len(states) == 0 and adds >= batch.adds), f"a member of {batch.ended}: {states}"
                assert len(grown) == (method == "c.grows" and states == ["done"]), f"{states}, and added {grown}"
                there += len(states) + len(grown)
        gone = batch.ended["total"] - there
        assert batch.members <= gone <= batch.asked, f"{gone} of {batch.members} to {batch.asked} were forgotten: {batch.ended}"

    def check(self):
        """All has ended: each is there once."""
        seen, children = {}, {}
        for task in self.tasks(params_text=True):
            if task["method"] == "c.reader":
                continue
            params = json.loads(task["params_text"])
            if "batch" in task:
                key = "member", tuple(part for place, part in enumerate(params) if place != 3)
                seen.setdefault(key, []).append(task["state"])
            else:
                key = task["method"], tuple(params)
                seen[key] = seen.get(key, 0) + 1
        for found in self.listed_batches():
            children[found["parent"]] = children.get(found["parent"], 0) + 1
        for batch in self.batches:
            if batch.id:
                self.check_members(batch, seen, children.get(batch.id, 0))
                self.check_calls(batch, seen)
        # Callbacks of batches that nobody knew.
        unknown = {key: count for key, count in seen.items() if key[0] == "echo" and key[1][1] in CALLS}
        assert set(unknown.values()) <= {1}, unknown
        rest = {key: count for key, count in seen.items() if key not in unknown}
        assert rest == self.expected(), f"not each is there once: {set(rest.items()) ^ set(self.expected().items())}"
        for n, task in self.readers.items():
            result = self.must("task.get", task)["result"]
            assert result == [["result", n]], f"reader {n} has {result}"
        self.look()

    def listed_batches(self):
        found, cursor = [], None
        while True:
            page = self.must("batch.list", {"limit": 1000, **({"cursor": cursor} if cursor else {})})
            found += page["batches"]
            if (cursor := page["next"]) is None:
                return found

    def summary(self):
        ended = {}
        for batch in self.batches:
            outcome = batch.ended["outcome"] if batch.ended else "never made"
            ended[outcome] = ended.get(outcome, 0) + 1
        return f"{len(self.readers)} roots with a reader each; batches: {ended}, and {self.unknown} of which nobody knew"


if __name__ == "__main__":
    run_worker(sys.argv[2:], int(sys.argv[1]))
