#!/usr/bin/python3
"""Applications that submit in transactions of their own, by ergon.submit(): rows of a table of theirs and tasks are committed
together or rolled back together, while applications, owners of the tasks and PostgreSQL are killed at random.  In the end the
tasks have to be those of the rows, each once.

    ERGON_ROWS         rows that are committed; 100000
    ERGON_CONNECTIONS  applications, each a process with a connection; 16
    ERGON_SEED         of which random numbers; drawn, and printed
    ERGON_PAUSE        seconds between two faults at most; 3
"""
import collections
import json
import os
import random
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("tests/e2e", "tests/support", "clients/python")]

import ending  # noqa: E402
import nodes  # noqa: E402
import postgres  # noqa: E402
import psycopg2  # noqa: E402

MOST = 20  # rows of a transaction
LIMIT = 300  # seconds until all that was committed is taken over


# An application.

def transaction(connection, chance, app):
    """One transaction, of which a part or all may be rolled back."""
    with connection.cursor() as cursor:
        for _ in range(chance.randint(1, MOST)):
            part = chance.random() < 0.1
            if part:
                cursor.execute("SAVEPOINT part")
            cursor.execute("INSERT INTO orders (app) VALUES (%s) RETURNING id", (app,))
            number = cursor.fetchone()[0]
            # Without a key: nothing but the database keeps a row from becoming two tasks.
            cursor.execute("SELECT ergon.submit('echo', %s, '{\"key\": null, \"keep\": \"1h\"}')", (json.dumps([number]),))
            if part:
                cursor.execute("ROLLBACK TO part")
    if chance.random() < 0.2:
        connection.rollback()
    else:
        connection.commit()


def application(url, app, rows):
    """Goes on until so many of its rows are committed, whatever became of the process before this one."""
    chance, connection, parent = random.Random(), None, os.getppid()
    while os.getppid() == parent:
        try:
            if connection is None:
                connection = psycopg2.connect(url, connect_timeout=5)
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM orders WHERE app = %s", (app,))
                if cursor.fetchone()[0] >= rows:
                    return
            for _ in range(20):
                transaction(connection, chance, app)
        except psycopg2.Error as e:
            if connection is not None and not connection.closed and not isinstance(e, psycopg2.OperationalError):
                raise
            connection = None
            time.sleep(0.1)


class Application(threading.Thread):
    """A process that is started again when it was killed."""

    def __init__(self, url, app, rows):
        super().__init__(daemon=True)
        self.command = [sys.executable, os.path.abspath(__file__), "application", url, str(app), str(rows)]
        self.process, self.deaths = None, 0

    def run(self):
        while True:
            self.process = subprocess.Popen(self.command)
            status = self.process.wait()
            if status == 0:
                return
            assert status == -9, f"an application ended with {status}"
            self.deaths += 1

    def kill(self):
        if self.process is not None:
            self.process.kill()


# What breaks.

class Faults:
    def __init__(self, engine, cluster, applications, seed):
        self.engine, self.cluster, self.applications = engine, cluster, applications
        self.began = time.monotonic()
        self.chance, self.counts = random.Random(seed), collections.Counter()

    def kill_application(self):
        self.chance.choice(self.applications).kill()

    def kill_owner(self):
        owner = self.cluster.owner()
        if owner is not None:
            owner.kill()
            time.sleep(self.chance.random())
            owner.start()

    def stop_owner(self):
        """In order; the node is started again as by a service manager."""
        owner = self.cluster.owner()
        if owner is not None:
            owner.server.process.terminate()

    def crash_engine(self):
        self.engine.primary.kill()
        time.sleep(self.chance.random())
        self.engine.primary.start()

    def fail_over(self):
        old = self.engine.primary
        old.kill()
        self.engine.promote(self.engine.most_advanced())
        self.engine.rejoin(old)

    def break_something(self):
        fault = self.chance.choices(
            [self.kill_application, self.kill_owner, self.stop_owner, self.crash_engine, self.fail_over], [8, 4, 2, 2, 1])[0]
        self.counts[fault.__name__] += 1
        print(f"{time.monotonic() - self.began:.1f} s: {fault.__name__}", flush=True)
        fault()


# The whole.

def number_of(params):
    """That of [n], as MessagePack."""
    assert params[0] == 0x91, params
    widths = {0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8}
    return params[1] if params[1] < 0x80 else int.from_bytes(params[2:2 + widths[params[1]]], "big")


def await_end(engine):
    """Until nothing is left of the inbox, and all tasks have ended."""
    def ended():
        try:
            return engine.primary.query("SELECT (SELECT count(*) FROM ergon.inbox) + "
                                        "(SELECT count(*) FROM ergon.task_list WHERE open)", dbname="ergon")[0][0] == 0
        except psycopg2.Error:
            return False
    ending.eventually(ended, lambda: "all is taken over and has ended", LIMIT)


def found(engine):
    """Texts of what is wrong."""
    orders = {row[0] for row in engine.primary.query("SELECT id FROM orders", dbname="ergon")}
    tasks = collections.Counter(number_of(bytes(row[0])) for row in engine.primary.query(
        "SELECT params FROM ergon.submissions", dbname="ergon"))
    wrong = []
    for what, numbers in (("committed, and no task", orders - set(tasks)), ("a task, and not committed", set(tasks) - orders),
                          ("more than one task", {n for n, count in tasks.items() if count > 1})):
        if numbers:
            wrong.append(f"{len(numbers)} rows: {what}: {sorted(numbers)[:10]}")
    refused = engine.primary.query("SELECT error, count(*) FROM ergon.inbox_refused GROUP BY error", dbname="ergon")
    if refused:
        wrong.append(f"refused: {refused}")
    ended = engine.primary.query("SELECT state, count(*) FROM ergon.task_list GROUP BY state", dbname="ergon")
    print(f"{len(orders)} rows committed, {sum(tasks.values())} tasks, {ended}")
    return wrong


def prove(engine, cluster, seed, rows, connections, pause):
    engine.primary.psql("CREATE TABLE orders (id bigserial PRIMARY KEY, app int NOT NULL);\nCREATE INDEX ON orders (app);\n"
                        "GRANT ALL ON orders, orders_id_seq TO shop;", dbname="ergon")
    for node in cluster.nodes:
        node.restarts = None
    cluster.start()
    url = engine.url("ergon", "shop")
    applications = [Application(url, n, rows // connections) for n in range(connections)]
    began, faults = time.monotonic(), Faults(engine, cluster, applications, seed)
    for application_ in applications:
        application_.start()
    while any(a.is_alive() for a in applications):
        time.sleep(faults.chance.random() * pause)
        faults.break_something()
    committed = time.monotonic()
    await_end(engine)
    print(f"committed after {committed - began:.1f} s, taken over and run {time.monotonic() - committed:.1f} s later; "
          f"{dict(faults.counts)}, {sum(a.deaths for a in applications)} applications killed")
    wrong = found(engine)
    wrong += [f"node {node.name} said: {line}" for node in cluster.nodes for line in node.log().splitlines() if "Assertion" in line]
    return wrong


def main():
    seed = int(os.environ.get("ERGON_SEED") or random.SystemRandom().randrange(1 << 32))
    rows, connections = int(os.environ.get("ERGON_ROWS", "100000")), int(os.environ.get("ERGON_CONNECTIONS", "16"))
    print(f"ERGON_SEED={seed}", flush=True)
    with postgres.Cluster(standbys=1, sync=True) as engine:
        engine.create_role("shop")
        engine.primary.query("GRANT ergon_submit TO shop")
        cluster = nodes.Nodes(engine, names=("a", "b"))
        try:
            wrong = prove(engine, cluster, seed, rows, connections, float(os.environ.get("ERGON_PAUSE", "3")))
        except BaseException:
            print(cluster.logs())
            raise
        finally:
            cluster.end()
    for text in wrong:
        print("  " + text)
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["application"]:
        application(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(main())
