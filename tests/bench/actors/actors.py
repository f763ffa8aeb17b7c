"""Messages to actors beside Erlang, Redis, PostgreSQL and tasks, as ratios within one run.

Servers have processor 0, drivers processor 1; files of all are in one folder.  Actors are those of counters.c: stepped handlers, whose
turns are pipelined."""

import argparse
import contextlib
import json
import os
import re
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
from servers import Broken, Ergon, Erlang, Processes  # noqa: E402

FEW, MANY = 10_000, 1_000_000  # actors
FOLD = 65_536  # turns: FOLD_AT of server/store/sqlite/states.c
FOLDS = 3
SETTLED_SECONDS, SETTLE_LIMIT = 0.1, 5
DRAIN_LIMIT = 60
LOADS, TURNS = 25_000, 5_000  # a second
# No checkpoint, and none of its full pages, falls into a window; a row has room for its next version.
SETTINGS = {"shared_buffers": "256MB", "max_wal_size": "4GB", "checkpoint_timeout": "30min"}
TABLE = f"""CREATE TABLE counters (id int PRIMARY KEY, sum bigint NOT NULL) WITH (fillfactor = 50);
    INSERT INTO counters SELECT n, 0 FROM generate_series(1, {FEW}) n; VACUUM ANALYZE counters"""
UPDATE = f"\\set id random(1, {FEW})\nUPDATE counters SET sum = sum + 1 WHERE id = :id RETURNING sum;\n"
KEYS = ("rate", "server_us", "p50_us", "p99_us", "other_cores")


# ---- the servers ----

class Volatile(Ergon):
    """Without a store."""

    def argv(self):
        return [*super().argv(), "--module", self.built("tests/bench/actors/counters.so")]


class Durable(ErgonKeeps):
    """Its store is a file."""

    flags = ()

    def argv(self):
        return [*super().argv(), "--module", self.built("tests/bench/actors/counters.so"), "--admin", f"unix://{self.folder}/admin", *self.flags]

    def again(self, processors, *flags):
        """Started anew on the same files, with these options, too."""
        self.processes.stop()
        self.flags = flags
        Ergon.start(self, processors)

    def figure(self, name):
        """The sum of a metric, over its labels."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"{self.folder}/admin")
            s.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        found = re.findall(rf"^{name}(?:_total)?(?:{{[^}}]*}})? ([0-9.e+]+)$", text, re.M)
        if not found:
            raise Broken(f"{self.name}: no metric {name}")
        return sum(float(value) for value in found)

    def prepare(self):
        self.call("queue.pause", "echo")  # of submissions


class Counters(Erlang):
    protocol = "packet4-add"
    what = "a gen_server a key, behind processes for the connections, {packet, 4}, {active, true}"

    def argv(self):
        return ["erl", "-noinput", "+K", "true", "+Q", "65536", "-pa", self.place.work,
                "-eval", f"counter_server:start({self.port}, {FEW})"]


class Redis(RedisKeeps):
    protocol = "redis-incr"
    what = "INCR, appendfsync always"


# ---- what is measured: an object each, whose window() gives {figure: value} ----

def still(server):
    """Returns when the server has done what it does behind its answers, such as folding."""
    spent, end = None, time.monotonic() + SETTLE_LIMIT
    while time.monotonic() < end:
        with open(f"/proc/{server.pids()[0]}/stat", encoding="ascii") as f:
            now = sum(map(int, f.read().rpartition(")")[2].split()[11:13]))
        if now == spent:
            return
        spent = now
        time.sleep(SETTLED_SECONDS)


class Keyed(Driver):
    """A driver whose requests name keys."""

    def __init__(self, server, row, options, keys, *flags):
        self.flags = ["--keys", str(keys), *flags]
        super().__init__(server, row, options)

    def load(self, server, row, options):
        return [*super().load(server, row, options), *self.flags]


class Requests:
    """Requests of one protocol; `seconds` of a window, if not those of the options."""

    def __init__(self, server, row, options, keys=FEW, protocol=None, method=None, seconds=None, rate=0, flags=()):
        load = Row(row)
        load.rate = rate
        if seconds:
            options = argparse.Namespace(**{**vars(options), "window": seconds})
        own = (server.protocol, server.method)
        server.protocol, server.method = protocol or server.protocol, method
        self.server, self.driver = server, Keyed(server, load, options, keys, *flags)
        server.protocol, server.method = own
        self.driver.ready()

    def window(self):
        said = self.driver.window()
        still(self.server)
        return {key: said[key] for key in KEYS} | {"tasks": said["tasks"]}

    def stop(self):
        self.driver.stop()


class Loads:
    """Calls of actors that are not in memory, beside so many turns of others: the rate is that of loads."""

    def __init__(self, server, options):
        self.server = server
        self.ways = [Requests(server, "64x256", options, protocol="actor-call", rate=TURNS),
                     Requests(server, "64x16", options, keys=MANY, protocol="actor-call", method="get")]

    def window(self):
        began, before = time.monotonic(), self.server.figure("ergon_actors_loads")
        for way in self.ways:
            way.driver.begin()
        turns, calls = (way.driver.end() for way in self.ways)
        loads = self.server.figure("ergon_actors_loads") - before
        return {"rate": loads / (time.monotonic() - began), "turns": turns["rate"], "calls": calls["rate"],
                "turns_p99_us": turns["p99_us"], "server_cores": calls["server_cores"], "other_cores": calls["other_cores"]}

    def stop(self):
        for way in self.ways:
            way.stop()


class Tells(Requests):
    """Tells and their turns: the rate is that of turns, until the last tell has its own."""

    def window(self):
        began, before = time.monotonic(), self.turns()
        said = self.driver.window()
        end = time.monotonic() + DRAIN_LIMIT
        while self.server.figure("ergon_actors_messages") > 0:
            if time.monotonic() > end:
                raise Broken(f"tells had no turns after {DRAIN_LIMIT} s")
            time.sleep(0.01)
        rate = (self.turns() - before) / (time.monotonic() - began)
        still(self.server)
        return {**{key: said[key] for key in KEYS}, "rate": rate, "tells": said["rate"]}

    def turns(self):
        return self.server.figure("ergon_actor_turns")


class Caf:
    """Actors of caf_counters, which has no socket."""

    def __init__(self, options):
        self.processes = Processes(os.path.join(options.work, "caf.log"))
        argv = [os.path.join(options.work, "caf_counters"), str(FEW), "64", "16", str(options.window)]
        self.process = self.processes.start(argv, options.server_on, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.line()

    def line(self):
        if not select.select([self.process.stdout], [], [], DRAIN_LIMIT)[0]:
            raise Broken("caf_counters does not answer")
        return self.process.stdout.readline()

    def window(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        return json.loads(self.line())

    def stop(self):
        self.processes.stop()


@contextlib.contextmanager
def running(*servers, on):
    try:
        for server in servers:
            server.start(on)
        yield servers
    finally:
        for server in servers:
            server.stop()


# ---- the groups ----

ACTORS, ERLANG, TASKS, CAF = "actor.call", "Erlang, a gen_server a key", "task.call with a priority", "CAF, in one process"
REDIS, POSTGRES = "Redis, INCR", "PostgreSQL, prepared UPDATE"
LOADED = "actor.call of what is not in memory"
ONE = "one actor, 62 x 16"  # a mailbox has 1,000 messages


def volatile(run):
    title, o = f"Volatile calls of {FEW} actors, 64 x 16", run.options
    if not run.wants(title):
        return
    with running(Volatile(o), Counters(o), on=o.server_on) as (ours, erlang):
        run.rounds(title, {
            ACTORS: lambda: Requests(ours, "64x16", o, protocol="actor-call"),
            ERLANG: lambda: Requests(erlang, "64x16", o),
            TASKS: lambda: Requests(ours, "64x16", o, protocol="task-call"),
            CAF: lambda: Caf(o),
        }, [("rate : Erlang", ratio(ACTORS, ERLANG), 1.5),
            ("server time : Erlang", ratio(ACTORS, ERLANG, "server_us"), -0.65),
            ("server time : task.call", ratio(ACTORS, TASKS, "server_us"), -1.25),
            ("server time : CAF, whose client is in it", ratio(ACTORS, CAF, "server_us"), None)])


@contextlib.contextmanager
def counting(options):
    """PostgreSQL on the servers' processor."""
    with postgres.Cluster(fsync=True, settings=SETTINGS, parent=options.work) as engine:
        engine.create_database("counters")
        engine.primary.psql(TABLE, dbname="counters")
        for pid in engine.primary.pids() if options.server_on else ():
            os.sched_setaffinity(pid, options.server_on)
        yield engine


def durable(run):
    o = run.options
    single, many = (f"Durable calls of {FEW} actors, {load}" for load in ("64 x 1", "64 x 16"))
    if not run.wants(single) and not run.wants(many):
        return
    with running(Durable(o), Redis(o), on=o.server_on) as (ours, redis):
        if run.wants(single):
            with counting(o) as engine:
                run.rounds(single, {
                    ACTORS: lambda: Requests(ours, "64x1", o, protocol="actor-call"),
                    REDIS: lambda: Requests(redis, "64x1", o),
                    POSTGRES: lambda: Pgbench(engine.primary, "counters", UPDATE, 64, o, o.driver_on),
                }, [("rate : Redis", ratio(ACTORS, REDIS), 1.2), ("rate : PostgreSQL", ratio(ACTORS, POSTGRES), 5)])
        run.rounds(many, {
            ACTORS: lambda: Requests(ours, "64x16", o, protocol="actor-call"),
            REDIS: lambda: Requests(redis, "64x16", o),
            ONE: lambda: Requests(ours, "62x16", o, keys=1, protocol="actor-call"),
        }, [("rate : Redis", ratio(ACTORS, REDIS), 0.7), ("rate, one actor : so many", ratio(ONE, ACTORS), 0.8)])


def fill(server, options):
    """Calls each of MANY actors once; the rate."""
    filling = Requests(server, "64x16", options, keys=MANY, protocol="actor-call", seconds=5, flags=("--in-order",))
    done, began = 0, time.monotonic()
    try:
        while done < 1.1 * MANY:  # what a window does before and behind the seconds that it counts is not in its number
            done += filling.window()["tasks"]
        return done / (time.monotonic() - began)
    finally:
        filling.stop()


def many(run):
    title, o = f"Durable calls of {MANY} actors, 64 x 16, for {FOLDS} folds", run.options
    beside = f"Loads of {MANY} actors beside {TURNS} turns a second"
    if not run.wants(title) and not run.wants(beside):
        return
    with running(Durable(o), on=o.server_on) as (ours,):
        rate = fill(ours, o)
        still(ours)
        if run.wants(title):
            seconds = min(20, max(5, FOLDS * FOLD / (0.5 * rate)))
            print(f"\n{title}: windows of {seconds:.0f} s", file=sys.stderr)
            lots, few = f"of {MANY}", f"of {FEW}"
            run.rounds(title, {
                lots: lambda: Requests(ours, "64x16", o, keys=MANY, protocol="actor-call", seconds=seconds),
                few: lambda: Requests(ours, "64x16", o, keys=FEW, protocol="actor-call", seconds=seconds),
            }, [("rate : of few", ratio(lots, few), 0.25), ("p99 : of few", ratio(lots, few, "p99_us"), -4),
                ("folds a window", lambda r: r[lots]["tasks"] / FOLD, None)], count=2)
        ours.again(o.server_on, "--actors-bytes", "16m")
        run.rounds(beside, {LOADED: lambda: Loads(ours, o)}, [
            ("loads a second", lambda r: r[LOADED]["rate"], LOADS), ("turns a second", lambda r: r[LOADED]["turns"], 0.97 * TURNS)])


def tells(run):
    title, o = f"Tells to {FEW} actors with their turns, 64 x 16", run.options
    if not run.wants(title):
        return
    with running(Durable(o), on=o.server_on) as (ours,):
        run.rounds(title, {
            "actor.tell, and turns": lambda: Tells(ours, "64x16", o, protocol="actor-tell"),
            "task.submit, fsync": lambda: Requests(ours, "64x16:8", o, protocol="submit-fsync"),
        }, [("rate : submissions", ratio("actor.tell, and turns", "task.submit, fsync"), 0.5)])


def main():
    a = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    a.add_argument("--rounds", type=int, default=5, help="in which all ways take their turn (5)")
    a.add_argument("--dir", help="where all have their files; not in memory (the build directory)")
    a.add_argument("--row", default="", help="only groups whose title has this text")
    options = program.parse(a, windows=1, window=1)
    options.grab = 1
    lacks = postgres.missing()
    if lacks:
        sys.exit(f"actors: {lacks}")
    options.folder = options.work
    run, box = Run(options), machine()
    print(f"{time.strftime('%Y-%m-%d')}, {box['processors']} x {box['model']}, {box['system']}, load {os.getloadavg()[0]:.1f}; "
          f"{options.rounds} rounds of {options.window} s each; medians (least-highest); ratios are those of neighbours in a round")
    with program.until_interrupted():
        for group in (volatile, durable, many, tells):
            group(run)
    program.end(options, {"rows": run.rows}, all(row["good"] for row in run.rows) and bool(run.rows))


if __name__ == "__main__":
    try:
        main()
    except Broken as e:
        sys.exit(f"actors: {e}")
