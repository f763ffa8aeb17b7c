"""What clients and workers of a cluster saw, and what of it breaks the promise of docs/cluster.md.

A History is written by threads of one process, so one clock orders it.  violations() reads it when all is over,
together with `tasks`: what task.get says then of each id.
"""
import collections
import threading
import time

ENDED = ("done", "failed", "cancelled", "expired", "dead")
LATE = 5.0  # seconds after a process that stood still goes on, in which it may send an attempt that it had looked at before
DURABLE = ("fsync", "replicated")  # an attempt of such a task begins with a number that outlives the owner


class History:
    def __init__(self):
        self.lock, self.acknowledged, self.begun, self.ended, self.granted = threading.Lock(), [], [], [], []
        self.stood_still = []

    def add(self, where, *what):
        with self.lock:
            where.append((time.monotonic(), *what))

    def acknowledge(self, id, key, durable):
        """A submission was answered."""
        self.add(self.acknowledged, id, key, durable)

    def begin(self, id, attempt, node):
        """A handler begins, of a worker at this node: the first thing that it does."""
        self.add(self.begun, id, attempt, node)

    def go_on(self, node):
        """The node's process goes on after SIGSTOP."""
        self.add(self.stood_still, node)

    def end(self, id, state):
        """A client was told that the task has ended."""
        self.add(self.ended, id, state)

    def grant(self, asked, semaphore, fence):
        """A permit was granted, which was asked for at `asked`."""
        self.add(self.granted, asked, semaphore, fence)


def of_submissions(history, tasks):
    ids = collections.defaultdict(set)
    keys = collections.defaultdict(set)
    for _, id, key, durable in history.acknowledged:
        ids[key].add(id)
        keys[id].add(key)
        if durable != "replicated":
            continue
        if id not in tasks:
            yield f"lost: {id} ({key}) was acknowledged, and is unknown"
        elif tasks[id]["state"] not in ENDED:
            yield f"open: {id} ({key}) is {tasks[id]['state']} long after the last fault"
    for key, several in ids.items():
        if len(several) > 1:
            yield f"key {key} has {len(several)} tasks: {sorted(several)}"
    for id, several in keys.items():
        if len(several) > 1:
            yield f"id {id} was given twice: to {sorted(several)}"


def is_late(history, at, node):
    """Nothing can exclude a stop between a node's look at its lease and the begin of the handler; the attempt's number protects
    there, since the end of such an attempt is refused."""
    return any(name == node and 0 <= at - went_on <= LATE for went_on, name in history.stood_still)


def of_attempts(history):
    level = {id: durable for _, id, _, durable in history.acknowledged}
    ended = {}
    for at, id, _ in history.ended:
        ended.setdefault(id, at)
    last, numbers = {}, set()
    for at, id, attempt, node in history.begun:
        if level.get(id) not in DURABLE:
            continue
        if (id, attempt) in numbers:
            yield f"attempt {attempt} of {id} began twice"
        numbers.add((id, attempt))
        if is_late(history, at, node):
            continue
        if attempt < last.get(id, 0):
            yield f"attempt {attempt} of {id} began after attempt {last[id]}"
        last[id] = max(attempt, last.get(id, 0))
        if at > ended.get(id, at):
            yield f"attempt {attempt} of {id} began {at - ended[id]:.3f} s after its end was told"


def of_fences(history):
    """A fence is higher than each that was granted before it was asked for."""
    by_name = collections.defaultdict(list)
    for at, asked, name, fence in history.granted:
        by_name[name].append((at, asked, fence))
    for name, grants in by_name.items():
        seen = set()
        for at, asked, fence in grants:
            before = [f for a, _, f in grants if a < asked]
            if before and fence <= max(before):
                yield f"fence {fence} of {name} was granted after {max(before)}"
            if fence in seen:
                yield f"fence {fence} of {name} was granted twice"
            seen.add(fence)


def of_crons(tasks):
    firings = collections.Counter(task["key"] for task in tasks.values() if (task.get("key") or "").startswith("cron "))
    for key, count in firings.items():
        if count > 1:
            yield f"{count} tasks for one firing: {key}"


def violations(history, tasks):
    """Texts; `tasks` is {id: {"state", "key", …}}."""
    yield from of_submissions(history, tasks)
    yield from of_attempts(history)
    yield from of_fences(history)
    yield from of_crons(tasks)
