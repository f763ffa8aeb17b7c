"""What is measured: of each method the largest that it may be given, and what makes it costly.

A row is a generator: up to its first yield it prepares, from there to the second it is measured, and the rest cleans up."""

import collections
import itertools
import time

from server import packed

BAR_US, PAGE_BAR_US = 5000, 1000  # of what the page and the command line ask all the time
MESSAGE = (16 << 20) - 4096  # bytes of the largest value in a message
ELEMENTS = MESSAGE  # one byte each
CROWD = 10_000
SEMAPHORES = 9_000
POLLS = 1024  # of a connection
FAR = {"delay": "6h", "durable": "none"}

Row = collections.namedtuple("Row", "method what bar_us run")
ROWS = []
numbers = itertools.count()  # for names that nobody has had


def row(method, what, bar_us=BAR_US):
    def add(run):
        ROWS.append(Row(method, what, bar_us, run))
        return run
    return add


def asks(method, what, *params, bar_us=BAR_US):
    """A row without preparation; an error is an answer, too."""
    def run(server):
        yield
        server.main.ask(method, *params)
    row(method, what, bar_us)(run)


def fresh():
    return f"n{next(numbers)}"


def array(count):
    """`count` elements of one byte each, as raw MessagePack."""
    return b"\xdd" + count.to_bytes(4, "big") + b"\x00" * count


def wide(method, before=b"", after=b"", count=1):
    """A request whose parameters are these raw ones, with as many elements as fit between them."""
    parts = count + bool(before) + bool(after)
    name = method.encode()
    head = b"\x94\x00\x01" + b"\xd9" + bytes([len(name)]) + name + bytes([0x90 + parts])
    return head + before + array(ELEMENTS - len(before) - len(after)) + after


# ---- states that rows share ----


def submitted(server, count, method, options, each=None):
    """ids"""
    made = []
    for first in range(0, count, 10_000):
        batch = [[method, [], {**options, **(each(n) if each else {})}] for n in range(first, min(first + 10_000, count))]
        made += [t["id"] for t in server.main.call("task.submit_many", batch)]
    return made


def polls(server, method, count, *params):
    """Connections with so many long polls in all."""
    found = []
    for first in range(0, count, POLLS):
        s = server.connect()
        s.post([(method, *params)] * min(POLLS, count - first))
        found.append(s)
    return found


def close(connections):
    for s in connections:
        s.close()


once = {}


def have(name, make):
    """What rows share; it is made for the first."""
    if name not in once:
        once[name] = make()
    return once[name]


def crons(server):
    """But a few as many as there may be."""
    def make():
        far = {"durable": "none"}
        server.main.call_all([("cron.put", f"cron {n}", "0 0 1 1 *", "echo", ["x" * 40], far) for n in range(9_900)])
    have("crons", make)


def semaphores(server):
    """But a few as many as there may be."""
    have("semaphores", lambda: server.main.call_all([("sem.create", f"semaphore {n}", 1, {"durable": "none"}) for n in range(SEMAPHORES)]))


def newest(server):
    return server.main.call("task.list", {"limit": 1})["tasks"][0]["id"]


def offers(first, registrations, names, prefix="m"):
    """`worker.register` requests, whose names are numbered on."""
    return [("worker.register", [f"{prefix}{n}" for n in range(first + i * names, first + (i + 1) * names)]) for i in range(registrations)]


def register(server, requests):
    s = server.connect()
    s.send(b"".join(packed(n, *r) for n, r in enumerate(requests)))
    s.answers(len(requests))
    return s


# ---- server.* ----

asks("server.hello", "all options", {"errors": "map", "raw": False, "push": False, "half_close": True})
asks("server.ping", "16 MiB", b"x" * MESSAGE)
asks("server.whoami", "", bar_us=PAGE_BAR_US)
asks("server.times", "64 methods", {"limit": 64})
asks("server.figures", "")
asks("server.topology", "", bar_us=PAGE_BAR_US)
asks("server.info", "", bar_us=PAGE_BAR_US)

# ---- cluster.*, of a server without a cluster ----

asks("cluster.status", "")
asks("cluster.drain", "a node", "a")
asks("cluster.forget", "a node", "a")
asks("cluster.retry", "")
asks("cluster.session", "by a listener of clients", {})
asks("cluster.board", "by a listener of clients", "a", 1, [])
asks("server.audit", "", bar_us=PAGE_BAR_US)
asks("queue.list", "", bar_us=PAGE_BAR_US)
asks("queue.explain", "", "echo", bar_us=PAGE_BAR_US)
asks("queue.tenants", "", bar_us=PAGE_BAR_US)


@row("server.auth", "a token of 16 MiB")
def _(server):
    s = server.connect()
    yield
    s.ask("server.auth", "x" * MESSAGE)
    s.close()


@row("server.cancel", "256 of 16,000 in flight, in one write, those that came first and last")
def _(server):
    s = server.connect()
    s.send(b"".join(packed(n, "sleep", "1m") for n in range(16_000)))
    time.sleep(0.3)
    yield
    s.send(b"".join(packed(16_000 + n, "server.cancel", n if n % 2 else 15_999 - n) for n in range(256)))
    s.answers(512)
    yield
    s.close()


@row("server.cancel", "a connection with 16,000 in flight closes")
def _(server):
    s = server.connect()
    s.send(b"".join(packed(n, "sleep", "1m") for n in range(16_000)))
    time.sleep(0.3)
    yield
    s.close()
    time.sleep(0.2)


def workers_methods(server):
    """10,000 names are known, each of a worker."""
    def make():
        return [register(server, offers(first, 1, 500)) for first in range(0, 9_500, 500)]
    return have("methods", make)


@row("server.info", "10,000 methods of workers")
def _(server):
    workers_methods(server)
    yield
    server.main.call("server.info")


@row("server.methods", "10,000 methods of workers")
def _(server):
    workers_methods(server)
    yield
    server.main.call("server.methods")


@row("server.describe", "10,000 methods of workers, a name of 256 bytes, and one that is there")
def _(server):
    workers_methods(server)
    yield
    server.main.ask("server.describe", "x" * 256)
    server.main.call("server.describe", "m7")


@row("server.audit", "9,000 queues")
def _(server):
    many_queues(server)
    yield
    server.main.call("server.audit")


@row("server.debug_dump", "all", PAGE_BAR_US)
def _(server):
    yield
    place = []
    while place is not None:
        place = server.main.call("server.debug_dump", *place)["next"]


# ---- connection.* ----


def many_connections(server):
    return have("connections", lambda: [server.connect() for _ in range(4000)])


@row("connection.list", "1000 of 4000 connections")
def _(server):
    many_connections(server)
    yield
    server.main.call("connection.list", {"limit": 1000})


@row("connection.list", "a filter that means none of 4000")
def _(server):
    many_connections(server)
    yield
    server.main.call("connection.list", {"principal": "token:nobody", "idle": "1d"})


@row("connection.kill", "4000 connections, dry run")
def _(server):
    many_connections(server)
    yield
    server.main.call("connection.kill", {"all": True, "dry_run": True})


@row("connection.kill", "4000 connections")
def _(server):
    close(once.pop("connections", []))
    made = many_connections(server)
    yield
    server.main.call("connection.kill", {"all": True})
    yield
    close(made)
    once.clear()  # workers were killed, too


# ---- task.*: submissions ----


@row("task.submit", "parameters of 16 MiB")
def _(server):
    yield
    made = server.main.call("task.submit", "echo", ["x" * MESSAGE], FAR)
    yield
    server.main.call("task.cancel", made["id"])
    server.main.call("task.forget", made["id"])


@row("task.submit", "parameters of 16 M elements")
def _(server):
    yield
    server.main.send(wide("task.submit", before=b"\xa4echo"))
    server.main.answers(1)


def delayed(server):
    """100,000 tasks, by their ids."""
    return have("delayed", lambda: submitted(server, 100_000, "echo", FAR))


@row("task.submit", "after and after_any 1024 tasks each")
def _(server):
    ids = delayed(server)
    yield
    made = server.main.call("task.submit", "echo", [], {"after": ids[:1024], "after_any": ids[-1024:], "durable": "none"})
    yield
    server.main.call("task.cancel", made["id"])


@row("task.submit", "after 1 M tasks, which is refused")
def _(server):
    one = delayed(server)[0]
    yield
    server.main.ask("task.submit", "echo", [], {"after": [one] * 1_000_000, "durable": "none"})


@row("task.submit", "the names of key, coalesce, limit and rate of 4 MiB each")
def _(server):
    name = "x" * (4 << 20 - 8)
    yield
    server.main.ask("task.submit", "echo", [], {"key": name, "coalesce": name, "durable": "none"})
    server.main.ask("task.submit", "echo", [], {"limit": {"key": name, "max": 1}, "rate": {"key": name, "max": 1, "per": 1}, "durable": "none"})


@row("task.submit_many", "9,000 tasks with key, coalesce, limit and rate")
def _(server):
    tag = fresh()
    batch = [["echo", [], {"delay": "6h", "key": f"{tag} {n}", "coalesce": f"{tag} {n}", "limit": {"key": f"{tag} {n}", "max": 1},
                           "rate": {"key": f"{tag} {n}", "max": 1, "per": "1s"}}] for n in range(9_000)]
    yield
    server.main.call("task.submit_many", batch)


@row("task.submit_many", "16,384 tasks that run at once")
def _(server):
    yield
    server.main.call("task.submit_many", [["echo", [], {"keep": 0}]] * 16_384)


@row("task.submit_many", "262,000 elements, of one task")
def _(server):
    yield
    server.main.ask("task.submit_many", [["echo", [0] * 262_000, FAR]])


@row("task.submit_many", "16,384 tasks, each after the one that ends")
def _(server):
    one = submitted(server, 1, "echo", FAR)[0]
    yield
    server.main.call("task.submit_many", [["echo", [], {"after": one, "durable": "none", "keep": 0}]] * 16_384)
    server.main.call("task.cancel", one)
    server.settle("echo")


@row("task.call", "parameters and result of 16 MiB, with a key")
def _(server):
    yield
    server.main.call("task.call", "echo", ["x" * MESSAGE], {"key": fresh(), "keep_size": "16m"})


# ---- task.*: one task ----


@row("task.get", "a result of 16 MiB")
def _(server):
    made = server.main.call("task.submit", "echo", ["x" * MESSAGE], {"keep_size": "16m", "durable": "none", "keep": "1m"})
    server.main.call("task.wait", made["id"])
    yield
    server.main.call("task.get", made["id"])
    yield
    server.main.call("task.forget", made["id"])


@row("task.get", "parameters of 16 MiB, whole")
def _(server):
    made = server.main.call("task.submit", "echo", ["x" * (MESSAGE - 1000)], {**FAR})
    yield
    server.main.call("task.get", made["id"], {"params": True, "params_text": True})
    yield
    server.main.call("task.cancel", made["id"])


def with_parameters(server):
    """The newest, each with more than is shown."""
    have("parameters", lambda: server.main.call("task.submit_many", [["echo", ["y" * 500] * 10, FAR]] * 1000))


@row("task.list", "1000 with parameters as texts, cut at 4 KiB", PAGE_BAR_US)
def _(server):
    with_parameters(server)
    yield
    server.main.call("task.list", {"limit": 1000, "params_text": True})


@row("task.list", "a text that 10,000 tasks do not contain", PAGE_BAR_US)
def _(server):
    with_parameters(server)
    yield
    server.main.call("task.list", {"limit": 1000, "contains": "nowhere"})


@row("task.list", "a number that an array of 16 M elements does not contain", PAGE_BAR_US)
def _(server):
    made = server.main.call("task.submit", "echo", [[0] * (MESSAGE - 1000)], FAR)
    yield
    server.main.call("task.list", {"limit": 1, "contains": "12345"})
    yield
    server.main.call("task.cancel", made["id"])


@row("task.get", "a history of 100 events", PAGE_BAR_US)
def _(server):
    made = server.main.call("task.submit", "progress", [200, 0], {"durable": "none", "keep": "1m"})
    server.main.call("task.wait", made["id"])
    yield
    server.main.call("task.get", made["id"], {"history": True})


@row("task.wait", "1024 tasks, with results of 8 KiB")
def _(server):
    def make():
        made = server.main.call("task.submit_many", [["echo", ["x" * 8000], {"durable": "none"}]] * 1024)
        server.settle("echo")
        return [t["id"] for t in made]
    ids = have("large results", make)
    yield
    server.main.call("task.wait", ids)


@row("task.wait", "1024 times 1024 tasks of which one ends")
def _(server):
    ids = submitted(server, 1024, "echo", FAR)
    s = server.connect()
    s.send(b"".join(packed(n, "task.wait", ids, {"any": True, "result": False}) for n in range(1024)))
    time.sleep(1)
    yield
    server.main.call("task.cancel", ids[0])
    s.answers(1024)
    yield
    s.close()


@row("task.wait", "a connection with 1024 waits for 1024 tasks closes")
def _(server):
    ids = submitted(server, 1024, "echo", FAR)
    s = server.connect()
    s.send(b"".join(packed(n, "task.wait", ids, {"any": True, "result": False}) for n in range(1024)))
    time.sleep(1)
    yield
    s.close()
    time.sleep(0.2)


@row("task.watch", "10,000 watch a task that ends")
def _(server):
    one = submitted(server, 1, "echo", FAR)[0]
    found = polls(server, "task.watch", CROWD, one, {"from": 3})
    time.sleep(0.5)
    yield
    server.main.call("task.cancel", one)
    time.sleep(0.2)
    yield
    close(found)


@row("task.cancel", "a task for which 100,000 wait")
def _(server):
    one = submitted(server, 1, "echo", FAR)[0]
    submitted(server, 100_000, "echo", {"after": one, "durable": "none", "keep": 0})
    yield
    server.main.call("task.cancel", one)
    server.settle("echo")


@row("task.cancel", "each of a chain of 100,000, by its first")
def _(server):
    last = submitted(server, 1, "echo", FAR)
    first = last[0]
    for _ in range(200):
        batch = []
        for _ in range(500):
            batch.append(["echo", [], {"after": last, "durable": "none", "keep": 0}])
        last = [server.main.call("task.submit_many", batch)[-1]["id"]]
    yield
    server.main.call("task.cancel", first)
    server.settle("echo")


@row("task.retry", "one that failed", PAGE_BAR_US)
def _(server):
    one = submitted(server, 1, "fail", {"durable": "none"})[0]
    server.main.call("task.wait", one)
    yield
    server.main.call("task.retry", one)


@row("task.forget", "a task with a result of 16 MiB")
def _(server):
    one = server.main.call("task.submit", "echo", ["x" * MESSAGE], {"keep_size": "16m", "durable": "none", "keep": "1m"})["id"]
    server.main.call("task.wait", one)
    yield
    server.main.call("task.forget", one)


def paused(server):
    """A queue with 100,000 tasks that nobody runs."""
    def make():
        server.main.call("queue.pause", "sum")
        return submitted(server, 100_000, "sum", {"durable": "none", "keep": 0})
    return have("paused", make)


@row("task.change", "the last of 100,000 in a queue", PAGE_BAR_US)
def _(server):
    ids = paused(server)
    yield
    server.main.call("task.change", ids[-1], {"priority": 9})
    server.main.call("task.change", ids[-1], {"priority": 0, "delay": "1h"})
    yield
    server.main.call("task.run_now", ids[-1])
    server.main.call("task.change", ids[-1], {"priority": 5})


@row("task.run_now", "one beside 100,000 delayed ones", PAGE_BAR_US)
def _(server):
    ids = delayed(server)
    yield
    server.main.call("task.run_now", ids.pop())


@row("task.explain", "the last of 100,000 in a queue")
def _(server):
    ids = paused(server)
    yield
    server.main.call("task.explain", ids[-1])


@row("task.explain", "the newest", PAGE_BAR_US)
def _(server):
    one = newest(server)
    yield
    server.main.call("task.explain", one)


@row("task.explain", "one after 2048 tasks")
def _(server):
    ids = delayed(server)
    one = server.main.call("task.submit", "echo", [], {"after": ids[:1024], "after_any": ids[1024:2048], "durable": "none"})["id"]
    yield
    server.main.call("task.explain", one)
    yield
    server.main.call("task.cancel", one)


# ---- task.*: all tasks ----


def pages(what, most, bar_us=PAGE_BAR_US, **wanted):
    """So many pages of task.list, one behind the other."""
    def run(server):
        yield
        cursor = None
        for _ in range(most):
            page = server.main.call("task.list", {**wanted, **({"cursor": cursor} if cursor else {})})
            cursor = page["next"]
            if cursor is None:
                return
    row("task.list", what, bar_us)(run)


pages("a page", 1)
pages("limit 1000", 1, limit=1000)
pages("state failed, 5 pages", 5, state="failed")
pages("state delayed, 5 pages", 5, state="delayed")
pages("method, 5 pages", 5, method="fail", limit=1000)
pages("a key, 5 pages", 5, key="key 5")
pages("finds none, 20 pages", 20, method="nothing")
pages("a tenant that has none, 20 pages", 20, tenant="nobody")
pages("older than a day, 20 pages", 20, older="1d")
asks("task.list", "a method and a key of 8 MiB", {"method": "x" * (MESSAGE // 2), "key": "x" * (MESSAGE // 2 - 64)})


@row("task.events", "10,000 follow while 1000 tasks end")
def _(server):
    found = polls(server, "task.events", CROWD, {"event": ["done"], "max": 1000})
    time.sleep(0.5)
    yield
    server.main.call("task.submit_many", [["echo", [], {"durable": "none", "keep": 0}]] * 1000)
    time.sleep(0.5)
    yield
    close(found)


@row("task.events", "all that are kept, 32 ids that none is of")
def _(server):
    yield
    server.main.call("task.events", {"after": "oldest", "timeout": 0, "max": 1000, "id": [f"t{n:013}" for n in range(1, 33)]})
    server.main.ask("task.events", {"after": "oldest", "timeout": 0, "max": 16_384})


asks("task.events", "100,000 names of events, which is refused", {"event": ["done"] * 100_000, "state": ["done"] * 100_000, "timeout": 0})
asks("task.cancel", "by filter, dry run", {"method": "nothing", "dry_run": True}, bar_us=PAGE_BAR_US)


@row("task.cancel", "by filter, 100,000 tasks")
def _(server):
    tag = "k" + fresh()
    submitted(server, 100_000, "sleep", {**FAR, "keep": 0, "limit": {"key": tag, "max": 1}})
    yield
    server.main.call("task.cancel", {"method": "sleep"})


def batch_of(server, count, **options):
    batch = server.main.call("batch.create", {"durable": "none", **options})["id"]
    for at in range(0, count, 10_000):
        server.main.call("batch.add", batch, [["echo"]] * min(10_000, count - at), {**FAR, "durable": "none", "keep": 0})
    return batch


@row("batch.create", "with three that follow")
def _(server):
    call = ["echo", [], FAR]
    yield
    batch = server.main.call("batch.create", {"on_success": call, "on_failure": call, "on_end": call})["id"]
    yield
    server.main.call("batch.cancel", batch)


@row("batch.add", "16,384 members")
def _(server):
    batch = server.main.call("batch.create", {"durable": "none"})["id"]
    yield
    server.main.call("batch.add", batch, [["echo"]] * 16_384, {**FAR, "durable": "none", "keep": 0})
    yield
    server.main.call("batch.cancel", batch)
    server.main.call("batch.get", batch, {"wait": "1m"})


@row("batch.cancel", "100,000 members")
def _(server):
    batch = batch_of(server, 100_000)
    yield
    server.main.call("batch.cancel", batch)
    server.main.call("batch.get", batch, {"wait": "1m"})


@row("batch.close", "10,000 members")
@row("batch.get", "10,000 members")
@row("batch.list", "10,000 members")
def _(server):
    batch = batch_of(server, 10_000)
    yield
    server.main.call("batch.list")
    server.main.call("batch.close", batch)
    server.main.call("batch.get", batch)
    server.main.call("batch.cancel", batch)
    server.main.call("batch.get", batch, {"wait": "1m"})


@row("task.retry", "by filter, 100,000 tasks")
def _(server):
    submitted(server, 100_000, "flaky", {"durable": "none", "keep": "10m"}, lambda n: {})
    server.settle("flaky")
    yield
    server.main.call("task.retry", {"method": "flaky"})
    server.settle("flaky")
    yield
    server.main.call("task.forget", {"method": "flaky"})


@row("task.forget", "by filter, 100,000 tasks with keys")
def _(server):
    tag = fresh()
    submitted(server, 100_000, "hash", {"durable": "none", "keep": "10m"}, lambda n: {"key": f"{tag} {n}"})
    server.settle("hash")
    yield
    server.main.call("task.forget", {"method": "hash"})


# ---- queue.* ----


def many_queues(server):
    """A queue for each of 9,000 methods of workers."""
    workers_methods(server)
    have("queues", lambda: server.main.call("task.submit_many", [[f"m{n}", [], FAR] for n in range(9_000)]))


@row("queue.list", "9,000 queues")
def _(server):
    many_queues(server)
    yield
    server.main.call("queue.list")


@row("queue.explain", "a queue of 100,000")
def _(server):
    paused(server)
    yield
    server.main.call("queue.explain", "sum")


@row("queue.tenants", "10,000 tenants, all pages")
def _(server):
    have("tenants", lambda: submitted(server, CROWD, "echo", FAR, lambda n: {"tenant": f"tenant {n}"}))
    yield
    cursor = None
    while True:
        page = server.main.call("queue.tenants", {"cursor": cursor} if cursor else {})
        cursor = page["next"]
        if cursor is None:
            return


@row("queue.pause", "a queue of 100,000")
def _(server):
    paused(server)
    yield
    server.main.call("queue.pause", "sum")


@row("queue.resume", "100,000 tasks wait")
def _(server):
    paused(server)
    yield
    server.main.call("queue.resume", "sum")
    server.settle("sum")
    yield
    once.pop("paused")


@row("queue.drain", "a queue of 100,000")
def _(server):
    paused(server)
    yield
    server.main.call("queue.drain", "sum")
    yield
    server.main.call("queue.resume", "sum")
    once.pop("paused")
    server.settle("sum")


# ---- cron.* ----


@row("cron.put", "64 KiB of parameters, beside 9,900 crons")
def _(server):
    crons(server)
    yield
    server.main.call("cron.put", "c" * 200, "1-59/2,3,5,7 */3 1,3,5,7-31 1-12 *", "echo", ["x" * 60_000], {"zone": "Europe/Berlin", "durable": "none"})


@row("cron.put", "a schedule of 16 MiB")
def _(server):
    yield
    server.main.ask("cron.put", "a", "1," * (MESSAGE // 2 - 64), "echo", [])


@row("cron.list", "9,900 crons")
def _(server):
    crons(server)
    yield
    server.main.call("cron.list")


@row("cron.pause", "beside 9,900 crons")
def _(server):
    crons(server)
    yield
    server.main.call("cron.pause", "cron 17")


@row("cron.resume", "beside 9,900 crons")
def _(server):
    crons(server)
    yield
    server.main.call("cron.resume", "cron 17")


@row("cron.run", "beside 9,900 crons")
def _(server):
    crons(server)
    yield
    server.main.call("cron.run", "cron 17")


@row("cron.delete", "beside 9,900 crons")
def _(server):
    crons(server)
    server.main.call("cron.put", "gone", "0 0 1 1 *", "echo", [], {"durable": "none"})
    yield
    server.main.call("cron.delete", "gone")


# ---- sem.* and event.* ----


def line(server):
    """10,000 clients wait for a semaphore of one permit; (name, hold, connections)."""
    name = fresh()
    server.main.call("sem.create", name, 1, {"durable": "none"})
    hold = server.main.call("sem.acquire", name, {"ttl": "30s"})
    s = server.connect()
    s.post([("sem.acquire", name, {"wait": "1h", "grace": 0})] * CROWD)
    time.sleep(0.5)
    return name, hold, s


def end_line(server, name, s):
    s.close()
    server.main.call("sem.delete", name)


@row("sem.create", "10,000 clients that wait are served at once")
def _(server):
    name, _, s = line(server)
    yield
    server.main.call("sem.create", name, 20_000, {"durable": "none"})
    s.answers(CROWD)
    yield
    end_line(server, name, s)


@row("sem.acquire", "256 in one write, behind 10,000 that wait")
def _(server):
    name, _, s = line(server)
    yield
    other = server.connect()
    other.post([("sem.acquire", name, {"wait": "1h", "grace": 0})] * 256)
    time.sleep(0.1)
    yield
    other.close()
    end_line(server, name, s)


@row("sem.acquire", "a connection with 10,000 that wait closes")
def _(server):
    name, _, s = line(server)
    yield
    s.close()
    time.sleep(0.2)
    yield
    server.main.call("sem.delete", name)


@row("sem.release", "all permits, for which 10,000 wait")
def _(server):
    name = fresh()
    server.main.call("sem.create", name, CROWD, {"durable": "none"})
    hold = server.main.call("sem.acquire", name, {"permits": CROWD, "ttl": "30s"})
    s = server.connect()
    s.post([("sem.acquire", name, {"wait": "1h", "grace": 0})] * CROWD)
    time.sleep(0.5)
    yield
    server.main.call("sem.release", name, hold["hold"])
    s.answers(CROWD)
    yield
    end_line(server, name, s)


@row("sem.renew", "beside 10,000 that wait")
def _(server):
    name, hold, s = line(server)
    yield
    server.main.call("sem.renew", name, hold["hold"], {"ttl": "1h"})
    yield
    end_line(server, name, s)


@row("sem.resume", "256 in one write, of holds that there are not")
def _(server):
    name, hold, s = line(server)
    yield
    server.main.post([("sem.resume", name, hold["hold"])] * 128 + [("sem.resume", name, "0" * 32)] * 128)
    server.main.answers(256)
    yield
    end_line(server, name, s)


@row("sem.list", "9,000 semaphores")
def _(server):
    semaphores(server)
    yield
    server.main.call("sem.list")


@row("sem.explain", "10,000 hold, 10,000 wait")
def _(server):
    name = fresh()
    server.main.call("sem.create", name, CROWD, {"durable": "none"})
    s = server.connect()
    s.call_all([("sem.acquire", name, {"grace": 0})] * CROWD)
    s.post([("sem.acquire", name, {"wait": "1h", "grace": 0})] * CROWD)
    time.sleep(0.5)
    yield
    server.main.call("sem.explain", name)
    yield
    end_line(server, name, s)


@row("sem.revoke", "10,000 hold")
def _(server):
    name = fresh()
    server.main.call("sem.create", name, CROWD, {"durable": "none"})
    s = server.connect()
    holds = s.call_all([("sem.acquire", name, {"grace": 0})] * CROWD)
    yield
    server.main.call("sem.revoke", name, holds[0]["fence"])
    server.main.call("sem.revoke", name, holds[-1]["fence"])
    yield
    end_line(server, name, s)


@row("sem.delete", "10,000 wait and 10,000 hold")
def _(server):
    name, _, s = line(server)
    yield
    server.main.call("sem.delete", name)
    s.close()
    time.sleep(0.2)


@row("event.set", "10,000 wait for it")
def _(server):
    name = fresh()
    found = polls(server, "event.wait", CROWD, name, {"timeout": "1h"})
    time.sleep(0.5)
    yield
    server.main.call("event.set", name, b"x" * 4000)
    time.sleep(0.2)
    yield
    close(found)


@row("event.wait", "1024 in one write, of 10,000 names of 200 bytes")
def _(server):
    server.main.call_all([("event.set", f"{n}" + "e" * 190) for n in range(CROWD)])
    s = server.connect()
    yield
    s.send(b"".join(packed(n, "event.wait", f"{n}" + "e" * 190, {"timeout": "1h"}) for n in range(1024)))
    time.sleep(0.1)
    s.close()


# ---- worker.* ----


@row("worker.register", "20 x 500 names in one write, of fresh methods or not")
def _(server):
    close(once.pop("methods", []))
    s = server.connect()
    yield
    s.send(b"".join(packed(n, *r) for n, r in enumerate(offers(0, 20, 500))))
    s.answers(20)
    s.close()
    time.sleep(0.2)


@row("worker.register", "64 x 1000 names of 4 bytes in one write")
def _(server):
    s = server.connect()
    yield
    s.send(b"".join(packed(n, *r) for n, r in enumerate(offers(100, 64, 1000, prefix=""))))
    s.answers(64)
    s.close()
    time.sleep(0.2)


@row("worker.register", "1000 names, of which the last is no name, 64 times")
def _(server):
    s = server.connect()
    names = [f"q{n}" for n in range(999)] + ["?"]
    yield
    s.post([("worker.register", names)] * 64)
    s.answers(64)
    s.close()


@row("worker.register", "1000 names, beside as many versions of them as there may be")
def _(server):
    names = [f"m{n}" for n in range(1000)]
    found = []
    for n in range(15):
        found.append(server.connect())
        found[-1].call("worker.register", names, {"version": f"v{n}", "share": 1})
    s = server.connect()
    yield
    s.call("worker.register", names, {"version": "the last", "share": 1})
    s.close()
    time.sleep(0.2)
    yield
    close(found)


@row("worker.register", "100 names, beside 2000 groups of the first")
def _(server):
    found = []
    for n in range(2000):
        found.append(server.connect())
        found[-1].send(packed(1, "worker.register", ["m0", *(f"m{1 + (n * 7 + k) % 9000}" for k in range(99))]))
    for s in found:
        s.answers(1)
    s = server.connect()
    yield
    s.call("worker.register", [f"m{n}" for n in range(100)])
    s.close()
    time.sleep(0.2)
    yield
    close(found)


@row("worker.register", "calls of a method that 2000 workers offer, each beside others")
def _(server):
    found = []
    for n in range(2000):
        s = server.connect()
        s.send(packed(1, "worker.register", ["m0", f"m{n + 1}"], {"slots": 4}))
        found.append(s)
    for s in found:
        s.answers(1)
    other = server.connect()
    yield
    other.post([("m0", 1)] * 4000)
    time.sleep(0.3)
    yield
    close([other, *found])


def crew(server):
    """A worker with all methods that there may be, in 20 registrations."""
    return register(server, offers(0, 19, 500))


@row("worker.quiet", "19 x 500 methods")
def _(server):
    s = crew(server)
    yield
    s.call("worker.quiet")
    yield
    s.close()


@row("worker.resume", "19 x 500 methods")
def _(server):
    s = crew(server)
    s.call("worker.quiet")
    yield
    s.call("worker.resume")
    yield
    s.close()


@row("worker.list", "1000 of 2000 workers, and those of a method that none offers")
def _(server):
    found = []
    for n in range(2000):
        s = server.connect()
        s.send(packed(1, "worker.register", [f"m{n}"]))
        found.append(s)
    for s in found:
        s.answers(1)
    yield
    server.main.call("worker.list", {"limit": 1000})
    server.main.call("worker.list", {"limit": 1000, "method": "m9999"})
    yield
    close(found)


def task_at_worker(server):
    """(connection of the worker, id of its call, id of the task)"""
    s = register(server, [("worker.register", ["m0"])])
    one = server.main.call("task.submit", "m0", [], {"durable": "none", "keep": 0})["id"]
    while not s.asked:
        s.ask("server.ping")
    return s, s.asked[0][1], one


@row("worker.progress", "a text of 16 MiB, and 256 in one write that 10,000 watch")
def _(server):
    s, call, one = task_at_worker(server)
    found = polls(server, "task.watch", CROWD, one, {"from": 1000})
    time.sleep(0.3)
    yield
    s.ask("worker.progress", call, 1, 2, "x" * MESSAGE)
    s.post([("worker.progress", call, n, 256, "x" * 400) for n in range(256)])
    s.answers(256)
    yield
    server.main.call("task.cancel", one)
    close([s, *found])


@row("worker.partial", "16 MiB")
def _(server):
    s, call, one = task_at_worker(server)
    yield
    s.ask("worker.partial", call, "x" * MESSAGE)
    yield
    server.main.call("task.cancel", one)
    s.close()


@row("worker.partial", "16 M elements")
def _(server):
    s, call, one = task_at_worker(server)
    yield
    s.send(wide("worker.partial", before=b"\xce" + call.to_bytes(4, "big")))
    s.answers(1)
    yield
    server.main.call("task.cancel", one)
    s.close()


@row("worker.checkpoint", "64 KiB")
def _(server):
    s, call, one = task_at_worker(server)
    yield
    s.ask("worker.checkpoint", call, "x" * 65000)
    yield
    server.main.call("task.cancel", one)
    s.close()


@row("worker.submit", "100 tasks")
def _(server):
    s, call, one = task_at_worker(server)
    yield
    s.ask("worker.submit", call, {"task": [["echo", ["x" * 10000]]] * 100})
    yield
    server.main.call("task.cancel", one)
    s.close()


@row("worker.submit", "16 M elements")
def _(server):
    s, call, one = task_at_worker(server)
    yield
    s.send(wide("worker.submit", before=b"\xce" + call.to_bytes(4, "big")))
    s.answers(1)
    yield
    server.main.call("task.cancel", one)
    s.close()


# ---- actor.* ----


def actors(server):
    """10,000 of them, and one that is stopped with a full mailbox."""
    def make():
        server.main.call_all([("actor.call", f"counter/n {n}", "add", [n]) for n in range(CROWD)])
        fill_mailbox(server, "counter/full")
    have("actors", make)


def fill_mailbox(server, name):
    server.main.call("actor.call", name, "add", [1])
    server.main.call("actor.stop", name)
    server.main.call_all([("actor.tell", name, "add", [1])] * 1000)


def mailbox_of_calls(server):
    """An actor of a worker that does not answer, with 999 calls behind the one that runs."""
    type_name = fresh()
    s = server.connect()
    s.call("worker.register", [f"{type_name}.x"], {"context": True, "actors": {type_name: {}}})
    s.post([("actor.call", f"{type_name}/1", "x", [])] * 1000)
    time.sleep(0.5)
    return f"{type_name}/1", s


for _method in ("actor.call", "actor.tell"):
    asks(_method, "16 MiB, which is refused", "counter/1", "add", ["x" * MESSAGE])


@row("actor.call", "16 M elements, which is refused")
def _(server):
    yield
    server.main.send(wide("actor.call", before=b"\xa9counter/1"))
    server.main.answers(1)


@row("actor.get", "1000 messages wait", PAGE_BAR_US)
def _(server):
    actors(server)
    yield
    server.main.call("actor.get", "counter/full", {"state": True})


@row("actor.explain", "1000 messages wait", PAGE_BAR_US)
def _(server):
    actors(server)
    yield
    server.main.call("actor.explain", "counter/full")


@row("actor.list", "1000 of 10,000", PAGE_BAR_US)
def _(server):
    actors(server)
    yield
    server.main.call("actor.list", {"limit": 1000})


@row("actor.list", "a prefix that none of 10,000 has", PAGE_BAR_US)
def _(server):
    actors(server)
    yield
    server.main.call("actor.list", {"prefix": "counter/nobody"})


@row("actor.watch", "1024 in one write, of 10,000 actors")
def _(server):
    actors(server)
    s = server.connect()
    yield
    s.send(b"".join(packed(n, "actor.watch", f"counter/n {n}", {"timeout": "1h"}) for n in range(1024)))
    time.sleep(0.1)
    s.close()


@row("actor.types", "10,000 actors", PAGE_BAR_US)
def _(server):
    actors(server)
    yield
    server.main.call("actor.types")


@row("actor.stop", "999 calls wait, each of which is answered")
def _(server):
    name, s = mailbox_of_calls(server)
    yield
    server.main.call("actor.stop", name)
    s.answers(999)
    yield
    s.close()


@row("actor.start", "1000 messages wait")
def _(server):
    name = f"counter/{fresh()}"
    fill_mailbox(server, name)
    yield
    server.main.call("actor.start", name)
    server.main.call("actor.call", name, "get", [])


@row("actor.wake", "of 10,000")
def _(server):
    actors(server)
    yield
    server.main.call("actor.wake", "counter/n 7")


@row("actor.remind", "the last of 100")
def _(server):
    name = f"counter/{fresh()}"
    server.main.call_all([("actor.remind", name, f"r {n}", "add", [1], {"in": "9h"}) for n in range(99)])
    yield
    server.main.call("actor.remind", name, "last", "add", [1], {"in": "9h"})


@row("actor.forget", "one of 100")
def _(server):
    name = f"counter/{fresh()}"
    server.main.call_all([("actor.remind", name, f"r {n}", "add", [1], {"in": "9h"}) for n in range(100)])
    yield
    server.main.call("actor.forget", name, "r 50")


@row("actor.drop", "1000 messages wait")
def _(server):
    name = f"counter/{fresh()}"
    fill_mailbox(server, name)
    yield
    server.main.call("actor.drop", name)


@row("counter.add", "1000 calls of an actor")
def _(server):
    name = f"counter/{fresh()}"
    yield
    server.main.call_all([("actor.call", name, "add", [1])] * 1000)


@row("ticker.start", "1000 actors that are stepped")
def _(server):
    names = [f"ticker/{fresh()}" for _ in range(1000)]
    yield
    server.main.call_all([("actor.call", name, "start", [3, 1]) for name in names])


# ---- handlers ----

asks("echo", "16 MiB", "x" * MESSAGE)


@row("echo", "16 M elements")
def _(server):
    yield
    server.main.send(wide("echo"))
    server.main.answers(1)


@row("sum", "16 M numbers")
def _(server):
    yield
    server.main.send(wide("sum"))
    server.main.answers(1)


asks("hash", "16 MiB", "sha512", b"x" * (MESSAGE - 64))
asks("compress", "16 MiB", b"x" * (MESSAGE - 64), {"level": 9})


@row("decompress", "to 16 MiB")
def _(server):
    small = server.main.call("compress", b"x" * (MESSAGE - 4096))
    yield
    server.main.call("decompress", small)


@row("sleep", "16,000 that end at once")
def _(server):
    s = server.connect()
    yield
    s.post([("sleep", "300ms")] * 16_000)
    s.answers(16_000)
    yield
    s.close()


asks("burn", "100 ms", "100ms")
asks("block", "100 ms", "100ms")
asks("fail", "a text of 16 MiB", "x", "y" * MESSAGE)
asks("flaky", "", 1)
asks("later", "", 1, 1)
asks("progress", "1000 steps", 1000, 0)


@row("fan_out", "100 tasks")
def _(server):
    yield
    server.main.call("task.wait", server.main.call("task.submit", "fan_out", [100], {"durable": "none"})["id"])
    yield


asks("progress", "1000 steps", 1000, 0)
