#!/usr/bin/python3
"""Tasks that submit tasks, read results and keep checkpoints, and batches in batches (tests/e2e/composed.py), on two nodes with
PostgreSQL, whose owner is killed with kill -9: the other one takes over. Meanwhile workers are killed, and clients connect to
either.

Behind each take-over all batches that were acknowledged are there, those that had ended are as they were, and the audit balances;
in the end each task and each callback is there once.

    ERGON_KILLS   take-overs; 25
    ERGON_ROOTS   roots; 500
    ERGON_TREES   trees of three batches; 60
    ERGON_SEED    of which random numbers; drawn, and printed
"""
import os
import random
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("tests/e2e", "tests/support", "clients/python")]

import composed  # noqa: E402
import nodes  # noqa: E402
import postgres  # noqa: E402

LEASE = "3s"  # the least; after it the other node takes over


def take_over(cluster, composition, pause):
    """The owner is killed while requests are under way. Returns how long nobody owned the tasks."""
    owner, lasted = cluster.wait_owner(), []

    def kill():
        time.sleep(pause)
        began = time.monotonic()
        owner.kill()
        cluster.wait_owner(besides=[owner])
        lasted.append(time.monotonic() - began)

    killer = threading.Thread(target=kill)
    killer.start()
    while killer.is_alive():
        composition.go_on()
    owner.start()
    composition.look()
    return lasted[0]


def prove(cluster, kills, roots, trees, seed):
    for node in cluster.nodes:
        node.restarts = None
    cluster.start()
    chance = random.Random(seed)
    composition = composed.Composition([node.url for node in cluster.nodes], chance, roots, trees)
    try:
        lasted = []
        for n in range(kills):
            composition.part = (n + 1) / kills
            lasted.append(take_over(cluster, composition, 0.3 + chance.random() * 1.5))
        while not composition.is_made():
            composition.go_on()
        composition.await_the_end()
        composition.check()
    finally:
        composition.end()
    print(f"{kills} take-overs, {min(lasted):.1f} to {max(lasted):.1f} s without an owner; {composition.summary()}")


def main():
    seed = int(os.environ.get("ERGON_SEED") or random.SystemRandom().randrange(1 << 32))
    kills, roots, trees = (int(os.environ.get(name, usual)) for name, usual in (
        ("ERGON_KILLS", 25), ("ERGON_ROOTS", 500), ("ERGON_TREES", 60)))
    print(f"ERGON_SEED={seed}", flush=True)
    with postgres.Cluster(standbys=1, sync=True) as engine:
        cluster = nodes.Nodes(engine, "--cluster-lease", LEASE, names=("a", "b"))
        try:
            prove(cluster, kills, roots, trees, seed)
        except BaseException:
            print(cluster.logs())
            raise
        finally:
            cluster.end()


if __name__ == "__main__":
    main()
