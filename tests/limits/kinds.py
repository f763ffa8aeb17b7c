"""What a server can be filled with, each kind by its name: to its limit, or where that is memory to the size that is
said there. The server is one of prove.py, where each of CLIENTS may do everything.
"""
import itertools
import os
import resource
import sys

import msgpack

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import RemoteError, eventually, token_of  # noqa: E402 (the path above)

CLIENTS = [f"c{n}" for n in range(10)]  # principals: of one, and so of its tenant, the server has 10,000 events
IN_FLIGHT = 1000  # requests of a connection, less than limits.in_flight
BATCH = 8192  # tasks of a task.submit_many
HOUR, DAY = "1h", "1d"
FILES = 200  # that the server has open beside its connections
KINDS = {}  # name: (the function, flags of the server)


def kind(*flags):
    """The docstring is what is printed; flags of the server are what the kind needs."""
    def add(function):
        KINDS[function.__name__] = function, flags
        return function
    return add


class Peer:
    """A connection of one of CLIENTS."""

    def __init__(self, server, name=CLIENTS[0]):
        self.client = server.connect()
        server.peers.append(self)  # it stays until the server has stopped
        self.client.call("server.auth", token_of(name))

    def ask(self, requests):
        """The results of these requests, in order: so many are in flight as may be."""
        for some in batches(requests, IN_FLIGHT):
            for msgid in self.send(some):
                yield self.client.result(msgid)

    def do(self, requests):
        """The same, where nobody wants the results."""
        for _ in self.ask(requests):
            pass

    def leave(self, requests):
        """Requests, at most IN_FLIGHT, whose answers nobody reads; the server has taken them at the return."""
        self.send(requests)
        self.client.call("task.list", {"limit": 1})

    def send(self, requests):
        first = self.client.next_id + 1
        data = [msgpack.packb([0, n, method, params], use_bin_type=True) for n, (method, *params) in enumerate(requests, first)]
        self.client.next_id += len(data)
        self.client.send_bytes(b"".join(data))
        return range(first, first + len(data))

    def sees(self, count, *path):
        """So many are there, as server.info tells at this path."""
        def told():
            value = self.client.call("server.info")
            for key in path:
                value = value[key]
            return value == count
        eventually(told, f"{path} is {count}")

    def submit(self, tasks, options):
        """Each a triple of method, parameters and options."""
        for some in batches(tasks, BATCH):
            for outcome in self.client.call("task.submit_many", some, options):
                if "error" in outcome:
                    raise RemoteError(outcome["error"])


def batches(items, size):
    items = iter(items)
    while some := list(itertools.islice(items, size)):
        yield some


def crowd(server, count):
    """So many connections, of all clients in turn."""
    return [Peer(server, CLIENTS[n % len(CLIENTS)]) for n in range(count)]


def options(server, **more):
    """Of tasks that wait: durable, where there is a store."""
    return {"delay": DAY, "durable": "async" if server.stored else "none", **more}


@kind()
def tasks(server):
    """{:,} tasks: the seven eighths of tasks.max, as it is by default, that may be open; with a store a million"""
    count = 1 << 20 if server.stored else (1 << 22) * 7 // 8
    Peer(server).submit((["echo", [], {}] for _ in range(count)), options(server))
    return count


@kind()
def keys(server):
    """{:,} tasks, each with a key and a run of its own"""
    count = 1 << 20 if not server.stored else 1 << 19
    Peer(server).submit((["echo", [], {"key": f"k{n}", "coalesce": f"r{n}"}] for n in range(count)), options(server))
    return count


@kind()
def tenants(server):
    """{:,} tenants, each with a task"""
    count = 1 << 20 if not server.stored else 1 << 19
    Peer(server).submit((["echo", [], {"tenant": f"t{n}"}] for n in range(count)), options(server))
    return count


@kind()
def dependants(server):
    """{:,} tasks that wait for one"""
    peer = Peer(server)
    first = peer.client.call("task.submit", "echo", [], options(server))["id"]
    count = 1 << 19
    peer.submit((["echo", [], {"after": first}] for _ in range(count)), options(server))
    return count


@kind()
def limits(server):
    """{:,} names of limits, whose `max` was changed"""
    peer, count = Peer(server), 200000
    for most in (1, 2):
        peer.submit((["echo", [], {"limit": {"key": f"l{n}", "max": most}}] for n in range(count)), options(server))
    return count


@kind()
def rates(server):
    """{:,} names of rates, whose tasks have started and are forgotten"""
    peer, count = Peer(server), 200000
    some = options(server, delay=0, keep=0)
    peer.submit((["echo", [], {"rate": {"key": f"r{n}", "max": 2, "per": HOUR}}] for n in range(count)), some)
    peer.sees(0, "kept", "held")
    return count


@kind()
def waiting_rates(server):
    """{:,} names of rates, with a task each that has started and one that waits"""
    peer, count = Peer(server), 100000
    some = options(server, delay=0)
    for _ in range(2):
        peer.submit((["echo", [], {"rate": {"key": f"r{n}", "max": 1, "per": HOUR}}] for n in range(count)), some)
    peer.sees(count, "kept", "states", "done")
    peer.sees(count, "kept", "states", "waiting")
    return count


@kind()
def semaphores(server):
    """{:,} semaphores, which clients hold, and as many others wait for each as there may be holds"""
    names, holds = [f"s{n}" for n in range(10000)], 100000
    owner = Peer(server)
    owner.do(("sem.create", name, 1) for name in names)
    owner.do(("sem.acquire", name) for name in names)
    for some in batches(itertools.islice(itertools.cycle(names), holds - len(names)), IN_FLIGHT):
        Peer(server).leave([("sem.acquire", name, {"wait": HOUR}) for name in some])
    owner.sees(holds - len(names), "shared", "waiting")
    return len(names)


@kind()
def holds(server):
    """{:,} holds of one semaphore"""
    peer, count = Peer(server), 100000
    peer.client.call("sem.create", "s", count)
    peer.do(("sem.acquire", "s") for _ in range(count))
    peer.sees(count, "shared", "held")
    return count


@kind()
def events(server):
    """{:,} events, of ten tenants"""
    for name in CLIENTS:
        peer = Peer(server, name)
        peer.do(("event.set", f"e{n}", n) for n in range(10000))
    peer.sees(10000 * len(CLIENTS), "shared", "events")
    return 10000 * len(CLIENTS)


@kind()
def waiters(server):
    """{:,} clients that wait for an event each"""
    peers = crowd(server, 100)
    for p, peer in enumerate(peers):
        peer.leave([("event.wait", f"e{p // len(CLIENTS)}.{n}", {"timeout": HOUR}) for n in range(IN_FLIGHT)])
    peers[0].sees(IN_FLIGHT * len(peers), "shared", "events")
    return IN_FLIGHT * len(peers)


@kind()
def crons(server):
    """{:,} crons, and of one as many on their way to the store as there may be"""
    peer, count = Peer(server), 10000
    kept = {"durable": "fsync" if server.stored else "none"}
    peer.do(("cron.put", f"c{n}", "@yearly", "echo", [], kept) for n in range(count))
    assert len(peer.client.call("cron.list")) == count
    peer.leave([("cron.put", "c0", "@yearly", "echo", [], kept) for _ in range(64)])
    return count


@kind()
def watchers(server):
    """{:,} watchers of one task, and readers of the feed"""
    peers = crowd(server, 100)
    task = peers[0].client.call("task.submit", "echo", [], options(server))["id"]
    tenant = {"tenant": CLIENTS[0]}
    for peer in peers:
        wait = [("task.wait", task, {"timeout": HOUR})]
        watch = [("task.watch", task, {"from": 9, "timeout": HOUR})]
        feed = [("task.events", {"timeout": HOUR, **tenant})]
        peer.leave(400 * wait + 400 * watch + 200 * feed)
    return IN_FLIGHT * len(peers)


@kind("--workers-methods", "*")
def names(server):
    """{:,} methods that nobody offers, each with a queue that is paused and a task"""
    peer, count = Peer(server), 10000
    peer.submit(([f"m{n}", [], {}] for n in range(count)), options(server))
    peer.do(("queue.pause", f"m{n}") for n in range(count))
    return count


@kind("--workers-max", "100000")
def workers(server):
    """{:,} registrations of workers, of 10,000 methods: workers.max at its most"""
    count, of_one = 100000, 50
    for p in range(count // of_one):
        peer = Peer(server, CLIENTS[p % len(CLIENTS)])
        peer.do(("worker.register", [f"m{(p * of_one + n) % 10000}"], {"slots": 1}) for n in range(of_one))
    peer.sees(count, "workers", "registered")
    return count


@kind()
def connections(server):
    """{:,} connections: all that the limit of open files allows"""
    count = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - FILES
    peer = crowd(server, count)[-1]
    peer.sees(count, "connections", "open")
    return count


@kind("--stepped-parked", "1000000", "--loops", "2")
def calls(server):
    """{:,} calls that wait in their handlers"""
    peers = crowd(server, 500)
    for peer in peers:
        peer.leave(IN_FLIGHT * [("sleep", HOUR)])
    return IN_FLIGHT * len(peers)


@kind("--stepped-parked", "1000000", "--loops", "2")
def attempts(server):
    """{:,} tasks whose attempts wait in their handlers"""
    peer, count = Peer(server), 100000
    peer.submit((["sleep", [HOUR], {}] for _ in range(count)), options(server, delay=0))
    peer.sees(count, "kept", "states", "parked")
    return count
