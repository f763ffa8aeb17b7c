#!/usr/bin/python3
"""How long clients of any node wait while the tasks change their owner: by `kill -9` of the owner, and by a planned drain.

usage: gap.py [--tasks COUNT] [--rounds COUNT] [--kinds KIND...] [--work FOLDER]

Three nodes on PostgreSQL with two standbys on this machine, in memory or in FOLDER.  COUNT tasks (1,000,000) are open, in a paused
queue.  A client of each node asks for one task after the other.  A gap is the longest time without an answer of one of these
clients, and the part of it behind the take-over (of a kill: behind the moment when the death was noticed) is shown, too; refused
requests are counted.
"""
import argparse
import datetime
import json
import logging
import os
import re
import statistics
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("tests/e2e", "tests/support", "clients/python")]

import ending  # noqa: E402
import ergon_client  # noqa: E402
import harness  # noqa: E402
import nodes  # noqa: E402
import postgres  # noqa: E402

TASKS_MOST = 4_000_000
KINDS = ("kill", "drain")
TOOK = re.compile(r'msg="this node owns the tasks".* took=([\d.]+)(ms|s)')
TAKEN = re.compile(r'^time=(\S+) .*msg="owner changed"', re.MULTILINE)


class Asks(threading.Thread):
    """A client of one node.  `slowest` is the longest time that a request has waited for its answer."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.over, self.answers, self.refused = node, threading.Event(), [], 0

    def run(self):
        client = None
        while not self.over.is_set():
            try:
                client = client or ergon_client.Client(self.node.url, timeout=60).connect()
                asked = time.monotonic()
                client.request("task.list", [{"limit": 1}])
                self.answers.append((asked, time.monotonic()))
                self.over.wait(0.005)
            except ConnectionError:
                client = None
                self.over.wait(0.01)
            except ergon_client.ErgonError:
                self.refused += 1

    def gap(self, since):
        """Seconds from then to the first answer to what was asked later or waits then; None where none has come."""
        late = [answered - since for asked, answered in self.answers if answered > since]
        return max((b - a for a, b in zip([0, *late], late)), default=None)

    def answered_by(self, since):
        """When the first of what was asked later was answered."""
        return min(answered for asked, answered in self.answers if asked > since)

    def has_answered(self, since):
        return any(asked > since for asked, _ in self.answers)


def fill(cluster, count):
    """Open tasks, a half of them by a front."""
    owner = cluster.wait_owner()
    with owner.connect() as client:
        client.call("queue.pause", "hash")
    path = os.path.join(cluster.engine.folder.path, "many")
    with open(path, "w") as f:
        f.write('["hash", ["sha256", "x"]]\n' * count)
    begun = time.monotonic()
    done = subprocess.run([harness.ERGON, "--server", owner.url, "task", "submit", "--many", path], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr[-2000:])
    print(f"{count} tasks submitted in {time.monotonic() - begun:.0f} s", flush=True)


def load_of(node):
    """Seconds that the rows of the last take-over took, as its log says."""
    took, unit = TOOK.findall(node.log())[-1]
    return float(took) / (1000 if unit == "ms" else 1)


def taken_by(node):
    """When it last took the tasks over, by the clock of the clients."""
    at = datetime.datetime.fromisoformat(TAKEN.findall(node.log())[-1].replace("Z", "+00:00"))
    return at.timestamp() - time.time() + time.monotonic()


def change(cluster, kind):
    """The gap, its part behind the take-over, the load's part of that, and the refused requests."""
    owner = cluster.wait_owner()
    clients = [Asks(node) for node in cluster.nodes if node is not owner or kind == "drain"]
    for client in clients:
        client.start()
    ending.eventually(lambda: all(client.answers for client in clients), "each client is answered")
    since = time.monotonic()
    if kind == "drain":
        with owner.connect() as client:
            client.call("cluster.drain")
    else:
        owner.kill()
    new = cluster.wait_owner(besides=[owner])
    changed = time.monotonic()
    ending.eventually(lambda: all(client.has_answered(changed) for client in clients), "each client is answered again")
    for client in clients:
        client.over.set()
        client.join()
    if kind != "drain":
        owner.start()
    ending.eventually(lambda: all(node.status().get("owner") for node in cluster.nodes), "all nodes know the owner")
    behind = max(client.answered_by(changed) for client in clients) - taken_by(new)
    return max(client.gap(since) for client in clients), behind, load_of(new), sum(client.refused for client in clients)


def measure(cluster, kind, rounds):
    gaps, parts, loads, refused = [], [], [], 0
    for _ in range(rounds):
        gap, behind, load, no = change(cluster, kind)
        gaps.append(gap)
        parts.append(behind)
        loads.append(load)
        refused += no
        print(f"  {kind}: gap {gap:.2f} s, of it behind the take-over {behind:.2f} s, of this the load {load:.2f} s; {no} requests refused; "
              f"load of the machine {os.getloadavg()[0]:.1f}", flush=True)
    spread = [f"{statistics.median(v):.2f} s ({min(v):.2f}-{max(v):.2f})" for v in (gaps, parts, loads)]
    print(f"{kind}, {rounds} rounds, medians: gap {spread[0]}; behind the take-over {spread[1]}; load {spread[2]}; {refused} requests "
          "refused", flush=True)


def main():
    a = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    a.add_argument("--tasks", type=int, default=1_000_000)
    a.add_argument("--rounds", type=int, default=20)
    a.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    a.add_argument("--work", help="a folder on the disk that is measured; memory")
    options = a.parse_args()
    logging.disable()
    with postgres.Cluster(standbys=2, sync=True, fsync=bool(options.work), parent=options.work,
                          settings={"shared_buffers": "512MB", "max_wal_size": "4GB"}) as engine:
        cluster = nodes.Nodes(engine, "--tasks-max", str(TASKS_MOST))
        try:
            cluster.start()
            fill(cluster, options.tasks)
            for kind in options.kinds:
                measure(cluster, kind, options.rounds)
            with cluster.wait_owner().connect() as client:
                print(json.dumps(client.call("server.audit")))
        finally:
            cluster.end()


if __name__ == "__main__":
    sys.exit(main())
