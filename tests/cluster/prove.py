#!/usr/bin/python3
"""Three nodes and three PostgreSQL under Patroni and etcd, each on a machine of its own (network namespaces), under load and
faults drawn at random.  At the end the checker says what of the promise was broken.

    ERGON_SECONDS   how long faults are drawn; 600
    ERGON_SEED      of which random numbers; drawn, and printed
    ERGON_FAULTS    names of faults; all
    ERGON_LAX=1     the control: replication is asynchronous, and says that it is not; the checker has to find losses
"""
import logging
import os
import random
import signal
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("tests/cluster", "tests/e2e", "tests/support", "clients/python")]

import checker  # noqa: E402
import ending  # noqa: E402
import ergon_client  # noqa: E402
import nodes  # noqa: E402
import patroni  # noqa: E402

TTL = 8  # seconds of Patroni
STOPPED = 12  # seconds that a process stands still, or a cut lasts
RECOVERED = 180  # seconds after the last fault within which all must have ended


class Client(threading.Thread):
    """A thread with a connection to one node, which does step() until stop()."""

    def __init__(self, node, history, seed):
        super().__init__(daemon=True)
        self.node, self.history, self.random, self.over = node, history, random.Random(seed), threading.Event()
        self.client, self.number = None, 0

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


class Submits(Client):
    """A task after the other, of all kinds; those without an answer again with their key.  It waits for every fourth."""

    def step(self, client):
        n, key = self.number, f"{self.name}-{self.number}"
        options = {"durable": self.random.choice(["replicated", "replicated", "replicated", "fsync", "async", "none"])}
        options.update(self.random.choice([
            {}, {}, {"limit": {"key": "l", "max": 3}}, {"rate": {"key": "r", "max": 50, "per": "1s"}},
            {"delay": self.random.uniform(0, 3)}, {"priority": self.random.randrange(10)}]))
        self.pending = getattr(self, "pending", None) or options
        task = client.submit("probe", n, key=key, retries=3, backoff=0.1, keep="1d", **self.pending)
        self.history.acknowledge(task.id, key, self.pending["durable"])
        self.pending, self.number = None, n + 1
        if n % 4 == 0:
            try:
                task.wait(timeout=20)
                self.history.end(task.id, "done")
            except ergon_client.RemoteError as e:
                if isinstance(e.data, dict) and e.data.get("state") in checker.ENDED:
                    self.history.end(task.id, e.data["state"])


class Holds(Client):
    """A durable semaphore, again and again."""

    def step(self, client):
        asked = time.monotonic()
        hold = client.acquire("permit", of=2, wait=20, grace=1)
        self.history.grant(asked, "permit", hold.fence)
        hold.release()


class Works(Client):
    """A worker: each third task fails once."""

    def probe(self, context, number):
        self.history.begin(context.task, context.attempt, self.node.name)
        if number % 3 == 0 and context.attempt == 1:
            raise ValueError("the first attempt of a third fails")
        return number

    def tick(self, context):
        self.history.begin(context.task, context.attempt, self.node.name)

    def step(self, client):
        client.work({"probe": self.probe, "tick": self.tick}, slots=8, signals=False)

    def stop(self):
        super().stop()
        if self.client is not None:
            self.client.stop()


class Faults:
    """Each method whose name begins with a fault's name does it, lets it last, and ends it."""

    def __init__(self, engine, cluster, history, seed):
        self.engine, self.cluster, self.random, self.over = engine, cluster, random.Random(seed), threading.Event()
        self.network, self.history = engine.network, history

    def last(self, seconds=STOPPED):
        self.over.wait(seconds)

    def owner_and_front(self):
        owner = self.cluster.wait_owner()
        return owner, self.random.choice([node for node in self.cluster.nodes if node is not owner])

    def kill_owner(self):
        owner, _ = self.owner_and_front()
        owner.kill()
        self.last(self.random.choice([0, STOPPED]))
        owner.start()

    def kill_front(self):
        _, front = self.owner_and_front()
        front.kill()
        self.last(1)
        front.start()

    def stop_owner(self):
        owner, _ = self.owner_and_front()
        process = owner.server.process
        process.send_signal(signal.SIGSTOP)
        self.last()
        self.history.go_on(owner.name)
        process.send_signal(signal.SIGCONT)

    def drain(self):
        owner, _ = self.owner_and_front()
        with owner.connect() as client:
            client.call("cluster.drain")
        self.cluster.wait_owner(besides=[owner])

    def cut_owner(self):
        self.network.cut(self.owner_and_front()[0].machine)
        self.last()
        self.network.heal()

    def cut_owner_from_engine(self):
        owner, _ = self.owner_and_front()
        for member in self.engine.members:
            self.network.cut(owner.machine, member.machine)
        self.last()
        self.network.heal()

    def lose_what_the_engine_says(self):
        owner, _ = self.owner_and_front()
        for member in self.engine.members:
            self.network.lose(member.machine, owner.machine)
        self.last()
        self.network.heal()

    def lose_what_the_owner_says(self):
        owner, _ = self.owner_and_front()
        for member in self.engine.members:
            self.network.lose(owner.machine, member.machine)
        self.last()
        self.network.heal()

    def cut_owner_from_front(self):
        owner, front = self.owner_and_front()
        self.network.cut(owner.machine, front.machine)
        self.last()
        self.network.heal()

    def switchover(self):
        self.engine.switchover()

    def kill_postgres(self):
        self.engine.wait_primary().kill_postgres()

    def kill_primary(self):
        primary = self.engine.wait_primary()
        primary.kill()
        self.engine.wait_primary(besides=[primary])
        primary.start()

    def stop_primary(self):
        primary = self.engine.wait_primary()
        primary.freeze()
        self.last()
        primary.thaw()

    def cut_primary(self):
        primary = self.engine.wait_primary()
        self.engine.cut(primary)
        self.engine.wait_primary(besides=[primary])
        self.network.heal()

    def cut_primary_from_standbys(self):
        """The nodes still reach it, until Patroni deposes it: without strict mode it answers, and what it answered is lost."""
        primary = self.engine.wait_primary()
        for member in self.engine.members:
            if member is not primary:
                self.engine.cut(primary, member)
        self.engine.wait_primary(besides=[primary])
        self.network.heal()

    @classmethod
    def names(cls):
        others = ("last", "owner_and_front", "names", "draw")
        return [name for name in vars(cls) if not name.startswith("_") and name not in others]

    def draw(self, seconds):
        wanted = os.environ.get("ERGON_FAULTS", "").split() or self.names()
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            name, count = self.random.choice(wanted), count + 1
            print(f"{count}. {name}", flush=True)
            getattr(self, name)()
            self.engine.wait_standbys(limit=300)
            self.cluster.wait_owner()
            self.last(self.random.uniform(0.5, 3))
        return count


def final(cluster, history):
    """{id: what task.get says}, once all have ended or the time is over."""
    tasks, end = {}, time.monotonic() + RECOVERED
    with ergon_client.Client(cluster.wait_owner().url, timeout=60) as client:
        for id in {id for _, id, _, _ in history.acknowledged}:
            while True:
                try:
                    tasks[id] = client.task(id).get(result=False)
                except ergon_client.RemoteError:
                    tasks.pop(id, None)
                    break
                if tasks[id]["state"] in checker.ENDED or time.monotonic() > end:
                    break
                time.sleep(0.1)
        for id in {id for _, id, _, _ in history.begun} - set(tasks):
            try:
                tasks[id] = client.task(id).get(result=False)
            except ergon_client.RemoteError:
                pass
        audit = client.request("server.audit")
    return tasks, audit


def main():
    seed = int(os.environ.get("ERGON_SEED") or random.SystemRandom().randrange(1 << 32))
    seconds, lax = float(os.environ.get("ERGON_SECONDS", "600")), bool(os.environ.get("ERGON_LAX"))
    print(f"ERGON_SEED={seed}", flush=True)
    logging.disable()  # of clients, about what is broken on purpose
    lacks = patroni.missing_for_namespaces()
    if lacks:
        sys.exit(f"prove cluster: {lacks}")
    with patroni.Cluster(namespaces=True, more=3, ttl=TTL, fsync=True, synchronous=not lax) as engine:
        flags = ("--store-replicated", "by-storage") if lax else ()
        store = engine.url("ergon", "ergon", tcp=True, passfile=engine.password_file)
        cluster = nodes.Nodes(engine, *flags, store=store, machines=engine.machines[3:])
        try:
            return run(engine, cluster, seed, seconds)
        finally:
            cluster.end()


def put_cron(cluster):
    """Once a worker offers its method."""
    refusals = []

    def is_put():
        try:
            client.cron_put("ticks", "every 1s", "tick", durable="replicated", keep="1d")
            return True
        except ergon_client.RemoteError as e:
            refusals.append(str(e))
            return False

    with ergon_client.Client(cluster.nodes[0].url, timeout=60) as client:
        ending.eventually(is_put, lambda: f"the cron is put; {refusals[-1]}\n{cluster.logs()}")


def run(engine, cluster, seed, seconds):
    history = checker.History()
    cluster.start()
    clients = [kind(node, history, f"{seed} {node.name} {kind.__name__} {i}")
               for node in cluster.nodes for kind, count in ((Works, 1), (Submits, 2), (Holds, 1)) for i in range(count)]
    for i, client in enumerate(clients):
        client.name = f"{client.node.name}{i}"
        client.start()
    put_cron(cluster)
    count = Faults(engine, cluster, history, seed).draw(seconds)
    for client in clients:
        if not isinstance(client, Works):
            client.stop()
    final(cluster, history)  # all have ended
    owner = cluster.wait_owner()
    owner.kill()  # what is said from now on is read from the rows
    cluster.wait_owner(besides=[owner])
    tasks, audit = final(cluster, history)
    for client in clients:
        client.stop()
    found = list(checker.violations(history, tasks))
    if audit.get("balanced") is not True:
        found.append(f"the audit does not balance: {audit}")
    late = sum(checker.is_late(history, at, node) for at, _, _, node in history.begun)
    print(f"{count} faults, {len(history.acknowledged)} submissions acknowledged, {len(history.begun)} attempts, "
          f"{len(history.granted)} permits, {late} attempts just after a stop, {len(found)} violations")
    for text in found[:50]:
        print("  " + text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
