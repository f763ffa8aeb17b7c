"""The load of prove.py: threads, each with a connection to one node, which write down what they see (checker.History)."""
import random
import threading
import time

import checker
import ergon_client

LIMIT, RATE, PERMITS = ("l", 3), ("r", 5, 5.0), 2
TOGETHER = 10  # tasks of a rate that one client submits before it waits for them
BURST, BURSTS = 5, 2.0  # tasks of one request, and seconds between two of them
DELAY = 50  # seconds: longer than it takes until another node owns the tasks, whatever is lost


class Client(threading.Thread):
    """Does step() until stop()."""

    def __init__(self, node, history, seed):
        super().__init__(daemon=True)
        self.node, self.history, self.random, self.over = node, history, random.Random(seed), threading.Event()
        self.client, self.number, self.pending = None, 0, None

    def run(self):
        while not self.over.is_set():
            try:
                self.client = self.client or ergon_client.Client(self.node.url, timeout=60).connect()
                self.step(self.client)
            except ConnectionError:
                self.leave()
                self.over.wait(0.1)
            except ergon_client.ErgonError:
                self.over.wait(0.05)
        self.leave()

    def leave(self):
        if self.client is not None:
            self.client.close()
            self.client = None

    def stop(self):
        self.over.set()

    def submit(self, client, method, *params, limit=None, rate=None, **options):
        """A task with a key of its own.  What was not answered is submitted again, as it was."""
        key, asked = f"{self.name}-{self.number}", time.monotonic()
        self.pending = self.pending or (method, params, limit, rate, options)
        method, params, limit, rate, options = self.pending
        wire = {**options, "limit": {"key": limit[0], "max": limit[1]} if limit else None,
                "rate": {"key": rate[0], "max": rate[1], "per": rate[2]} if rate else None}
        task = client.submit(method, *params, key=key, keep="1d", **{name: v for name, v in wire.items() if v is not None})
        self.history.acknowledge(task.id, key, options["durable"], asked, limit, rate)
        self.pending, self.number = None, self.number + 1
        return task

    def wait(self, task):
        try:
            task.wait(timeout=20)
            self.history.end(task.id, "done")
        except ergon_client.RemoteError as e:
            if isinstance(e.data, dict) and e.data.get("state") in checker.ENDED:
                self.history.end(task.id, e.data["state"])
            elif e.code == "NOT_FOUND":
                self.history.miss(task.id)


class Submits(Client):
    """A task after the other, of all kinds, for workers and for the handlers of the nodes.  It waits for every fourth."""

    def step(self, client):
        level = self.random.choice(["replicated", "replicated", "replicated", "fsync", "async", "none"])
        options = self.random.choice([
            {}, {}, {"limit": LIMIT}, {"delay": self.random.uniform(0, 3)}, {"priority": self.random.randrange(10)}])
        probe = "probe", (self.number, self.random.choice([0, 0, 0.05]))
        method, params = self.random.choice([probe] * 4 + [("block", ("20ms",))])
        task = self.submit(client, method, *params, durable=level, retries=3, backoff=0.1, **options)
        if self.number % 4 == 0:
            self.wait(task)


class Rated(Client):
    """As many at once as a rate does not let begin."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.open = []  # ids

    def step(self, client):
        while len(self.open) < TOGETHER and not self.over.is_set():
            self.open.append(self.submit(client, "probe", 1, 0, durable="replicated", rate=RATE).id)
        if self.open:
            self.wait(client.task(self.open[0]))
            del self.open[0]


class Delays(Client):
    """Several in one request, and so in one batch of the store.  Each begins later, whoever owns it then, and is known from when
    it was acknowledged."""

    orders, asked, last = None, 0.0, None

    def step(self, client):
        if self.last:
            self.look(client.task(self.last))
        if not self.orders:
            self.orders, self.asked = [self.order() for _ in range(BURST)], time.monotonic()
        answers = client.submit_many(self.orders, retries=3, backoff=0.1, keep="1d")
        left = []
        for order, answer in zip(self.orders, answers):
            if isinstance(answer, ergon_client.RemoteError):
                left.append(order)
            else:
                self.history.acknowledge(answer.id, order[2]["key"], order[2]["durable"], self.asked)
                self.last = answer.id
        self.orders = left
        self.over.wait(0.05 if left else BURSTS)

    def look(self, task):
        try:
            task.get(result=False)
        except ergon_client.RemoteError as e:
            if e.code != "NOT_FOUND":
                raise
            self.history.miss(task.id)

    def order(self):
        self.number += 1
        return "probe", (self.number, 0), {"key": f"{self.name}-{self.number}", "durable": self.random.choice(checker.DURABLE),
                                           "delay": self.random.uniform(0, DELAY)}


class Holds(Client):
    """A durable semaphore, again and again."""

    def step(self, client):
        asked = time.monotonic()
        hold = client.acquire("permit", of=PERMITS, wait=20, grace=1, durable="fsync")
        begun = time.monotonic()
        self.history.grant(asked, "permit", hold.fence)
        self.over.wait(self.random.choice([0, 0.01, 0.2]))
        asked = time.monotonic()
        if hold.lost is None and hold.release() is True:
            self.history.release("permit", begun, asked, PERMITS)


class Reads(Client):
    """Reads the feed from one event to the next."""

    after = None

    def step(self, client):
        options, asked = {"timeout": "1s"}, time.monotonic()
        if self.after is not None:
            options["after"] = self.after
        page = client.request("task.events", [options])
        events = [(event["seq"], event["event"], event["id"]) for event in page["events"]]
        self.history.read(self.name, asked, page["gap"], len(events) >= 100, events)
        self.after = page["next"]


class Works(Client):
    """A worker: each third task fails once."""

    def probe(self, context, number, length):
        self.history.begin(context.task, context.attempt, self.node.name)
        try:
            time.sleep(length)
            if number % 3 == 0 and context.attempt == 1:
                raise ValueError("the first attempt of a third fails")
            return number
        finally:
            self.history.finish(context.task, context.attempt)

    def tick(self, context):
        self.history.begin(context.task, context.attempt, self.node.name)

    def step(self, client):
        client.work({"probe": self.probe, "tick": self.tick}, slots=8, signals=False)

    def stop(self):
        super().stop()
        if self.client is not None:
            self.client.stop()


KINDS = ((Works, 1), (Submits, 2), (Holds, 1), (Rated, 1), (Delays, 1), (Reads, 1))


def of(nodes, history, seed):
    """Those of all nodes, not started."""
    clients = []
    for node in nodes:
        for kind, count in KINDS:
            for _ in range(count):
                client = kind(node, history, f"{seed} {node.name} {kind.__name__} {len(clients)}")
                client.name = f"{node.name}{len(clients)}"
                clients.append(client)
    return clients
