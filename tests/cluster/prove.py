#!/usr/bin/python3
"""Three nodes and three PostgreSQL under Patroni and etcd, each on a machine of its own (network namespaces, and disks that can
lose power), under load and faults drawn at random.  At the end the checker says what of the promise was broken.

    ERGON_SECONDS   how long faults are drawn; 600
    ERGON_SEED      of which random numbers; drawn, and printed
    ERGON_FAULTS    names of faults; all
    ERGON_LAX=1     the control: replication is asynchronous, and says that it is not; the checker has to find losses

Several may run on one machine at the same time.  Where something was broken, the logs and what clients saw are kept in
build/cluster/SEED.
"""
import glob
import json
import logging
import os
import random
import shutil
import signal
import sys
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("tests/cluster", "tests/e2e", "tests/support", "clients/python")]

import checker  # noqa: E402
import clients as load  # noqa: E402
import ending  # noqa: E402
import ergon_client  # noqa: E402
import faults  # noqa: E402
import nodes  # noqa: E402
import patroni  # noqa: E402

TTL = 8  # seconds of Patroni
RECOVERED = 300  # seconds after the last fault within which all must have ended
DISK = 2048  # MiB of each machine of the engine
USUAL = (0, nodes.DEPOSED, -signal.SIGKILL)
AHEAD = (6000, 0, 3000)  # ms: the clocks of the nodes; none is before the begin of its certificate
# The log that a member keeps for others that are down must not fill its disk.
SETTINGS = {"max_wal_size": "256MB", "max_slot_wal_keep_size": "512MB"}


def pages(client):
    """All tasks of task.list."""
    cursor = None
    while True:
        page = client.request("task.list", [{"limit": 1000, **({"cursor": cursor} if cursor else {})}], again=True)
        yield from page["tasks"]
        cursor = page["next"]
        if not cursor:
            return


def final(cluster, history, attempts=False):
    """{id: what task.list says} and the audit, once all have ended or the time is over."""
    end = time.monotonic() + RECOVERED
    with ergon_client.Client(cluster.wait_owner().url, timeout=60) as client:
        wanted = {task.id for task in history.acknowledged}
        while True:
            tasks = {task["id"]: task for task in pages(client)}
            if time.monotonic() > end or all(tasks[id]["state"] in checker.ENDED for id in wanted & set(tasks)):
                break
            time.sleep(1)
        for id in {task.id for task in history.acknowledged if task.limit and attempts} & set(tasks):
            of_task = client.request("task.get", [id, {"attempts": True, "result": False}], again=True)["attempts"]
            tasks[id]["accepted"] = {a["attempt"] for a in of_task if a["outcome"] in checker.ACCEPTED}
        return tasks, client.request("server.audit", again=True)


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


def under_load(cluster, seed, break_it):
    """The exit status.  `break_it(history)` breaks the cluster, and returns texts of what it found wrong itself."""
    history, tasks = checker.History(), {}
    for node in cluster.nodes:
        node.restarts = None
    cluster.start()
    try:
        found = broken(cluster, seed, history, tasks, break_it)
    except Exception:
        keep(cluster, seed, history, tasks)
        raise
    say(history, tasks, found)
    if found:
        keep(cluster, seed, history, tasks)
    return 1 if found else 0


def broken(cluster, seed, history, tasks, break_it):
    """Texts of what of the promise was broken.  Puts into `tasks` what is known of each in the end."""
    clients = load.of(cluster.nodes, history, seed)
    for client in clients:
        client.start()
    put_cron(cluster)
    found = break_it(history)
    submitting = [client for client in clients if not isinstance(client, load.Works)]
    for client in submitting:
        client.stop()
    for client in submitting:
        client.join()
    known, _ = final(cluster, history)  # all have ended
    owner = cluster.wait_owner()
    owner.kill()  # what is said from now on is read from the rows
    cluster.wait_owner(besides=[owner])
    in_the_end, audit = final(cluster, history, attempts=True)
    tasks.update(in_the_end)
    for client in clients:
        client.stop()
    found += checker.violations(history, tasks)
    found += (f"of the owner: {text}" for text in checker.of_submissions(history, known))
    if audit.get("balanced") is not True:
        found.append(f"the audit does not balance: {audit}")
    for node in cluster.nodes:
        found += [f"node {node.name} ended with {status}" for status in node.statuses if status not in USUAL]
        found += [f"node {node.name} said: {line}" for line in node.log().splitlines() if "Assertion" in line]
    return found


def keep(cluster, seed, history, tasks):
    """Copies the logs, and writes down what clients saw, each moment in seconds of one clock: `clock` says which time it was."""
    folder = os.path.join(os.environ["ERGON_BUILD"], "cluster", str(seed))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for node in cluster.nodes:
        shutil.copy(os.path.join(node.folder, "log"), os.path.join(folder, node.name + ".log"))
    for log in glob.glob(os.path.join(cluster.engine.folder.path, "*.log")):
        shutil.copy(log, folder)
    seen = {name: value for name, value in vars(history).items() if isinstance(value, list)}
    with open(os.path.join(folder, "history.json"), "w") as out:
        json.dump({"clock": [time.monotonic(), time.time()], **seen, "tasks": tasks}, out, default=sorted)
    print(f"logs and history: {folder}", flush=True)


def say(history, tasks, found):
    late = sum(checker.is_late(history, at, node) for at, _, _, node in history.begun)
    given_up = sum(attempt not in tasks.get(id, {}).get("accepted", [attempt]) for id, attempt in checker.runs(history))
    feed = sum(len(of_reader) for of_reader in checker.stretches(history).values())
    print(f"{len(history.acknowledged)} submissions acknowledged, {len(history.begun)} attempts, {len(history.granted)} permits, "
          f"{sum(len(page.events) for page in history.pages)} events in {feed} stretches of the feed, "
          f"{sum((task.get('key') or '').startswith('cron ') for task in tasks.values())} firings; "
          f"{late} attempts just after a stop, {given_up} of limited tasks given up with their owner; {len(found)} violations")
    for text in found[:50]:
        print("  " + text)


def main():
    seed = int(os.environ.get("ERGON_SEED") or random.SystemRandom().randrange(1 << 32))
    seconds, lax = float(os.environ.get("ERGON_SECONDS", "600")), bool(os.environ.get("ERGON_LAX"))
    print(f"ERGON_SEED={seed}", flush=True)
    logging.disable()  # of clients, about what is broken on purpose
    lacks = patroni.missing_for_namespaces()
    if lacks:
        sys.exit(f"prove cluster: {lacks}")
    with patroni.Cluster(namespaces=True, more=3, ttl=TTL, fsync=True, synchronous=not lax, disk=DISK,
                         settings=SETTINGS) as engine:
        flags = ("--store-replicated", "by-storage") if lax else ()
        store = engine.url("ergon", "ergon", tcp=True, passfile=engine.password_file)
        cluster = nodes.Nodes(engine, *flags, store=store, machines=engine.machines[3:], ahead=AHEAD)
        wanted = os.environ.get("ERGON_FAULTS", "").split()
        try:
            return under_load(cluster, seed, lambda history: faults.draw(engine, cluster, history, seed, seconds, wanted))
        finally:
            cluster.end()


if __name__ == "__main__":
    sys.exit(main())
