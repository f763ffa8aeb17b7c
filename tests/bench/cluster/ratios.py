"""What a cluster costs and gains: submissions, whole lives, fronts and working nodes, as ratios within one run.

PostgreSQL with two standbys, SQLite, Redis with a replica and all nodes are on this machine and have their files on one disk."""

import argparse
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(HERE, "..", "peers"), os.path.join(TOP, "tests", "support")]

import postgres  # noqa: E402
import program  # noqa: E402
from keepers import ErgonKeeps, RedisKeeps  # noqa: E402
from pairs import Driver, Row, machine  # noqa: E402
from pgbench import Pgbench  # noqa: E402
from rounds import Run, ratio  # noqa: E402
from servers import Broken, Ergon, Processes, free_port  # noqa: E402

LIMIT = 60
WAITS_MS, BURNS_US, PROCESSORS = 20, 1000, 8
SLOTS = 16  # blocking executors of a node
HANDLERS = ("--module", "demo", "--blocking", str(SLOTS))
ONE_LOOP = ["--loops", "1"]  # of each ergond: PostgreSQL's processes and the others need the processors, too
LIFE = '{"durable":"replicated","keep":"250ms"}'
# A machine's of its own: no checkpoint, and none of its full pages, falls into one window and not into another.
SETTINGS = {"shared_buffers": "256MB", "max_wal_size": "4GB", "checkpoint_timeout": "30min"}
# One row a job, with the index by which jobs are fetched: what Oban and River have at least.
JOBS = """CREATE TABLE jobs (id bigserial PRIMARY KEY, state text NOT NULL DEFAULT 'available',
    queue text NOT NULL DEFAULT 'default', kind text NOT NULL, args jsonb NOT NULL,
    attempt smallint NOT NULL DEFAULT 0, max_attempts smallint NOT NULL DEFAULT 20,
    priority smallint NOT NULL DEFAULT 1, inserted_at timestamptz NOT NULL DEFAULT now(),
    scheduled_at timestamptz NOT NULL DEFAULT now());
    CREATE INDEX ON jobs (state, queue, priority, scheduled_at, id)"""
INSERT = "INSERT INTO jobs (kind, args) VALUES ('echo', '\"{}\"');\n".format("x" * 62)


# ---- the servers ----

class Node(Ergon):
    """One node of a cluster; `front` is one that never owns the tasks."""

    protocol = "submit-replicated"

    def __init__(self, place, cluster, name, *flags, front=False):
        super().__init__(place)
        self.name, self.cluster, self.flags = f"{cluster.name}-{name}", cluster, flags
        self.folder = os.path.join(place.work, self.name)
        os.mkdir(self.folder, 0o700)
        self.weight = 0 if front else 100

    def argv(self):
        return [*super().argv(), "--store", self.cluster.url, "--cluster", "ergon", "--cluster-node", self.name,
                "--cluster-state", self.folder, "--cluster-listen", f"unix://{self.folder}/nodes",
                "--cluster-weight", str(self.weight), "--tasks-max", "16777216",
                "--tasks-bytes", "16g", *self.flags]

    def ergon(self, *words):
        done = subprocess.run([self.built("client/cli/ergon"), "--json", "--timeout", "60s",
                               "--server", f"ergon://127.0.0.1:{self.port}", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(f"{self.name}: {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return json.loads(done.stdout)

    def wait(self, until, what):
        end = time.monotonic() + LIMIT
        while True:
            with contextlib.suppress(Broken):
                if until():
                    return
            if time.monotonic() > end:
                raise Broken(f"{self.name}: {what} after {LIMIT} s: {self.last_words()}")
            time.sleep(0.05)

    def processor_us(self):
        """Of all its threads."""
        total = 0
        for task in os.listdir(f"/proc/{self.pids()[0]}/task"):
            with open(f"/proc/{self.pids()[0]}/task/{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total / 1000

    def bench(self, connections, in_flight, seconds, *call):
        """Tasks from submission to end."""
        return self.ergon("bench", "-c", str(connections), "-i", str(in_flight), "-d", f"{int(seconds * 1000)}ms",
                          "--submit", LIFE, "-m", *call)


class Cluster:
    """Nodes on a database of their own; the first owns the tasks."""

    def __init__(self, place, engine, name, *flags):
        self.name, self.url = name, engine.url(name, "ergon")
        engine.create_database(name, owner="ergon")
        init(place, self.url)
        self.nodes = [Node(place, self, str(n), *f, front=n > 0) for n, f in enumerate(flags)]

    @property
    def owner(self):
        return self.nodes[0]

    def start(self):
        for node in self.nodes:
            node.start(None)
            node.wait(lambda n=node: n.ergon("call", "task.list", "{}") is not None, "no answer about tasks")

    def stop(self):
        for node in self.nodes:
            node.stop()


def init(place, url):
    argv = [os.path.join(place.build, "server/ergond"), "--store", url, "--cluster-admin", "init", "--cluster", "ergon"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Broken(f"cluster init: {done.stderr.strip()}")


class RedisWaits(RedisKeeps):
    """With one replica, which both keep each command on disk."""

    name, protocol = "redis-wait", "redis-wait"

    def prepare(self):
        port, folder = free_port(), os.path.join(self.folder, "replica")
        os.mkdir(folder)
        argv = [word.replace(str(self.port), str(port)).replace(self.folder, folder) for word in self.argv()]
        self.processes.start([*argv, "--replicaof", "127.0.0.1", str(self.port)], None)
        end = time.monotonic() + LIMIT
        while "state=online" not in self.info():
            if time.monotonic() > end:
                raise Broken("redis has no replica")
            time.sleep(0.1)

    def info(self):
        with socket.create_connection(("127.0.0.1", self.port), LIMIT) as s:
            s.sendall(b"INFO replication\r\n")
            return s.recv(65536).decode(errors="replace")


# ---- what is measured: an object each, whose window() gives {figure: value} ----

class Submissions:
    """By the load driver; `tasks` are those of one request."""

    def __init__(self, server, row, options, tasks=1):
        self.driver, self.tasks = Driver(server, Row(row), options), tasks
        self.driver.ready()

    def window(self):
        said = self.driver.window()
        return {"rate": said["rate"] * self.tasks, "p50_us": said["p50_us"]}

    def stop(self):
        self.driver.stop()


class Bare:
    """Whole lives by bench_cluster_bare."""

    def __init__(self, url, batch, options):
        self.processes = Processes(os.path.join(options.work, "bare.log"))
        program = os.path.join(options.build, "tests/bench/cluster/bench_cluster_bare")
        self.process = self.processes.start([program, url, str(batch), str(options.window)], None, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE)

    def window(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], LIMIT)[0]:
            raise Broken("bench_cluster_bare does not answer")
        return {"rate": float(self.process.stdout.readline() or 0)}

    def stop(self):
        self.processes.stop()


class Lives:
    """Whole lives by `ergon bench --submit`; with the processor time of some nodes for each."""

    def __init__(self, node, connections, in_flight, options, *call, spent=()):
        self.node, self.load, self.options, self.call, self.spent = node, (connections, in_flight), options, call, spent

    def window(self):
        before = [node.processor_us() for node in self.spent]
        said = self.node.bench(*self.load, self.options.window, *self.call)
        tasks = max(said["good"], 1)
        spent = {f"us_{n}": (node.processor_us() - before[n]) / tasks for n, node in enumerate(self.spent)}
        return {"rate": said["answers_per_second"], **spent}

    def stop(self):
        pass


# ---- the run ----

OWNER, FRONT, SQLITE = "by the owner, replicated", "by a front, replicated", "SQLite, fsync"
INSERTS, INSERTS_10 = "one INSERT a job, 64 connections", "one INSERT a job, 10 connections (Oban's pool)"
REDIS, REDIS_16 = "Redis, appendfsync always, WAIT 1 for each", "Redis, one WAIT 1 for sixteen"


def submissions(run, engine, cluster, sqlite, redis):
    o, (owner, front) = run.options, cluster.nodes

    def waits(protocol, row, tasks):
        redis.protocol = protocol
        return Submissions(redis, row, o, tasks)

    for row in ("64x16:64", "64x1:64"):
        many = row == "64x16:64"
        run.rounds(f"Submissions, {Row(row)}", {
            OWNER: lambda row=row: Submissions(owner, row, o),
            FRONT: lambda row=row: Submissions(front, row, o),
            SQLITE: lambda row=row: Submissions(sqlite, row, o),
            REDIS: lambda row=row: waits("redis-wait", row, 1),
            **({REDIS_16: lambda: waits("redis-wait-16", "64x1:64", 16)} if many else {}),
            INSERTS: lambda: Pgbench(engine.primary, "jobs", INSERT, 64, o),
            INSERTS_10: lambda: Pgbench(engine.primary, "jobs", INSERT, 10, o),
        }, [("owner : SQLite", ratio(OWNER, SQLITE), 0.25), ("owner : Redis", ratio(OWNER, REDIS), 1),
            *([("owner : Redis, one WAIT for sixteen", ratio(OWNER, REDIS_16), None)] if many else []),
            ("owner : INSERTs", ratio(OWNER, INSERTS), 4), ("owner : INSERTs, 10 connections", ratio(OWNER, INSERTS_10), 4),
            ("front : owner", ratio(FRONT, OWNER), 0.8 if many else None)])
    run.rounds("Submissions, 1 x 1", {
        "by the owner": lambda: Submissions(owner, "1x1:64", o),
        "by a front": lambda: Submissions(front, "1x1:64", o)},
        [("us more by a front (p50)", lambda r: r["by a front"]["p50_us"] - r["by the owner"]["p50_us"], -200)])


def lives(run, engine, place):
    o = run.options
    engine.create_database("bare", owner="ergon")
    url = engine.url("bare", "ergon")
    init(place, url)
    with started(Cluster(place, engine, "lives", ())) as cluster:
        run.rounds("Whole lives, 64 x 16", {
            "by the owner": lambda: Lives(cluster.owner, 64, 16, o, "echo"),
            "bare client, batches of 64": lambda: Bare(url, 64, o),
            "bare client, batches of 1024": lambda: Bare(url, 1024, o)},
            [("owner : bare client, 64", ratio("by the owner", "bare client, batches of 64"), 0.8),
             ("owner : bare client, 1024", ratio("by the owner", "bare client, batches of 1024"), None)])


def handlers(run, engine, place):
    o = run.options
    with started(Cluster(place, engine, "alone", HANDLERS)) as alone, \
            started(Cluster(place, engine, "three", HANDLERS, HANDLERS, HANDLERS)) as three:
        run.rounds(f"Handlers that wait for {WAITS_MS} ms, {SLOTS} at a time on each node", {
            "one node": lambda: Lives(alone.owner, 16, 16, o, "block", str(WAITS_MS)),
            "the owner and two nodes": lambda: Lives(three.owner, 16, 16, o, "block", str(WAITS_MS))},
            [("three : one", ratio("the owner and two nodes", "one node"), 2.7)])
    with started(Cluster(place, engine, "local", HANDLERS)) as local, \
            started(Cluster(place, engine, "apart", (), HANDLERS)) as apart:
        run.rounds("Processor time of a life: run by the owner, or by a node", {
            "by the owner": lambda: Lives(local.owner, 16, 4, o, "block", "0", spent=local.nodes),
            "by a node": lambda: Lives(apart.owner, 16, 4, o, "block", "0", spent=apart.nodes)},
            [(f"three : one, {BURNS_US} us, {PROCESSORS} processors each (calculated)", calculated, 2.7)])


def calculated(r):
    """Three nodes : one, of handlers that burn BURNS_US, where each node has PROCESSORS: what the owner spends on attempts of
    others is taken from its own."""
    room = PROCESSORS * 1e6
    own, hop, attempt = (r["by the owner"]["us_0"], r["by a node"]["us_0"], r["by a node"]["us_1"])
    one = room / (BURNS_US + own)
    elsewhere = 2 * room / (BURNS_US + attempt)
    return (elsewhere + max(0, room - elsewhere * hop) / (BURNS_US + own)) / one


@contextlib.contextmanager
def started(cluster):
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def measure(run, engine):
    o = run.options
    engine.create_role("ergon")
    engine.create_database("jobs")
    engine.primary.psql(JOBS, dbname="jobs")
    sqlite, redis = ErgonKeeps(o), RedisWaits(o)
    try:
        with started(Cluster(o, engine, "submits", (), ())) as cluster:
            cluster.owner.ergon("queue", "pause", "echo")
            for server in (sqlite, redis):
                server.start(None)
            submissions(run, engine, cluster, sqlite, redis)
    finally:
        for server in (sqlite, redis):
            server.stop()
    lives(run, engine, o)
    handlers(run, engine, o)


def main():
    a = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    a.add_argument("--rounds", type=int, default=5, help="in which all ways take their turn (5)")
    a.add_argument("--window", type=float, default=2, help="seconds of each (2)")
    a.add_argument("--warm-up", type=float, default=0.5, help=argparse.SUPPRESS)
    a.add_argument("--dir", help="where all have their files; not in memory (the build directory)")
    a.add_argument("--row", default="", help="only groups whose title has this text")
    a.add_argument("--work", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    options = program.parse(a, pins=False)
    options.server_on = options.driver_on = None
    options.ergon = options.ergon or ONE_LOOP
    lacks = postgres.missing()
    if lacks:
        sys.exit(f"cluster: {lacks}")
    options.folder = options.work
    run, box = Run(options), machine()
    print(f"{time.strftime('%Y-%m-%d')}, {box['processors']} x {box['model']}, {box['system']}, load {os.getloadavg()[0]:.1f}; "
          f"{options.rounds} rounds of {options.window} s each; medians (least-highest); ratios are those of neighbours in a round")
    engine = postgres.Cluster(standbys=2, sync=True, fsync=True, settings=SETTINGS, parent=options.work)
    with engine, program.until_interrupted():
        measure(run, engine)
    program.end(options, {"rows": run.rows}, all(row["good"] for row in run.rows) and bool(run.rows))


if __name__ == "__main__":
    try:
        main()
    except Broken as e:
        sys.exit(f"cluster: {e}")
